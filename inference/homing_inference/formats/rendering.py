"""From a conversation to a prompt: which part of it is the pinned prefix, and where it ends."""

from __future__ import annotations

import re
from collections import OrderedDict
from os.path import commonprefix
from typing import TYPE_CHECKING, Any

from homing_core.canonical import sha256_json
from homing_core.errors import InvalidDataError
from homing_core.generation import Thinking
from homing_core.messages import Role

from homing_inference.formats.base import Prompt
from homing_inference.formats.conversation import to_messages, to_tools
from homing_inference.formats.marks import CALL_END, THINK, THINK_END

if TYPE_CHECKING:
    from collections.abc import Sequence

    from homing_core.messages import Message
    from homing_core.tools import ToolSpec

    from homing_inference.formats.template import ChatTemplate

_Plain = dict[str, Any]

# Two users whose words differ from the first letter on: what both prompts share is no one's words.
_SENTINELS = ("Alpha7f3a9c", "Zulu7f3a9c")
_HERE = "Continue7f3a9cHere"
_TURN_MARK = re.compile(r"<(?:\|[^<>|\s]{1,64}\|>|(?:start|end)_of_turn>)")
_MAX_PREFIXES = 16
_MAX_TURN_OPENING = 64
"""Characters that the opening of a turn (`<|im_start|>user` and a line break) takes at most."""


class Renderer:
    """Renders conversations with one model's template.

    Args:
        template: the model's own.
        offers_tools: whether the template is given the tools.
    """

    def __init__(self, template: ChatTemplate, *, offers_tools: bool = True) -> None:
        """Nothing is rendered yet."""
        self._template = template
        self._offers_tools = offers_tools
        self._marks = tuple(mark for mark in (template.bos, template.eos) if len(mark) > 1)
        self._prefixes: OrderedDict[str, str] = OrderedDict()

    def render(
        self,
        messages: Sequence[Message],
        tools: Sequence[ToolSpec],
        thinking: Thinking,
        *,
        continue_last: bool,
    ) -> Prompt:
        """See `ChatFormat.render`."""
        plain = to_messages(messages, self._marks)
        offered = self._offered(tools)
        if continue_last:
            text = self._continued(plain, offered, thinking)
        else:
            text = self._render(plain, offered, thinking, opening=True)
        prefix = self._prefix(plain, offered, thinking, text)
        prefix_length = len(prefix) if text.startswith(prefix) else 0
        answered = plain[:-1] if continue_last else plain
        return Prompt(
            text,
            prefix_length,
            starts_in_thinking=_in_thinking(text, continued=continue_last),
            continues_text=continue_last and bool(messages[-1].text),
            cuts=self._cuts(answered, offered, thinking, text, prefix_length),
        )

    def prefix(
        self, messages: Sequence[Message], tools: Sequence[ToolSpec], thinking: Thinking
    ) -> str:
        """See `ChatFormat.prefix`."""
        plain = to_messages(messages, self._marks)
        return self._prefix(plain, self._offered(tools), thinking, None)

    def _offered(self, tools: Sequence[ToolSpec]) -> list[_Plain]:
        return to_tools(tools, self._marks) if self._offers_tools else []

    def _render(
        self, messages: list[_Plain], tools: list[_Plain], thinking: Thinking, *, opening: bool
    ) -> str:
        return self._template.render(
            messages,
            tools,
            enable_thinking=thinking is Thinking.ON,
            add_generation_prompt=opening,
        )

    def _prefix(
        self, messages: list[_Plain], tools: list[_Plain], thinking: Thinking, text: str | None
    ) -> str:
        """The shared head of all conversations with these system messages and tools.

        It is kept, and worked out anew where it does not fit `text`: a template may write the date.
        """
        system: list[_Plain] = []
        for message in messages:
            if message["role"] != Role.SYSTEM.value:
                break
            system.append(message)
        key = sha256_json([system, tools, thinking.value])
        known = self._prefixes.get(key)
        if known is None or (text is not None and not text.startswith(known)):
            known = self._shared_head(system, tools, thinking)
            self._prefixes[key] = known
            while len(self._prefixes) > _MAX_PREFIXES:
                self._prefixes.popitem(last=False)
        self._prefixes.move_to_end(key)
        return known

    def _shared_head(self, system: list[_Plain], tools: list[_Plain], thinking: Thinking) -> str:
        prompts = [
            self._render([*system, _user(words)], tools, thinking, opening=True)
            for words in _SENTINELS
        ]
        shared = commonprefix(prompts)  # noqa: RUF071  # characters are meant
        # The opening of the user's turn is cut off as well: what ends right before a control
        # mark has the same tokens alone as within the whole prompt.
        marks = list(_TURN_MARK.finditer(shared, max(0, len(shared) - _MAX_TURN_OPENING)))
        return shared[: marks[-1].start()] if marks else shared

    def _cuts(
        self,
        messages: list[_Plain],
        tools: list[_Plain],
        thinking: Thinking,
        text: str,
        prefix_length: int,
    ) -> tuple[int, ...]:
        """See `Prompt.cuts`: what the prompt has in common with the one of the user's next turn.

        Words of people cannot pose as marks: what looks like one in them is broken up before.
        """
        word = _SENTINELS[0]
        answer = {"role": Role.ASSISTANT.value, "content": word, "reasoning_content": ""}
        try:
            later = self._render([*messages, answer, _user(word)], tools, thinking, opening=True)
        except InvalidDataError:  # it wants other roles in turn, so nobody knows what comes later
            return ()
        shared = commonprefix([text, later])  # noqa: RUF071  # characters are meant
        marks = list(_TURN_MARK.finditer(shared, prefix_length))
        if not marks:
            return ()
        opening, answer_opens = marks[-1][0], marks[-1].start()
        cuts = {text.rfind(opening, 0, answer_opens), answer_opens}
        if messages[-1]["role"] == Role.TOOL.value:
            cuts.add(text.rfind(opening))
        return tuple(sorted(cut for cut in cuts if cut > prefix_length))

    def _continued(self, messages: list[_Plain], tools: list[_Plain], thinking: Thinking) -> str:
        """The prompt up to where the last message's words, thoughts or calls end."""
        if not messages or messages[-1]["role"] != Role.ASSISTANT.value:
            msg = "only an assistant's message can be continued"
            raise InvalidDataError(msg, "Leave out continue_last, or add the partial answer.")
        last = dict(messages[-1])
        calls: list[_Plain] = last.get("tool_calls", [])
        if calls:
            here: _Plain = {"type": "function", "function": {"name": _HERE, "arguments": {}}}
            last["tool_calls"] = [*calls, here]
        elif last["content"] or not last["reasoning_content"]:
            last["content"] += _HERE
        else:
            last["reasoning_content"] += _HERE
        text = self._render([*messages[:-1], last], tools, thinking, opening=False)
        end = text.rfind(_HERE)
        if calls and end >= 0:
            close = text.rfind(CALL_END, 0, end)
            end = close + len(CALL_END) if close >= 0 else -1
        if end < 0:
            msg = "the model's chat template cannot continue a partial answer"
            raise InvalidDataError(msg, "Ask again from the start.")
        return text[:end]


def _user(words: str) -> _Plain:
    return {"role": Role.USER.value, "content": words}


def _in_thinking(text: str, *, continued: bool) -> bool:
    if not continued:
        return text.rstrip().endswith(THINK)
    turns = [mark.end() for mark in _TURN_MARK.finditer(text)]
    opened = text.rfind(THINK, turns[-1] if turns else 0)
    return opened >= 0 and text.find(THINK_END, opened) < 0
