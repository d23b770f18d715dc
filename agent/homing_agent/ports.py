"""The boundaries of the loop: models elsewhere, the person, and the device's key."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from homing_core.provenance import Sensitivity

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from homing_core.approvals import ApprovalStatement, SignedApproval, Verdict
    from homing_core.generation import GenerateRequest, Numbered
    from homing_core.ids import ApprovalId, DeviceId, JobId, RequestId
    from homing_core.jobs import JobEvent, JobResult
    from homing_core.tools import Place, ToolCall, ToolSpec


class Remote(Protocol):
    """A model on a node. It is named before it is used, so that a person sees where work goes."""

    @property
    def node(self) -> DeviceId:
        """The node's device id."""
        ...

    @property
    def name(self) -> str:
        """The node's name, cleaned."""
        ...

    @property
    def place(self) -> Place:
        """`HOME` or `PEER`."""
        ...

    @property
    def model(self) -> str:
        """The model that answers when a request names none."""
        ...

    @property
    def stand_in(self) -> bool:
        """Whether that model stands in for the product's own."""
        ...

    def generate(self, request: GenerateRequest) -> AsyncGenerator[Numbered, None]:
        """The numbered events of one generation; the last is `Done` or `Failed`.

        Resuming after a break happens inside: numbers never repeat and never skip. Asking again
        with the id and content of an earlier generation attaches to it, from number 1. Closing
        the generator cancels the generation.

        Raises:
            HomingError: the node is gone for good (`UnavailableError`) or refuses.
        """
        ...


@dataclass(frozen=True, slots=True)
class Need:
    """What a node must offer for a step to go there.

    Attributes:
        sensitivity: the strictest class among everything that would be sent.
        prompt_tokens: estimated length of the prompt.
        thinking: whether the model should think first.
        avoid: nodes that failed at this just now.
    """

    sensitivity: Sensitivity = Sensitivity.HOME_ONLY
    prompt_tokens: int = 0
    thinking: bool = False
    avoid: frozenset[DeviceId] = frozenset()


class Homes(Protocol):
    """The nodes that this phone is paired with."""

    async def pick(self, need: Need) -> Remote:
        """The best node that answers now and to which this data may go.

        Raises:
            UnavailableError: there is none; says why, for a person.
        """
        ...


@dataclass(frozen=True, slots=True)
class ConsentQuestion:
    """A step that needs a person.

    Attributes:
        approval_id: the question's id; the answer and its signed statement carry it.
        request_id: the request that the step belongs to.
        step: number of the step within the request, from 1.
        tool: the tool, complete.
        call: the exact call.
        reason: why a person is asked.
        preview: what would happen, in the tool's own words; may be empty.
        may_remember: whether a yes may be kept for this tool until the conversation ends.
        expires_at: void from then on, wall time in seconds since the epoch.
    """

    approval_id: ApprovalId
    request_id: RequestId
    step: int
    tool: ToolSpec
    call: ToolCall
    reason: str
    preview: str
    may_remember: bool
    expires_at: int


@dataclass(frozen=True, slots=True)
class ConsentAnswer:
    """What the person said.

    Attributes:
        approval_id: the question's id; an answer to another question counts as no.
        verdict: yes or no.
        remember: keep a yes for this tool until the conversation ends, where that is allowed.
    """

    approval_id: ApprovalId
    verdict: Verdict
    remember: bool = False


class Consent(Protocol):
    """The person, reached through whatever screen they sit at."""

    async def ask(self, question: ConsentQuestion) -> ConsentAnswer:
        """Show the exact step and wait for an answer. Cancelled when the question expires."""
        ...


@dataclass(frozen=True, slots=True)
class JobAsked:
    """A home tool's call that is to be made as a job.

    Attributes:
        request_id: the request.
        step: number of the step within the request, from 1.
        tool: the tool, with the node that runs it.
        call: the exact call.
        sensitivity: how far what is in it may travel.
        approval: the person's signed consent, where the tool needs one.
    """

    request_id: RequestId
    step: int
    tool: ToolSpec
    call: ToolCall
    sensitivity: Sensitivity
    approval: SignedApproval | None = None


@dataclass(frozen=True, slots=True)
class HomeJob:
    """A job that a request has begun.

    Attributes:
        id: the job.
        asked: what it was asked to do.
        node_name: name of the node that has it, for people.
    """

    id: JobId
    asked: JobAsked
    node_name: str


class HomeJobs(Protocol):
    """Tools of the nodes, as far as a request needs them. A job belongs to the phone, not to it."""

    async def tools(self, remote: Remote) -> tuple[ToolSpec, ...]:
        """Tools of the node that is at work which this phone may use now.

        Those that have changed since its person allowed them are as good as new: their consent is
        asked again. None if the node cannot be asked. Never raises.
        """
        ...

    async def names(self) -> frozenset[str]:
        """Names of the tools of all nodes that answer now. Never raises."""
        ...

    def changed(self, tool: ToolSpec) -> bool:
        """Whether a tool is another one than its person allowed under this name on this node."""
        ...

    async def start(self, asked: JobAsked) -> JobId:
        """Write a job down and hand it in; the same request, tool and arguments give the same job.

        It is on its way when this returns, even if the node is away just now.

        Raises:
            HomingError: the node does not take it, or it cannot be written down.
        """
        ...

    def follow(self, job: JobId) -> AsyncGenerator[JobEvent, None]:
        """Its events from the newest that is known to its end, over breaks of the line.

        Leaving stops nothing.
        """
        ...

    async def result(self, job: JobId) -> JobResult:
        """What came of a job that has ended; waits until it has been fetched.

        Raises:
            HomingError: it failed, was cancelled or refused, or nobody knows whether it happened.
        """
        ...

    def of_request(self, request_id: RequestId) -> tuple[HomeJob, ...]:
        """Jobs that a request has begun, in order; raises `HomingError` if that cannot be read."""
        ...


class Signer(Protocol):
    """The device's key, as far as approvals go."""

    @property
    def device(self) -> DeviceId:
        """The device that signs."""
        ...

    def sign(self, statement: ApprovalStatement) -> SignedApproval:
        """Sign what a person said on this device."""
        ...
