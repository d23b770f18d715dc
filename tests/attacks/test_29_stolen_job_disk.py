"""Attack 29: somebody takes the disk of a node that ran jobs.

Expected: of a job that has ended, nothing is on it that says what it was about: no argument, no
result, no note, no word about its progress, no question, no file, in no form; and of its own key,
under which all of that lay, nothing either. What waits for its device is sealed for that device
alone: not even the node's own key opens it. What the thief does get is asserted too: whose job
it was, which tool, when; and everything of a job that had not ended, whose key lies beside it.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import shutil
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pytest
from homing_agent.tool import OutputFile, ToolOutput
from homing_core.access import DeviceRole
from homing_core.approvals import Verdict
from homing_core.clock import SystemClock
from homing_core.errors import HomingError, InvalidDataError, NotFoundError
from homing_core.jobs import JobProgress, JobState
from homing_core.tools import EffectClass
from homing_crypto.chunks import ChunkOpener
from homing_crypto.identity import DeviceIdentity
from homing_crypto.result_opener import ResultOpener
from homing_crypto.results import LENGTH_BYTES, open_result_letter
from homing_node.jobs.dbos_workflows import WORKFLOWS_FILE, DbosWorkflows
from homing_node.jobs.forms import decode_payload
from homing_node.jobs.sealed import JobCipher
from homing_node.jobs.sql_engine import JOBS_FILE
from homing_node.jobs.sql_store import SqlJobStore
from homing_node.jobs.store import JobKey
from structlog.testing import capture_logs
from support.job_house import WAIT_S, ScriptedTool, house, job, tool_spec

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from homing_agent.tool import ToolContext
    from homing_core.canonical import JsonObject
    from homing_core.jobs import JobSpec
from support.job_house import House, Person

PIECE = 64 * 1024
PARTS = ("note", "name", "progress", "result", "say", "source", "file", "error", "cut")


def word(of: str, part: str) -> str:
    """A word that is planted, by whose job and what part of it."""
    return f"{of}-{part}-nightingale-underground"


@dataclass
class Life:
    """What happened before the disk was taken.

    Attributes:
        folder: a copy of the data directory.
        phone: who handed everything in.
        node: its identity, as the thief has it as well.
        jobs: by the name under which words were planted.
        keys: each job's own key and payload, as they were while it ran.
        secrets: other keys, by what they open.
        journal: what was logged and audited.
    """

    folder: Path
    phone: Person
    node: DeviceIdentity
    jobs: dict[str, JobSpec] = field(default_factory=dict["str", "JobSpec"])
    keys: dict[str, tuple[bytes, bytes]] = field(default_factory=dict[str, tuple[bytes, bytes]])
    secrets: dict[str, bytes] = field(default_factory=dict[str, bytes])
    journal: str = ""

    def store(self) -> SqlJobStore:
        return SqlJobStore(self.folder / JOBS_FILE)

    def key(self, of: str) -> JobKey:
        return JobKey(self.phone.device.id, self.jobs[of].id)

    def files(self) -> Iterator[tuple[str, bytes]]:
        for path in sorted(self.folder.rglob("*")):
            if path.is_file():
                yield path.name, path.read_bytes()
        yield "journal", self.journal.encode()


ENDED = ("delivered", "waiting", "refused", "failed", "cancelled")


class Diary:
    """A tool that leaves words wherever it can."""

    def __init__(self) -> None:
        self.held = asyncio.Event()

    async def run(self, arguments: JsonObject, context: ToolContext) -> ToolOutput:
        of = str(arguments["what"]).partition("-")[0]
        await context.notebook.put(word(of, "name"), word(of, "note"))
        context.report(JobProgress(1, 2, "pages", word(of, "progress")))
        if of == "failed":
            raise InvalidDataError(word(of, "error"), word(of, "error"))
        if of in {"cancelled", "running"}:
            assert context.folder is not None
            (context.folder / "half").write_text(word(of, "cut"))
            self.held.set()
            await asyncio.Event().wait()
        assert context.folder is not None
        path = context.folder / "made.bin"
        path.write_bytes(word(of, "file").encode() * 999)
        return ToolOutput(
            word(of, "result"),
            say=word(of, "say"),
            source=word(of, "source"),
            files=(OutputFile(path, "made.bin"),),
        )


async def fetched(home: House, life: Life, of: str) -> bytes:
    pieces = home.parts.desk.download(life.phone.device, life.jobs[of].id, 0)
    return b"".join([piece.data async for piece in pieces])


async def handed_in(home: House, life: Life, of: str, tool: ScriptedTool) -> None:
    spec = job(tool, word(of, "argument"))
    life.jobs[of] = spec
    consent = None if tool.spec.effect is EffectClass.READ else life.phone.consents(spec)
    await home.submit(life.phone, spec, consent)
    with contextlib.suppress(NotFoundError):  # it was quick; what is known of it is on disk anyway
        life.keys[of] = home.store.secrets(life.key(of))


async def live(folder: Path) -> Life:
    """Jobs of each kind of end, one in the middle, and then the plug is pulled."""
    diary, data = Diary(), folder / "d"
    data.mkdir(mode=0o700)
    reads = ScriptedTool(tool_spec("read"), diary.run)
    writes = ScriptedTool(tool_spec("write", EffectClass.WRITE), diary.run)
    node = DeviceIdentity.load_or_create(data, SystemClock())
    store = SqlJobStore(data / JOBS_FILE)
    workflows = DbosWorkflows(data, "", "run-29")
    with capture_logs() as logged:
        async with house(data, reads, writes, store=store, workflows=workflows, node=node) as home:
            life = Life(folder / "taken", home.person(DeviceRole.MEMBER), node)
            await everything_happens(home, life, diary, reads, writes)
            shutil.copytree(data, life.folder)  # as it lies there while the node still runs
            life.journal = f"{home.audit.entries!r}\n{logged!r}"
    return life


async def everything_happens(
    home: House, life: Life, diary: Diary, reads: ScriptedTool, writes: ScriptedTool
) -> None:
    desk, phone, owner = home.parts.desk, life.phone.device, home.person()
    for of, tool in (("delivered", writes), ("waiting", reads), ("refused", writes)):
        await handed_in(home, life, of, tool)
        if tool is writes:  # a member's step at the owner's computer: the owner is asked
            (asked,) = await desk.pending(owner.device)
            verdict = Verdict.DENY if of == "refused" else Verdict.ALLOW
            await desk.answer(owner.device, owner.says(asked, verdict))
        await home.ended(life.phone, life.jobs[of].id)
    await handed_in(home, life, "failed", reads)
    await home.ended(life.phone, life.jobs["failed"].id)
    for of in ("cancelled", "running"):
        diary.held.clear()
        await handed_in(home, life, of, reads)
        async with asyncio.timeout(WAIT_S):
            await diary.held.wait()
        if of == "cancelled":
            await desk.cancel(phone, life.jobs[of].id)
            await home.ended(life.phone, life.jobs[of].id)
    sealed = await fetched(home, life, "delivered")
    life.secrets["delivered result"] = letter_key(life, "delivered", sealed)
    sealed = await fetched(home, life, "waiting")
    life.secrets["waiting result"] = letter_key(life, "waiting", sealed)
    row = home.store.get(life.key("delivered"))
    await desk.ack(phone, row.key.id, row.result_sha256)


def letter_key(life: Life, of: str, sealed: bytes) -> bytes:
    """What opens a result, as the phone finds it in the letter."""
    letter = sealed[LENGTH_BYTES : LENGTH_BYTES + int.from_bytes(sealed[:LENGTH_BYTES])]
    found = open_result_letter(
        life.phone.identity, life.node.certificate, life.jobs[of].id, letter, SystemClock().now()
    )
    return found.key


@pytest.fixture(scope="module")
def life(tmp_path_factory: pytest.TempPathFactory) -> Life:
    return asyncio.run(live(tmp_path_factory.mktemp("node")))


def forms(raw: bytes) -> list[bytes]:
    """How bytes could lie on a disk."""
    return [
        raw,
        raw.hex().encode(),
        raw.decode("latin-1").encode("utf-16-le"),
        base64.b64encode(raw)[:-4],
        base64.b64encode(b"." + raw)[4:-4],
        base64.b64encode(b".." + raw)[4:-4],
    ]


def lies_there(content: bytes, raw: bytes) -> bool:
    return any(form in content for form in forms(raw))


@pytest.mark.attack(29)
@pytest.mark.parametrize("of", ENDED)
def test_no_word_of_a_job_that_ended_is_on_the_disk(life: Life, of: str) -> None:
    names = {name for name, _ in life.files()}
    assert {JOBS_FILE, WORKFLOWS_FILE, "journal"} <= names
    for name, content in life.files():
        for part in (*PARTS, "argument"):
            assert not lies_there(content, word(of, part).encode()), (name, part)
        assert not lies_there(content, life.jobs[of].call.argument_hash.encode()), name
        assert not lies_there(content, bytes.fromhex(life.jobs[of].call.argument_hash)), name
        assert not lies_there(content, life.jobs[of].call.id.encode()), name  # see `digest_of`


@pytest.mark.attack(29)
def test_no_key_of_a_job_that_ended_is_on_the_disk(life: Life) -> None:
    """Nor that of a result. A copy of the ciphertexts from before is of no use to the thief."""
    keys = {of: key for of, (key, _) in life.keys.items() if of != "running"} | life.secrets
    assert {"delivered", "cancelled", "delivered result", "waiting result"} <= set(keys)
    for name, content in life.files():
        for of, key in keys.items():
            assert not lies_there(content, key), (name, of)


@pytest.mark.attack(29)
def test_no_key_on_the_disk_opens_what_waits_there(life: Life, tmp_path: Path) -> None:
    """The node's own included, and those of jobs that had not ended."""
    with contextlib.closing(life.store()) as store:
        key = life.key("waiting")
        size = store.get(key).result_bytes
        sealed = b"".join(store.read_result(key, at, PIECE) for at in range(0, size, PIECE))
        running, _ = store.secrets(life.key("running"))
    thief = DeviceIdentity.load_or_create(life.folder, SystemClock())
    assert thief.device_id == life.node.device_id  # the thief has the node's keys
    now = SystemClock().now()
    with (
        ResultOpener(thief, thief.certificate, key.id, now, tmp_path) as opener,
        pytest.raises(HomingError),
    ):
        opener.feed(sealed)
    letter = LENGTH_BYTES + int.from_bytes(sealed[:LENGTH_BYTES])
    for tried in (running, life.keys["running"][0], bytes(32)):
        with pytest.raises(HomingError):
            ChunkOpener(tried).open(sealed[letter:], last=True)
    for of in ("delivered", "cancelled"):
        _, payload = life.keys[of]
        with pytest.raises(HomingError):
            JobCipher(life.key(of), running).open("payload", payload)
    with ResultOpener(life.phone.identity, thief.certificate, key.id, now, tmp_path) as opener:
        opener.feed(sealed)  # it is whole: the one device that it is for opens it
        found = opener.finish()
    assert found.result.content == word("waiting", "result")
    assert found.paths[0].read_bytes() == word("waiting", "file").encode() * 999


@pytest.mark.attack(29)
def test_what_a_thief_does_get(life: Life) -> None:
    """Which tool ran for whom and how it ended; and everything of what had not ended."""
    with contextlib.closing(life.store()) as store:
        rows = {row.key.id: row for row in store.jobs(None, most=99)}
        states = {of: rows[spec.id].state for of, spec in life.jobs.items()}
        data_key, payload = store.secrets(life.key("running"))
        for of in ENDED:
            with pytest.raises(NotFoundError):
                store.secrets(life.key(of))
    assert states == {
        "delivered": JobState.SUCCEEDED,
        "waiting": JobState.SUCCEEDED,
        "refused": JobState.FAILED,
        "failed": JobState.FAILED,
        "cancelled": JobState.CANCELLED,
        "running": JobState.RUNNING,
    }
    assert {row.tool.name for row in rows.values()} == {"read", "write"}
    assert {row.device for row in rows.values()} == {life.phone.device.id}
    cipher = JobCipher(life.key("running"), data_key)
    spec = decode_payload(cipher.open("payload", payload)).spec
    assert spec.call.arguments == {"what": word("running", "argument")}


@pytest.mark.attack(29)
def test_the_search_would_find_it(life: Life) -> None:
    """What does lie there is found in the same way, so that the tests above can fail."""
    key, _ = life.keys["running"]
    assert [name for name, content in life.files() if lies_there(content, key)]
    cut = word("running", "cut").encode()  # a file that its tool is writing
    assert [name for name, content in life.files() if lies_there(content, cut)] == ["half"]
    assert any(lies_there(content, life.jobs["waiting"].id.encode()) for _, content in life.files())


@pytest.mark.attack(29)
def test_nobody_else_on_the_computer_reads_any_of_it(life: Life) -> None:
    for path in (life.folder, *life.folder.iterdir()):
        closed = 0o700 if path.is_dir() else 0o600
        assert path.stat().st_mode & 0o777 == closed, path.name
