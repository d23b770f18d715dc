"""What a model writes by the rules is read exactly, wherever the stream is cut."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from homing_core.canonical import canonical_json
from homing_core.tools import ToolCall, ToolSpec
from homing_inference.formats.base import CallNamed, CallOpened, CallParsed
from hypothesis import given
from hypothesis import strategies as st
from support.answers import (
    CALL_FORMATS,
    call,
    call_lists,
    cut,
    named,
    nasty_texts,
    nasty_values,
    read,
    tool,
)

if TYPE_CHECKING:
    from homing_core.canonical import JsonValue
    from homing_inference.formats.base import ChatFormat

_cuts = st.lists(st.integers(0, 10_000), max_size=8)
both = pytest.mark.parametrize("chat", CALL_FORMATS, ids=lambda chat: chat.name)


def _same(found: list[tuple[str, object]], calls: list[ToolCall]) -> bool:
    """Equal down to the type of each number."""
    return [
        (name, canonical_json(arguments))  # type: ignore[arg-type]  # JSON it is
        for name, arguments in found
    ] == [(name, canonical_json(arguments)) for name, arguments in named(calls)]


@both
@given(calls=call_lists, cuts=_cuts)
def test_calls_come_back_wherever_the_text_is_cut(
    chat: ChatFormat, calls: list[ToolCall], cuts: list[int]
) -> None:
    text = chat.render_calls(calls)
    got = read(chat.parser(()), cut(text, cuts))
    assert _same([*got.calls], calls)
    assert got.text == ""
    assert len({event.call.id for event in got.parsed}) == len(calls)


@both
@given(calls=call_lists)
def test_calls_come_back_character_by_character(chat: ChatFormat, calls: list[ToolCall]) -> None:
    text = chat.render_calls(calls)
    got = read(chat.parser(()), list(text))
    assert _same([*got.calls], calls)
    assert got.text == ""


@both
@given(calls=call_lists, cuts=_cuts)
def test_each_format_reads_the_other(
    chat: ChatFormat, calls: list[ToolCall], cuts: list[int]
) -> None:
    other = CALL_FORMATS[0] if chat is CALL_FORMATS[1] else CALL_FORMATS[1]
    got = read(other.parser(()), cut(chat.render_calls(calls), cuts))
    assert _same([*got.calls], calls)


_SCHEMAS: dict[str, st.SearchStrategy[JsonValue]] = {
    "string": nasty_texts,
    "integer": st.integers(),
    "number": st.floats(allow_nan=False, allow_infinity=False),
    "boolean": st.booleans(),
    "object": st.dictionaries(nasty_texts, nasty_values, max_size=3),
    "array": st.lists(nasty_values, max_size=3),
    "null": st.none(),
}


@st.composite
def typed_calls(draw: st.DrawFn) -> tuple[ToolSpec, ToolCall]:
    """A tool with declared types and a call whose arguments obey them."""
    kinds = draw(st.dictionaries(nasty_texts, st.sampled_from(sorted(_SCHEMAS)), max_size=4))
    arguments = {key: draw(_SCHEMAS[kind]) for key, kind in kinds.items()}
    spec = tool("f", **{key: {"type": kind} for key, kind in kinds.items()})
    return spec, ToolCall(call("f").id, "f", arguments)


@both
@given(pair=typed_calls(), cuts=_cuts)
def test_typed_arguments_come_back_by_their_schema(
    chat: ChatFormat, pair: tuple[ToolSpec, ToolCall], cuts: list[int]
) -> None:
    spec, wanted = pair
    text = chat.render_calls([wanted], [spec])
    got = read(chat.parser([spec]), cut(text, cuts))
    assert _same([*got.calls], [wanted])


@both
def test_a_harmless_string_stands_raw_as_the_model_writes_it(chat: ChatFormat) -> None:
    spec = tool("note", text={"type": "string"})
    text = 'Say "hi" to a < b & c\n- 1\n- 2'
    rendered = chat.render_calls([call("note", text=text)], [spec])
    assert text in rendered or chat.name == "hermes-json"
    assert "\\u003c" not in rendered


@both
@given(calls=call_lists, cuts=_cuts)
def test_offsets_point_into_the_models_output(
    chat: ChatFormat, calls: list[ToolCall], cuts: list[int]
) -> None:
    lead = "Just a moment: "
    text = lead + chat.render_calls(calls)
    got = read(chat.parser(()), cut(text, cuts))
    opened = [event for event in got.events if isinstance(event, CallOpened)]
    names = [event for event in got.events if isinstance(event, CallNamed)]
    assert [text[event.start : event.end] for event in names] == [one.name for one in calls]
    assert all(text.startswith("<tool_call>", event.start) for event in opened)
    for start, name, parsed in zip(opened, names, got.parsed, strict=True):
        assert isinstance(parsed, CallParsed)
        assert start.start < name.start < name.end <= parsed.arguments_start <= parsed.end
        assert text[parsed.end - 1] in ">}"


@both
def test_a_call_is_opened_and_named_before_its_arguments_are_there(chat: ChatFormat) -> None:
    text = chat.render_calls([call("add_reminder", text="Water the plants")])
    parser = chat.parser(())
    shown: list[tuple[int, str]] = []
    for index, char in enumerate(text):
        shown += [(index + 1, type(event).__name__) for event in parser.feed(char)]
    at = {kind: place for place, kind in shown}
    name_end = text.index("add_reminder") + len("add_reminder")
    assert at["CallOpened"] == len("<tool_call>")
    assert at["CallNamed"] == name_end + 1
    assert at["CallParsed"] <= len(text) - len("\n</tool_call>")
