"""Feeding parsers, and strategies for answers: nasty strings, calls, mutations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from homing_core.ids import new_tool_call_id
from homing_core.tools import ToolCall, ToolSpec
from homing_inference.formats.base import CallParsed, ParsedText, ParsedThinking
from homing_inference.formats.hermes_json import HermesJsonFormat
from homing_inference.formats.qwen35_xml import Qwen35XmlFormat
from homing_inference.formats.template import ChatTemplate
from hypothesis import strategies as st

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from homing_core.canonical import JsonValue
    from homing_inference.formats.base import ChatFormat, Parsed, Parser

_template = ChatTemplate("")
CALL_FORMATS: tuple[ChatFormat, ...] = (Qwen35XmlFormat(_template), HermesJsonFormat(_template))
"""The formats that have a form for calls; their template renders nothing."""

_PIECES = (
    "</parameter>", "</function>", "</tool_call>", "<tool_call>", "<function=f>", "<parameter=k>",
    "<think>", "</think>", "<|im_end|>", "```", "```json\n", "\n", "\n\n", " ", "\t", "\r", "=",
    "\\u0041", '"\\u0041b"', "{", "}", "[", "]", ":", ",", "'", '"', "\\", "5", "true", "True",
    "null", "<", ">", "</parameter", "é", "\U0001f600", "\u2028", "a",
)  # fmt: skip

nasty_texts: st.SearchStrategy[str] = st.lists(
    st.sampled_from(_PIECES) | st.text(max_size=4), max_size=12
).map("".join)
"""Strings that hold the marks themselves, quotes, blanks, and whatever else may break a parser."""

_scalars: st.SearchStrategy[JsonValue] = (
    st.none()
    | st.booleans()
    | st.integers(-(10**30), 10**30)
    | st.floats(allow_nan=False, allow_infinity=False)
    | nasty_texts
)
nasty_values: st.SearchStrategy[JsonValue] = st.recursive(
    _scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(nasty_texts, inner, max_size=3),
    max_leaves=8,
)
nasty_objects: st.SearchStrategy[Mapping[str, JsonValue]] = st.dictionaries(
    nasty_texts, nasty_values, max_size=4
)
call_names: st.SearchStrategy[str] = st.text(
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.:/", min_size=1, max_size=40
)


def call(name: str, **arguments: JsonValue) -> ToolCall:
    """A call with a fresh id."""
    return ToolCall(new_tool_call_id(), name, arguments)


call_lists: st.SearchStrategy[list[ToolCall]] = st.lists(
    st.builds(ToolCall, id=st.builds(new_tool_call_id), name=call_names, arguments=nasty_objects),
    min_size=1,
    max_size=3,
)


def tool(name: str, **properties: Mapping[str, JsonValue]) -> ToolSpec:
    """A tool whose parameters have these schemas."""
    return ToolSpec(name, "A tool.", {"type": "object", "properties": properties})


@dataclass
class Read:
    """What a parser made of one answer."""

    events: list[Parsed]

    @property
    def text(self) -> str:
        return "".join(event.text for event in self.events if isinstance(event, ParsedText))

    @property
    def thinking(self) -> str:
        return "".join(event.text for event in self.events if isinstance(event, ParsedThinking))

    @property
    def parsed(self) -> list[CallParsed]:
        return [event for event in self.events if isinstance(event, CallParsed)]

    @property
    def calls(self) -> list[tuple[str, Mapping[str, JsonValue]]]:
        return [(event.call.name, event.call.arguments) for event in self.parsed]


def named(calls: Iterable[ToolCall]) -> list[tuple[str, Mapping[str, JsonValue]]]:
    """Calls without their ids, which a parser makes anew."""
    return [(one.name, one.arguments) for one in calls]


def cut(text: str, places: Iterable[int]) -> list[str]:
    """The text in pieces."""
    ends = sorted({place % (len(text) + 1) for place in places} | {len(text)})
    starts = [0, *ends[:-1]]
    return [text[start:end] for start, end in zip(starts, ends, strict=True)]


def read(parser: Parser, pieces: str | Sequence[str], *, end_of_turn: bool = True) -> Read:
    """Everything a parser says about an answer, fed in these pieces."""
    result = Read([])
    for piece in [pieces] if isinstance(pieces, str) else pieces:
        result.events += parser.feed(piece)
    result.events += parser.finish(end_of_turn=end_of_turn)
    return result
