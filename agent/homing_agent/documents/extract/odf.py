"""OpenDocument: text, sheets and slides, paragraph by paragraph."""

from __future__ import annotations

import importlib
import zipfile
from typing import IO, TYPE_CHECKING, Any, Final

from homing_agent.documents.chunks import Unit
from homing_agent.documents.extract.common import UnreadableError, check_archive, check_size

if TYPE_CHECKING:
    from homing_agent.documents.chunks import Chunker
    from homing_agent.documents.limits import ReadLimits

_TEXT: Final = "{urn:oasis:names:tc:opendocument:xmlns:text:1.0}"
_PARAGRAPHS: Final = (f"{_TEXT}p", f"{_TEXT}h")


def read_odf(file: IO[bytes], chunker: Chunker, limits: ReadLimits) -> int:
    """Take what stands in `content.xml`; raises as the others do."""
    check_size(file, limits)
    check_archive(file)
    etree: Any = importlib.import_module("lxml.etree")  # it has no types
    try:
        with zipfile.ZipFile(file) as archive, archive.open("content.xml") as content:
            events: Any = etree.iterparse(
                content, tag=_PARAGRAPHS, resolve_entities=False, no_network=True, load_dtd=False
            )
            for number, (_, element) in enumerate(events, 1):
                chunker.add("".join(element.itertext()), Unit.PARAGRAPH, number)
                element.clear()
    except (KeyError, RuntimeError, zipfile.BadZipFile, SyntaxError) as error:
        msg = "it is damaged, or protected by a password"
        raise UnreadableError(msg) from error
    return 0
