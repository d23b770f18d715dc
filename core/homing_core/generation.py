"""One generation: what is asked of a model, and the numbered events that come back.

The caller chooses the generation id. Asking again with the same id and the same content is
harmless: it attaches to the generation that runs. Events are numbered from 1 without gaps, so
whoever lost the stream asks for what came after the last number it saw.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, TypeAlias

from homing_core.errors import HomingError, error_from_code

if TYPE_CHECKING:
    from homing_core.ids import GenerationId
    from homing_core.messages import Message
    from homing_core.tools import ToolCall, ToolSpec


class Thinking(Enum):
    """Whether the model thinks first. Always said: a template's own default is not trusted."""

    OFF = "off"
    ON = "on"


class ToolChoice(Enum):
    """Whether the model may, must or must not call a tool."""

    AUTO = "auto"
    REQUIRED = "required"
    NONE = "none"
    """The tools stay in the prompt, so that a warm prefix is of use, but no call can be written."""


class CallGrammar(Enum):
    """Whether calls are held to the offered tools and their schemas while they are written."""

    ON = "on"
    OFF = "off"


class Priority(Enum):
    """What runs first when several wait."""

    INTERACTIVE = "interactive"
    JOB = "job"


class FinishReason(Enum):
    """Why a generation ended."""

    STOP = "stop"
    """The model ended its turn."""
    LENGTH = "length"
    """The token limit or the context was reached."""
    TOOL_CALLS = "tool_calls"
    """The model ended its turn with calls to run."""
    CANCELLED = "cancelled"


@dataclass(frozen=True, slots=True)
class Sampling:
    """How tokens are chosen.

    Attributes:
        temperature: 0 is greedy.
        top_p: nucleus mass, in (0, 1].
        top_k: 0 is no limit.
        seed: 0 lets the engine choose one.
        max_tokens: at most this many new tokens; 0 is what the context allows.
        stop: strings at which to end; they are not part of the text.
    """

    temperature: float = 0.0
    top_p: float = 1.0
    top_k: int = 0
    seed: int = 0
    max_tokens: int = 1024
    stop: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class GenerateRequest:
    """What is asked of a model.

    Attributes:
        id: chosen by the caller, journalled before it is sent.
        model: catalog name or served name; empty for the node's default.
        messages: the conversation so far; the last may be a partial assistant message.
        tools: what the model may call.
        thinking: on or off, said explicitly.
        sampling: how tokens are chosen.
        continue_last: go on writing the last, partial assistant message instead of a new turn.
        priority: what runs first when several wait.
        deadline_ms: give up after this many milliseconds; 0 is no deadline.
        max_context_tokens: hold prompt and answer to this many tokens; 0 is the model's own limit.
        samples: answers to write from the one prompt; above 1, events come as `Sampled`.
        thinking_budget: tokens after which a think block is closed; 0 is no limit.
        tool_choice: whether a tool may, must or must not be called.
        call_grammar: whether calls are held to the tools' schemas while they are written.
        logprobs: alternatives to give for each token, at most 20, as `TokenLogprobs`; 0 gives none.
        adapter: name of a LoRA adapter that the engine has; empty for none.
        early_names: send `ToolNamed` as soon as a call's name is written.
        owner: whose states may be used again for this and who may use those that it leaves. Set by
            the node to the asking device; it never comes over the wire.
    """

    id: GenerationId
    messages: tuple[Message, ...]
    model: str = ""
    tools: tuple[ToolSpec, ...] = ()
    thinking: Thinking = Thinking.OFF
    sampling: Sampling = field(default_factory=Sampling)
    continue_last: bool = False
    priority: Priority = Priority.INTERACTIVE
    deadline_ms: int = 0
    max_context_tokens: int = 0
    samples: int = 1
    thinking_budget: int = 0
    tool_choice: ToolChoice = ToolChoice.AUTO
    call_grammar: CallGrammar = CallGrammar.ON
    logprobs: int = 0
    adapter: str = ""
    early_names: bool = False
    owner: str = ""


@dataclass(frozen=True, slots=True)
class NameProbability:
    """How much the model leaned to one tool's name.

    Attributes:
        name: the tool.
        probability: of the whole name for the one that was written; for another the mass of the
            branch at which it parts from that, which is an upper bound. In [0, 1].
    """

    name: str
    probability: float


@dataclass(frozen=True, slots=True)
class CallSignals:
    """What a router wants to know about how sure the model was. Probabilities are in [0, 1].

    Attributes:
        call_probability: of the token that opened the call, where the turn began.
        name_probability: of the whole tool name, given that a call was opened.
        name_margin: smallest gap between the best and second-best token within the name.
        lowest_argument_probability: of the least likely token in the arguments; 1 if none.
        grammar_share: smallest share of probability that the grammar left at any of the call's
            tokens; low where the model wanted something else. 1 without a grammar.
        argument_decile: tenth percentile of the arguments' token probabilities; 1 if none.
        argument_median: their median; 1 if none.
        names: every offered tool, the most likely first; empty where the engine cannot tell.
    """

    call_probability: float
    name_probability: float
    name_margin: float
    lowest_argument_probability: float = 1.0
    grammar_share: float = 1.0
    argument_decile: float = 1.0
    argument_median: float = 1.0
    names: tuple[NameProbability, ...] = ()


@dataclass(frozen=True, slots=True)
class TextDelta:
    """More visible text."""

    text: str


@dataclass(frozen=True, slots=True)
class ThinkingDelta:
    """More of the model's thinking."""

    text: str


@dataclass(frozen=True, slots=True)
class ToolCallEvent:
    """A whole call. `signals` is None where the engine cannot see probabilities."""

    call: ToolCall
    signals: CallSignals | None = None


@dataclass(frozen=True, slots=True)
class ToolNamed:
    """A call's name is written and its arguments are not; its `ToolCallEvent` may follow.

    Attributes:
        name: as written; it need not be one that was offered.
        signals: how sure the model was so far. What concerns arguments says 1.
    """

    name: str
    signals: CallSignals


@dataclass(frozen=True, slots=True)
class TokenSignals:
    """How sure the model was at the start of its answer; sent once, before or amid the text.

    Attributes:
        first_probability: of the first token.
        mean_logprob: mean natural-log probability of the first `tokens` tokens.
        tokens: how many were looked at.
    """

    first_probability: float
    mean_logprob: float
    tokens: int


@dataclass(frozen=True, slots=True)
class TokenLogprob:
    """A written token, as the model saw it before any sampling or grammar.

    Attributes:
        text: its text; a token that is only part of a character shows a replacement mark.
        logprob: natural logarithm of its probability.
        top: the most likely tokens at this place and their log-probabilities, best first.
    """

    text: str
    logprob: float
    top: tuple[tuple[str, float], ...] = ()


@dataclass(frozen=True, slots=True)
class TokenLogprobs:
    """The next tokens of the answer; sent where `GenerateRequest.logprobs` asks for it."""

    tokens: tuple[TokenLogprob, ...]


@dataclass(frozen=True, slots=True)
class Usage:
    """Counts in tokens, durations in milliseconds.

    Attributes:
        prompt_tokens: in the rendered prompt.
        cached_tokens: of these, how many were not computed again.
        completion_tokens: newly written.
        prefill_ms: from taking up the request to the first token.
        decode_ms: from the first token to the last.
    """

    prompt_tokens: int
    cached_tokens: int
    completion_tokens: int
    prefill_ms: float
    decode_ms: float


@dataclass(frozen=True, slots=True)
class Done:
    """The last event of a generation that ended well."""

    reason: FinishReason


@dataclass(frozen=True, slots=True)
class Failed:
    """The last event of a generation that did not. The fields are those of a `HomingError`."""

    code: str
    what: str
    hint: str = ""
    retryable: bool = False
    retry_after_ms: int = 0

    @classmethod
    def from_error(cls, error: HomingError) -> Failed:
        """The event for an error."""
        return cls(
            error.code.value,
            error.what,
            error.hint,
            error.retryable,
            getattr(error, "retry_after_ms", 0),
        )

    def to_error(self) -> HomingError:
        """The error for this event."""
        return error_from_code(self.code, self.what, self.hint, self.retry_after_ms)


SampleEvent: TypeAlias = (
    TextDelta
    | ThinkingDelta
    | TokenSignals
    | ToolNamed
    | ToolCallEvent
    | TokenLogprobs
    | Done
    | Failed
)


@dataclass(frozen=True, slots=True)
class Sampled:
    """An event of one of several answers. A `Done` or `Failed` in it ends that answer alone.

    Attributes:
        sample: which answer, counted from 1.
        event: what happened in it.
    """

    sample: int
    event: SampleEvent


GenerationEvent: TypeAlias = SampleEvent | Sampled | Usage


@dataclass(frozen=True, slots=True)
class Numbered:
    """An event with its sequence number: 1, 2, 3, … without gaps."""

    seq: int
    event: GenerationEvent

    @property
    def final(self) -> bool:
        """Whether nothing follows."""
        return isinstance(self.event, Done | Failed)
