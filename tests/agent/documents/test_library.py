"""Folders, their index, and that nothing outside of them is ever read."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sqlite3
import stat
import sys
from typing import TYPE_CHECKING

import pytest
from homing_agent.documents import library as library_module
from homing_agent.documents.library import Library
from homing_agent.documents.limits import FolderLimits
from homing_agent.documents.messages import Status
from homing_agent.documents.opening import NoFileError, open_file
from homing_agent.documents.query import build_query
from homing_agent.documents.roots import Roots
from homing_agent.documents.rows import SCHEMA
from homing_agent.documents.testing import FakeReader
from homing_core.errors import HomingError, InternalError, NotFoundError, RefusedError
from homing_core.testing import FakeClock
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.commands import run_program

if TYPE_CHECKING:
    from pathlib import Path

    from homing_agent.documents.library import Refreshed
    from homing_core.jobs import JobProgress


class Shelf:
    """A folder of documents and a library over it."""

    def __init__(
        self, base: Path, limits: FolderLimits | None = None, clock: FakeClock | None = None
    ) -> None:
        self.base = base
        self.folder = base / "Documents"
        self.folder.mkdir(exist_ok=True)
        self.secret = base / "secret"
        self.secret.mkdir(exist_ok=True)
        (self.secret / "diary.txt").write_text("the secret of the attic")
        self.database = base / "data" / "documents.db"
        self.progress: list[JobProgress] = []
        self.reader = FakeReader()
        self.roots = Roots.of([self.folder], never=[base / "data"])
        self.library = Library(
            self.database,
            self.roots,
            reader=self.reader,
            limits=limits,
            clock=clock,
        )
        self.place = self.roots.all()[0]

    def write(self, name: str, text: str) -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    async def refresh(self, seconds: float = 0.0) -> Refreshed:
        return await self.library.refresh(self.place, self.progress.append, seconds)

    async def found(self, query: str, most: int = 10) -> list[str]:
        hits = await self.library.search(self.roots.all(), query, most)
        return [hit.citation for hit in hits]


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    return Shelf(tmp_path)


async def test_documents_are_found_with_their_places(shelf: Shelf) -> None:
    shelf.write("lease.txt", "Rent.\n" * 250 + "The notice period is three months.\n")
    shelf.write("house/roof.md", "The roof was repaired in March.")
    done = await shelf.refresh()
    assert (done.files, done.read, done.left) == (2, 2, 0)
    assert await shelf.found("notice period") == ["Documents/lease.txt:line 201"]
    assert await shelf.found('"repaired in march"') == ["Documents/house/roof.md:line 1"]
    assert await shelf.found("repai*") == ["Documents/house/roof.md:line 1"]
    assert sorted(await shelf.found("What is the notice for the roof?")) == [
        "Documents/house/roof.md:line 1",
        "Documents/lease.txt:line 201",
    ]
    assert await shelf.found("house") == ["Documents/house/roof.md:line 1"]  # by its name
    assert await shelf.found("elephants") == []
    last = shelf.progress[-1]
    assert (last.done, last.total, last.unit) == (2, 2, "files")
    await shelf.library.close()


async def test_only_what_changed_is_read_again_and_what_is_gone_is_forgotten(shelf: Shelf) -> None:
    kept, changed, gone = (shelf.write(f"{name}.txt", f"{name} zebra") for name in "abc")
    await shelf.refresh()
    assert len(shelf.reader.read_kinds) == 3
    assert (await shelf.refresh()).read == 0
    changed.write_text("another text with a zebra in it")
    gone.unlink()
    os.utime(kept, ns=(1, 1))  # touched, with the same content
    done = await shelf.refresh()
    assert (done.files, done.read) == (2, 2)
    assert sorted(await shelf.found("zebra")) == [
        "Documents/a.txt:line 1",
        "Documents/b.txt:line 1",
    ]
    assert (await shelf.refresh()).read == 0
    await shelf.library.close()


async def test_a_file_that_failed_is_tried_again_when_it_has_changed(shelf: Shelf) -> None:
    path = shelf.write("a.pdf", "DAMAGED")
    shelf.write("b.txt", "fine")
    assert (await shelf.refresh()).read == 2
    assert (await shelf.refresh()).read == 0
    files = await shelf.library.files(shelf.place)
    assert [(file.status, file.problem) for file in files] == [
        (Status.FAILED, "it is damaged"),
        (Status.READ, ""),
    ]
    path.write_text("whole again")
    assert (await shelf.refresh()).read == 1
    assert await shelf.found("whole") == ["Documents/a.pdf:line 1"]
    await shelf.library.close()


async def test_a_file_that_may_not_be_opened_is_tried_each_time(
    shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    shelf.write("a.txt", "closed")
    with monkeypatch.context() as patched:
        patched.setattr(library_module, "open_file", _refuse)
        await shelf.refresh()
    files = await shelf.library.files(shelf.place)
    assert files[0].status is Status.UNREADABLE
    assert (await shelf.refresh()).read == 1
    assert await shelf.found("closed") == ["Documents/a.txt:line 1"]
    await shelf.library.close()


def _refuse(*_: object) -> int:
    raise PermissionError


async def test_a_file_that_grows_while_it_is_read_is_read_again(shelf: Shelf) -> None:
    path = shelf.write("a.txt", "first")

    def grow(_: str) -> None:
        path.write_text("first and second")

    shelf.reader.on_read = grow
    await shelf.refresh()
    shelf.reader.on_read = None
    assert (await shelf.refresh()).read == 1
    assert await shelf.found("second") == ["Documents/a.txt:line 1"]
    await shelf.library.close()


async def test_time_for_reading_is_bounded_and_the_latest_come_first(tmp_path: Path) -> None:
    clock = FakeClock()
    shelf = Shelf(tmp_path, clock=clock)
    for number in range(5):
        path = shelf.write(f"{number}.txt", f"text {number}")
        os.utime(path, ns=(number * 10**9, number * 10**9))
    shelf.reader.on_read = lambda _: clock.advance(10)
    done = await shelf.refresh(seconds=15)
    assert (done.files, done.read, done.left) == (5, 2, 3)
    assert sorted(await shelf.found("text")) == ["Documents/3.txt:line 1", "Documents/4.txt:line 1"]
    assert (await shelf.refresh()).left == 0
    await shelf.library.close()


async def test_a_folder_with_too_much_is_said_to_be_one(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path, limits=FolderLimits(files=3, depth=2))
    for number in range(5):
        shelf.write(f"{number}.txt", "x")
    done = await shelf.refresh()
    assert (done.files, done.complete) == (3, False)
    await shelf.library.close()


async def test_deep_folders_end_somewhere(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path, limits=FolderLimits(depth=3))
    shelf.write("1/2/3/here.txt", "here")
    shelf.write("1/2/3/4/there.txt", "there")
    done = await shelf.refresh()
    assert (done.files, done.complete) == (1, False)
    await shelf.library.close()


# Nothing outside


@pytest.mark.attack
async def test_links_pipes_devices_and_hidden_things_are_never_opened(shelf: Shelf) -> None:
    (shelf.folder / "link.txt").symlink_to(shelf.secret / "diary.txt")
    (shelf.folder / "linked").symlink_to(shelf.secret)
    (shelf.folder / "zero.txt").symlink_to("/dev/zero")
    os.mkfifo(shelf.folder / "pipe.txt")
    with contextlib.suppress(PermissionError):
        os.mknod(shelf.folder / "device.txt", 0o600 | stat.S_IFCHR, os.makedev(1, 5))
    shelf.write(".hidden/a.txt", "hidden")
    shelf.write(".env", "PASSWORD=1")
    shelf.write("id_ed25519", "key")
    shelf.write("server.pem", "key")
    shelf.write("a.txt", "visible")
    async with asyncio.timeout(10):
        done = await shelf.refresh()
    assert done.files == 1
    assert [file.path for file in await shelf.library.files(shelf.place)] == [b"a.txt"]
    await shelf.library.close()


@pytest.mark.attack
@pytest.mark.parametrize("what", ["file", "folder"])
async def test_a_name_that_is_swapped_for_a_link_in_the_last_moment_leads_nowhere(
    shelf: Shelf, what: str
) -> None:
    first = shelf.write("first.txt", "first")
    os.utime(first, ns=(10**18, 10**18 * 2))
    path = shelf.write("inner/diary.txt", "harmless")

    def swap(text: str) -> None:
        if text != "first":
            return
        path.unlink()
        if what == "file":
            path.symlink_to(shelf.secret / "diary.txt")
        else:
            path.parent.rmdir()
            path.parent.symlink_to(shelf.secret)

    shelf.reader.on_read = swap
    await shelf.refresh()
    assert path.read_text() == "the secret of the attic"  # for whoever follows links
    assert await shelf.found("secret attic") == []
    files = await shelf.library.files(shelf.place)
    assert [file.status for file in files] == [Status.READ, Status.UNREADABLE]
    await shelf.library.close()


@pytest.mark.attack
async def test_the_nodes_own_folder_is_left_out(tmp_path: Path) -> None:
    data = tmp_path / "Documents" / "homing"
    data.mkdir(parents=True)
    (data / "keys.txt").write_text("private")
    (data / "inner").mkdir()
    (tmp_path / "Documents" / "a.txt").write_text("open")
    roots = Roots.of([tmp_path / "Documents"], never=[data])
    library = Library(tmp_path / "documents.db", roots, reader=FakeReader())
    assert (await library.refresh(roots.all()[0], lambda _: None)).files == 1
    for inside in ("homing", "homing/inner", str(data / "inner")):
        with pytest.raises(RefusedError):
            roots.find(inside)
    await library.close()


@pytest.mark.attack
@pytest.mark.parametrize(
    "folder",
    [
        "/",
        "/etc",
        "..",
        "../secret",
        "Documents/../../secret",
        "Documents/../secret",
        "~root",
        "~",
        "link",
        "Documents/link",
        "Documents/.hidden",
        "{base}/secret",
        "{base}/Documents/../secret",
        "{base}/Documents/link",
        "{base}/Documentsx",
        "a\0b",
        "Documents/a.txt",
        "nowhere",
        "x" * 5000,
    ],
)
def test_no_folder_outside_can_be_named(shelf: Shelf, folder: str) -> None:
    (shelf.folder / "link").symlink_to(shelf.secret)
    shelf.write(".hidden/a.txt", "hidden")
    shelf.write("a.txt", "a file")
    (shelf.base / "Documentsx").mkdir()
    with pytest.raises((RefusedError, NotFoundError)) as caught:
        shelf.roots.find(folder.format(base=shelf.base))
    assert "Documents" in caught.value.hint


def test_a_folder_is_found_by_name_by_path_and_in_a_models_words(shelf: Shelf) -> None:
    shelf.write("Tax 2025/a.txt", "x")
    linked = shelf.base / "linked"
    linked.symlink_to(shelf.folder)
    for words in ("Documents", "documents", "my Documents folder", str(shelf.folder), "", "'.'"):
        assert shelf.roots.find(words).parts == (), words
    inner = str(shelf.folder / "Tax 2025")
    for words in ("Tax 2025", "Documents/Tax 2025/", "the Tax 2025 folder", inner):
        assert shelf.roots.find(words).shown == "Documents/Tax 2025", words
    assert Roots.of([linked]).find(str(linked / "Tax 2025")).parts == ("Tax 2025",)
    assert Roots.of([linked]).find(inner).parts == ("Tax 2025",)
    assert Roots.of(["/a/b", "/c/b", "/"]).names == ("b", "b 2", "files")


def test_what_is_no_file_is_not_opened(shelf: Shelf) -> None:
    os.mkfifo(shelf.folder / "pipe")
    for name in (b"pipe", b"", b".", b"..", b"../secret/diary.txt", b"nothing"):
        with pytest.raises((NoFileError, FileNotFoundError)):
            os.close(open_file(shelf.folder, name))


async def test_names_of_files_may_hold_anything(shelf: Shelf) -> None:
    for name in (b"a\xff\xfe.txt", b"b\n\x1b[31m.txt", "c\u202etxt.md".encode()):
        with open(os.fsencode(shelf.folder) + b"/" + name, "w") as file:  # noqa: PTH123, ASYNC230
            file.write("odd name")
    assert (await shelf.refresh()).read == 3
    found = await shelf.found("odd name")
    assert len(found) == 3
    assert all(line.isprintable() for line in found)
    await shelf.library.close()


# The index


async def test_several_folders_are_searched_together_or_alone(tmp_path: Path) -> None:
    for name in ("work", "home"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.txt").write_text(f"taxes at {name}")
    roots = Roots({"Work": tmp_path / "work", "Home": tmp_path / "home"})
    library = Library(tmp_path / "documents.db", roots, reader=FakeReader())
    for place in roots.all():
        await library.refresh(place, lambda _: None)
    both = await library.search(roots.all(), "taxes", 5)
    assert {hit.citation for hit in both} == {"Work/a.txt:line 1", "Home/a.txt:line 1"}
    one = await library.search([roots.find("home")], "taxes", 5)
    assert [hit.citation for hit in one] == ["Home/a.txt:line 1"]
    await library.close()


async def test_a_folder_within_is_brought_up_to_date_alone(shelf: Shelf) -> None:
    shelf.write("a/one.txt", "apple")
    shelf.write("a0/two.txt", "apple")
    shelf.write("ab.txt", "apple")
    inner = shelf.roots.find("a")
    assert (await shelf.library.refresh(inner, lambda _: None)).files == 1
    await shelf.refresh()
    hits = await shelf.library.search([inner], "apple", 5)
    assert [hit.citation for hit in hits] == ["Documents/a/one.txt:line 1"]
    (shelf.folder / "a/one.txt").unlink()
    await shelf.library.refresh(inner, lambda _: None)
    assert len(await shelf.found("apple")) == 2
    await shelf.library.close()


async def test_the_index_is_its_users_alone(shelf: Shelf) -> None:
    shelf.write("a.txt", "private")
    await shelf.refresh()
    assert stat.S_IMODE(shelf.database.stat().st_mode) == 0o600
    await shelf.library.close()


@pytest.mark.parametrize("damage", ["head", "middle", "none of ours", "another version"])
async def test_a_damaged_index_is_made_anew(tmp_path: Path, damage: str) -> None:
    shelf = Shelf(tmp_path)
    for number in range(30):
        shelf.write(f"{number}.txt", f"walrus {number}\n" * 40)
    await shelf.refresh()
    await shelf.library.close()
    data = bytearray(shelf.database.read_bytes())
    if damage == "head":
        data[:100] = b"\xff" * 100
    elif damage == "middle":
        data[4096:] = b"\xa5" * (len(data) - 4096)
    elif damage == "none of ours":
        data = bytearray(b"hello")
    shelf.database.write_bytes(data)
    if damage == "another version":
        with contextlib.closing(sqlite3.connect(shelf.database)) as db:
            db.execute("PRAGMA user_version = 99")
    again = Shelf(tmp_path)
    done = await again.refresh()
    assert (done.files, done.read, done.rebuilt) == (30, 30, True)
    assert len(await again.found("walrus", 30)) == 30
    assert (await again.refresh()).rebuilt is False
    await again.library.close()


async def test_an_index_that_cannot_be_opened_is_an_error_that_says_so(
    shelf: Shelf,
) -> None:
    shelf.write("a.txt", "x")
    shelf.database.parent.mkdir()
    shelf.database.mkdir()
    with pytest.raises(HomingError) as caught:
        await shelf.refresh()
    assert isinstance(caught.value, InternalError)
    assert caught.value.hint
    shelf.database.rmdir()
    assert (await shelf.refresh()).read == 1
    await shelf.library.close()


async def test_a_folder_that_is_away_keeps_its_index(shelf: Shelf) -> None:
    shelf.write("a.txt", "memory")
    await shelf.refresh()
    away = shelf.folder.rename(shelf.base / "away")
    with pytest.raises(NotFoundError):
        await shelf.refresh()
    assert await shelf.found("memory") == ["Documents/a.txt:line 1"]
    away.rename(shelf.folder)
    assert (await shelf.refresh()).read == 0
    await shelf.library.close()


async def test_who_cancels_leaves_a_whole_index(shelf: Shelf) -> None:
    for number in range(3):
        shelf.write(f"{number}.txt", f"text {number}")
    shelf.reader.hold = asyncio.Event()
    refreshing = asyncio.create_task(shelf.refresh())
    await shelf.reader.started.wait()
    refreshing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await refreshing
    shelf.reader.hold = None
    assert (await shelf.refresh()).read == 3
    await shelf.library.close()


async def test_a_search_need_not_wait_until_a_whole_folder_is_read(shelf: Shelf) -> None:
    for number in range(3):
        shelf.write(f"{number}.txt", f"text {number}")
    shelf.reader.hold = asyncio.Event()
    all_of_it = asyncio.create_task(shelf.refresh())
    await shelf.reader.started.wait()
    meanwhile = asyncio.create_task(shelf.refresh(seconds=1e-9))
    shelf.reader.hold.set()
    async with asyncio.timeout(10):
        assert (await meanwhile).read <= 1
        assert (await all_of_it).files == 3
    assert len(shelf.reader.read_kinds) == 3  # no file twice
    await shelf.library.close()


async def test_what_the_operator_has_closed_leaves_the_index(shelf: Shelf) -> None:
    shelf.write("a.txt", "walrus")
    await shelf.refresh()
    await shelf.library.close()
    (shelf.base / "Other").mkdir()
    other = Library(shelf.database, Roots.of([shelf.base / "Other"]), reader=FakeReader())
    await other.refresh(other.roots.all()[0], lambda _: None)
    await other.close()
    assert b"walrus" not in shelf.database.read_bytes()
    with contextlib.closing(sqlite3.connect(shelf.database)) as db:
        assert db.execute("SELECT count(*) FROM chunk").fetchone() == (0,)


KILLED = """
import asyncio, os, signal, sys
from pathlib import Path
from homing_agent.documents.library import Library
from homing_agent.documents.roots import Roots
from homing_agent.documents.testing import FakeReader
folder, database, after = Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3])
reader = FakeReader()
def die(_):
    if len(reader.read_kinds) > after:
        os.kill(os.getpid(), signal.SIGKILL)
reader.on_read = die
library = Library(database, Roots.of([folder]), reader=reader)
asyncio.run(library.refresh(library.roots.all()[0], lambda _: None))
"""


async def test_a_node_that_is_killed_while_it_reads_goes_on_behind_the_last_file(
    shelf: Shelf,
) -> None:
    for number in range(6):
        shelf.write(f"{number}.txt", f"walrus {number}")
    arguments = (str(shelf.folder), str(shelf.database))
    for after in (2, 1):
        probe = [sys.executable, "-c", KILLED, *arguments, str(after)]
        done = await asyncio.to_thread(run_program, probe)
        assert done.status == -signal.SIGKILL
    done_now = await shelf.refresh()
    assert (done_now.files, done_now.read, done_now.rebuilt) == (6, 3, False)
    assert len(await shelf.found("walrus")) == 6
    await shelf.library.close()


# Queries


@pytest.fixture(scope="module")
def tables() -> sqlite3.Connection:
    db = sqlite3.connect(":memory:", check_same_thread=False)
    db.executescript(SCHEMA)
    db.execute("INSERT INTO chunk VALUES (1, 1, 'name', 'some text here', 'line', 1, '')")
    return db


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=200)
@given(
    st.text(max_size=60)
    | st.text(alphabet="\"'*():^-+{}ANDORTNEAR \\%_,.a\0", max_size=40)
    | st.sampled_from(['"', '""', "AND", "a OR", "NEAR(a b)", "name:x", "*", "-a", "a\0b", "'''"])
)
@pytest.mark.attack
def test_no_text_is_a_malformed_query(tables: sqlite3.Connection, text: str) -> None:
    query = build_query(text)
    assert bool(query.strict) == bool(query.loose)
    for match in filter(None, (query.strict, query.loose)):
        rows = tables.execute("SELECT rowid FROM found WHERE found MATCH ?", (match,)).fetchall()
        assert len(rows) <= 1


def test_queries() -> None:
    assert build_query("When is the rent due?").strict == '"rent" "due"'
    assert build_query("rent OR due").loose == '"rent" * OR "due"'
    assert build_query('"notice period" lea*').strict == '"notice period" "lea" *'
    assert build_query("who are we").strict == '"who" "are" "we"'
    assert build_query("?!").strict == ""
