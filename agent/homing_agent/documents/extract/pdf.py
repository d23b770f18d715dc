"""PDF, page by page."""

from __future__ import annotations

from typing import IO, TYPE_CHECKING

from pypdf import PdfReader
from pypdf.errors import DependencyError, FileNotDecryptedError

from homing_agent.documents.chunks import Unit
from homing_agent.documents.extract.common import UnreadableError, check_size

if TYPE_CHECKING:
    from homing_agent.documents.chunks import Chunker
    from homing_agent.documents.limits import ReadLimits


def read_pdf(file: IO[bytes], chunker: Chunker, limits: ReadLimits) -> int:
    """Take a PDF; gives its pages. A page that is damaged is left out.

    Raises:
        SpentError: it is longer than may be read.
        UnreadableError: it is protected, or every page is damaged.
    """
    check_size(file, limits)
    try:
        reader = PdfReader(file, strict=False)
        pages = len(reader.pages)
        damaged = 0
        for number in range(1, pages + 1):
            try:
                text = reader.pages[number - 1].extract_text()
            except (FileNotDecryptedError, DependencyError, MemoryError):
                raise
            except Exception:  # noqa: BLE001  # the library has no one error for damage
                damaged += 1
                chunker.check()
                continue
            chunker.add(text, Unit.PAGE, number)
    except (FileNotDecryptedError, DependencyError) as error:
        msg = "it is protected by a password"
        raise UnreadableError(msg) from error
    if pages and damaged == pages:
        msg = "none of its pages can be read"
        raise UnreadableError(msg)
    if damaged:
        chunker.problem = f"{damaged} of its {pages} pages are damaged"
    return pages
