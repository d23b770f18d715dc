"""Reading a folder of documents into the index, and saying what is there."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from homing_core.errors import NotFoundError
from homing_core.provenance import Trust
from homing_core.tools import EffectClass, Place, ToolSpec

from homing_agent.documents.messages import Status
from homing_agent.tool import ToolContext, ToolOutput
from homing_agent.tools.arguments import optional_text
from homing_agent.tools.home.documents import (
    FOLDER,
    MOST_FOLDER,
    SERVER,
    DocumentTool,
    sentence,
    shortfalls,
)

if TYPE_CHECKING:
    from homing_core.canonical import JsonObject

    from homing_agent.documents.roots import Place as Folder
    from homing_agent.documents.rows import KnownFile

_MOST_NAMES: Final = 40
_MOST_PROBLEMS: Final = 20
_PROBLEMS: Final = frozenset({Status.PARTLY, Status.EMPTY, Status.FAILED, Status.UNREADABLE})


class IndexDocuments(DocumentTool):
    """Reads all of a folder, however long it takes, and lists it."""

    SPEC = ToolSpec(
        name="index_documents",
        description=(
            "Read a folder of documents on the home computer, so that it can be searched, and "
            "list its files."
        ),
        parameters={"type": "object", "properties": {"folder": FOLDER}},
        effect=EffectClass.READ,
        place=Place.HOME,
        server=SERVER,
        idempotent=True,
        output_trust=Trust.UNTRUSTED,
        typical_ms=30_000,
    )

    async def run(self, arguments: JsonObject, context: ToolContext) -> ToolOutput:
        """As in `Tool`."""
        folder = optional_text(arguments, "folder", most=MOST_FOLDER)
        places = self.places(folder)
        parts: list[str] = []
        missing: NotFoundError | None = None
        for place in places:
            try:
                refreshed = await self.library.refresh(place, context.report)
            except NotFoundError as error:  # of several, one disk may be out
                missing = error
                parts.append(sentence(error))
                continue
            files = await self.library.files(place)
            parts.append("\n".join([*_listed(place, files), *shortfalls(refreshed)]))
        if missing is not None and len(parts) == 1:
            raise missing
        text = "\n\n".join(parts)
        return ToolOutput(text, text, source=", ".join(place.shown for place in places))


def _listed(place: Folder, files: tuple[KnownFile, ...]) -> list[str]:
    documents = [file for file in files if file.status is not Status.NOT_TEXT]
    if not documents:
        return [f"{place.shown}: no documents."]
    endings = Counter(_ending(file) for file in documents)
    kinds = ", ".join(f"{count} {ending}" for ending, count in endings.most_common(6))
    lines = [f"{place.shown}: {len(documents)} documents ({kinds})."]
    lines += [f"- {file.shown(place)}" for file in documents[:_MOST_NAMES]]
    if len(documents) > _MOST_NAMES:
        lines.append(f"and {len(documents) - _MOST_NAMES} more.")
    odd = [file for file in documents if file.status in _PROBLEMS and file.problem]
    if odd:
        lines.append("Not read, or only in part:")
        lines += [f"- {file.shown(place)}: {file.problem}" for file in odd[:_MOST_PROBLEMS]]
        if len(odd) > _MOST_PROBLEMS:
            lines.append(f"and {len(odd) - _MOST_PROBLEMS} more.")
    return lines


def _ending(file: KnownFile) -> str:
    name = file.path.rsplit(b"/", 1)[-1].decode("utf-8", "replace")
    _, dot, ending = name.rpartition(".")
    return ending.lower() if dot and ending.isalnum() else "other"
