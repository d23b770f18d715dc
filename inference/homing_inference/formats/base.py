"""What a chat format is: rendering to a prompt, and an incremental parser of what comes back.

A format never raises on model output: what it cannot read as a call is text.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Sequence

    from homing_core.generation import Thinking
    from homing_core.messages import Message
    from homing_core.tools import ToolCall, ToolSpec


@dataclass(frozen=True, slots=True)
class Prompt:
    """A rendered prompt.

    Attributes:
        text: all of it.
        prefix_length: characters of `text` that system message and tools alone account for, so
            that they can be computed once; 0 if the template mixes them with the conversation.
        starts_in_thinking: whether the model's first token already stands inside a think block.
        continues_text: whether it goes on behind words of the same answer.
        cuts: ascending offsets behind the prefix, each right before a control mark, up to which
            a later prompt of the same conversation will be the same: where the last user turn
            opens and where the answer to it does. Behind a tool's result there may be one more,
            where the present answer opens; it holds until the user speaks again, since templates
            may then drop what the model thought between its calls.
    """

    text: str
    prefix_length: int
    starts_in_thinking: bool = False
    continues_text: bool = False
    cuts: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class CallSyntax:
    """How a model that was trained on this format writes the beginning of a call.

    Attributes:
        mark: opens a call, such as `<tool_call>`.
        opening: everything from the mark up to the tool's name, the mark included.
        closing: the character that ends the name.
    """

    mark: str
    opening: str
    closing: str


@dataclass(frozen=True, slots=True)
class ParsedText:
    """Visible text."""

    text: str


@dataclass(frozen=True, slots=True)
class ParsedThinking:
    """Thinking."""

    text: str


@dataclass(frozen=True, slots=True)
class CallOpened:
    """A call has begun at this offset; its name is not known yet.

    It is a strong hint, not a promise: if what follows cannot be read as a call, it comes out as
    text, and no `CallParsed` follows.

    Attributes:
        start: characters of model output before the call's opening mark.
    """

    start: int


@dataclass(frozen=True, slots=True)
class CallNamed:
    """The name of the open call is complete.

    Attributes:
        name: as written.
        start: offset of the name's first character in the model's output.
        end: offset behind its last character.
    """

    name: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class CallParsed:
    """A whole call.

    Attributes:
        call: with a fresh id.
        arguments_start: offset of the arguments' first character in the model's output; equal to
            `end` if there are none.
        end: offset behind the call's last character; closing marks such as `</tool_call>` are
            behind it.
    """

    call: ToolCall
    arguments_start: int
    end: int


Parsed: TypeAlias = ParsedText | ParsedThinking | CallOpened | CallNamed | CallParsed


class Parser(Protocol):
    """Reads one answer, piece by piece. Pieces may be split anywhere between characters."""

    def feed(self, piece: str) -> list[Parsed]:
        """Take the next piece; give what is certain by now, in order. Never raises."""
        ...

    def finish(self, *, end_of_turn: bool = False) -> list[Parsed]:
        """Nothing follows: give what was held back. An unfinished, unreadable call is text.

        Args:
            end_of_turn: whether the model ended its turn by itself. Then a call that lacks only
                its closing marks (small models often leave out the last brace) is a call; if the
                answer was cut off by a limit, it is text, since its arguments may be cut as well.
        """
        ...


class ChatFormat(Protocol):
    """One family of templates and call syntax."""

    @property
    def name(self) -> str:
        """Such as `qwen35-xml`."""
        ...

    @property
    def can_think(self) -> bool:
        """Whether the template knows a thinking flag."""
        ...

    @property
    def stop(self) -> tuple[str, ...]:
        """Strings that end a turn, beside the model's own end-of-turn tokens."""
        ...

    @property
    def call_syntax(self) -> CallSyntax | None:
        """How calls begin; None if the format knows none."""
        ...

    def render(
        self,
        messages: Sequence[Message],
        tools: Sequence[ToolSpec],
        thinking: Thinking,
        *,
        continue_last: bool = False,
    ) -> Prompt:
        """The prompt for the next assistant turn, or for going on with the last one.

        Raises:
            InvalidDataError: the template refuses the conversation or is broken.
        """
        ...

    def prefix(
        self, messages: Sequence[Message], tools: Sequence[ToolSpec], thinking: Thinking
    ) -> str:
        """What every prompt with these leading system messages and tools begins with.

        `render` gives its length for a whole conversation; this gives it before there is one.
        Messages behind the leading system messages are ignored. Empty if the template mixes
        system message and tools with the conversation.

        Raises:
            InvalidDataError: the template refuses the system message or is broken.
        """
        ...

    def render_calls(self, calls: Sequence[ToolCall], tools: Sequence[ToolSpec] = ()) -> str:
        """The text in which a model writes these calls; `parser` with the same tools reads it."""
        ...

    def parser(
        self,
        tools: Sequence[ToolSpec],
        *,
        starts_in_thinking: bool = False,
        continues_text: bool = False,
    ) -> Parser:
        """A fresh parser for one answer. Knowing the tools lets it read typed arguments.

        Args:
            tools: what the model was offered.
            starts_in_thinking: as the prompt says.
            continues_text: as the prompt says; only the very start of an answer may be a call
                without marks.
        """
        ...
