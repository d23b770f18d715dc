"""Documents in the folders that the node's operator has opened: the tools, and what they share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from homing_agent.tools.base import Builtin

if TYPE_CHECKING:
    from homing_core.canonical import JsonObject
    from homing_core.errors import HomingError

    from homing_agent.documents.library import Library, Refreshed
    from homing_agent.documents.roots import Place

SERVER: Final = "documents"
FOLDER: Final[JsonObject] = {
    "type": "string",
    "description": "name or path of the folder, as the user says it",
}
MOST_FOLDER: Final = 1000


class DocumentTool(Builtin):
    """A tool that needs folders which may be read.

    Args:
        library: documents; it belongs to whoever made it.
    """

    def __init__(self, library: Library) -> None:
        """Keep it."""
        self.library = library

    def unavailable(self) -> str | None:
        """As in `Tool`."""
        if self.library.roots:
            return None
        return "no folder of documents is open to tools on this computer"

    def places(self, folder: str) -> tuple[Place, ...]:
        """The folder that is meant; without a name, all of them.

        Raises:
            RefusedError: it may not be read.
            NotFoundError: there is none.
        """
        return (self.library.roots.find(folder),) if folder else self.library.roots.all()


def sentence(error: HomingError) -> str:
    """What is wrong, as a sentence among others."""
    return f"{error.what[:1].upper()}{error.what[1:]}."


def shortfalls(refreshed: Refreshed) -> list[str]:
    """What is not in the index, in sentences for people."""
    said: list[str] = []
    if refreshed.rebuilt:
        said.append("The index of documents was damaged and has been made anew.")
    if refreshed.left:
        said.append(
            f"{refreshed.left} of {refreshed.files} documents have not been read yet; "
            "call index_documents to read them all."
        )
    if not refreshed.complete:
        said.append("The folder holds more than is looked at; name a folder in it.")
    if refreshed.closed:
        said.append(f"{refreshed.closed} folders in it may not be looked into.")
    return said
