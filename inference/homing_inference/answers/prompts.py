"""A request as tokens, with what people wrote kept from posing as control tokens.

A template's text and the conversation's end up in one string, and the tokenizer turns the text of a
control token into that token wherever it stands. A document that holds `<|im_end|>` could so end
the user's turn and go on as the system. Here such a text is cut in two before the template sees it,
by a character that no text may hold; the prompt is then tokenized piece by piece, so that the model
reads the text as it was written, as ordinary tokens.
"""

from __future__ import annotations

import dataclasses
import hashlib
import re
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol

from homing_core.messages import Message, TextPart, ThinkingPart, ToolCallPart, ToolResultPart

from homing_inference.formats.marks import CONTROL_LIKE, LONGEST_CONTROL_LIKE

if TYPE_CHECKING:
    from homing_core.canonical import JsonValue
    from homing_core.generation import GenerateRequest, Thinking
    from homing_core.messages import Part
    from homing_core.tools import ToolSpec

    from homing_inference.formats.base import ChatFormat, Prompt

_MARK: Final = re.compile(CONTROL_LIKE)
_KEPT_HEADS: Final = 8
"""Beginnings whose tokens are kept: 3,000 tokens take some milliseconds each time."""
_CUT: Final = "\ufdd1"
"""A noncharacter: Unicode keeps it for use inside a program, text never carries a meaning in it."""


@dataclass(frozen=True, slots=True)
class TokenizedPrompt:
    """A prompt.

    Attributes:
        tokens: all of it.
        prefix_tokens: how many of them system message and tools account for; 0 if unknown.
        starts_in_thinking: whether the first token of the answer stands inside a think block.
        continues_text: whether the answer goes on with text that has begun.
        cuts: counts of tokens, ascending, each more than `prefix_tokens` and less than all, at
            which a computation of the prompt should stop and keep its state for later turns; see
            `Prompt.cuts`.
        prefix_sha256: of the prefix's text, hex; the same as `TokenizedPrefix` gives.
    """

    tokens: tuple[int, ...]
    prefix_tokens: int
    starts_in_thinking: bool
    continues_text: bool = False
    cuts: tuple[int, ...] = ()
    prefix_sha256: str = ""


@dataclass(frozen=True, slots=True)
class TokenizedPrefix:
    """What every prompt with the same system message and tools begins with.

    Attributes:
        tokens: may be empty.
        sha256: of its text, hex.
    """

    tokens: tuple[int, ...]
    sha256: str


class Tokenizer(Protocol):
    """Of a vocabulary, what prompts need; see `Vocabulary`."""

    @property
    def leading_token(self) -> int | None:
        """Begin-of-sequence token, if every text starts with it."""
        ...

    def tokenize(self, text: str) -> list[int]:
        """`text` as tokens; texts of control tokens become those."""
        ...


class PromptWriter:
    """Renders requests with a chat format and turns them into tokens.

    Args:
        chat: the model's chat format.
        vocabulary: the model's tokens.
        controls: texts that the vocabulary reads as control tokens.
    """

    def __init__(
        self, chat: ChatFormat, vocabulary: Tokenizer, controls: Sequence[str] = ()
    ) -> None:
        """Compile the search for control texts."""
        self._chat = chat
        self._vocabulary = vocabulary
        self._heads: OrderedDict[str, tuple[int, ...]] = OrderedDict()
        self._longest = max((*map(len, controls), LONGEST_CONTROL_LIKE))
        # A look-ahead finds overlapping ones too. What only looks like a control text is cut as
        # well: the format would put a blank into it, and the model would read something else.
        patterns = [*map(re.escape, controls), CONTROL_LIKE]
        self._control = re.compile("(?=" + "|".join(patterns) + ")")

    def prompt(self, request: GenerateRequest) -> TokenizedPrompt:
        """The whole prompt of a request.

        Raises:
            InvalidDataError: the template refuses the conversation.
        """
        rendered = self._chat.render(
            [self._defused(message) for message in request.messages],
            [self._defused_tool(tool) for tool in request.tools],
            request.thinking,
            continue_last=request.continue_last,
        )
        head = rendered.text[: rendered.prefix_length]
        prefix = self._head(head)
        rest = self._tokens(rendered.text[rendered.prefix_length :], leading=not prefix)
        return TokenizedPrompt(
            (*prefix, *rest),
            len(prefix),
            rendered.starts_in_thinking,
            rendered.continues_text,
            cuts=tuple(len(prefix) + cut for cut in self._cuts(rendered, rest)),
            prefix_sha256=_digest(head),
        )

    def prefix(
        self, messages: Sequence[Message], tools: Sequence[ToolSpec], thinking: Thinking
    ) -> TokenizedPrefix:
        """The prefix of every request with these system messages and tools.

        Raises:
            InvalidDataError: the template refuses the system message.
        """
        text = self._chat.prefix(
            [self._defused(message) for message in messages],
            [self._defused_tool(tool) for tool in tools],
            thinking,
        )
        return TokenizedPrefix(self._head(text), _digest(text))

    def _cuts(self, prompt: Prompt, rest: list[int]) -> list[int]:
        """The prompt's cuts, as places in the tokens of what follows the prefix.

        The nth mark of a text is the nth token of this mark: texts of people hold none. So nothing
        has to be tokenized apart, which some vocabularies would do in another way.
        """
        text = prompt.text[prompt.prefix_length :]
        cuts: list[int] = []
        for cut in (cut - prompt.prefix_length for cut in prompt.cuts):
            mark = _MARK.match(text, cut)
            token = self._vocabulary.tokenize(mark[0]) if mark is not None else []
            if mark is None or len(token) != 1:
                continue  # this model's vocabulary knows no such mark
            places = [place for place, each in enumerate(rest) if each == token[0]]
            before = text.count(mark[0], 0, cut)
            if len(places) == text.count(mark[0]) and places[before] > 0:
                cuts.append(places[before])
        return cuts

    def _head(self, text: str) -> tuple[int, ...]:
        """What system message and tools are as tokens; the last few are kept, for all begin so."""
        tokens = self._heads.pop(text, None)
        if tokens is None:
            tokens = tuple(self._tokens(text, leading=True))
        self._heads[text] = tokens
        while len(self._heads) > _KEPT_HEADS:
            self._heads.popitem(last=False)
        return tokens

    def _tokens(self, text: str, *, leading: bool) -> list[int]:
        if not text:
            return []
        tokens = [token for piece in text.split(_CUT) for token in self._vocabulary.tokenize(piece)]
        first = self._vocabulary.leading_token
        if leading and first is not None and tokens[:1] != [first]:
            tokens.insert(0, first)
        return tokens

    def _defused(self, message: Message) -> Message:
        """The message with every control text in it cut, also one that spans two parts."""
        parts: list[Part] = []
        before = ""
        for part in message.parts:
            match part:
                case TextPart():
                    written = part.text.replace(_CUT, "")
                    text = self._cut(written, before)
                    before = (before + written)[-self._longest :]
                    parts.append(dataclasses.replace(part, text=text))
                case ThinkingPart():
                    parts.append(dataclasses.replace(part, text=self._cut_value(part.text)))
                case ToolCallPart():
                    call = dataclasses.replace(
                        part.call,
                        name=self._cut_value(part.call.name),
                        arguments=self._cut_mapping(part.call.arguments),
                    )
                    parts.append(dataclasses.replace(part, call=call))
                case ToolResultPart():
                    content = self._cut_value(part.result.content)
                    result = dataclasses.replace(part.result, content=content)
                    parts.append(dataclasses.replace(part, result=result))
        return Message(message.role, tuple(parts))

    def _defused_tool(self, tool: ToolSpec) -> ToolSpec:
        return dataclasses.replace(
            tool,
            name=self._cut_value(tool.name),
            description=self._cut_value(tool.description),
            parameters=self._cut_mapping(tool.parameters),
        )

    def _cut(self, text: str, before: str = "") -> str:
        """`text` with a cut behind the first character of each control text.

        `before` stands in front of it in the prompt: a control text may begin there.
        """
        whole = before + text
        places = [match.start() + 1 for match in self._control.finditer(whole)]
        inside = [place - len(before) for place in places if place >= len(before)]
        # One that began within `before` was not whole there, so it is cut where the texts meet.
        spanning = any(place < len(before) for place in places)
        pieces: list[str] = [_CUT] if spanning and before else []
        start = 0
        for place in inside:
            pieces += (text[start:place], _CUT)
            start = place
        return "".join((*pieces, text[start:]))

    def _cut_value(self, text: str) -> str:
        return self._cut(text.replace(_CUT, ""))

    def _cut_json(self, value: JsonValue) -> JsonValue:
        if isinstance(value, str):
            return self._cut_value(value)
        if isinstance(value, Mapping):
            return self._cut_mapping(value)
        if isinstance(value, Sequence):
            return [self._cut_json(item) for item in value]
        return value

    def _cut_mapping(self, value: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
        return {self._cut_value(key): self._cut_json(item) for key, item in value.items()}


def _digest(text: str) -> str:
    return hashlib.sha256(text.replace(_CUT, "").encode("utf-8", "replace")).hexdigest()
