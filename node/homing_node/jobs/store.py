"""The boundary to where jobs are kept: one SQLite file, or a Postgres that several daemons share.

What a job is about (arguments, notes, outcomes of its steps) lies here encrypted under the job's
own key. That key is destroyed in the same transaction in which its result, sealed for the device
that submitted it, is stored. While a job runs, whoever owns the machine can read it.

Every method is synchronous, safe to call from several threads, and on disk when it returns. Methods
with a `Fence` do nothing and raise `LostJobError` once another attempt has taken the job over, so a
daemon that was only thought dead changes nothing any more. Unless it says otherwise, such a method
wants the job to be running.

Lines for people (`Entry.note`, `Ending.summary`) are kept as they are, so they hold nothing of what
a job is about. `JobProgress.note`, a tool's own words, is blanked when the job ends.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from homing_core.errors import ConflictError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from homing_core.ids import ApprovalId, DeviceId, JobId, RequestId
    from homing_core.jobs import JobEvent, JobProgress, JobState
    from homing_core.provenance import Sensitivity
    from homing_core.tools import ToolId

BURIED_S: Final = 86_400.0
"""How long a job that was ended before it arrived is refused, in seconds."""
MOST_BURIED: Final = 1_000
"""How many of those an account may have."""


class LostJobError(ConflictError):
    """Another attempt has taken the job over, or it has ended; nothing was changed."""


class JobKey(NamedTuple):
    """A job's name: ids belong to whoever chose them, so they count within one account."""

    account: DeviceId
    id: JobId


class Fence(NamedTuple):
    """One attempt at a job: only the newest may write."""

    key: JobKey
    attempt: int


@dataclass(frozen=True, slots=True)
class NewJob:
    """A job that is handed in.

    Attributes:
        key: its name.
        digest: SHA-256 (hex) of what was asked; a repeat must bring the same.
        device: device id of the key that submitted it; its result is sealed for that device.
        peer: account of the home that vouches for the device; empty if paired here.
        request_id: the request it belongs to.
        tool: the exact tool.
        sensitivity: how far its data may travel.
        priority: higher runs first.
        at: wall time, seconds since the epoch.
        data_key: the job's own key, 32 bytes.
        payload: call and consent, encrypted under it.
        state: `QUEUED`, or `WAITING_APPROVAL` together with `question`.
        question: what a person is asked before it may run.
    """

    key: JobKey
    digest: str
    device: DeviceId
    peer: str
    request_id: RequestId
    tool: ToolId
    sensitivity: Sensitivity
    priority: int
    at: float
    data_key: bytes = field(repr=False)
    payload: bytes = field(repr=False)
    state: JobState
    question: Question | None = None


@dataclass(frozen=True, slots=True)
class Question:
    """A step that waits for a person.

    Attributes:
        id: the approval's.
        key: the job's.
        step: number of the step, from 1.
        tool_hash: schema hash of the tool.
        argument_hash: hash of the exact arguments.
        owners_only: whether only an owner's device, or the console, may answer.
        at: when it was asked, wall time in seconds since the epoch.
        expires_at: void from then on; the job then ends as refused.
        shown: tool, call, reason and preview, encrypted under the job's key.
        verdict: `allow` or `deny` once somebody has answered; empty before.
        answered_by: device id of who answered, or `console`.
        spent: whether the yes has been used up: what it allowed may have happened.
    """

    id: ApprovalId
    key: JobKey
    step: int
    tool_hash: str
    argument_hash: str
    owners_only: bool
    at: float
    expires_at: float
    shown: bytes = field(repr=False)
    verdict: str = ""
    answered_by: str = ""
    spent: bool = False


@dataclass(frozen=True, slots=True)
class Effect:
    """One call of a tool that must not be made twice.

    Attributes:
        step: number within the job, from 1.
        tool_hash: schema hash of the tool.
        argument_hash: hash of the exact arguments.
        begun_at: written before the call, wall time in seconds since the epoch.
        attempt: the attempt that began it.
        outcome: written after it, encrypted under the job's key; empty if nobody knows.
    """

    step: int
    tool_hash: str
    argument_hash: str
    begun_at: float
    attempt: int
    outcome: bytes = field(default=b"", repr=False)


@dataclass(frozen=True, slots=True)
class JobRow:
    """A job as it is kept.

    Attributes:
        key, digest, device, peer, request_id, tool, sensitivity, priority: as of `NewJob`.
        submitted_at: wall time, seconds since the epoch.
        state: where it stands.
        last_seq: number of its newest event.
        progress: the newest.
        summary: one line; empty until it ends.
        attempt: how often it was begun; 0 for not yet.
        runner: name of the daemon that has it; empty while nobody does.
        lease_until: until when that daemon has said to be alive.
        cancel_wanted: whether its owner wants it to end.
        ended_at: when it ended; 0 before.
        result_bytes: size of the sealed result that waits; 0 if none does.
        result_sha256: of the sealed result, hex.
        sealed_by: device id of the daemon that sealed it.
        delivered_at: when its device had it for good; 0 before.
    """

    key: JobKey
    digest: str
    device: DeviceId
    peer: str
    request_id: RequestId
    tool: ToolId
    sensitivity: Sensitivity
    priority: int
    submitted_at: float
    state: JobState
    last_seq: int
    progress: JobProgress | None = None
    summary: str = ""
    attempt: int = 0
    runner: str = ""
    lease_until: float = 0.0
    cancel_wanted: bool = False
    ended_at: float = 0.0
    result_bytes: int = 0
    result_sha256: str = ""
    sealed_by: str = ""
    delivered_at: float = 0.0

    @property
    def fence(self) -> Fence:
        """Of the present attempt."""
        return Fence(self.key, self.attempt)


@dataclass(frozen=True, slots=True)
class Entry:
    """What is to be added to a job's record; the store gives it its number.

    Attributes:
        at: wall time, seconds since the epoch.
        state: the job's state from now on.
        progress: how far it is, if this says so.
        approval_id: the approval it waits for.
        note: one line for a person.
    """

    at: float
    state: JobState
    progress: JobProgress | None = None
    approval_id: ApprovalId | None = None
    note: str = ""


@dataclass(frozen=True, slots=True)
class Ending:
    """How a job ends.

    Attributes:
        entry: its last event, in a final state.
        summary: one line for a person, with nothing of the result.
        result: pieces of the sealed result, in order; empty if there is none to fetch.
        result_sha256: of all pieces together, hex; the store counts itself, and compares if this
            is not empty.
        sealed_by: device id of the daemon that sealed it.
    """

    entry: Entry
    summary: str
    result: Iterable[bytes] = field(default=(), repr=False)
    result_sha256: str = ""
    sealed_by: str = ""


class JobStore(Protocol):
    """Where jobs are kept. Every method may raise `UnavailableError`: locked, full, not reached."""

    # Handing in, looking

    def submit(
        self, job: NewJob, most: int, most_of_peer: int, most_waiting: int = 0
    ) -> tuple[JobRow, bool]:
        """Store a job with its first event; the job as it is, and whether it is new.

        Args:
            job: what is handed in. One whose id and digest are known changes nothing.
            most: jobs of its account that may be unended, this one included; 0 is no limit.
            most_of_peer: the same for all of its peer's devices together.
            most_waiting: bytes of results that may wait for the account, and for all of its peer's
                devices together; with as many or more nothing new is taken. 0 is no limit.

        Raises:
            ConflictError: the id is known with another digest.
            OverloadedError: its account or peer has as many as it may, or too much to fetch.
        """
        ...

    def get(self, key: JobKey) -> JobRow:
        """The job; raises `NotFoundError`."""
        ...

    def jobs(
        self, account: DeviceId | None, *, most: int, before: JobKey | None = None
    ) -> tuple[JobRow, ...]:
        """Newest first: an account's, or everybody's; only those older than `before`.

        Raises `NotFoundError` if that is not there.
        """
        ...

    def unended(self, account: DeviceId | None = None) -> tuple[JobRow, ...]:
        """Jobs that have not ended, oldest first."""
        ...

    def events(self, key: JobKey, after: int, most: int = 1000) -> tuple[JobEvent, ...]:
        """Events behind a number, oldest first; raises `NotFoundError`."""
        ...

    def secrets(self, key: JobKey) -> tuple[bytes, bytes]:
        """The job's own key and its encrypted payload; raises `NotFoundError` once it has ended."""
        ...

    # Running

    def time(self, own: float) -> float:
        """The time by which leases are compared, in seconds since the epoch.

        Args:
            own: what this daemon's clock says; the answer, unless the database has a clock that all
                of its daemons share.
        """
        ...

    def queued(self, most: int) -> tuple[JobRow, ...]:
        """Jobs that wait for their turn: highest priority first, then oldest.

        Those whose end is wanted are among them: they are to be ended, and `claim` gives nobody
        such a job.
        """
        ...

    def claim(
        self, key: JobKey, runner: str, now: float, lease_s: float, *, attempt: int
    ) -> JobRow | None:
        """Take a queued job, one whose lease is over or `runner`'s own: one caller alone gets it.

        Adds the event that it runs, and counts the attempt. None if somebody else has it, its
        present attempt is not `attempt` any more, or it is not to be run.
        """
        ...

    def renew(self, runner: str, now: float, lease_s: float) -> tuple[JobRow, ...]:
        """Say that a daemon is alive; the jobs that it still has, and has from now on."""
        ...

    def lost(self, now: float, runner: str = "") -> tuple[JobRow, ...]:
        """Jobs that run, and whose lease is over or whose daemon is `runner` itself."""
        ...

    def append(self, fence: Fence, entry: Entry) -> JobEvent:
        """Add an event, and put the job into its state; raises `LostJobError`.

        In `QUEUED`, `WAITING_APPROVAL` or `UNKNOWN_EFFECT` nobody has the job any more.
        """
        ...

    def begin_effect(self, fence: Fence, effect: Effect) -> None:
        """Record a call before it is made.

        Raises:
            LostJobError: another attempt has the job, or an end is wanted (`cancel_wanted`).
            ConflictError: the step is recorded already.
        """
        ...

    def finish_effect(self, fence: Fence, step: int, outcome: bytes) -> None:
        """Record what came of it; the first word counts. The job need not be running.

        Raises:
            LostJobError: another attempt has the job.
            NotFoundError: the step was never begun.
        """
        ...

    def effects(self, key: JobKey) -> tuple[Effect, ...]:
        """By step."""
        ...

    def put_note(self, fence: Fence, name: str, value: bytes) -> None:
        """Keep what a tool noted, encrypted; raises `LostJobError`."""
        ...

    def notes(self, key: JobKey) -> dict[str, bytes]:
        """All of it."""
        ...

    # Persons

    def ask(self, fence: Fence, question: Question, entry: Entry) -> None:
        """Store a question and let the job wait for it; raises `LostJobError`."""
        ...

    def questions(self, key: JobKey | None = None) -> tuple[Question, ...]:
        """Of a job, answered ones too; of all jobs, only those that wait. Oldest first."""
        ...

    def question(self, approval: ApprovalId) -> Question:
        """One question, answered or not; raises `NotFoundError`."""
        ...

    def answer(
        self, approval: ApprovalId, verdict: str, answered_by: str, entry: Entry, now: float
    ) -> JobRow:
        """Store a person's answer and put its job into the entry's state, which is not final.

        The same answer again changes nothing, even once the job has ended.

        Raises:
            NotFoundError: there is no such question.
            ConflictError: it was answered otherwise, has expired, or its job has ended.
        """
        ...

    def settle(
        self, fence: Fence, words: Mapping[int, bytes | None], entry: Entry, *, spend: bool
    ) -> JobRow:
        """A person has said what became of a call in doubt: all of it is stored, or nothing.

        Args:
            fence: the attempt that was found in doubt; what is said holds for no other.
            words: by step, what is recorded as its outcome from now on; None deletes the record,
                so that the call is made again.
            entry: puts the job back in the queue.
            spend: whether what an owner allowed in this job is used up, and to be asked for anew.

        Raises:
            NotFoundError: there is no such job.
            ConflictError: it is not in doubt, or about another attempt by now.
        """
        ...

    # Ending

    def want_cancel(self, key: JobKey) -> JobRow:
        """Note that its owner wants it to end; harmless repeated, or once it has ended."""
        ...

    def bury(self, key: JobKey, now: float) -> JobRow | None:
        """See to it that a job that is not here is never taken: its device has ended it.

        What hands it in may still be on its way, through another daemon too. Kept for
        `BURIED_S`; harmless repeated. Returns the job if it is here, unchanged.

        Raises:
            OverloadedError: the account has ended `MOST_BURIED` of them already.
        """
        ...

    def finish(self, fence: Fence, ending: Ending) -> JobRow:
        """Store the end and the sealed result, and destroy all that was the job's own.

        That is its key, payload, notes, outcomes and what was shown to persons; all or nothing. The
        pieces are taken one by one, once. A fence whose attempt is the present one is enough for a
        job that nobody runs, too.

        Raises:
            LostJobError: another attempt has the job, or it has ended.
            IntegrityError: the pieces have another hash than was announced.
        """
        ...

    def read_result(self, key: JobKey, offset: int, most: int) -> bytes:
        """Part of the sealed result; empty behind its end. Raises `NotFoundError` if none waits."""
        ...

    def delivered(self, key: JobKey, sha256: str, now: float) -> JobRow:
        """Its device has the result for good: delete it. Harmless repeated.

        Raises:
            NotFoundError: there is no such job.
            ConflictError: the result has another hash.
        """
        ...

    def drop(self, accounts: Collection[DeviceId]) -> tuple[JobRow, ...]:
        """Forget everything of accounts; the jobs that had not ended, for stopping their tools."""
        ...

    def prune(self, ended_before: float, undelivered_before: float) -> int:
        """Forget what ended long ago, and results that nobody fetched; how many jobs that met.

        Args:
            ended_before: jobs without a waiting result that ended before this are forgotten.
            undelivered_before: results of jobs that ended before this are. At most 90 days ago:
                what seals them is not opened later (`homing_crypto.mailbox.MAX_LIFETIME_S`).
        """
        ...

    def close(self) -> None:
        """Let go. Harmless if done."""
        ...
