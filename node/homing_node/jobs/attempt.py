"""One attempt at one job, from its beginning to whatever ends it.

The attempt itself is never cancelled, only told, so that what it writes is whole.
"""

from __future__ import annotations

import asyncio
import shutil
from typing import TYPE_CHECKING, Final, NoReturn

from homing_agent.runtime.logs import get_logger
from homing_agent.tool import ToolContext, UnknownOutcomeError
from homing_core.errors import HomingError, InternalError, RefusedError, UnavailableError
from homing_core.jobs import JobState

from homing_node.jobs import rules
from homing_node.jobs.attempt_parts import folder_of
from homing_node.jobs.closing import End, cancelled, error_result
from homing_node.jobs.consenting import OWN_STEP, JobConsent
from homing_node.jobs.forms import decode_outcome, encode_outcome
from homing_node.jobs.leaving import MOST_CRASHES, Leaving, unpark
from homing_node.jobs.notebook import JobNotebook, Reporter
from homing_node.jobs.offering import OfferedTool
from homing_node.jobs.outputs import failure_of, kept_files, result_of, summary_of
from homing_node.jobs.settling import Unsettled, settled
from homing_node.jobs.store import Effect, LostJobError
from homing_node.jobs.supervised import Supervisor, Why

if TYPE_CHECKING:
    from pathlib import Path

    from homing_core.jobs import JobProgress, JobResult

    from homing_node.jobs.attempt_parts import AttemptParts
    from homing_node.jobs.lease import Lease
    from homing_node.jobs.opening import Opened
    from homing_node.jobs.store import JobRow, Question
    from homing_node.jobs.supervised import Given

_DAY_S: Final = 86_400.0

_log = get_logger(__name__)


class Attempt:
    """See the module. Belongs to one event loop.

    Args:
        parts: what it is made with.
        row: the job, just claimed.
        lease: for how long.

    Attributes:
        row: the same.
        done: set when it is over, however it went.
    """

    def __init__(self, parts: AttemptParts, row: JobRow, lease: Lease) -> None:
        """Nothing was begun."""
        self.row = row
        self._lease = lease
        self.done = asyncio.Event()
        self._parts = parts
        self._store = parts.records.store
        self._leaving = Leaving(parts.records, row, parts.clock)
        self._supervisor = Supervisor(row.key.id, parts.clock, parts.stop_s, parts.grace_s)
        self._question: Question | None = None
        self._began = parts.clock.monotonic()
        self._folder = folder_of(parts.folder, row)

    def tell(self, why: Why) -> None:
        """End it, soon."""
        self._supervisor.tell(why)

    def renewed(self, since: float) -> None:
        """The job is still this attempt's; see `Lease.renewed`."""
        self._lease.renewed(since)

    async def run(self) -> None:
        """Make the attempt. What the store does not let us write leaves the job to be taken up."""
        try:
            await self._run()
        except LostJobError:
            _log.info("job.lost", job=self.row.key.id)
        except HomingError as error:
            _log.warning("job.left", job=self.row.key.id, code=error.code.value, reason=error.what)
        finally:
            self.done.set()

    async def _run(self) -> None:
        notebook: JobNotebook | None = None
        end: End | None = None
        try:
            opened = await self._parts.opener.open(self.row, lambda: not self._supervisor.told)
            notebook = JobNotebook(
                self._parts.records,
                self.row.fence,
                opened.cipher,
                await self._parts.records.call(self._store.notes, self.row.key),
            )
            end = self._given_up(await self._leaving.begin(notebook))
            if end is None:
                end = await self._outcome(opened, notebook)
        except (LostJobError, UnavailableError):
            raise
        except Unsettled as unsettled:
            if notebook is not None:
                await self._leaving.doubt(notebook, unsettled.step)
            return
        except HomingError as error:
            if not self._supervisor.told:
                # Refusals are words of ours; other errors may quote what is the job's own.
                refused = isinstance(error, RefusedError)
                why = error.what if refused else "it cannot run any more"
                await self._parts.closer.refuse(self.row, error, f"refused: {why}")
                self._clean()
                return
        if end is None:
            await self._interrupted(notebook)
        else:
            await self._parts.closer.end(self.row, end)
            self._clean()

    async def _outcome(self, opened: Opened, notebook: JobNotebook) -> End | None:
        """How the job ends; None if the attempt was told to end before."""
        consent = await self._consent(opened)
        own = (opened.tool.spec, opened.payload.spec.call)
        consent.check_own_call(*own)
        question = consent.own_call(*own)
        if question is not None:  # the device's rights have become less meanwhile
            self._question = question
            self.tell(Why.PARKED)
        if self._supervisor.told:
            return None
        effects = await self._parts.records.call(self._store.effects, self.row.key)
        await settled(effects, opened.cipher, notebook)
        if rules.once(opened.tool.spec):
            mine = next((effect for effect in effects if effect.step == OWN_STEP), None)
            if mine is None:
                await unpark(notebook)  # it may have waited for a person before it began
                await self._begin_effect(opened)
            elif mine.outcome:
                result = decode_outcome(opened.cipher.open("outcome", mine.outcome))
                files = kept_files(result, self._folder / "files")
                return self._end_with(result, files, self.row.progress)
            elif not await unpark(notebook):
                raise Unsettled(OWN_STEP)
        return await self._tried(opened, notebook, consent)

    async def _tried(
        self, opened: Opened, notebook: JobNotebook, consent: JobConsent
    ) -> End | None:
        """Run the tool, with all that it may use for as long as it runs."""
        work, records = self._folder / "work", self._parts.records
        await asyncio.to_thread(_fresh, self._folder, work)
        self._began = self._parts.clock.monotonic()
        reporter = Reporter(records, self.row.fence, self._parts.clock, lambda: self.tell(Why.LOST))
        engine = self._parts.brains.engine_for(opened.device)
        call = opened.payload.spec.call
        offered = self._parts.opener.offered(opened)
        context = ToolContext(
            request_id=self.row.request_id,
            call_id=call.id,
            report=reporter.report,
            notebook=notebook,
            engine=engine,
            consent=consent,
            offered=tuple(OfferedTool(tool, consent, self._may_act) for tool in offered),
            folder=work,
            device_name=opened.device.name,
            silence_s=self._lease.silence_s,
            may_act=self._may_act,
        )
        try:
            given = await self._supervisor.run(opened.tool, call.arguments, context, self._may_act)
        finally:
            notebook.close()
            await reporter.close()
            await engine.close()
        if given is None:
            return None
        result, files = await self._result(opened, given)
        if rules.once(opened.tool.spec):
            outcome = opened.cipher.seal("outcome", _recordable(self.row, result))
            finish = self._store.finish_effect
            await records.steadily(self.row.key, finish, self.row.fence, OWN_STEP, outcome)
        return self._end_with(result, files, reporter.newest)

    async def _result(self, opened: Opened, given: Given) -> tuple[JobResult, dict[str, Path]]:
        """What is to be sealed; raises `Unsettled` if nobody knows what happened."""
        error = given.error
        if isinstance(error, UnknownOutcomeError):
            once = rules.once(opened.tool.spec)
            raise Unsettled(OWN_STEP if once else await self._leaving.next_doubt())
        if error is not None:
            return error_result(self.row, failure_of(self.row.tool.name, error)), {}
        try:
            return await asyncio.to_thread(
                result_of,
                self.row,
                given.output,
                self._folder / "work",
                trust=opened.tool.spec.output_trust,
                most_bytes=self._parts.section.result_mib << 20,
                kept=self._folder / "files",
            )
        except HomingError as refusal:
            return error_result(self.row, refusal), {}

    def _may_act(self) -> None:
        """Return only if no other daemon can have the job; raises `LostJobError`."""
        if self._lease.over:
            self.tell(Why.LOST)
            msg = "this daemon stood still for so long that another may have the job"
            raise LostJobError(msg)

    async def _begin_effect(self, opened: Opened) -> None:
        self._may_act()
        effect = Effect(
            OWN_STEP,
            opened.tool.spec.schema_hash,
            opened.payload.spec.call.argument_hash,
            self._parts.clock.now(),
            self.row.attempt,
        )
        await self._parts.records.call(self._store.begin_effect, self.row.fence, effect)

    def _given_up(self, crashes: int) -> End | None:
        """The end of a job that perhaps ends the node each time."""
        if crashes < MOST_CRASHES:
            return None
        msg = (
            f"this job was begun {crashes} times, and each time the node ended in the middle, or "
            "could not keep what came of it"
        )
        error = InternalError(msg, "Ask the node's owner to look at its log.")
        summary = f"given up after {crashes} attempts that came to nothing"
        return End(JobState.FAILED, summary, error_result(self.row, error))

    def _end_with(
        self, result: JobResult, files: dict[str, Path], progress: JobProgress | None
    ) -> End:
        seconds = self._parts.clock.monotonic() - self._began
        state = JobState.FAILED if result.is_error else JobState.SUCCEEDED
        word = "failed" if result.is_error else "done"
        return End(state, summary_of(word, seconds, progress, len(files)), result, files)

    async def _interrupted(self, notebook: JobNotebook | None) -> None:
        """Leave the job as whoever told the attempt to end wants it."""
        match self._supervisor.why:
            case Why.CANCELLED:
                await self._parts.closer.end(self.row, cancelled(self.row))
                self._clean()
            case Why.PARKED if self._question is not None and notebook is not None:
                await self._leaving.park(notebook, self._question)
            case Why.STOPPING:
                await self._leaving.resume_later(notebook)
            case Why.DROPPED:
                self._clean()
            case _:
                pass

    async def _consent(self, opened: Opened) -> JobConsent:
        now = self._parts.clock.now()
        questions = await self._parts.records.call(self._store.questions, self.row.key)
        return JobConsent(
            row=self.row,
            standing=opened.standing,
            look=lambda: self._parts.opener.standing(self.row),
            cipher=opened.cipher,
            questions=questions,
            no_owners=await self._parts.opener.no_owners(questions),
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
