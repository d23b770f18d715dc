"""Text files: Markdown, tables with commas, source code and the like."""

from __future__ import annotations

import codecs
from typing import IO, TYPE_CHECKING, Final

from homing_agent.documents.chunks import SpentError, Unit
from homing_agent.documents.extract.common import NotTextError

if TYPE_CHECKING:
    from homing_agent.documents.chunks import Chunker
    from homing_agent.documents.limits import ReadLimits

_SAMPLE: Final = 32 << 10
_MOST_ODD: Final = 0.02
_MARKS: Final = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
"""In this order: the mark of UTF-32 begins with that of UTF-16."""
_ODD: Final = frozenset(range(32)) - frozenset(b"\t\n\r\f\x1b")


def read_text(file: IO[bytes], chunker: Chunker, limits: ReadLimits) -> int:
    """Take a text file; gives its pages, of which it has none.

    Raises:
        NotTextError: it is no text.
        SpentError: it is longer than may be read.
    """
    data = file.read(limits.text_bytes + 1)
    cut = len(data) > limits.text_bytes
    chunker.add(decoded(data[: limits.text_bytes], cut=cut), Unit.LINE, 1)
    if cut:
        raise SpentError
    return 0


def decoded(data: bytes, *, cut: bool) -> str:
    """The text in its own encoding: as its mark says, else UTF-8, else what is most likely.

    Args:
        data: the file's beginning.
        cut: it goes on, perhaps in the middle of a character.

    Raises:
        NotTextError: it is no text.
    """
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return data.decode(encoding, "replace")
    sample = data[:_SAMPLE]
    if b"\0" in sample or sum(byte in _ODD for byte in sample) > _MOST_ODD * len(sample):
        raise NotTextError
    try:
        return codecs.getincrementaldecoder("utf-8")("strict").decode(data, final=not cut)
    except UnicodeDecodeError:
        return data.decode(_guess(sample), "replace")


def _guess(sample: bytes) -> str:
    from charset_normalizer import from_bytes  # noqa: PLC0415  # seldom needed

    best = from_bytes(sample).best()
    return best.encoding if best else "cp1252"
