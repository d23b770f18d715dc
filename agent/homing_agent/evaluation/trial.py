"""What the agent does first with a request, and what its routing rule saw: nothing is carried out.

The agent is the product's own, with its prompts, checks, trimming and retries. Three of its parts
are stood in for: tools that say what they would do and do nothing, a person who says no to
everything, and a routing rule that notes what it is shown.
"""

from __future__ import annotations

from contextlib import aclosing
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from homing_core.approvals import Verdict
from homing_core.errors import RefusedError, UnavailableError
from homing_core.ids import new_request_id
from homing_core.tools import Place

from homing_agent.completing import Completing
from homing_agent.evaluation.judge import Asked, Called, Said
from homing_agent.events import FinalAnswer, RouteChosen
from homing_agent.journal.memory import MemoryJournal
from homing_agent.loop import Agent
from homing_agent.ports import ConsentAnswer
from homing_agent.questions import Asking
from homing_agent.registry import Registry
from homing_agent.request import NO_FIRST_TOKEN, AskInput, RoutePreference
from homing_agent.routing.decide import Rules, mendable
from homing_agent.routing.decisions import UNKNOWN
from homing_agent.routing.features import Point
from homing_agent.routing.score import Judgement, lacking_of
from homing_agent.routing.second_look import may_call, no_fit
from homing_agent.routing.thresholds import DEFAULT_THRESHOLDS
from homing_agent.tool import AskPersonError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping, Sequence

    from homing_core.canonical import JsonObject
    from homing_core.ids import JobId, RequestId
    from homing_core.jobs import JobEvent, JobResult
    from homing_core.tools import ToolSpec
    from homing_inference.engine import WarmedPrefix

    from homing_agent.evaluation.judge import Did
    from homing_agent.parts import Parts
    from homing_agent.ports import ConsentQuestion, HomeJob, HomeJobs, JobAsked, Need, Remote
    from homing_agent.routing.features import CallFacts, Features
    from homing_agent.tool import Tool, ToolContext, ToolOutput

_NOT_RUN: Final = "this is a trial: nothing is carried out"


@dataclass(frozen=True, slots=True)
class Seen:
    """What a routing rule was shown.

    Attributes:
        point: when.
        numbers: the features.
        lacking: required arguments that nobody said.
        tool: the tool that is called; empty where none is.
        passed: whether it had no say, since a call was tried instead of the words.
    """

    point: Point
    numbers: Mapping[str, float]
    lacking: tuple[str, ...] = ()
    tool: str = ""
    passed: bool = False


@dataclass(frozen=True, slots=True)
class Tried:
    """What came of a trial.

    Attributes:
        did: the first action.
        seen: what the rule was shown, in order.
        settled: whether the last of it is what was acted on; False where a hard rule ended it, or
            would have sent it home.
        ttft_ms: to the first token, milliseconds; negative if there was none.
        total_ms: to the end, milliseconds.
    """

    did: Did
    seen: tuple[Seen, ...]
    settled: bool
    ttft_ms: float
    total_ms: float

    def all_at(self, *points: Point) -> tuple[Seen, ...]:
        """What was seen at these points and had a say, in order."""
        return tuple(one for one in self.seen if one.point in points and not one.passed)

    def at(self, point: Point) -> Seen | None:
        """The last that was seen at a point."""
        return next(reversed(self.all_at(point)), None)


@dataclass(slots=True)
class Noting:
    """A score rule that doubts nothing and notes everything.

    Attributes:
        idle: whether it says of every call that no tool fits, so that there are only words.
        looks: whether it takes away calls where no tool fits, as the rule of an uncalibrated phone
            does; a learned rule is fitted on what comes without.
        seen: what it was shown.
    """

    idle: bool = False
    looks: bool = False
    seen: list[Seen] = field(default_factory=list[Seen])

    def judge(self, features: Features) -> Judgement:
        """As in `ScoreRule`."""
        call = features.call
        lacking = () if call is None else lacking_of(call, DEFAULT_THRESHOLDS)
        tool = "" if call is None else call.name
        at_text = features.point is Point.TEXT
        instead = may_call(features, DEFAULT_THRESHOLDS) if at_text else ""
        passed = bool(instead) or mendable(features)
        self.seen.append(Seen(features.point, features.numbers(), lacking, tool, passed))
        if call is not None and features.point is Point.NAME:
            return Judgement(UNKNOWN, "", idle=self._idle(call, must_call=features.must_call))
        return Judgement(UNKNOWN, "", lacking, instead=instead)

    def _idle(self, call: CallFacts, *, must_call: bool) -> str:
        if self.idle:
            return "words are wanted"
        return no_fit(call, DEFAULT_THRESHOLDS, must_call=must_call) if self.looks else ""

    def numbers(self, features: Features) -> Mapping[str, float]:
        """As in `ScoreRule`."""
        return features.numbers()


class Trials:
    """Lets one agent try requests, one after the other.

    Args:
        parts: of the agent. Its person is not asked, its journal stays empty, and its tools do
            nothing; those that cannot act on this device are offered like the others.
        tools: the phone's, in the order in which the model sees them.
        looks: see `Noting`.
    """

    def __init__(self, parts: Parts, tools: Sequence[Tool], *, looks: bool = False) -> None:
        """Nothing is tried yet."""
        self._first: list[Called | Asked] = []
        self._rule = Noting(looks=looks)
        jobs = None if parts.jobs is None else _InertJobs(parts.jobs, self._first)
        self._agent = Agent(
            replace(
                parts,
                registry=Registry(InertTool(tool, self._first) for tool in tools),
                journal=MemoryJournal(),
                rules=Rules(parts.rules.thresholds, self._rule),
                jobs=jobs,
            )
        )

    async def warm(self) -> WarmedPrefix:
        """Have the phone's prefix computed; raises as `Agent.warm`."""
        return await self._agent.warm()

    async def attempt(
        self, request: str, *, idle: bool = False, route: RoutePreference = RoutePreference.AUTO
    ) -> Tried:
        """Work on a request up to its first action.

        Args:
            request: what a person says.
            idle: whether to say of every call that no tool fits, so that there are only words.
            route: which way it shall go. What a phone does that home has left alone counts as
                home's.

        Raises:
            UnavailableError: it was to go home and could not.
        """
        self._first.clear()
        self._rule.idle = idle
        self._rule.seen.clear()
        asked = AskInput(new_request_id(), request, route=route, interactive=True)
        end: FinalAnswer | None = None
        left = False
        async with aclosing(self._agent.ask(asked, _Nobody(self._first))) as events:
            async for event in events:
                if isinstance(event, FinalAnswer):
                    end = event
                elif isinstance(event, RouteChosen):
                    left = left or event.place is not Place.PHONE
        if route is RoutePreference.HOME and not left:
            msg = f"home could not be reached: {_why(end)}"
            raise UnavailableError(msg, "See that a node runs: homing nodes --check.")
        seen = tuple(self._rule.seen)
        did = self._did(end)
        ttft, total = (end.ttft_ms, end.total_ms) if end else (NO_FIRST_TOKEN, 0.0)
        return Tried(did, seen, _settled(did, seen), ttft, total)

    def _did(self, end: FinalAnswer | None) -> Did:
        if self._first:
            return self._first[0]
        if end is not None and end.asks:
            return Asked(frozenset(end.asks))
        return Said("" if end is None or end.error is not None else end.text)


def _why(end: FinalAnswer | None) -> str:
    if end is None:
        return "there was no answer"
    return end.reason if end.error is None else end.error.what


def _settled(did: Did, seen: Sequence[Seen]) -> bool:
    if any(one.numbers.get("home_unreachable") for one in seen):
        return False  # a phone alone went on where any other hands the step over
    points = [one.point for one in seen if one.point is not Point.NAME]
    if isinstance(did, Said):
        return bool(did.text.strip()) and points[-1:] == [Point.TEXT]
    return points[-1:] == [Point.CALL]


class InertTool:
    """A tool that notes what it would do; its checks are the tool's own.

    Args:
        tool: the tool.
        first: where what it would do is added.
    """

    def __init__(self, tool: Tool, first: list[Called | Asked]) -> None:
        """Nothing is noted yet."""
        self._tool = tool
        self._first = first

    @property
    def spec(self) -> ToolSpec:
        """As in `Tool`."""
        return self._tool.spec

    def unavailable(self) -> str | None:
        """As in `Tool`: it can be tried everywhere."""
        return None

    def preview(self, arguments: JsonObject) -> str:
        """As in `Tool`."""
        try:
            return self._tool.preview(arguments)
        except AskPersonError:
            self._first.append(Asked())
            raise

    async def run(self, arguments: JsonObject, context: ToolContext) -> ToolOutput:
        """As in `Tool`, but that nothing is done."""
        del context
        self._first.append(Called(self.spec.name, arguments))
        raise AskPersonError(_NOT_RUN)

    def complete(self, arguments: JsonObject, request: str) -> JsonObject:
        """As in `Completing`."""
        tool = self._tool
        return tool.complete(arguments, request) if isinstance(tool, Completing) else arguments

    def question(self, parameter: str) -> str:
        """As in `Asking`."""
        return self._tool.question(parameter) if isinstance(self._tool, Asking) else ""


class _InertJobs:
    """A node's tools, offered and not run."""

    def __init__(self, jobs: HomeJobs, first: list[Called | Asked]) -> None:
        self._jobs = jobs
        self._first = first

    async def tools(self, remote: Remote) -> tuple[ToolSpec, ...]:
        return await self._jobs.tools(remote)

    async def names(self) -> frozenset[str]:
        return await self._jobs.names()

    def changed(self, tool: ToolSpec) -> bool:
        del tool
        return False

    async def start(self, asked: JobAsked) -> JobId:
        self._first.append(Called(asked.call.name, asked.call.arguments))
        raise RefusedError(_NOT_RUN)

    async def follow(self, job: JobId) -> AsyncGenerator[JobEvent, None]:
        del job
        return
        yield

    async def result(self, job: JobId) -> JobResult:
        del job
        raise RefusedError(_NOT_RUN)

    def of_request(self, request_id: RequestId) -> tuple[HomeJob, ...]:
        del request_id
        return ()


class _Nobody:
    """A person who says no to everything; what they are asked is noted."""

    def __init__(self, first: list[Called | Asked]) -> None:
        self._first = first

    async def ask(self, question: ConsentQuestion) -> ConsentAnswer:
        self._first.append(Called(question.call.name, question.call.arguments))
        return ConsentAnswer(question.approval_id, Verdict.DENY)


class NoHome:
    """`Homes` of a phone that is alone."""

    async def pick(self, need: Need) -> Remote:
        """Raises `UnavailableError`."""
        del need
        msg = "the phone is tried alone"
        raise UnavailableError(msg)
