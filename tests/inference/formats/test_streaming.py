"""Text streams as soon as it is certain; thinking is kept apart."""

from __future__ import annotations

import pytest
from homing_inference.formats.base import CallOpened, ParsedText, ParsedThinking
from homing_inference.formats.parser import AnswerParser
from homing_inference.formats.plain import PlainFormat
from homing_inference.formats.template import ChatTemplate
from support.answers import read, tool

TOOLS = (tool("note", text={"type": "string"}),)
_CALL = (
    "<tool_call>\n<function=note>\n<parameter=text>\nmilk\n</parameter>\n</function>\n</tool_call>"
)


def test_words_come_at_once() -> None:
    parser = AnswerParser(TOOLS)
    assert parser.feed("The capital") == [ParsedText("The capital")]
    assert parser.feed(" of") == [ParsedText(" of")]


def test_what_may_become_a_mark_is_held_and_then_given() -> None:
    parser = AnswerParser(TOOLS)
    assert parser.feed("a <tool") == [ParsedText("a")]
    assert parser.feed("box> b") == [ParsedText(" <toolbox> b")]


def test_json_that_names_no_tool_is_text_as_soon_as_that_is_clear() -> None:
    parser = AnswerParser(TOOLS)
    assert parser.feed('{"name": "Bo') == []
    assert parser.feed('b"') == [ParsedText('{"name": "Bob"')]
    assert AnswerParser(TOOLS).feed('{"colour"') == [ParsedText('{"colour"')]
    assert AnswerParser(()).feed('{"name') == [ParsedText('{"name')]


def test_blanks_before_a_call_are_not_said() -> None:
    parser = AnswerParser(TOOLS)
    assert parser.feed("Sure.\n\n") == [ParsedText("Sure.")]
    assert parser.feed("<tool_call>") == [CallOpened(7)]


def test_a_partial_answer_goes_on_with_its_blank() -> None:
    assert AnswerParser(TOOLS).feed(" world") == [ParsedText(" world")]


def test_behind_words_only_marks_open_a_call() -> None:
    json_call = '{"name": "note", "arguments": {"text": "milk"}}'
    assert read(AnswerParser(TOOLS), json_call).calls == [("note", {"text": "milk"})]
    assert read(AnswerParser(TOOLS, continues_text=True), json_call).text == json_call
    assert read(AnswerParser(TOOLS, continues_text=True), _CALL).calls


@pytest.mark.parametrize("starts", [True, False])
def test_thinking_is_kept_apart(*, starts: bool) -> None:
    text = "\nIt is a note.\n</think>\n\nDone."
    got = read(
        AnswerParser(TOOLS, starts_in_thinking=starts),
        list(text if starts else f"<think>{text}"),
    )
    assert got.thinking.strip() == "It is a note."
    assert got.text == "Done."


def test_thinking_streams() -> None:
    parser = AnswerParser(TOOLS, starts_in_thinking=True)
    assert parser.feed("so it") == [ParsedThinking("so it")]
    assert parser.feed(" is </thin") == [ParsedThinking(" is")]
    assert parser.feed("k> then") == [ParsedText("then")]


def test_thinking_that_never_ends_is_thinking() -> None:
    got = read(AnswerParser(TOOLS, starts_in_thinking=True), "on and on")
    assert (got.thinking, got.text) == ("on and on", "")


def test_a_call_follows_thinking() -> None:
    got = read(AnswerParser(TOOLS, starts_in_thinking=True), list(f"hm\n</think>\n\n{_CALL}"))
    assert got.calls == [("note", {"text": "milk"})]
    assert (got.thinking, got.text) == ("hm", "")


def test_a_call_inside_a_think_block_counts_if_it_is_whole_and_known() -> None:
    got = read(AnswerParser(TOOLS, starts_in_thinking=True), list(f"hm\n{_CALL}\n</think>\nOk"))
    assert got.calls == [("note", {"text": "milk"})]
    assert (got.thinking, got.text) == ("hm", "Ok")


@pytest.mark.parametrize(
    "thought",
    [
        "I could write <tool_call> here",
        f"I would write {_CALL} now",
        f"so\n{_CALL.replace('note', 'unknown')}",
        "so\n<tool_call>\nno",
    ],
)
def test_thoughts_about_calls_are_thoughts(thought: str) -> None:
    got = read(AnswerParser(TOOLS, starts_in_thinking=True), list(f"{thought}\n</think>\nOk"))
    assert got.calls == []
    assert not any(isinstance(event, CallOpened) for event in got.events)
    assert (got.thinking, got.text) == (thought, "Ok")


def test_the_plain_format_knows_no_calls() -> None:
    parser = PlainFormat(ChatTemplate("")).parser(TOOLS, starts_in_thinking=True)
    got = read(parser, list(f"hm</think>{_CALL}"))
    assert got.calls == []
    assert (got.thinking, got.text) == ("hm", _CALL)
