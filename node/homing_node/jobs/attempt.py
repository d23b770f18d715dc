"""One attempt at one job, from its beginning to whatever ends it.

The tool runs in a task of its own and is only ever told to stop; the attempt itself is never
cancelled, so what it writes is whole. Nothing that a tool does about being cancelled keeps the
attempt from ending: what it gives back after that is not taken.
"""

from __future__ import annotations

import asyncio
import shutil
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Final, NoReturn

from homing_agent.runtime.logs import get_logger
from homing_agent.tool import ToolContext, ToolOutput, UnknownOutcomeError
from homing_core.errors import HomingError, InternalError, UnavailableError
from homing_core.jobs import JobState

from homing_node.jobs import rules
from homing_node.jobs.closing import End, error_result
from homing_node.jobs.consenting import OWN_STEP, JobConsent, OfferedTool
from homing_node.jobs.forms import decode_outcome, encode_outcome
from homing_node.jobs.notebook import JobNotebook, Reporter
from homing_node.jobs.outputs import failure_of, kept_files, result_of, summary_of
from homing_node.jobs.settling import UNKNOWN_STEPS, Unsettled, settled
from homing_node.jobs.store import Effect, Entry, LostJobError

if TYPE_CHECKING:
    from pathlib import Path

    from homing_agent.tool import Tool
    from homing_core.canonical import JsonObject
    from homing_core.clock import Clock
    from homing_core.jobs import JobResult

    from homing_node.jobs.closing import Closer
    from homing_node.jobs.opening import Opened, Opener
    from homing_node.jobs.ports import Brains
    from homing_node.jobs.records import Records
    from homing_node.jobs.section import JobsSection
    from homing_node.jobs.store import JobRow, Question

MOST_CRASHES: Final = 5
"""Attempts that ended with their process; then the job is given up."""
STOP_S: Final = 10.0
"""How long a tool that was cancelled may take to stop, in seconds."""
GRACE_S: Final = 2.0
"""How long a tool may go on when the node is told to stop, before it is cancelled."""
_DAY_S: Final = 86_400.0

_log = get_logger(__name__)


class Why(Enum):
    """Why an attempt was told to end."""

    CANCELLED = "cancelled"
    STOPPING = "stopping"
    """The node goes down; the job is resumed."""
    DROPPED = "dropped"
    """Everything of its device goes."""
    LOST = "lost"
    """Another daemon has the job."""
    PARKED = "parked"
    """It waits for a person."""


@dataclass(frozen=True, slots=True)
class AttemptParts:
    """What attempts are made with.

    Attributes:
        records: where jobs are kept.
        opener: looks up what an attempt needs.
        closer: ends jobs.
        brains: the node's models.
        section: `[jobs]` of the configuration.
        clock: for events and ends.
        folder: where each job has a folder of its own while it runs.
        stop_s: as `STOP_S`.
        grace_s: as `GRACE_S`.
    """

    records: Records
    opener: Opener
    closer: Closer
    brains: Brains
    section: JobsSection
    clock: Clock
    folder: Path
    stop_s: float = STOP_S
    grace_s: float = GRACE_S


class Attempt:
    """See the module. Belongs to one event loop.

    Args:
        parts: what it is made with.
        row: the job, just claimed.
    """

    def __init__(self, parts: AttemptParts, row: JobRow) -> None:
        """Nothing was begun."""
        self._parts = parts
        self.row = row
        self._store = parts.records.store
        self._told = asyncio.Event()
        self._why: Why | None = None
        self._question: Question | None = None
        self._began = parts.clock.monotonic()
        self._folder = parts.folder / f"{row.key.account[:16]}-{row.key.id}"
        self.done = asyncio.Event()

    def tell(self, why: Why) -> None:
        """End it, soon. What was said first counts, but for what ends everything."""
        if self._why is None or why in {Why.DROPPED, Why.LOST}:
            self._why = why
        self._told.set()

    async def run(self) -> None:
        """Make the attempt. Never raises."""
        key = self.row.key
        try:
            await self._run()
        except LostJobError:
            _log.info("job.lost", job=key.id)
        except HomingError as error:  # the store does not let us: the job is taken up again
            _log.warning("job.left", job=key.id, code=error.code.value, reason=error.what)
        finally:
            self.done.set()

    async def _run(self) -> None:
        try:
            opened = await self._parts.opener.open(self.row, lambda: not self._told.is_set())
            notebook = await self._notebook(opened)
            if await self._crashed_too_often(notebook):
                return
            consent = await self._consent(opened)
            consent.check_own_call(opened.tool.spec, opened.payload.spec.call)
            outcome = None
            if not self._own_call_asked(opened, consent):
                outcome = await self._outcome(opened, notebook, consent)
        except (LostJobError, UnavailableError):
            raise
        except Unsettled as unsettled:
            await self._unknown(unsettled)
            return
        except HomingError as error:
            if self._why is not None:
                await self._interrupted(None)
                return
            await self._parts.closer.refuse(self.row, error, "refused: it cannot run any more")
            self._clean()
            return
        if outcome is None:
            await self._interrupted(notebook)
        else:
            await self._parts.closer.end(self.row, outcome)
            self._clean()

    def _own_call_asked(self, opened: Opened, consent: JobConsent) -> bool:
        """Whether an owner is asked first: the device's rights may have become less meanwhile."""
        question = consent.own_call(opened.tool.spec, opened.payload.spec.call)
        if question is not None:
            self._question = question
            self.tell(Why.PARKED)
        return question is not None

    async def _outcome(
        self, opened: Opened, notebook: JobNotebook, consent: JobConsent
    ) -> End | None:
        """How the job ends; None if the attempt was told to end before."""
        once = rules.once(opened.tool.spec)
        before = await self._before(opened, notebook, once=once)
        if before is not None:
            return before
        if self._told.is_set():
            return None
        self._began = self._parts.clock.monotonic()
        work = self._folder / "work"
        await asyncio.to_thread(_fresh, self._folder, work)
        reporter = Reporter(
            self._parts.records,
            self.row.fence,
            self._parts.clock,
            lambda: self.tell(Why.LOST),
        )
        engine = self._parts.brains.engine_for(opened.device)
        try:
            call = opened.payload.spec.call
            context = ToolContext(
                request_id=self.row.request_id,
                call_id=call.id,
                report=reporter.report,
                notebook=notebook,
                engine=engine,
                consent=consent,
                offered=tuple(
                    OfferedTool(tool, consent) for tool in self._parts.opener.offered(opened)
                ),
                folder=work,
                device_name=opened.device.name,
            )
            given = await self._supervised(opened, context)
        finally:
            notebook.close()
            await reporter.close()
            await engine.close()
        if given is None:
            return None
        return await self._ended(opened, notebook, given, reporter, once=once)

    async def _before(self, opened: Opened, notebook: JobNotebook, *, once: bool) -> End | None:
        """What an earlier attempt left: the outcome of a call that must not be made twice."""
        effects = await self._parts.records.call(self._store.effects, self.row.key)
        await settled(effects, opened.cipher, notebook)
        mine = next((effect for effect in effects if effect.step == OWN_STEP), None)
        if not once:
            return None
        if mine is None:
            call = opened.payload.spec.call
            effect = Effect(
                OWN_STEP,
                opened.tool.spec.schema_hash,
                call.argument_hash,
                self._parts.clock.now(),
                self.row.attempt,
            )
            await self._parts.records.call(self._store.begin_effect, self.row.fence, effect)
            return None
        if mine.outcome:
            result = decode_outcome(opened.cipher.open("outcome", mine.outcome))
            return self._end_with(result, kept_files(result, self._folder / "files"), None)
        if notebook.own("parked"):
            # It was stopped where it asked a person: it goes on from what it has noted.
            await notebook.put_own("parked", value=False)
            return None
        raise Unsettled(OWN_STEP)

    async def _supervised(
        self, opened: Opened, context: ToolContext
    ) -> ToolOutput | BaseException | None:
        """What the tool gave back or raised; None if it was told to stop."""
        arguments = opened.payload.spec.call.arguments
        tool = asyncio.create_task(_contained(opened.tool, arguments, context))
        told = asyncio.create_task(self._told.wait())
        await asyncio.wait({tool, told}, return_when=asyncio.FIRST_COMPLETED)
        told.cancel()
        if self._told.is_set():
            if self._why is Why.STOPPING:
                await asyncio.wait({tool}, timeout=self._parts.grace_s)
            finished = tool.done() and self._why in {Why.STOPPING, Why.CANCELLED}
            if not finished:
                await self._stop(tool)
                return None
        if tool.cancelled():
            msg = f"the tool {self.row.tool.name} gave up by itself"
            return InternalError(msg, "Hand the job in again.")
        error = tool.exception()
        if error is not None:
            if not isinstance(error, HomingError):
                _log.error("job.tool_raised", job=self.row.key.id, exc_info=error)
            return error
        return tool.result()

    async def _stop(self, tool: asyncio.Task[ToolOutput]) -> None:
        """Cancel a tool until it stops; one that does not is left behind, and can do no more."""
        until = self._parts.clock.monotonic() + self._parts.stop_s
        while not tool.done():
            tool.cancel()
            left = until - self._parts.clock.monotonic()
            if left <= 0:
                _log.error("job.tool_does_not_stop", job=self.row.key.id, tool=self.row.tool.name)
                tool.add_done_callback(_unheard)
                return
            await asyncio.wait({tool}, timeout=min(left, 1.0))
        _unheard(tool)

    async def _ended(
        self,
        opened: Opened,
        notebook: JobNotebook,
        given: ToolOutput | BaseException,
        reporter: Reporter,
        *,
        once: bool,
    ) -> End:
        """What the tool's outcome means for the job, recorded if it must not happen twice."""
        if isinstance(given, UnknownOutcomeError):
            raise Unsettled(OWN_STEP if once else await self._next_unknown())
        files: dict[str, Path] = {}
        if isinstance(given, BaseException):
            result = error_result(self.row, failure_of(self.row.tool.name, given))
        else:
            try:
                result, files = await asyncio.to_thread(
                    result_of,
                    self.row,
                    given,
                    self._folder / "work",
                    trust=opened.tool.spec.output_trust,
                    most_bytes=self._parts.section.result_mib << 20,
                    kept=self._folder / "files",
                )
            except HomingError as error:
                result = error_result(self.row, error)
        if once:
            outcome = opened.cipher.seal("outcome", _recordable(self.row, result))
            await self._steadily(outcome)
        return self._end_with(result, files, reporter)

    async def _steadily(self, outcome: bytes) -> None:
        """Record that it happened, on a disk that may be full or busy: it must not be forgotten."""
        for wait in (0.1, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, None):
            try:
                await self._parts.records.call(
                    self._store.finish_effect, self.row.fence, OWN_STEP, outcome
                )
            except UnavailableError:
                if wait is None:
                    raise
                await asyncio.sleep(wait)
            else:
                return

    def _end_with(
        self, result: JobResult, files: dict[str, Path], reporter: Reporter | None
    ) -> End:
        seconds = self._parts.clock.monotonic() - self._began
        progress = reporter.newest if reporter is not None else self.row.progress
        state = JobState.FAILED if result.is_error else JobState.SUCCEEDED
        word = "failed" if result.is_error else "done"
        return End(state, summary_of(word, seconds, progress, len(files)), result, files)

    async def _interrupted(self, notebook: JobNotebook | None) -> None:
        """Leave the job as whoever told the attempt to end wants it."""
        match self._why:
            case Why.CANCELLED:
                await self._parts.closer.end(
                    self.row, End(JobState.CANCELLED, "cancelled while it ran")
                )
                self._clean()
            case Why.PARKED if self._question is not None and notebook is not None:
                await notebook.put_own("parked", value=True)
                await self._proper_stop(notebook)
                note = "an owner is asked" if self._question.owners_only else "a person is asked"
                entry = Entry(
                    self._parts.clock.now(),
                    JobState.WAITING_APPROVAL,
                    approval_id=self._question.id,
                    note=note,
                )
                await self._parts.records.change(
                    self.row.key, self._store.ask, self.row.fence, self._question, entry
                )
            case Why.STOPPING:
                if notebook is not None:
                    await self._proper_stop(notebook)
                note = "the node stops; the job goes on when it is back"
                entry = Entry(self._parts.clock.now(), JobState.QUEUED, note=note)
                await self._parts.records.change(
                    self.row.key, self._store.append, self.row.fence, entry
                )
            case Why.DROPPED:
                self._clean()
            case _:
                pass

    async def _unknown(self, unsettled: Unsettled) -> None:
        """Nobody knows whether it happened: stop, and say so."""
        if unsettled.step >= UNKNOWN_STEPS:
            effect = Effect(unsettled.step, "", "", self._parts.clock.now(), self.row.attempt)
            await self._parts.records.call(self._store.begin_effect, self.row.fence, effect)
        note = "nobody knows whether this happened: the node or the tool ended in the middle of it"
        entry = Entry(self._parts.clock.now(), JobState.UNKNOWN_EFFECT, note=note)
        await self._parts.records.change(self.row.key, self._store.append, self.row.fence, entry)

    async def _next_unknown(self) -> int:
        effects = await self._parts.records.call(self._store.effects, self.row.key)
        return max([UNKNOWN_STEPS - 1, *(effect.step for effect in effects)]) + 1

    async def _notebook(self, opened: Opened) -> JobNotebook:
        kept = await self._parts.records.call(self._store.notes, self.row.key)
        return JobNotebook(self._parts.records, self.row.fence, opened.cipher, kept)

    async def _crashed_too_often(self, notebook: JobNotebook) -> bool:
        stops = notebook.own("stops")
        crashes = self.row.attempt - 1 - (stops if isinstance(stops, int) else 0)
        if crashes < MOST_CRASHES:
            return False
        msg = f"this job was begun {crashes} times, and each time the node ended in the middle"
        error = InternalError(msg, "Ask the node's owner to look at its log.")
        summary = f"given up after {crashes} attempts that ended with the node"
        await self._parts.closer.end(
            self.row, End(JobState.FAILED, summary, error_result(self.row, error))
        )
        self._clean()
        return True

    async def _proper_stop(self, notebook: JobNotebook) -> None:
        """Count an attempt that ended as it should; the others ended with their process."""
        stops = notebook.own("stops")
        await notebook.put_own("stops", (stops if isinstance(stops, int) else 0) + 1)

    async def _consent(self, opened: Opened) -> JobConsent:
        now = self._parts.clock.now()
        return JobConsent(
            row=self.row,
            standing=opened.standing,
            cipher=opened.cipher,
            questions=await self._parts.records.call(self._store.questions, self.row.key),
            now=now,
            expires_at=now + self._parts.section.approval_days * _DAY_S,
            park=self._park,
        )

    async def _park(self, question: Question) -> NoReturn:
        """Within the tool's task: ends the attempt, and with it this task."""
        self._question = self._question or question
        self.tell(Why.PARKED)
        while True:  # a tool may catch its cancellation and ask once more
            await asyncio.get_running_loop().create_future()

    def _clean(self) -> None:
        shutil.rmtree(self._folder, ignore_errors=True)


async def _contained(tool: Tool, arguments: JsonObject, context: ToolContext) -> ToolOutput:
    """Run a tool; what would end the whole process ends only this call."""
    try:
        return await tool.run(arguments, context)
    except (SystemExit, KeyboardInterrupt) as error:
        raise failure_of(tool.spec.name, error) from error


def _recordable(row: JobRow, result: JobResult) -> bytes:
    """The outcome's form; of one that has none, that it has happened."""
    try:
        return encode_outcome(result)
    except HomingError as error:
        return encode_outcome(error_result(row, error))


def _fresh(folder: Path, work: Path) -> None:
    """An empty folder for the tool."""
    shutil.rmtree(folder, ignore_errors=True)
    work.mkdir(mode=0o700, parents=True)


def _unheard(task: asyncio.Task[ToolOutput]) -> None:
    """What a stopped tool raised is of no interest."""
    if not task.cancelled():
        task.exception()
