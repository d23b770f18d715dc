"""Jobs in a SQLite file: who may read it, what is left in it, and what goes wrong with it."""

from __future__ import annotations

import contextlib
import shutil
import sqlite3
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest
from homing_core.errors import (
    ConfigError,
    HomingError,
    IntegrityError,
    InvalidDataError,
    UnavailableError,
)
from homing_core.jobs import JobProgress, JobState
from homing_node.jobs.sql_access import PART_BYTES
from homing_node.jobs.sql_engine import JOBS_FILE
from homing_node.jobs.sql_store import SqlJobStore
from sqlalchemy import Engine, event
from support.job_rows import ANN, NOW, effect, ending, entry, new_job, put, question, running

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path

    from homing_node.jobs.store import NewJob

SAID = b"quiet-heron-by-the-mill"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "d" / JOBS_FILE


@pytest.fixture
def store(path: Path) -> Generator[SqlJobStore]:
    with contextlib.closing(SqlJobStore(path)) as opened:
        yield opened


def on_disk(folder: Path) -> bytes:
    return b"".join(file.read_bytes() for file in sorted(folder.iterdir()))


def life(store: SqlJobStore, job: NewJob) -> None:
    """A job that uses everything, up to its end."""
    row = running(store, job)
    for step in range(1, 4):
        store.begin_effect(row.fence, effect(step))
        store.put_note(row.fence, SAID.decode() + str(step), b"sealed")
        progress = JobProgress(step, 3, "files", SAID.decode())
        store.append(row.fence, entry(JobState.RUNNING, progress=progress))
    store.ask(row.fence, question(row.key), entry(JobState.WAITING_APPROVAL))
    store.finish(store.get(row.key).fence, ending(b"sealed result"))


def test_only_its_owner_reads_the_file(path: Path, store: SqlJobStore) -> None:
    put(store)
    assert path.parent.stat().st_mode & 0o777 == 0o700
    for file in path.parent.iterdir():
        assert file.stat().st_mode & 0o777 == 0o600, file.name
    store.close()
    path.chmod(0o644)
    with pytest.raises(ConfigError, match="chmod 600"):
        SqlJobStore(path)


@pytest.mark.attack
def test_no_key_of_a_job_that_ended_is_in_the_file_or_its_log(
    path: Path, store: SqlJobStore
) -> None:
    """Also among many jobs that come and go, where SQLite moves rows between its pages."""
    jobs = [new_job(ANN) for _ in range(60)]
    alive = [new_job(ANN) for _ in range(30)]
    for job in jobs[::2] + alive[::2]:
        put(store, job)
    found = on_disk(path.parent)
    assert all(job.data_key in found for job in jobs[::2])  # the search would find them
    with contextlib.closing(SqlJobStore(path)) as other:
        for job in jobs[1::2] + alive[1::2]:
            put(other, job)
        for number, job in enumerate(jobs):
            life(other if number % 2 else store, job)
    found = on_disk(path.parent)
    assert not any(job.data_key in found for job in jobs)
    assert all(job.data_key in found for job in alive)
    assert SAID not in found  # nor did it ever lie there in plain


@pytest.mark.attack
def test_a_reader_delays_the_wiping_no_longer_than_it_reads(path: Path, store: SqlJobStore) -> None:
    job = new_job()
    row = running(store, job)
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM homing_jobs").fetchone()
        store.finish(row.fence, ending(b"result"))
        assert job.data_key in on_disk(path.parent)  # the stated limit
        copy = path.parent.with_name("killed")
        shutil.copytree(path.parent, copy)
        reader.execute("ROLLBACK")
    put(store)
    assert job.data_key not in on_disk(path.parent)
    assert job.data_key in on_disk(copy)
    SqlJobStore(copy / JOBS_FILE).close()  # what a kill just then left is wiped at the next start
    assert job.data_key not in on_disk(copy)


def test_several_daemons_open_a_new_file_at_once(path: Path) -> None:
    code = (
        "import sys, pathlib; from homing_node.jobs.sql_store import SqlJobStore; "
        "SqlJobStore(pathlib.Path(sys.argv[1])).close()"
    )
    command = [sys.executable, "-c", code, str(path)]
    processes = [subprocess.Popen(command) for _ in range(3)]  # noqa: S603  # our own code
    with ThreadPoolExecutor(4) as pool:
        for opened in pool.map(SqlJobStore, [path] * 4):
            opened.close()
    assert [process.wait(60) for process in processes] == [0, 0, 0]


def test_jobs_are_there_after_a_restart(path: Path) -> None:
    first = SqlJobStore(path)
    row = put(first)
    first.close()
    with contextlib.closing(SqlJobStore(f"sqlite:///{path}")) as again:
        assert again.get(row.key) == row


def test_a_file_of_a_newer_version_is_left_alone(path: Path) -> None:
    SqlJobStore(path).close()
    with contextlib.closing(sqlite3.connect(path)) as file, file:
        file.execute("UPDATE homing_jobs_schema SET version = 1000")
    with pytest.raises(InvalidDataError, match="newer Homing"):
        SqlJobStore(path)


@pytest.mark.parametrize("killed", [False, True])
def test_a_file_of_the_first_version_is_brought_up_to_date(path: Path, *, killed: bool) -> None:
    with contextlib.closing(SqlJobStore(path)) as store:
        row = running(store)
        asked = question(row.key)
        store.ask(row.fence, asked, entry(JobState.WAITING_APPROVAL))
        row = store.get(row.key)
    with contextlib.closing(sqlite3.connect(path)) as file, file:
        file.execute("DELETE FROM homing_jobs_schema")
        file.execute("INSERT INTO homing_jobs_schema VALUES (1)")
        if not killed:  # in the middle of bringing it up to date
            file.execute("ALTER TABLE homing_job_questions DROP COLUMN spent")
    for _ in range(2):
        with contextlib.closing(SqlJobStore(path)) as store:
            assert store.get(row.key) == row
            assert store.questions() == (asked,)


def test_a_file_with_other_tables_is_not_called_damaged(path: Path) -> None:
    with contextlib.closing(SqlJobStore(path)) as store:
        with contextlib.closing(sqlite3.connect(path)) as file, file:
            file.execute("ALTER TABLE homing_jobs RENAME COLUMN device TO phone")
        with pytest.raises(IntegrityError, match=f"{JOBS_FILE} has other tables"):
            put(store)


@pytest.mark.parametrize("broken", ["text", "cut", "middle", "row", "table"])
def test_a_damaged_file_is_said_to_be_and_is_not_touched(path: Path, broken: str) -> None:
    with contextlib.closing(SqlJobStore(path)) as store:
        row = put(store)
        for _ in range(40):
            put(store)
    if broken in {"row", "table"}:
        with contextlib.closing(sqlite3.connect(path)) as file, file:
            file.execute(
                "UPDATE homing_jobs SET state = 'dreaming'"
                if broken == "row"
                else "DROP TABLE homing_job_secrets"
            )
    else:
        whole = path.read_bytes()
        middle = whole[:5000] + b"\xff" * 30_000 + whole[35_000:]
        path.write_bytes(
            {"text": b"no database at all" * 99, "cut": whole[:9000], "middle": middle}[broken]
        )
    before = path.read_bytes()
    with (
        pytest.raises(IntegrityError, match=r"damaged|has other tables") as caught,
        contextlib.closing(SqlJobStore(path, busy_s=0.1)) as store,
    ):
        store.get(row.key)
    assert "backup" in caught.value.hint
    assert path.read_bytes() == before


def test_another_programs_file_is_refused(path: Path) -> None:
    path.parent.mkdir(mode=0o700)
    path.touch(0o600)
    with contextlib.closing(sqlite3.connect(path)) as file, file:
        file.execute("CREATE TABLE songs (name TEXT)")
    with pytest.raises(ConfigError, match="another program"):
        SqlJobStore(path)


def test_a_locked_file_is_waited_for_and_then_said_to_be(path: Path) -> None:
    with contextlib.closing(SqlJobStore(path, busy_s=0.1)) as store:
        row = put(store)
        with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as holder:
            holder.execute("BEGIN IMMEDIATE")
            with pytest.raises(UnavailableError, match="another program is using it"):
                put(store)
            assert store.get(row.key) == row  # looking goes on
            with pytest.raises(UnavailableError):
                SqlJobStore(path, busy_s=0.1)
            holder.execute("ROLLBACK")
        assert put(store)


def fill(store: SqlJobStore, count: int) -> None:
    for _ in range(count):
        put(store)


def test_a_full_disk_loses_nothing(path: Path) -> None:
    pages = 120

    def small_disk(connection: sqlite3.Connection, _: object) -> None:
        connection.execute(f"PRAGMA max_page_count = {pages}")

    event.listen(Engine, "connect", small_disk)
    try:
        with contextlib.closing(SqlJobStore(path)) as store:
            row = running(store)
            for size in (5 * PART_BYTES, 40 * PART_BYTES):
                with pytest.raises(UnavailableError, match="the disk is full") as caught:
                    store.finish(row.fence, ending(bytes(size)))
                assert "space" in caught.value.hint
            assert store.get(row.key) == row
            assert all(store.secrets(row.key))
            with pytest.raises(UnavailableError):
                fill(store, pages)
            assert len(store.unended()) > 1
            store.drop([ANN])
            assert put(store)  # there is room again
    finally:
        event.remove(Engine, "connect", small_disk)


def test_a_file_that_was_moved_away_is_not_written_on(path: Path) -> None:
    with contextlib.closing(SqlJobStore(path)) as store:
        put(store)
        path.rename(path.with_suffix(".away"))
        with pytest.raises(UnavailableError, match="moved or deleted"):
            put(store)


@pytest.mark.parametrize(
    "url",
    [
        "",
        "nonsense",
        "sqlite://",
        "sqlite:///:memory:",
        "sqlite:///x?mode=ro",
        "mysql://ann:hunter2@host/jobs",
        "postgresql://ann:hunter2@host:port/jobs",
    ],
)
def test_a_url_that_cannot_be_used_is_refused_without_its_password(url: str) -> None:
    with pytest.raises(ConfigError) as caught:
        SqlJobStore(url)
    assert "hunter2" not in whole_story(caught.value)


@pytest.mark.attack
def test_a_device_is_not_told_where_the_file_lies(path: Path) -> None:
    """What the store cannot do goes to whoever hands a job in; its words name no folder."""
    store = SqlJobStore(path, busy_s=0.1)
    words: list[str] = []
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(UnavailableError) as busy:
            store.submit(new_job(), 0, 0)
        words.append(str(busy.value))
    away = path.with_suffix(".away")
    path.rename(away)
    with pytest.raises(UnavailableError) as moved:
        store.submit(new_job(), 0, 0)
    words.append(str(moved.value))
    away.rename(path)
    store.close()
    for said in words:
        assert path.name in said
        assert str(path.parent) not in said


def whole_story(error: BaseException | None) -> str:
    """All that a log could say of an error and its causes."""
    text = ""
    while error is not None:
        text += f"{error} {error!r} {getattr(error, 'orig', '')!r}\n"
        error = error.__cause__ or error.__context__
    return text


@pytest.mark.attack
def test_an_error_of_the_database_quotes_no_key_and_no_statement(path: Path) -> None:
    with contextlib.closing(SqlJobStore(path)) as store:
        put(store)
        with contextlib.closing(sqlite3.connect(path)) as file, file:
            file.execute("DROP TABLE homing_job_secrets")
        job = new_job()
        with pytest.raises(HomingError) as caught:
            put(store, job)
    said = whole_story(caught.value)
    assert job.data_key.hex() not in said
    assert repr(job.data_key)[2:20] not in said
    assert job.digest not in said


def test_times_are_kept_to_the_fraction(store: SqlJobStore) -> None:
    row = put(store, new_job(at=NOW + 0.123456))
    assert store.get(row.key).submitted_at == NOW + 0.123456
