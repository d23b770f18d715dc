"""What is read out of files, and what becomes of those that do harm."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import pytest
import pytest_asyncio
from homing_agent.documents.extractor import Extractor
from homing_agent.documents.kinds import kind_of
from homing_agent.documents.limits import ReadLimits
from homing_agent.documents.messages import Status, decode_extract, decode_task
from homing_agent.documents.testing import FakeReader
from homing_core.errors import InvalidDataError
from support import documents as made
from support.commands import run_program

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from pathlib import Path

    from homing_agent.documents.extractor import Reader
    from homing_agent.documents.messages import Extract

pytestmark = pytest.mark.asyncio(loop_scope="module")
BOUND_S = 60
PAGE = (
    "<html><head><title>Note</title><script>var hidden = 1;</script></head><body>"
    "<nav>Home About</nav><article><h1>Boiler</h1><p>The boiler was serviced in "
    "<b>October</b> by Mrs Grün.</p><p>The next visit is due in a year.</p></article></body></html>"
)
LATIN = "Die Größe der Tür überrascht uns alle sehr, schön wäre es früher gewesen. "


@asynccontextmanager
async def extractor(limits: ReadLimits | None = None) -> AsyncGenerator[Extractor]:
    opened = Extractor(limits)
    try:
        yield opened
    finally:
        await opened.close()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def worker() -> AsyncGenerator[Extractor, None]:
    async with extractor() as opened:
        yield opened


async def read(reader: Reader, path: Path, known: str = "") -> Extract:
    kind = kind_of(path.name)
    assert kind is not None
    descriptor = os.open(path, os.O_RDONLY)
    try:
        async with asyncio.timeout(BOUND_S):
            return await reader.read(descriptor, kind, known)
    finally:
        os.close(descriptor)


def places(extract: Extract) -> dict[str, str]:
    return {chunk.place: chunk.text for chunk in extract.chunks}


GOOD = {
    "plain.txt": (b"First line.\nSecond line.\n", {"line 1": "First line.\nSecond line."}),
    "note.md": (b"\n\n# Title\n", {"line 3": "# Title"}),
    "costs.csv": (b"item,cost\nroof,120\n", {"line 1": "item,cost\nroof,120"}),
    "settings.json": (b'{"a": [1, 2]}', {"line 1": '{"a": [1, 2]}'}),
    "Makefile": (b"all:\n\techo hi\n", {"line 1": "all:\n\techo hi"}),
    "mark.txt": ("grün".encode("utf-16"), {"line 1": "grün"}),
    "old.txt": ((LATIN * 4).encode("cp1252"), {"line 1": (LATIN * 4).strip()}),
    "lease.pdf": (
        made.pdf(["Notice period is three months.", "", "Signed in Bern."]),
        {"page 1": "Notice period is three months.", "page 3": "Signed in Bern."},
    ),
    "named.txt": (made.pdf(["A PDF by another name"]), {"page 1": "A PDF by another name"}),
    "letter.docx": (
        made.docx(["Dear Ann,", "the roof leaks."], [("Roof", "120")]),
        {"paragraph 1": "Dear Ann,\nthe roof leaks.\nRoof | 120"},
    ),
    "budget.xlsx": (
        made.xlsx({"Costs": [("Roof", 120), (), ("Tiles", None, 7.5)], "Empty": []}),
        {"sheet Costs, row 1": "Roof | 120\nTiles | 7.5"},
    ),
    "talk.pptx": (
        made.pptx([("Plan", "say hello"), ("End", "")]),
        {"slide 1": "Plan\nsay hello", "slide 2": "End"},
    ),
    "open.odt": (made.odt(["One", "Two"]), {"paragraph 1": "One\nTwo"}),
}


@pytest.mark.parametrize("name", GOOD)
async def test_text_and_its_places(worker: Extractor, tmp_path: Path, name: str) -> None:
    data, expected = GOOD[name]
    (tmp_path / name).write_bytes(data)
    extract = await read(worker, tmp_path / name)
    assert (extract.status, extract.problem) == (Status.READ, "")
    assert places(extract) == expected
    again = await read(worker, tmp_path / name, extract.sha256)
    assert (again.status, again.chunks) == (Status.SAME, ())


async def test_of_a_page_the_main_text_is_kept(worker: Extractor, tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text(PAGE, "utf-8")
    extract = await read(worker, tmp_path / "page.html")
    text = "\n".join(places(extract).values())
    assert "The boiler was serviced in October by Mrs Grün." in text.replace("\n", " ")
    assert "The next visit is due in a year." in text
    assert "hidden" not in text


async def test_long_text_is_cut_where_it_can_be_cited(worker: Extractor, tmp_path: Path) -> None:
    lines = [f"This is line {number} of the book." for number in range(1, 401)]
    (tmp_path / "book.txt").write_text("\n".join(lines))
    extract = await read(worker, tmp_path / "book.txt")
    assert len(extract.chunks) > 5
    for chunk in extract.chunks:
        assert chunk.text.split("\n")[0] == lines[chunk.number - 1]
    assert "\n".join(chunk.text for chunk in extract.chunks) == "\n".join(lines)


BAD = {
    "empty.txt": (b"", Status.EMPTY),
    "empty.pdf": (b"", Status.FAILED),
    "empty.docx": (b"", Status.FAILED),
    "scanned.pdf": (made.pdf(["", ""]), Status.EMPTY),
    "protected.pdf": (made.pdf(["secret"], "letmein"), Status.FAILED),
    "cut.pdf": (made.pdf(["half"] * 5)[:700], Status.FAILED),
    "loop.pdf": (made.looping_pdf(), Status.FAILED),
    "program.odd": (b"\x7fELF\0\0\1\2" * 99, Status.NOT_TEXT),
    "noise.docx": (os.urandom(3000), Status.FAILED),
    "noise.xlsx": (b"PK\3\4" + os.urandom(3000), Status.FAILED),
    "other.pptx": (made.archive({"a": b"b"}), Status.FAILED),
    "other.odt": (made.archive({"a": b"b"}), Status.FAILED),
    "bomb.docx": (
        made.bomb(made.docx(["x"]), "word/document.xml", 200 << 20),
        Status.FAILED,
    ),
    "bomb.pptx": (made.archive({"media/a.bin": b"\0" * (600 << 20)}), Status.FAILED),
    "laughs.docx": (made.entities_docx(), None),
    "deep.html": (b"<div>" * 300_000 + b"bottom", None),
    "deep.json": (b"[" * 100_000, Status.READ),
    "noise.html": (os.urandom(5000), None),
}


@pytest.mark.attack
@pytest.mark.parametrize("name", BAD)
async def test_a_bad_file_is_said_to_be_one_and_the_next_is_read(
    worker: Extractor, tmp_path: Path, name: str
) -> None:
    data, expected = BAD[name]
    (tmp_path / name).write_bytes(data)
    (tmp_path / "next.txt").write_text("still here")
    extract = await read(worker, tmp_path / name)
    if expected is not None:
        assert extract.status is expected
    if extract.status is Status.FAILED:
        assert extract.problem
        assert extract.chunks == ()
    assert "lollol" not in "".join(chunk.text for chunk in extract.chunks)
    assert places(await read(worker, tmp_path / "next.txt")) == {"line 1": "still here"}


async def test_of_a_huge_text_the_beginning_is_read(worker: Extractor, tmp_path: Path) -> None:
    path = tmp_path / "huge.log"
    with path.open("wb") as file:
        file.write(b"It began well.\n" * 600_000)
        file.truncate(2 << 30)
    extract = await read(worker, path)
    assert extract.status is Status.PARTLY
    assert extract.problem == "only its beginning was read"
    assert extract.chunks[0].text.startswith("It began well.")
    assert sum(len(chunk.text) for chunk in extract.chunks) <= ReadLimits().chars


@pytest.mark.attack
async def test_a_pdf_that_never_ends_is_left_and_the_next_file_is_read(tmp_path: Path) -> None:
    (tmp_path / "endless.pdf").write_bytes(made.endless_pdf())
    (tmp_path / "next.txt").write_text("still here")
    async with extractor(ReadLimits(seconds=0.5)) as reader:
        extract = await read(reader, tmp_path / "endless.pdf")
        assert extract.status is Status.FAILED
        assert extract.chunks == ()
        assert (await read(reader, tmp_path / "next.txt")).status is Status.READ
        assert reader.started == 2


@pytest.mark.attack
async def test_a_document_that_wants_too_much_memory_fails_alone(tmp_path: Path) -> None:
    rows = [[f"cell {row}"] for row in range(60_000)]
    (tmp_path / "large.docx").write_bytes(
        made.bomb(made.docx([row[0] for row in rows[:50]]), "word/document.xml", 90 << 20)
    )
    (tmp_path / "next.txt").write_text("still here")
    async with extractor(ReadLimits(memory_bytes=256 << 20)) as reader:
        extract = await read(reader, tmp_path / "large.docx")
        assert extract.status is Status.FAILED
        assert (await read(reader, tmp_path / "next.txt")).status is Status.READ


async def test_a_worker_that_was_killed_while_idle_is_no_files_fault(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("text")
    async with extractor() as reader:
        assert (await read(reader, tmp_path / "a.txt")).status is Status.READ
        assert reader.pid > 0
        os.kill(reader.pid, signal.SIGKILL)
        assert (await read(reader, tmp_path / "a.txt")).status is Status.READ
        assert reader.started == 2


async def test_who_cancels_ends_the_process_that_reads(tmp_path: Path) -> None:
    (tmp_path / "endless.pdf").write_bytes(made.endless_pdf())
    (tmp_path / "next.txt").write_text("still here")
    async with extractor() as reader:
        await read(reader, tmp_path / "next.txt")
        pid = reader.pid
        assert pid > 0
        reading = asyncio.create_task(read(reader, tmp_path / "endless.pdf"))
        await asyncio.sleep(0)  # it has handed the file over and waits
        reading.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reading
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)
        assert (await read(reader, tmp_path / "next.txt")).status is Status.READ


async def test_a_worker_is_replaced_after_many_files(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("text")
    async with extractor(ReadLimits(files_a_worker=2)) as reader:
        for _ in range(5):
            assert (await read(reader, tmp_path / "a.txt")).status is Status.READ
        assert reader.started == 3


PROBE = """
import os, socket, subprocess, sys
from homing_agent.documents.confine import confine
from homing_agent.documents.limits import ReadLimits
confine(ReadLimits())
def refused(act):
    try:
        act()
    except (OSError, MemoryError):
        return True
    return False
print([
    refused(lambda: socket.socket()),
    refused(lambda: subprocess.run(["true"])),
    refused(lambda: os.system("true")),
    refused(lambda: open(sys.argv[1], "w")),
    refused(lambda: os.open(sys.argv[1], os.O_CREAT | os.O_WRONLY)),
    refused(lambda: os.remove(__file__ if "__file__" in globals() else "/nothing")),
    refused(lambda: bytearray(2 << 30)),
    refused(lambda: os.fork()),
])
"""


@pytest.mark.attack
async def test_the_reader_of_documents_can_neither_write_nor_call_nor_start_anything(
    tmp_path: Path,
) -> None:
    target = tmp_path / "written"
    done = await asyncio.to_thread(run_program, [sys.executable, "-c", PROBE, str(target)])
    assert done.out.strip() == str([True] * 8), done.err
    assert not target.exists()


WHOLE: dict[str, object] = {
    "number": 1,
    "status": "read",
    "problem": "",
    "sha256": "",
    "pages": 0,
    "chunks": [],
}
WRONG: list[dict[str, object]] = [
    {"number": True},
    {"number": 1 << 40},
    {"status": "odd"},
    {"status": []},
    {"problem": 3},
    {"sha256": "x"},
    {"pages": -1},
    {"chunks": {}},
    {"chunks": [1]},
    {"chunks": [["text", "mile", 1, ""]]},
    {"chunks": [["text", "line", 1.5, ""]]},
    {"chunks": [["x" * 2000, "line", 1, ""]]},
]
MALFORMED = [
    b"",
    b"[]",
    b"{",
    b"\xff\xfe",
    b"[" * 100_000,
    b'{"number": 1}',
    *(json.dumps({**WHOLE, **wrong}).encode() for wrong in WRONG),
]


@pytest.mark.attack
@pytest.mark.parametrize("data", MALFORMED, ids=range(len(MALFORMED)))
async def test_what_a_taken_over_worker_says_is_checked(data: bytes) -> None:
    with pytest.raises(InvalidDataError):
        decode_extract(data)
    with pytest.raises(InvalidDataError):
        decode_task(data)


@pytest.mark.attack
async def test_what_a_taken_over_worker_says_cannot_reach_a_terminal() -> None:
    chunk = ["a\x1b[31m\0b", "row", 1, "x\u202ey\n"]
    fields = {"number": 1, "status": "failed", "problem": "\x1b]0;x\n", "sha256": "", "pages": 0}
    extract = decode_extract(json.dumps({**fields, "chunks": [chunk]}).encode())
    assert extract.problem == "]0;x"
    assert (extract.chunks[0].text, extract.chunks[0].label) == ("a[31mb", "xy")


# What every reader keeps to


@pytest.mark.parametrize("kind", ["fake", "process"])
async def test_readers_agree(kind: str, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\ntwo\n")
    (tmp_path / "empty.txt").write_text("")
    reader: Reader = FakeReader() if kind == "fake" else Extractor()
    try:
        extract = await read(reader, tmp_path / "a.txt")
        assert extract.status is Status.READ
        assert places(extract) == {"line 1": "one\ntwo"}
        assert (await read(reader, tmp_path / "a.txt", extract.sha256)).status is Status.SAME
        assert (await read(reader, tmp_path / "empty.txt")).status is Status.EMPTY
    finally:
        await reader.close()
        await reader.close()
