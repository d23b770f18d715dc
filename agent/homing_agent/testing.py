"""Fakes for the agent's boundaries. They ship with the package."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, TypeAlias

from homing_core.approvals import SignedApproval, Verdict
from homing_core.errors import HomingError, UnavailableError
from homing_core.generation import Numbered
from homing_core.ids import DeviceId, new_job_id
from homing_core.jobs import JobEvent, JobResult, JobState
from homing_core.provenance import Trust
from homing_core.tools import EffectClass, Place, ToolSpec

from homing_agent.journal.memory import MemoryJournal
from homing_agent.ports import ConsentAnswer, HomeJob
from homing_agent.tool import ToolOutput

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Sequence

    from homing_core.approvals import ApprovalStatement
    from homing_core.canonical import JsonObject
    from homing_core.generation import GenerateRequest, GenerationEvent
    from homing_core.ids import JobId, RequestId
    from homing_core.jobs import JobProgress

    from homing_agent.alarms.base import Alarm
    from homing_agent.ports import ConsentQuestion, JobAsked, Need, Remote
    from homing_agent.tool import ToolContext

__all__ = [
    "FakeAlarms",
    "FakeConsent",
    "FakeHomeJobs",
    "FakeHomes",
    "FakeNotifier",
    "FakeRemote",
    "FakeSigner",
    "FakeTool",
    "MemoryJournal",
    "Script",
]

FAKE_DEVICE = DeviceId("d" * 64)
FAKE_NODE = DeviceId("e" * 64)
Script: TypeAlias = "Sequence[GenerationEvent | HomingError | asyncio.Event]"
"""What one generation does: events to yield, an error to raise, or an event to wait for."""


class FakeRemote:
    """A node that plays scripts, one a generation.

    Args:
        scripts: in order; after the last, a generation raises `UnavailableError`.
        name: the node's name.
        place: `HOME` or `PEER`.
        model: the model's name.
        node: the node's device id.
    """

    def __init__(
        self,
        scripts: Sequence[Script] = (),
        *,
        name: str = "home",
        place: Place = Place.HOME,
        model: str = "home-model",
        node: DeviceId = FAKE_NODE,
    ) -> None:
        """Keep the scripts."""
        self.requests: list[GenerateRequest] = []
        self.closed = 0
        self._scripts = list(scripts)
        self._name = name
        self._place = place
        self._model = model
        self._node = node

    @property
    def node(self) -> DeviceId:
        """As in `Remote`."""
        return self._node

    @property
    def name(self) -> str:
        """As in `Remote`."""
        return self._name

    @property
    def place(self) -> Place:
        """As in `Remote`."""
        return self._place

    @property
    def model(self) -> str:
        """As in `Remote`."""
        return self._model

    @property
    def stand_in(self) -> bool:
        """As in `Remote`."""
        return True

    async def generate(self, request: GenerateRequest) -> AsyncGenerator[Numbered, None]:
        """As in `Remote`."""
        self.requests.append(request)
        if not self._scripts:
            msg = "the node went away"
            raise UnavailableError(msg)
        seq = 0
        try:
            for step in self._scripts.pop(0):
                if isinstance(step, HomingError):
                    raise step
                if isinstance(step, asyncio.Event):
                    await step.wait()
                    continue
                seq += 1
                yield Numbered(seq, step)
        finally:
            self.closed += 1


class FakeHomes:
    """Gives one remote, or says why there is none.

    Args:
        remote: the node; None means that none can be reached.
        problem: why not.
        delay: waited for before answering, if given.
        peer: the next node, for what the first is to be avoided for.
    """

    def __init__(
        self,
        remote: FakeRemote | None = None,
        problem: str | HomingError = "no home is paired",
        delay: asyncio.Event | None = None,
        peer: FakeRemote | None = None,
    ) -> None:
        """Keep them."""
        self.remote = remote
        self.peer = peer
        self.needs: list[Need] = []
        self._problem = problem
        self._delay = delay

    async def pick(self, need: Need) -> FakeRemote:
        """As in `Homes`."""
        self.needs.append(need)
        if self._delay is not None:
            await self._delay.wait()
        for remote in (self.remote, self.peer):
            if remote is not None and remote.node not in need.avoid:
                return remote
        if isinstance(self._problem, HomingError):
            raise self._problem
        raise UnavailableError(self._problem)


class FakeHomeJobs:
    """A node's tools, and jobs that whoever holds it ends. It outlives an agent, as a book does.

    Args:
        tools: what the node offers.
        node_name: name of the node.

    Attributes:
        started: every job that was begun anew, in order.
        has_changed: names of tools that are not what their person allowed.
        refuse: raised by `start`, where set.
    """

    def __init__(self, *tools: ToolSpec, node_name: str = "home") -> None:
        """No jobs yet."""
        self.started: list[JobAsked] = []
        self.has_changed: set[str] = set()
        self.refuse: HomingError | None = None
        self._tools = tools
        self._node_name = node_name
        self._jobs: dict[JobId, HomeJob] = {}
        self._events: dict[JobId, list[JobEvent]] = {}
        self._ends: dict[JobId, JobResult | HomingError] = {}
        self._news = asyncio.Event()

    # What the node does

    async def first(self) -> JobId:
        """The first job, once there is one."""
        while not self._jobs:
            await self._news.wait()
        return next(iter(self._jobs))

    def say(
        self,
        job: JobId,
        state: JobState = JobState.RUNNING,
        progress: JobProgress | None = None,
    ) -> None:
        """Add to a job's record."""
        events = self._events[job]
        events.append(JobEvent(len(events) + 1, 1_800_000_000.0, state, progress))
        self._wake()

    def end(self, job: JobId, how: JobResult | HomingError) -> None:
        """End a job."""
        self._ends[job] = how
        failed = isinstance(how, HomingError)
        self.say(job, JobState.FAILED if failed else JobState.SUCCEEDED)

    # What it is asked; see `HomeJobs`

    async def tools(self, remote: Remote) -> tuple[ToolSpec, ...]:
        """As in `HomeJobs`."""
        del remote
        return self._tools

    async def names(self) -> frozenset[str]:
        """As in `HomeJobs`."""
        return frozenset(tool.name for tool in self._tools)

    def changed(self, tool: ToolSpec) -> bool:
        """As in `HomeJobs`."""
        return tool.name in self.has_changed

    async def start(self, asked: JobAsked) -> JobId:
        """As in `HomeJobs`."""
        if self.refuse is not None:
            raise self.refuse
        job = new_job_id()
        self._jobs[job] = HomeJob(job, asked, self._node_name)
        self._events[job] = []
        self.started.append(asked)
        self.say(job, JobState.QUEUED)
        return job

    async def follow(self, job: JobId) -> AsyncGenerator[JobEvent, None]:
        """As in `HomeJobs`."""
        seen = 0
        while True:
            news = self._news
            while seen < len(self._events[job]):
                seen += 1
                yield self._events[job][seen - 1]
            if job in self._ends:
                return
            await news.wait()

    async def result(self, job: JobId) -> JobResult:
        """As in `HomeJobs`."""
        while job not in self._ends:
            await self._news.wait()
        how = self._ends[job]
        if isinstance(how, HomingError):
            raise how
        return how

    def of_request(self, request_id: RequestId) -> tuple[HomeJob, ...]:
        """As in `HomeJobs`."""
        return tuple(job for job in self._jobs.values() if job.asked.request_id == request_id)

    def _wake(self) -> None:
        self._news.set()
        self._news = asyncio.Event()


class FakeConsent:
    """A person who always says the same.

    Args:
        verdict: what they say; None never answers.
        remember: whether a yes is to be kept.
    """

    def __init__(self, verdict: Verdict | None = Verdict.ALLOW, *, remember: bool = False) -> None:
        """Keep them."""
        self.questions: list[ConsentQuestion] = []
        self._verdict = verdict
        self._remember = remember

    async def ask(self, question: ConsentQuestion) -> ConsentAnswer:
        """As in `Consent`."""
        self.questions.append(question)
        if self._verdict is None:
            await asyncio.Event().wait()
        verdict = self._verdict or Verdict.DENY
        return ConsentAnswer(question.approval_id, verdict, self._remember)


class FakeSigner:
    """Signs with a constant."""

    @property
    def device(self) -> DeviceId:
        """As in `Signer`."""
        return FAKE_DEVICE

    def sign(self, statement: ApprovalStatement) -> SignedApproval:
        """As in `Signer`."""
        return SignedApproval(statement, b"signature")


class FakeTool:
    """A tool that does what it is told and remembers its calls.

    Args:
        spec: what it is; by default a tool that writes and takes an optional text.
        act: what a run does; by default it says "done".
        reason: why it is unavailable, if it is.
        shown: its preview, or the error that the preview raises.
    """

    def __init__(
        self,
        spec: ToolSpec | None = None,
        act: Callable[[JsonObject], ToolOutput] | None = None,
        reason: str | None = None,
        shown: str | HomingError = "",
    ) -> None:
        """Keep them."""
        self.calls: list[JsonObject] = []
        self.contexts: list[ToolContext] = []
        self.started = asyncio.Event()
        self.hold: asyncio.Event | None = None
        self._spec = spec or fake_spec()
        self._act = act or _done
        self._reason = reason
        self._shown = shown

    @property
    def spec(self) -> ToolSpec:
        """As in `Tool`."""
        return self._spec

    def unavailable(self) -> str | None:
        """As in `Tool`."""
        return self._reason

    def preview(self, arguments: JsonObject) -> str:
        """As in `Tool`."""
        del arguments
        if isinstance(self._shown, HomingError):
            raise self._shown
        return self._shown

    async def run(self, arguments: JsonObject, context: ToolContext) -> ToolOutput:
        """As in `Tool`; waits for `hold` if that is set."""
        self.calls.append(arguments)
        self.contexts.append(context)
        self.started.set()
        if self.hold is not None:
            await self.hold.wait()
        return self._act(arguments)


class FakeAlarms:
    """Alarms that never ring."""

    def __init__(self) -> None:
        """Start empty."""
        self._alarms: dict[str, Alarm] = {}

    def add(self, alarm: Alarm) -> None:
        """As in `Alarms`."""
        self._alarms.setdefault(alarm.id, alarm)

    def pending(self) -> tuple[Alarm, ...]:
        """As in `Alarms`."""
        return tuple(sorted(self._alarms.values(), key=lambda alarm: alarm.due))


class FakeNotifier:
    """Collects what would be shown, and says when something comes.

    Args:
        works: whether anybody can be reached.
    """

    def __init__(self, *, works: bool = True) -> None:
        """Start empty."""
        self.shown: list[tuple[str, str]] = []
        self.works = works
        self.tried = asyncio.Event()

    async def notify(self, title: str, text: str) -> None:
        """As in `Notifier`."""
        self.tried.set()
        if not self.works:
            msg = "nobody is there"
            raise UnavailableError(msg)
        self.shown.append((title, text))


def fake_spec(
    name: str = "act", effect: EffectClass = EffectClass.WRITE, *, idempotent: bool = False
) -> ToolSpec:
    """A tool that takes an optional text, and whose results are trusted."""
    return ToolSpec(
        name=name,
        description=f"Does {name}.",
        parameters={"type": "object", "properties": {"text": {"type": "string"}}},
        effect=effect,
        idempotent=idempotent,
        output_trust=Trust.TRUSTED,
    )


def _done(arguments: JsonObject) -> ToolOutput:
    del arguments
    return ToolOutput("done", "It is done.")
