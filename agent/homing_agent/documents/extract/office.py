"""Word, Excel and PowerPoint."""

from __future__ import annotations

import importlib
from typing import IO, TYPE_CHECKING, Any, Final

from homing_agent.documents.chunks import Unit
from homing_agent.documents.extract.common import check_archive, check_size

if TYPE_CHECKING:
    from collections.abc import Iterable

    from homing_agent.documents.chunks import Chunker
    from homing_agent.documents.limits import ReadLimits

_CHECK_ROWS: Final = 256
_MOST_NESTED: Final = 32


def read_docx(file: IO[bytes], chunker: Chunker, limits: ReadLimits) -> int:
    """Take a Word document: paragraphs and tables in their order; raises as the others do."""
    from docx import Document  # noqa: PLC0415  # one library for each kind of file
    from docx.table import Table  # noqa: PLC0415

    check_size(file, limits)
    check_archive(file)
    number = 0
    for block in Document(file).iter_inner_content():
        if isinstance(block, Table):
            for row in block.rows:
                number += 1
                chunker.add(_joined(cell.text for cell in row.cells), Unit.PARAGRAPH, number)
        else:
            number += 1
            chunker.add(block.text, Unit.PARAGRAPH, number)
    return 0


def read_xlsx(file: IO[bytes], chunker: Chunker, limits: ReadLimits) -> int:
    """Take a workbook: the values of each sheet, row by row; raises as the others do."""
    check_size(file, limits)
    check_archive(file)
    openpyxl: Any = importlib.import_module("openpyxl")  # it has no types
    book: Any = openpyxl.load_workbook(file, read_only=True, data_only=True, keep_links=False)
    try:
        for sheet in book.worksheets:
            sheet.reset_dimensions()  # what it says of its size may be a lie
            for number, row in enumerate(sheet.iter_rows(values_only=True), 1):
                line = _joined("" if value is None else str(value) for value in row)
                if line:
                    chunker.add(line, Unit.ROW, number, str(sheet.title))
                elif number % _CHECK_ROWS == 0:
                    chunker.check()
        return 0
    finally:
        book.close()


def read_pptx(file: IO[bytes], chunker: Chunker, limits: ReadLimits) -> int:
    """Take slides with their notes; gives their number; raises as the others do."""
    from pptx import Presentation  # noqa: PLC0415  # as above

    check_size(file, limits)
    check_archive(file)
    slides: Any = Presentation(file).slides
    number = 0
    for number, slide in enumerate(slides, 1):  # how many there were
        lines = list(_shape_lines(slide.shapes, 0))
        if slide.has_notes_slide and slide.notes_slide.notes_text_frame is not None:
            lines.append(str(slide.notes_slide.notes_text_frame.text))
        chunker.add("\n".join(lines), Unit.SLIDE, number)
    return number


def _shape_lines(shapes: Any, depth: int) -> Iterable[str]:  # noqa: ANN401  # untyped unions
    for shape in shapes:
        if shape.has_text_frame:
            yield str(shape.text_frame.text)
        elif shape.has_table:
            for row in shape.table.rows:
                yield _joined(str(cell.text) for cell in row.cells)
        elif hasattr(shape, "shapes") and depth < _MOST_NESTED:
            yield from _shape_lines(shape.shapes, depth + 1)


def _joined(cells: Iterable[str]) -> str:
    """A row as one line; a cell that spans several columns is named once."""
    kept: list[str] = []
    for cell in cells:
        text = " ".join(cell.split())
        if text and (not kept or kept[-1] != text):
            kept.append(text)
    return " | ".join(kept)
