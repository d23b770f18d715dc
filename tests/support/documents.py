"""Documents of every kind, made with the libraries that others use, and ones that do harm."""

from __future__ import annotations

import importlib
import io
import zipfile
from typing import TYPE_CHECKING, Any

from docx import Document
from pypdf import PdfWriter
from pypdf.generic import (
    ArrayObject,
    DictionaryObject,
    IndirectObject,
    NameObject,
    NumberObject,
    StreamObject,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

_ODT = (
    '<?xml version="1.0"?><office:document-content '
    'xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0" '
    'xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0"><office:body><office:text>'
    "%s</office:text></office:body></office:document-content>"
)


def pdf(pages: Sequence[str], password: str = "") -> bytes:
    """A PDF with a line of text on each page."""
    return pdf_of([f"BT /F1 12 Tf 72 720 Td ({text}) Tj ET".encode() for text in pages], password)


def pdf_of(contents: Sequence[bytes], password: str = "") -> bytes:
    """A PDF with these content streams, compressed."""
    writer = PdfWriter()
    for content in contents:
        page = writer.add_blank_page(612, 792)
        font = DictionaryObject(
            {
                NameObject("/Type"): NameObject("/Font"),
                NameObject("/Subtype"): NameObject("/Type1"),
                NameObject("/BaseFont"): NameObject("/Helvetica"),
            }
        )
        fonts = DictionaryObject({NameObject("/F1"): font})
        page[NameObject("/Resources")] = DictionaryObject({NameObject("/Font"): fonts})
        stream = StreamObject()
        stream.set_data(content)
        page[NameObject("/Contents")] = _added(writer, stream.flate_encode())
    if password:
        writer.encrypt(password, algorithm="AES-256")
    return _written(writer)


def looping_pdf() -> bytes:
    """A PDF whose tree of pages contains itself."""
    writer = PdfWriter()
    writer.add_blank_page(72, 72)
    pages = writer.root_object["/Pages"].get_object()
    assert isinstance(pages, DictionaryObject)
    kids = ArrayObject([_added(writer, pages)] * 2)
    pages[NameObject("/Kids")] = kids
    pages[NameObject("/Count")] = NumberObject(1 << 30)
    return _written(writer)


def endless_pdf() -> bytes:
    """A PDF of a few kilobytes with a page that takes minutes to read."""
    return pdf_of([b"BT /F1 12 Tf " + b"1 0 0 1 72 720 Tm (a) Tj " * 2_000_000 + b"ET"])


def docx(paragraphs: Sequence[str], rows: Sequence[Sequence[str]] = ()) -> bytes:
    """A Word document with paragraphs and then a table."""
    document = Document()
    for paragraph in paragraphs:
        document.add_paragraph(paragraph)
    if rows:
        table = document.add_table(len(rows), len(rows[0]))
        for row, values in zip(table.rows, rows, strict=True):
            for cell, value in zip(row.cells, values, strict=True):
                cell.text = value
    file = io.BytesIO()
    document.save(file)
    return file.getvalue()


def xlsx(sheets: dict[str, Sequence[Sequence[object]]]) -> bytes:
    """A workbook."""
    openpyxl: Any = importlib.import_module("openpyxl")
    book: Any = openpyxl.Workbook(write_only=True)
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(list(row))
    file = io.BytesIO()
    book.save(file)
    return file.getvalue()


def pptx(slides: Sequence[tuple[str, str]]) -> bytes:
    """Slides with a title and notes."""
    from pptx import Presentation  # noqa: PLC0415  # slow to load

    shown: Any = Presentation()
    for title, notes in slides:
        slide = shown.slides.add_slide(shown.slide_layouts[5])
        slide.shapes.title.text = title
        slide.notes_slide.notes_text_frame.text = notes
    file = io.BytesIO()
    shown.save(file)
    return file.getvalue()


def odt(paragraphs: Sequence[str]) -> bytes:
    """An OpenDocument text."""
    body = "".join(f"<text:p>{paragraph}</text:p>" for paragraph in paragraphs)
    return archive({"content.xml": (_ODT % body).encode()})


def archive(members: dict[str, bytes]) -> bytes:
    """A ZIP file."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as written:
        for name, data in members.items():
            written.writestr(name, data)
    return file.getvalue()


def bomb(document: bytes, member: str, size: int) -> bytes:
    """A document with a member that unpacks to `size` bytes of white space within its XML."""
    with zipfile.ZipFile(io.BytesIO(document)) as given:
        members = {name: given.read(name) for name in given.namelist()}
    head, end, tail = members[member].partition(b">")
    members[member] = head + end + b" " * size + tail
    return archive(members)


def entities_docx() -> bytes:
    """A Word document whose XML entities unfold to billions ("billion laughs")."""
    with zipfile.ZipFile(io.BytesIO(docx(["HERE"]))) as given:
        members = {name: given.read(name) for name in given.namelist()}
    body = members["word/document.xml"].replace(b"HERE", b"&i;")
    _, _, rest = body.partition(b"?>")
    laughs = '<!ENTITY a "lol">' + "".join(
        f'<!ENTITY {name} "{f"&{before};" * 10}">'
        for before, name in zip("abcdefgh", "bcdefghi", strict=True)
    )
    members["word/document.xml"] = f'<?xml version="1.0"?><!DOCTYPE w [{laughs}]>'.encode() + rest
    return archive(members)


def _added(writer: PdfWriter, thing: Any) -> IndirectObject:  # noqa: ANN401  # any PDF object
    # There is no other way to add one.
    return writer._add_object(thing)  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]


def _written(writer: PdfWriter) -> bytes:
    file = io.BytesIO()
    writer.write(file)
    return file.getvalue()
