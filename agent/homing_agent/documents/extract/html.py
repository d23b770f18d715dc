"""Web pages: the main text if it can be told, else all of it."""

from __future__ import annotations

import contextlib
import importlib
from typing import IO, TYPE_CHECKING, Any, Final

from homing_agent.documents.chunks import SpentError, Unit
from homing_agent.documents.extract.common import UnreadableError

if TYPE_CHECKING:
    from homing_agent.documents.chunks import Chunker
    from homing_agent.documents.limits import ReadLimits

_LEAST_SHARE: Final = 0.25
"""If the main text is less than this share of all text, something was left out that matters."""
_DROPPED: Final = ("script", "style", "noscript", "template", "nav", "header", "footer", "aside")
_INLINE_NAMES: Final = (
    "a abbr b bdi bdo cite code data dfn em i kbd mark q s samp small span strong sub sup time u "
    "var font tt big del ins label"
)
_INLINE: Final = frozenset(_INLINE_NAMES.split())


def read_html(file: IO[bytes], chunker: Chunker, limits: ReadLimits) -> int:
    """Take a page; gives its number of pages, of which it has none.

    Raises:
        SpentError: it is longer than may be read.
        UnreadableError: there is no page in it.
    """
    data = file.read(limits.text_bytes + 1)
    cut = len(data) > limits.text_bytes
    whole = _all_text(data[: limits.text_bytes])
    main = _main_text(data[: limits.text_bytes])
    text = main if len(main) >= _LEAST_SHARE * len(whole) else whole
    paragraphs = [line.strip() for line in text.split("\n")]
    for number, paragraph in enumerate((one for one in paragraphs if one), 1):
        chunker.add(paragraph, Unit.PARAGRAPH, number)
    if cut:
        raise SpentError
    return 0


def _main_text(data: bytes) -> str:
    try:
        import trafilatura  # noqa: PLC0415  # slow to load
    except ImportError:
        return ""
    # Whatever goes wrong in its guesses, the page's whole text is still there.
    with contextlib.suppress(Exception):
        found: object = trafilatura.extract(data, include_comments=False, favor_recall=True)
        return found if isinstance(found, str) else ""
    return ""


def _all_text(data: bytes) -> str:
    lxml_html: Any = importlib.import_module("lxml.html")  # it has no types
    parser: Any = lxml_html.HTMLParser(
        encoding=_encoding(data), no_network=True, remove_comments=True, remove_pis=True
    )
    try:
        tree: Any = lxml_html.document_fromstring(data, parser=parser)
    except (SyntaxError, ValueError, AssertionError) as error:  # lxml's are syntax errors
        msg = "there is no page in it"
        raise UnreadableError(msg) from error
    for dropped in list(tree.iter(*_DROPPED)):
        dropped.drop_tree()
    for element in tree.iter():
        if element.tag not in _INLINE:
            element.text = "\n" + (element.text or "")
            element.tail = "\n" + (element.tail or "")
    lines = (" ".join(line.split()) for line in "".join(tree.itertext()).split("\n"))
    return "\n".join(filter(None, lines))


def _encoding(data: bytes) -> str | None:
    """UTF-8 if it is that; else the page itself says."""
    try:
        data.decode()
    except UnicodeDecodeError:
        return None
    return "utf-8"
