"""How a request looks: nothing twice, nothing lost, and nothing that the terminal would obey."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from homing_agent.events import FinalAnswer, Note, RouteChosen, ToolFinished, ToolStarted
from homing_agent.request import REFUSED, ToolStep
from homing_client.cli.console import exact, printable
from homing_client.cli.json_report import JsonReporter
from homing_client.cli.report import TextReporter
from homing_core.generation import Failed, TextDelta, ThinkingDelta
from homing_core.ids import new_conversation_id, new_request_id, new_tool_call_id
from homing_core.provenance import PERSON
from homing_core.tools import Place, ToolCall, ToolResult
from hypothesis import given
from hypothesis import strategies as st
from support import strategies as values

if TYPE_CHECKING:
    from homing_client.cli.report import Reporter
    from homing_client.sessions import Shown


def final(text: str, **fields: Any) -> FinalAnswer:  # noqa: ANN401  # of any field
    given_fields: dict[str, Any] = {
        "request_id": new_request_id(),
        "conversation_id": new_conversation_id(),
        "place": Place.PHONE,
        "node": "",
        "reason": "the phone is sure",
        "confidence": 0.9,
        "model": "tiny",
        "stand_in": False,
        "ttft_ms": 10.0,
        "total_ms": 20.0,
        "text": text,
    }
    return FinalAnswer(**given_fields | fields)


def show(reporter: Reporter, *events: Shown) -> None:
    for event in events:
        reporter.show(event)


def step(*, refused: bool = False, failed: bool = False) -> ToolStep:
    call = ToolCall(new_tool_call_id(), "save_note", {"text": 'say "hi"\n'})
    content = "the file is locked" if failed else "saved"
    result = ToolResult(call.id, content, is_error=failed or refused, provenance=PERSON)
    return ToolStep(call, Place.PHONE, REFUSED if refused else "person", result)


@pytest.fixture
def watched(monkeypatch: pytest.MonkeyPatch) -> None:
    """The answer goes to a terminal."""
    monkeypatch.setattr("homing_client.cli.report.somebody_watches", lambda: True)


def _unsaid(text: str, *, end: str = "\n") -> None:
    del text, end


def out(capsys: pytest.CaptureFixture[str]) -> str:
    return capsys.readouterr().out


def test_streamed_text_is_not_printed_again_at_the_end(capsys: pytest.CaptureFixture[str]) -> None:
    show(TextReporter(), TextDelta("It is "), TextDelta("noon."), final("It is noon."))
    assert out(capsys) == "It is noon.\n"


def test_a_recorded_answer_is_printed_whole(capsys: pytest.CaptureFixture[str]) -> None:
    show(TextReporter(), final("It is noon."))
    assert out(capsys) == "It is noon.\n"


def test_an_answer_without_words_prints_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    show(TextReporter(), final(""))
    assert out(capsys) == ""


def test_quiet_holds_an_answer_until_it_is_whole(capsys: pytest.CaptureFixture[str]) -> None:
    reporter = TextReporter(quiet=True)
    show(reporter, TextDelta("Home began this, "), Note("home stopped answering"))
    assert capsys.readouterr() == ("", "")
    show(reporter, TextDelta("The phone's."), final("The phone's."))
    assert capsys.readouterr() == ("The phone's.\n", "")


@pytest.mark.usefixtures("watched")
def test_quiet_streams_for_a_person(capsys: pytest.CaptureFixture[str]) -> None:
    show(TextReporter(quiet=True), TextDelta("It is "))
    assert out(capsys) == "It is "


@pytest.mark.usefixtures("watched")
def test_on_a_terminal_every_remark_has_a_line_of_its_own(
    capsys: pytest.CaptureFixture[str],
) -> None:
    reporter = TextReporter()
    show(reporter, TextDelta("I will note it."), ToolFinished(step()), TextDelta("\nDone."))
    show(reporter, final("I will note it.\nDone."))
    assert out(capsys) == "I will note it.\nDone.\n"


def test_a_call_is_told_with_its_exact_arguments(capsys: pytest.CaptureFixture[str]) -> None:
    reporter = TextReporter()
    show(reporter, ToolStarted(step()), ToolFinished(step()), ToolFinished(step(failed=True)))
    show(reporter, ToolFinished(step(refused=True)))
    said = r'save_note(text="say \"hi\"\n")'
    assert capsys.readouterr().err.splitlines() == [
        f"✓ {said} on phone, allowed by person",
        f"✗ {said} did not work: the file is locked",
        f"✗ {said} was not allowed",
    ]


def test_the_way_home_is_told_before_the_answer(capsys: pytest.CaptureFixture[str]) -> None:
    reporter = TextReporter()
    show(reporter, RouteChosen(Place.HOME, "den", "it is long", "big"))
    assert capsys.readouterr().err == "→ home (den): it is long\n"
    show(reporter, RouteChosen(Place.PHONE, "", "it is sure", "tiny"))
    assert capsys.readouterr().err == ""


def test_of_a_failure_nothing_is_said_twice(capsys: pytest.CaptureFixture[str]) -> None:
    show(TextReporter(), final("", exit_status=1, error=Failed("unavailable", "it is off")))
    assert capsys.readouterr() == ("", "")  # the command line says it, as it does all errors


def test_thinking_is_apart_from_the_answer(capsys: pytest.CaptureFixture[str]) -> None:
    reporter = TextReporter()
    show(reporter, ThinkingDelta("hm, "), ThinkingDelta("so"), TextDelta("42"), final("42"))
    captured = capsys.readouterr()
    assert captured.out == "42\n"
    assert captured.err.startswith("hm, so\n")


class TestAskedAgain:
    """The resident process was killed, and the request is told from its start."""

    def test_what_was_printed_is_not_printed_again(
        self, capsys: pytest.CaptureFixture[str]
    ) -> None:
        reporter = TextReporter()
        show(reporter, TextDelta("It is "), TextDelta("no"))
        reporter.start_over()
        show(reporter, TextDelta("It"), TextDelta(" is noon"), TextDelta("."), final("It is noon."))
        assert out(capsys) == "It is noon.\n"

    def test_not_even_if_it_is_killed_again_at_once(
        self, capsys: pytest.CaptureFixture[str]
    ) -> None:
        reporter = TextReporter()
        show(reporter, TextDelta("It is no"))
        reporter.start_over()
        show(reporter, TextDelta("It"))
        reporter.start_over()
        show(reporter, TextDelta("It is noon."), final("It is noon."))
        assert out(capsys) == "It is noon.\n"

    def test_another_answer_begins_on_a_line_of_its_own(
        self, capsys: pytest.CaptureFixture[str]
    ) -> None:
        reporter = TextReporter()
        show(reporter, TextDelta("It is no"))
        reporter.start_over()
        show(reporter, TextDelta("It was"), TextDelta(" noon."), final("It was noon."))
        assert out(capsys) == "It is no\nIt was noon.\n"

    @given(
        st.lists(st.text("ab\n", max_size=3), max_size=6),
        st.lists(st.text("ab\n", max_size=3), max_size=6),
        st.integers(0, 6),
    )
    def test_the_same_answer_comes_once_however_it_is_cut(
        self, first: list[str], second: list[str], killed_after: int
    ) -> None:
        text = "".join(first)
        cuts = [len(piece) for piece in second]
        printed: list[str] = []
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("homing_client.cli.report.write_answer", printed.append)
            patch.setattr("homing_client.cli.report.aside", _unsaid)
            reporter = TextReporter()
            show(reporter, *map(TextDelta, first[:killed_after]))
            reporter.start_over()
            at = 0
            for cut in cuts:
                show(reporter, TextDelta(text[at : at + cut]))
                at += cut
            show(reporter, TextDelta(text[at:]), final(text))
        whole = "".join(printed)
        assert whole.removesuffix("\n") == text.removesuffix("\n")

    def test_a_script_is_told_that_what_came_is_void(
        self, capsys: pytest.CaptureFixture[str]
    ) -> None:
        reporter = JsonReporter()
        show(reporter, TextDelta("It is no"))
        reporter.start_over()
        lines = [json.loads(line) for line in out(capsys).splitlines()]
        assert [line["event"] for line in lines] == ["text", "restart"]


def test_json_says_what_went_wrong(capsys: pytest.CaptureFixture[str]) -> None:
    error = Failed("refused", "you said no", "Say yes.")
    show(JsonReporter(), final("", exit_status=3, error=error, ttft_ms=-1.0, confidence=-1.0))
    (line,) = out(capsys).splitlines()
    found = json.loads(line)
    assert found["error"] == {"code": "refused", "what": "you said no", "hint": "Say yes."}
    assert (found["exit_status"], found["ttft_ms"], found["confidence"]) == (3, -1.0, -1.0)


@given(values.json_values)
def test_an_exact_value_is_json_on_one_line_that_shows_everything(value: Any) -> None:  # noqa: ANN401
    text = exact(value)
    assert json.loads(text) == value
    assert printable(text) == text
    assert "\n" not in text


@given(st.text())
def test_printable_text_holds_nothing_that_a_terminal_obeys(text: str) -> None:
    shown = printable(text)
    assert not any(ord(char) < 32 and char not in "\n\t" for char in shown)
    assert "\x7f" not in shown
    assert printable(shown) == shown


def test_a_question_says_how_to_answer_it_where_that_is_not_plain(
    capsys: pytest.CaptureFixture[str],
) -> None:
    asked = final("When shall I remind you?", asks=("when",))
    show(TextReporter(once=True), asked)
    told = capsys.readouterr()
    assert told.out == "When shall I remind you?\n"
    assert f'Answer it: homing ask --conversation {asked.conversation_id} "…"' in told.err
    show(TextReporter(), asked)  # in a chat one just goes on
    show(TextReporter(once=True), final("It is noon."))
    assert "Answer it" not in capsys.readouterr().err


def test_an_uncalibrated_phone_says_so_when_it_explains(
    capsys: pytest.CaptureFixture[str],
) -> None:
    show(TextReporter(explain=True), final("Noon.", features={"calibrated": 0.0}))
    assert "not calibrated for this model and these tools: homing calibrate" in (
        capsys.readouterr().err
    )
    show(TextReporter(explain=True), final("Noon.", features={"calibrated": 1.0}))
    show(TextReporter(), final("Noon.", features={"calibrated": 0.0}))
    assert "not calibrated" not in capsys.readouterr().err
