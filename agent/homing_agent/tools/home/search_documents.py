"""Finding documents by what they say."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from homing_core.errors import NotFoundError
from homing_core.provenance import Trust
from homing_core.tools import EffectClass, Place, ToolSpec

from homing_agent.tool import ToolContext, ToolOutput
from homing_agent.tools.arguments import optional_text, text_argument
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

    from homing_agent.documents.library import Library
    from homing_agent.documents.rows import Hit

REFRESH_SECONDS: Final = 60.0
_MOST: Final = 20
_USUAL: Final = 6


class SearchDocuments(DocumentTool):
    """Searches folders, after reading what is new in them.

    Args:
        library: documents.
        refresh_seconds: for reading what is new; the search then goes over what there is.
    """

    SPEC = ToolSpec(
        name="search_documents",
        description=(
            "Search the documents on the home computer and give the passages found, each with its "
            "file and page or line."
        ),
        parameters={
            "type": "object",
            "properties": {
                "query": {
                    "type": "string",
                    "minLength": 1,
                    "description": 'words to look for; a "phrase" in quotes, or a beginning*',
                },
                "folder": FOLDER,
                "most": {"type": "integer", "minimum": 1, "maximum": _MOST},
            },
            "required": ["query"],
        },
        effect=EffectClass.READ,
        place=Place.HOME,
        server=SERVER,
        idempotent=True,
        output_trust=Trust.UNTRUSTED,
        typical_ms=500,
    )

    def __init__(self, library: Library, refresh_seconds: float = REFRESH_SECONDS) -> None:
        """Keep them."""
        super().__init__(library)
        self._refresh_seconds = refresh_seconds

    async def run(self, arguments: JsonObject, context: ToolContext) -> ToolOutput:
        """As in `Tool`."""
        query = text_argument(arguments, "query")
        folder = optional_text(arguments, "folder", most=MOST_FOLDER)
        asked = arguments.get("most", _USUAL)
        most = asked if isinstance(asked, int) else _USUAL
        places = self.places(folder)
        said: list[str] = []
        for place in places:
            try:
                refreshed = await self.library.refresh(
                    place, context.report, self._refresh_seconds / len(places)
                )
            except NotFoundError as error:
                if folder:
                    raise
                said.append(sentence(error))
                continue
            said += shortfalls(refreshed)
        hits = await self.library.search(places, query, max(1, min(most, _MOST)))
        where = ", ".join(place.shown for place in places)
        return _shown(hits, said, where)


def _shown(hits: list[Hit], said: list[str], where: str) -> ToolOutput:
    if not hits:
        none = " ".join(["No document holds anything like that.", *said])
        # It quotes nothing but the names of folders that the operator chose.
        return ToolOutput(none, none, trust=Trust.TRUSTED, source=where)
    passages = [f"[{number}] {hit.citation}\n{hit.text}" for number, hit in enumerate(hits, 1)]
    return ToolOutput("\n\n".join([*passages, *said]), source=where)
