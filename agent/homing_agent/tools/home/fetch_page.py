"""Reading a page of the web."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from homing_core.errors import InvalidDataError
from homing_core.jobs import JobProgress
from homing_core.provenance import Sensitivity, Trust
from homing_core.tools import EffectClass, Place, ToolSpec

from homing_agent.tool import ToolOutput
from homing_agent.tools.arguments import text_argument
from homing_agent.tools.base import Builtin
from homing_agent.web.readable import page_reader, read_page

if TYPE_CHECKING:
    from collections.abc import Callable

    from homing_core.canonical import JsonObject

    from homing_agent.documents.extractor import Reader
    from homing_agent.tool import ToolContext
    from homing_agent.web.fetch import PageFetcher

DEFAULT_CHARS: Final = 20_000
_MOST_URL: Final = 4096


class FetchPage(Builtin):
    """Gives a page's text. What it says is somebody else's word.

    Args:
        fetcher: fetches it.
        most_chars: characters of text a call gives at most.
        new_reader: makes what takes a page apart.
    """

    SPEC = ToolSpec(
        name="fetch_page",
        description="Fetch a web page by its address and give its text.",
        parameters={
            "type": "object",
            "properties": {
                "url": {"type": "string", "description": "The page's address (http or https)."},
                "start": {
                    "type": "integer",
                    "minimum": 0,
                    "description": "Character to go on from, for the rest of a long page.",
                },
            },
            "required": ["url"],
        },
        effect=EffectClass.READ_NETWORK,
        place=Place.HOME,
        idempotent=True,
        output_trust=Trust.UNTRUSTED,
        typical_ms=3000,
    )

    def __init__(
        self,
        fetcher: PageFetcher,
        most_chars: int = DEFAULT_CHARS,
        new_reader: Callable[[], Reader] = page_reader,
    ) -> None:
        """Keep them."""
        self._fetcher = fetcher
        self._most_chars = most_chars
        self._new_reader = new_reader

    def preview(self, arguments: JsonObject) -> str:
        """Whom it would ask; raises where the address cannot be one that is fetched."""
        page = self._fetcher.check(text_argument(arguments, "url", most=_MOST_URL))
        return f"asks {page.host} for a page, which is told its address"

    async def run(self, arguments: JsonObject, context: ToolContext) -> ToolOutput:
        """As in `Tool`."""
        url = text_argument(arguments, "url", most=_MOST_URL)

        def progress(done: int, total: int) -> None:
            context.report(JobProgress(done, total, "bytes", "fetching the page"))

        page = await self._fetcher.fetch(url, progress)
        context.report(JobProgress(len(page.data), len(page.data), "bytes", "reading the page"))
        text = await read_page(page, self._new_reader)
        return ToolOutput(
            self._shown(text, str(page.address), arguments),
            trust=Trust.UNTRUSTED,
            sensitivity=Sensitivity.HOME_ONLY,
            source=page.address.host,
        )

    def _shown(self, text: str, address: str, arguments: JsonObject) -> str:
        given = arguments.get("start", 0)
        start = int(given) if isinstance(given, int | float) else 0
        if start and start >= len(text):
            msg = f"the page has only {len(text)} characters"
            raise InvalidDataError(msg, "Leave out start to read it from its beginning.")
        part = text[start : start + self._most_chars]
        more = ""
        if part != text:
            more = f"\n\n(characters {start} to {start + len(part)} of {len(text)})"
        return f"{address}\n\n{part}{more}"
