"""Models write badly. Nothing raises, nothing is lost, and what was meant as a call is one."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from homing_inference.formats.base import CallNamed, CallOpened, CallParsed
from homing_inference.formats.parser import MAX_CALL_CHARS, AnswerParser
from hypothesis import given
from hypothesis import strategies as st
from support.answers import CALL_FORMATS, Read, call_lists, cut, nasty_texts, read, tool

if TYPE_CHECKING:
    from collections.abc import Mapping

    from homing_core.canonical import JsonValue
    from homing_core.tools import ToolCall
    from homing_inference.formats.base import ChatFormat, Parsed

TOOLS = (
    tool("note", text={"type": "string"}, title={"type": "string"}),
    tool("torch", on={"type": "boolean"}, level={"type": "integer"}),
    tool("list_notes"),
)
_cuts = st.lists(st.integers(0, 10_000), max_size=8)
_STRUCTURE = r"(?:[\s\[\],}]|</?tool_call>|</?think>|</function>|```[A-Za-z_]{0,16})*"


def _parse(text: str, cuts: list[int] | None = None, *, end_of_turn: bool = True) -> Read:
    return read(AnswerParser(TOOLS), cut(text, cuts or []), end_of_turn=end_of_turn)


def _covers(text: str, events: list[Parsed]) -> bool:
    """Whether texts and calls, in order, are all of the output but for marks and blanks."""
    opened = 0
    parts: list[str] = []
    for event in events:
        match event:
            case CallOpened(start):
                opened = start
            case CallParsed():
                parts.append(text[opened : event.end])
            case CallNamed():
                pass
            case _:
                parts.append(event.text)
    return bool(re.fullmatch(_STRUCTURE.join(["", *(re.escape(part) for part in parts), ""]), text))


_xml_note = "<function=note>\n<parameter=text>\nmilk\n</parameter>\n</function>"
_json_note = '{"name": "note", "arguments": {"text": "milk"}}'
_note: tuple[str, Mapping[str, JsonValue]] = ("note", {"text": "milk"})


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (f"<tool_call>\n{_xml_note}\n</tool_call>", ""),
        (f"I will note it.\n\n<tool_call>\n{_xml_note}\n</tool_call>", "I will note it."),
        (f"<tool_call>\n{_xml_note}\n</tool_call>\nDone!", "Done!"),
        (f"<tool_call>\n{_xml_note}", ""),
        (f"<tool_call>{_xml_note}</tool_call>", ""),
        (f"  <tool_call>  {_xml_note}  </tool_call>  ", ""),
        (_xml_note, ""),
        (f"{_xml_note}\n</tool_call>", ""),
        (_xml_note.replace("</parameter>", "</parameter>\n</parameter>"), ""),
        (_xml_note.replace("\n</function>", ""), ""),
        (_xml_note.replace("\n</parameter>\n</function>", ""), ""),
        (_xml_note.replace("\n</parameter>\n</function>", "\n</parameter>\n</func"), "</func"),
        (_xml_note.replace("\n</parameter>", ""), ""),
        (_xml_note.replace("\n</parameter>\n</function>", "\n</tool_call>"), ""),
        ("<tool_call>\n<function=note>\n<parameter=text>milk</parameter>\n</function>", ""),
        ('<function="note">\n<parameter="text">\nmilk\n</parameter>\n</function>', ""),
        ("<function=note\n<parameter=text\nmilk\n</parameter>\n</function>", ""),
        ('<tool_call>\n<function=note>{"text": "milk"}</function>\n</tool_call>', ""),
        (f"<tool_call>\n{_json_note}\n</tool_call>", ""),
        (f"<tool_call>{_json_note}</tool_call>", ""),
        (f"<tool_call>\n{_json_note}", ""),
        (f"<tool_call>\n{_json_note}}}\n</tool_call>", ""),
        (f"<tool_call>\n{_json_note[:-1]}\n</tool_call>", ""),
        (f"<tool_call>\n{_json_note[:-2]}\n</tool_call>", ""),
        (f"<tool_call>\n[{_json_note}]\n</tool_call>", ""),
        (f"<tool_call>\n```json\n{_json_note}\n```\n</tool_call>", ""),
        (f"<tool_call>\n{_json_note}\n and so on\n</tool_call>", "and so on\n"),
        (_json_note, ""),
        (f"\n{_json_note}\n", ""),
        (_json_note[:-1], ""),
        (f"{_json_note[:-1]}\n", ""),
        (f"```json\n{_json_note}\n```", ""),
        (f"```json\n{_json_note[:-1]}\n```", ""),
        (f"```\n{_json_note}\n```\nDone.", "Done."),
        (f"[{_json_note}]", ""),
        (_json_note.replace('"}}', '",}}'), ""),
        (_json_note.replace("arguments", "parameters"), ""),
        ('{"name": "note", "arguments": "{\\"text\\": \\"milk\\"}"}', ""),
        ('{"type": "function", "function": ' + _json_note + "}", ""),
        ('{"function": "note", "parameters": {"text": "milk"}}', ""),
        ('{"arguments": {"text": "milk"}, "name": "note"}', ""),
    ],
)
@pytest.mark.parametrize("step", [1, 7, 1000])
def test_a_call_is_read_however_it_is_written(text: str, words: str, step: int) -> None:
    got = read(AnswerParser(TOOLS), [text[i : i + step] for i in range(0, len(text), step)])
    assert got.calls == [_note]
    assert got.text == words
    assert _covers(text, got.events)


_SEVERAL: list[tuple[str, list[tuple[str, Mapping[str, JsonValue]]]]] = [
    (
        f"<tool_call>\n{_xml_note}\n</tool_call>\n<tool_call>\n{_json_note}\n</tool_call>",
        [_note, _note],
    ),
    (f"<tool_call>\n{_xml_note}\n{_xml_note}\n</tool_call>", [_note, _note]),
    (f"<tool_call>\n{_json_note}\n{_json_note}\n</tool_call>", [_note, _note]),
    (f"{_json_note}\n{_json_note}", [_note, _note]),
    (f"[{_json_note}, {_json_note}]", [_note, _note]),
    (f"```json\n{_json_note}\n```\n```json\n{_json_note}\n```", [_note, _note]),
    ("<tool_call>\n<function=list_notes>\n</function>\n</tool_call>", [("list_notes", {})]),
    ('<tool_call>\n{"name": "list_notes"}\n</tool_call>', [("list_notes", {})]),
    ('{"name": "list_notes", "arguments": null}', [("list_notes", {})]),
    ('<tool_call>\n{"name": "unknown_one", "arguments": {}}', [("unknown_one", {})]),
    ("<tool_call>\n<function=unknown-one>\n</function>", [("unknown-one", {})]),
    (
        (
            "<function=torch>\n<parameter=on>\nTrue\n</parameter>\n<parameter=level>\n3\n"
            "</parameter>\n</function>"
        ),
        [("torch", {"on": True, "level": 3})],
    ),
    (
        '{"name": "torch", "arguments": {"on": True, "level": None}}',
        [("torch", {"on": True, "level": None})],
    ),
    (
        "<function=torch>\n<parameter=on>\nperhaps\n</parameter>\n</function>",
        [("torch", {"on": "perhaps"})],
    ),
    (
        (
            "<function=note>\n<parameter=text>\n</parameter> is a mark\n</parameter>\n"
            "<parameter=title>\nmarks\n</function>"
        ),
        [("note", {"text": "</parameter> is a mark", "title": "marks"})],
    ),
]


@pytest.mark.parametrize(("text", "calls"), _SEVERAL)
def test_several_calls_and_typed_values(
    text: str, calls: list[tuple[str, Mapping[str, JsonValue]]]
) -> None:
    for cuts in ([], [3], [9, 30], list(range(len(text)))):
        got = _parse(text, cuts)
        assert got.calls == calls
        assert got.text == ""


@pytest.mark.parametrize(
    "text",
    [
        "Hello there.",
        "  leading and trailing \n",
        '{"name": "Bob", "age": 3}',
        '{"a": [1, 2]}',
        "{",
        "{}",
        "[1, 2, 3]",
        "[]",
        "```python\nprint(1)\n```",
        "```json\n{}\n```",
        "``",
        f"Here is how: {_json_note}",
        f"For example:\n```json\n{_json_note}\n```",
        "The mark `<tool_call>` opens a call, and <function=name> names it.",
        "<tool_call>",
        "<tool_call>\n</tool_call>",
        "<tool_call>\nwords\n</tool_call>",
        '<tool_call>\n{"arguments": {}}\n</tool_call>',
        '<tool_call>\n{"name": 5, "arguments": {}}\n</tool_call>',
        '<tool_call>\n{"name": "note", "arguments": [1]}\n</tool_call>',
        '<tool_call>\n{"name": "note" "arguments": {}}\n</tool_call>',
        '<tool_call>\n{"name": "note", "arguments": {]}\n</tool_call>',
        "<function=>\n</function>",
        "a <b> c </b> <tool",
        "1 < 2 and <",
        "I think </think> so",
    ],
)
def test_what_is_no_call_is_text_to_the_last_character(text: str) -> None:
    for cuts in ([], [2], list(range(len(text)))):
        got = _parse(text, cuts)
        assert got.calls == []
        assert got.text == text


@pytest.mark.parametrize(
    "text",
    [
        '{"name": "note", "arguments": {"text": "mil',
        '{"name": "note", "arguments": {"text": "milk"}',
        '<tool_call>\n{"name": "note", "arguments": {"text": "milk", "title": 12',
        "<tool_call>\n<function=note>\n<parameter=text>\nmil",
        "<tool_call>\n<function=note>\n<parameter=text>\nmilk\n</parameter>\n",
        "<tool_call>\n<function=no",
    ],
)
def test_a_call_that_a_limit_cut_off_is_text(text: str) -> None:
    got = _parse(text, [10, 20], end_of_turn=False)
    assert got.calls == []
    assert got.text == text


def test_a_whole_call_before_the_cut_stays_a_call() -> None:
    text = f"<tool_call>\n{_json_note}\n</tool_call>\n<tool_call>\n" + '{"name": "no'
    got = _parse(text, end_of_turn=False)
    assert got.calls == [_note]
    assert got.text == '<tool_call>\n{"name": "no'


@given(nasty_texts, _cuts, st.booleans())
def test_any_text_is_read_without_loss(text: str, cuts: list[int], end_of_turn: bool) -> None:  # noqa: FBT001  # drawn
    whole = _parse(text, end_of_turn=end_of_turn)
    pieces = _parse(text, cuts, end_of_turn=end_of_turn)
    assert _covers(text, whole.events)
    assert (pieces.text, pieces.thinking, pieces.calls) == (
        whole.text,
        whole.thinking,
        whole.calls,
    )


@given(st.text(max_size=200), _cuts)
def test_text_without_marks_comes_out_as_it_is(text: str, cuts: list[int]) -> None:
    text = re.sub(r"[<{\[`]", "", text)
    assert _parse(text, cuts).text == text


@st.composite
def mutated(draw: st.DrawFn) -> str:
    """A valid answer with a few pieces taken out, doubled or put elsewhere."""
    chat: ChatFormat = draw(st.sampled_from(CALL_FORMATS))
    calls: list[ToolCall] = draw(call_lists)
    text = chat.render_calls(calls)
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(text)))
        end = min(len(text), start + draw(st.integers(0, 20)))
        piece = draw(st.sampled_from(["", text[start:end] * 2, "x"]) | nasty_texts)
        text = text[:start] + piece + text[end:]
    return text


@given(mutated(), _cuts, st.booleans())
def test_damaged_answers_neither_raise_nor_lose_text(
    text: str,
    cuts: list[int],
    end_of_turn: bool,  # noqa: FBT001  # drawn
) -> None:
    whole = _parse(text, end_of_turn=end_of_turn)
    pieces = _parse(text, cuts, end_of_turn=end_of_turn)
    assert _covers(text, whole.events)
    assert (pieces.text, pieces.calls) == (whole.text, whole.calls)


def test_an_endless_call_becomes_text_and_frees_its_memory() -> None:
    parser = AnswerParser(TOOLS)
    parser.feed("<tool_call>\n<function=note>\n<parameter=text>\n")
    events: list[Parsed] = []
    fed = 0
    while not events:
        assert fed <= MAX_CALL_CHARS
        events = parser.feed("word " * 1000)
        fed += 5000
    events += parser.feed("and on") + parser.finish()
    got = Read(events)
    assert got.calls == []
    assert got.text.startswith("<tool_call>\n<function=note>")
    assert got.text.endswith("and on")


@pytest.mark.parametrize(
    "unit",
    [
        "<tool_call>",
        "<function=f>",
        '<tool_call>{"name":"x',
        "<tool_call>\n<function=note>\n<parameter=text>\n</parameter> ",
        "\n",
        " ",
        "[",
        "</parameter>",
        "9",
    ],
)
@pytest.mark.timeout(20)
def test_hostile_repetition_is_read_in_linear_time(unit: str) -> None:
    text = unit * (100_000 // len(unit))
    lead = "<function=note><parameter=text>" if unit == "</parameter>" else ""
    got = _parse(lead + text, list(range(0, len(text), 3)), end_of_turn=False)
    assert got.text or len(got.calls) > 1000


def test_nothing_is_said_twice_after_the_end() -> None:
    parser = AnswerParser(TOOLS)
    parser.feed("Hello")
    parser.finish()
    assert parser.feed("more") == []
    assert parser.finish() == []
