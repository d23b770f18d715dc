"""Noting on disk: durable, in order, never an error, never long; what breaks the file shows."""

from __future__ import annotations

import signal
import sqlite3
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from homing_core.approvals import ApprovalStatement, Verdict
from homing_core.audit import Head
from homing_core.errors import UnavailableError
from homing_core.ids import ApprovalId, RequestId
from homing_core.testing import FakeClock
from homing_core.tools import ToolId
from homing_crypto.audit import log as audit_log
from homing_crypto.audit.actions import note_approval, note_tool_run
from homing_crypto.audit.log import MOST_WAITING, SqliteAudit
from homing_crypto.audit.records import CONSOLE, NODE, AuditKind
from homing_crypto.audit.store import AuditFile, Filter
from homing_crypto.audit.verify import Broken, Verified
from homing_crypto.testing import MemoryAudit, throwaway_identity

if TYPE_CHECKING:
    from collections.abc import Iterator

WRITER = Path(__file__).parents[1] / "support" / "audit_writer.py"
IDENTITY = throwaway_identity()
DEVICE = throwaway_identity().device_id
WAIT_S = 10.0


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "audit.db"


@pytest.fixture
def audit(path: Path) -> Iterator[SqliteAudit]:
    made = SqliteAudit(path, FakeClock(), lambda: IDENTITY)
    yield made
    made.close()


def note(audit: SqliteAudit, count: int = 1) -> None:
    for n in range(count):
        audit.record(AuditKind.PAIRED, actor=CONSOLE, device=DEVICE, detail={"n": n})
    assert audit.settle(WAIT_S)


def alter(path: Path, script: str) -> None:
    connection = sqlite3.connect(path)
    connection.executescript(script)
    connection.close()


def test_what_was_noted_is_on_disk_when_the_call_comes_back(
    audit: SqliteAudit, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(audit_log, "WAIT_S", WAIT_S)
    audit.record(AuditKind.REVOKED, actor=CONSOLE, device=DEVICE)
    other = AuditFile(path)
    (entry,) = other.entries()
    other.close()
    assert (entry.seq, entry.kind, entry.actor, entry.device) == (1, "revoked", "console", DEVICE)


def test_the_chain_goes_on_after_a_restart(path: Path) -> None:
    for _ in range(3):
        audit = SqliteAudit(path, FakeClock(), lambda: IDENTITY)
        note(audit, 2)
        audit.close()
    file = AuditFile(path)
    assert [entry.seq for entry in file.entries()] == [1, 2, 3, 4, 5, 6]
    assert isinstance(file.check(), Verified)
    assert [entry.seq for entry in file.newest(2, Filter())] == [5, 6]
    assert file.newest(2, Filter(kinds=("revoked",))) == ()
    assert len(file.newest(9, Filter(device=DEVICE[:8]))) == 6
    assert file.newest(9, Filter(since_ms=1 << 60)) == ()
    file.close()


def test_many_threads_note_at_once(audit: SqliteAudit) -> None:
    threads = [threading.Thread(target=note, args=(audit, 20)) for _ in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert audit.file.end()[0] == 100
    assert isinstance(audit.file.check(), Verified)


class FullDisk:
    """Fails until it is told to let go."""

    def __init__(self, audit: SqliteAudit) -> None:
        self.full = True
        self._append = audit.file.append

    def append(self, *arguments: object) -> int:
        if self.full:
            msg = "cannot use the audit log now"
            raise UnavailableError(msg)
        return self._append(*arguments)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


def test_a_full_disk_raises_nothing_holds_up_nobody_and_is_counted(
    audit: SqliteAudit, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk = FullDisk(audit)
    monkeypatch.setattr(audit_log, "_RETRY_S", (0.01,))
    monkeypatch.setattr(audit.file, "append", disk.append)
    began = time.monotonic()
    for _ in range(MOST_WAITING + 30):
        audit.record(AuditKind.APPROVAL, actor=DEVICE)
    assert time.monotonic() - began < 5.0  # one wait of 50 ms, and none after it
    assert audit.lost == 30
    disk.full = False
    assert audit.settle(WAIT_S)
    found = audit.file.check()
    assert isinstance(found, Verified)
    assert (found.seq, found.lost) == (MOST_WAITING + 1, 30)
    (gap,) = audit.file.newest(5, Filter(kinds=("gap",)))
    assert gap.facts == {"lost": 30}
    assert audit.lost == 0


def test_the_loop_is_not_held_up_by_a_slow_disk(
    audit: SqliteAudit, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = threading.Event()
    real = audit.file.append

    def slow(*arguments: object) -> int:
        assert gate.wait(WAIT_S)
        return real(*arguments)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]

    monkeypatch.setattr(audit.file, "append", slow)
    began = time.monotonic()
    for _ in range(100):
        audit.record(AuditKind.APPROVAL, actor=DEVICE)
    assert time.monotonic() - began < 2.0
    gate.set()
    assert audit.settle(WAIT_S)
    assert audit.file.end()[0] == 100


def test_whatever_it_is_given_it_raises_nothing(audit: SqliteAudit) -> None:
    audit.record(AuditKind.PAIRED, actor="a" * 999, device="\ud800", detail={"x": "y" * 9999})
    audit.record(None, actor=NODE)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    note(audit)
    assert isinstance(audit.file.check(), Verified)
    first, *_, last = audit.file.entries()
    assert (len(first.actor), first.device) == (128, "?")
    assert last.kind == "paired"
    audit.close()
    audit.record(AuditKind.PAIRED, actor=NODE)


def test_listeners_hear_of_each_commit(audit: SqliteAudit) -> None:
    heard = threading.Event()
    end = audit.listen(heard.set)
    note(audit)
    assert heard.wait(WAIT_S)
    end()


@pytest.mark.attack
@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("UPDATE entries SET actor = 'node' WHERE seq = 3", "entry 3 was altered"),
        ("DELETE FROM entries WHERE seq = 2", "entry 2 is missing"),
        ("DELETE FROM entries WHERE seq > 4", "its tail was cut"),
        ("DELETE FROM entries", "its tail was cut"),
        ("UPDATE head SET seq = 5", "signature"),
        ("UPDATE head SET signature = x'3000'", "signature"),
    ],
)
def test_a_file_that_was_changed_is_not_whole(
    audit: SqliteAudit, path: Path, script: str, words: str
) -> None:
    note(audit, 6)
    audit.close()
    alter(path, script)
    file = AuditFile(path)
    found = file.check()
    file.close()
    assert isinstance(found, Broken)
    assert words in found.why


@pytest.mark.attack
def test_an_older_copy_of_the_file_is_told_by_the_kept_head(path: Path) -> None:
    """Rolled back to an earlier state, with its own valid head: only the phone's head tells."""
    audit = SqliteAudit(path, FakeClock(), lambda: IDENTITY)
    note(audit, 3)
    audit.close()
    earlier = path.read_bytes()
    audit = SqliteAudit(path, FakeClock(), lambda: IDENTITY)
    note(audit, 3)
    kept = Head(*audit.file.end())
    audit.close()
    path.write_bytes(earlier)
    file = AuditFile(path)
    assert isinstance(file.check(), Verified)
    found = file.check([kept])
    file.close()
    assert isinstance(found, Broken)
    assert found.why == "the log ends at 3, but its head says 6: its tail was cut"


def test_a_damaged_file_is_put_aside_and_the_new_record_says_so(path: Path) -> None:
    path.touch(0o600)
    path.write_bytes(b"no database" * 999)
    audit = SqliteAudit(path, FakeClock(), lambda: IDENTITY)
    note(audit)
    first, second = audit.file.entries()
    audit.close()
    aside = str(first.facts["earlier_record_damaged"])
    assert (path.parent / aside).read_bytes().startswith(b"no database")
    assert (first.kind, second.kind) == ("gap", "paired")


def test_old_entries_go_under_a_checkpoint_and_the_chain_stays_whole(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(audit_log, "KEEP_LEAST", 5)
    monkeypatch.setattr(audit_log, "MOST_ENTRIES", 20)
    clock = FakeClock()
    audit = SqliteAudit(path, clock, lambda: IDENTITY, keep_days=30)
    note(audit, 12)
    kept = Head(*audit.file.end())
    audit.close()
    clock.advance(40 * 86_400)
    audit = SqliteAudit(path, clock, lambda: IDENTITY, keep_days=30)
    note(audit)
    audit.close()
    file = AuditFile(path)
    found = file.check([kept])
    assert isinstance(found, Verified)
    assert found.removed == 8
    assert file.entries()[0].seq == 9
    assert file.newest(1, Filter(kinds=("checkpoint",)))[0].facts["up_to"] == 8
    file.close()


def test_what_was_noted_survives_kill_9(path: Path) -> None:
    noted = 0
    for lines in (1, 3, 7):
        writer = subprocess.Popen(  # noqa: S603  # our own file
            [sys.executable, str(WRITER), str(path)], stdout=subprocess.PIPE, text=True
        )
        assert writer.stdout is not None
        for _ in range(lines):
            assert writer.stdout.readline()
        writer.kill()
        noted += lines + len(writer.stdout.readlines())
        writer.stdout.close()
        assert writer.wait() == -signal.SIGKILL
        file = AuditFile(path)
        found = file.check()
        file.close()
        assert isinstance(found, Verified)
        assert found.seq >= noted


@pytest.mark.parametrize("kind", ["memory", "sqlite"])
def test_tools_and_approvals_leave_no_argument(kind: str, path: Path) -> None:
    """One contract for the log on disk and the one that forgets."""
    hidden = "5e" * 32
    statement = ApprovalStatement(
        ApprovalId("appr-" + "0a" * 16),
        RequestId("req-" + "0a" * 16),
        2,
        "1c" * 32,
        hidden,
        Verdict.DENY,
        DEVICE,
        9,
    )
    on_disk = SqliteAudit(path, FakeClock(), lambda: IDENTITY)
    memory = MemoryAudit()
    audit = memory if kind == "memory" else on_disk
    note_tool_run(audit, DEVICE, ToolId("", "lights", "off", "1c" * 32), "job-1", "done")
    note_approval(audit, statement, accepted=True)
    assert on_disk.settle(WAIT_S)
    if kind == "memory":
        facts = [detail for _, _, _, detail in memory.entries]
        kinds = [found.value for found in memory.kinds()]
    else:
        facts = [entry.facts for entry in on_disk.file.entries()]
        kinds = [entry.kind for entry in on_disk.file.entries()]
    on_disk.close()
    assert kinds == ["tool_run", "approval"]
    assert (facts[0]["tool"], facts[0]["outcome"]) == ("lights.off", "done")
    assert (facts[1]["verdict"], facts[1]["step"]) == ("deny", 2)
    assert hidden not in repr(facts)


@pytest.mark.attack
@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("DELETE FROM entries WHERE seq > 4", "the log ends at 4, but its head says 6"),
        ("DELETE FROM head", "its signed head is missing"),
        ("DELETE FROM entries", "its tail was cut"),
        ("UPDATE entries SET actor = 'node' WHERE seq = 3", "entry 3 was altered"),
        ("UPDATE head SET certificate = x'3000'", "head of the audit log is damaged"),
    ],
)
def test_a_cut_does_not_heal_when_the_record_goes_on(
    audit: SqliteAudit, path: Path, script: str, words: str
) -> None:
    """What a start found wrong is noted once, and told by every check from then on."""
    note(audit, 6)
    audit.close()
    alter(path, script)
    for _ in range(3):
        again = SqliteAudit(path, FakeClock(), lambda: IDENTITY)
        told = again.looked_back()
        note(again, 2)
        found = again.file.check()
        gaps = again.file.newest(9, Filter(("gap",)))
        again.close()
        assert told is not None
        assert words in told.why
        assert isinstance(found, Broken)
        assert words in found.why
        assert len(gaps) == 1


def test_a_whole_record_goes_on_without_a_word(audit: SqliteAudit, path: Path) -> None:
    note(audit, 3)
    audit.close()
    again = SqliteAudit(path, FakeClock(), lambda: IDENTITY)
    assert again.looked_back() is None
    assert again.file.end()[0] == 3
    again.close()
