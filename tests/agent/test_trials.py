"""What the agent would do first: the same code as for a person, and nothing is carried out."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from homing_agent.calibration.calibrate import Trial, outcome
from homing_agent.evaluation import plots
from homing_agent.evaluation.cases import decode_case
from homing_agent.evaluation.data import NOW, Part, part_file, possible, read_cases
from homing_agent.evaluation.judge import Asked, Called, HandedOver, Said
from homing_agent.evaluation.judging import judged, trials_of
from homing_agent.evaluation.markdown import markdown, report_to_json
from homing_agent.evaluation.plots import drawn
from homing_agent.evaluation.records import Record, decode_record, record_to_json
from homing_agent.evaluation.report import Judged, report
from homing_agent.evaluation.running import HOME, PHONE, WORDS, read_records, run_cases
from homing_agent.evaluation.trial import NoHome, Seen, Trials, Tried
from homing_agent.examples import EXAMPLES, Example, shown
from homing_agent.loop import Agent
from homing_agent.parts import Parts
from homing_agent.registry import Registry
from homing_agent.request import RoutePreference
from homing_agent.routing.decide import Rules
from homing_agent.routing.features import Point
from homing_agent.routing.learned import LearnedRule
from homing_agent.testing import (
    FakeHomeJobs,
    FakeHomes,
    FakeRemote,
    FakeSigner,
    FakeTool,
    MemoryJournal,
    fake_spec,
)
from homing_agent.tool import AskPersonError
from homing_core.errors import InvalidDataError, NotFoundError, UnavailableError
from homing_core.generation import ToolNamed
from homing_core.testing import FakeClock
from homing_core.tools import EffectClass, Place
from support.agent_world import (
    SURE,
    UNSURE,
    PlayedEngine,
    ask,
    call_event,
    calls,
    question,
    text,
)
from support.calibrations import learned

if TYPE_CHECKING:
    from pathlib import Path

    from homing_agent.evaluation.cases import Case
    from homing_agent.ports import Homes
    from homing_agent.testing import Script

NAMED = ToolNamed("act", SURE)


def trials(
    *scripts: Script,
    tools: tuple[FakeTool, ...] = (),
    homes: Homes | None = None,
    jobs: FakeHomeJobs | None = None,
) -> Trials:
    tools = tools or (FakeTool(),)
    parts = Parts(
        engine=PlayedEngine(scripts),
        registry=Registry(tools),
        journal=MemoryJournal(),
        homes=homes or NoHome(),
        signer=FakeSigner(),
        clock=FakeClock(),
        jobs=jobs,
    )
    return Trials(parts, tools)


async def test_a_call_that_acts_is_noted_and_not_made() -> None:
    tool = FakeTool()
    found = await trials((NAMED, *calls(call_event(text="now"))), tools=(tool,)).attempt(
        "please act now"
    )
    assert found.did == Called("act", {"text": "now"})
    assert not tool.calls
    assert found.settled
    named, call = found.at(Point.NAME), found.at(Point.CALL)
    assert named is not None
    assert call is not None
    assert named.numbers["name_probability"] == SURE.name_probability
    assert call.numbers["said_share"] == 1.0


async def test_a_call_that_only_reads_is_noted_and_not_made() -> None:
    tool = FakeTool(fake_spec(effect=EffectClass.READ))
    found = await trials(calls(call_event(text="now")), tools=(tool,)).attempt("act now")
    assert found.did == Called("act", {"text": "now"})
    assert not tool.calls


async def test_a_tool_that_cannot_act_here_is_offered_all_the_same() -> None:
    tool = FakeTool(reason="there is no such hardware")
    found = await trials(calls(call_event(text="now")), tools=(tool,)).attempt("act now")
    assert isinstance(found.did, Called)


async def test_doubt_does_not_change_what_is_done() -> None:
    found = await trials(calls(call_event(text="now", signals=UNSURE))).attempt("act now")
    assert isinstance(found.did, Called)


async def test_a_question_is_a_question_whoever_asks_it() -> None:
    needy = replace(
        fake_spec(),
        parameters={
            "type": "object",
            "properties": {"text": {"type": "string"}, "when": {"type": "string"}},
            "required": ["text", "when"],
        },
    )
    lacking = calls(call_event(text="mom", when="tomorrow"))
    found = await trials(lacking, tools=(FakeTool(needy),)).attempt("act for mom")
    assert found.did == Asked(frozenset({"when"}))
    assert found.settled
    asking = FakeTool(shown=AskPersonError("it has passed", "Which time do you mean?"))
    found = await trials(calls(call_event(text="now")), tools=(asking,)).attempt("act now")
    assert found.did == Asked()


async def test_words_are_words() -> None:
    found = await trials(text("Four, of course, as ever.")).attempt("what is two and two")
    assert found.did == Said("Four, of course, as ever.")
    assert found.settled
    assert found.at(Point.TEXT) is not None


async def test_a_broken_call_is_nothing_that_the_rule_could_keep() -> None:
    broken = text('{"name": "nothing", "argu')
    words = text("Well, then, here are words.")
    found = await trials(broken, broken, words, text("x")).attempt("do it")
    assert found.did == Said("Well, then, here are words.")
    assert len(found.all_at(Point.TEXT)) == 1  # what was written again has no say
    assert not found.settled  # with a home in reach it would have gone there


async def test_without_tools_there_are_only_words() -> None:
    one = trials((NAMED, *calls(call_event())), text("Four, of course, as ever."))
    found = await one.attempt("what is two and two", idle=True)
    assert found.did == Said("Four, of course, as ever.")


async def test_one_trial_leaves_nothing_to_the_next() -> None:
    one = trials(calls(call_event(text="now")), text("Four, of course, as ever."))
    await one.attempt("act now")
    found = await one.attempt("what is two and two")
    assert found.did == Said("Four, of course, as ever.")
    assert [seen.point for seen in found.seen] == [Point.START, Point.TEXT]


async def test_home_is_tried_at_home_and_its_tools_are_not_run() -> None:
    jobs = FakeHomeJobs(fake_spec("summarise", EffectClass.READ))
    home = FakeHomes(FakeRemote([calls(call_event("summarise", text="it")), text("done")]))
    found = await trials(homes=home, jobs=jobs).attempt("summarise it", route=RoutePreference.HOME)
    assert found.did == Called("summarise", {"text": "it"})
    assert not jobs.started


async def test_a_home_that_cannot_be_reached_is_no_answer_of_the_phone() -> None:
    one = trials(text("the phone says something"), homes=FakeHomes())
    with pytest.raises(UnavailableError, match="home could not be reached"):
        await one.attempt("hello there", route=RoutePreference.HOME)


async def test_what_the_phone_does_where_home_has_nothing_to_say_counts_as_homes() -> None:
    words = text("the phone says it instead of home")
    one = trials(words, homes=FakeHomes(FakeRemote([text("")])))
    found = await one.attempt("hello there", route=RoutePreference.HOME)
    assert found.did == Said("the phone says it instead of home")


def labelled(name: str, kind: str, *accept: object) -> Case:
    return decode_case(
        json.dumps({"id": name, "request": "act now", "kind": kind, "lang": "en", "accept": accept})
    )


ACT = {"call": "act", "arguments": {"text": {"has": ["now"]}}}
CASES = tuple(labelled(name, "plain", ACT) for name in ("one", "two", "three"))
WORDS_WANTED = labelled("words", "irrelevant", {"decline": True})


async def test_an_evaluation_goes_on_where_it_was_broken_off(tmp_path: Path) -> None:
    path, steps = tmp_path / "records.jsonl", list[tuple[int, int]]()

    def step(done: int, total: int) -> None:
        steps.append((done, total))

    act = (NAMED, *calls(call_event(text="now")))
    with_words = [act, act, text("Words, and nothing but words.")]
    first = trials(*with_words)
    await run_cases(CASES[:1], {PHONE: [first]}, path, step)
    with path.open("a", encoding="utf-8") as file:
        file.write('{"case": "two", "way": "pho')  # cut off by a kill
    second = trials(*with_words * 2)
    known = await run_cases(CASES, {PHONE: [second]}, path, step)
    assert steps == [(0, 1), (1, 1), (1, 3), (2, 3), (3, 3)]
    assert {way for _, way in known} == {PHONE, WORDS}
    assert known == read_records(path)
    found = trials_of(CASES, known, NOW)
    assert [trial.case.id for trial in found] == ["one", "two", "three"]
    assert all(trial.is_right(trial.phone.did) for trial in found)
    assert all(isinstance(trial.words and trial.words.did, Said) for trial in found)


def test_damaged_records_are_refused_with_what_to_do(tmp_path: Path) -> None:
    path = tmp_path / "records.jsonl"
    unseen = '{"case":1,"way":"phone","did":{"say":""},"seen":[{}]}'
    for damaged in ('{"case": "one"}', "[]", unseen):
        path.write_text(damaged + "\n", "utf-8")
        with pytest.raises(InvalidDataError) as caught:
            read_records(path)
        assert "again" in caught.value.hint or caught.value.hint
    path.write_bytes(b"\xff\n")
    with pytest.raises(InvalidDataError):
        read_records(path)


@pytest.mark.parametrize(
    "did", [Called("act", {"text": "now"}), Asked(frozenset({"when"})), Said("four"), HandedOver()]
)
def test_records_survive_being_written(did: Called | Asked | Said | HandedOver) -> None:
    seen = (Seen(Point.CALL, {"acts": 1.0}, ("when",)),)
    record = Record("one", PHONE, Tried(did, seen, settled=True, ttft_ms=1.5, total_ms=2.5))
    assert decode_record(json.dumps(record_to_json(record))) == record


def made(count: int) -> list[Judged]:
    """The phone is right where it is sure; home is right in two of three, and slower."""
    return [
        Judged(
            id=str(number),
            kind="plain" if number % 2 else "heavy",
            group="calls",
            score=number / count,
            plain=1 - number / count,
            phone=number / count > 0.5,
            home=number % 3 != 0,
            phone_ms=100.0,
            home_ms=400.0,
        )
        for number in range(count)
    ]


def test_a_good_rule_closes_the_gap_and_a_bad_one_does_not() -> None:
    found = report(made(300), 0.6)
    figures = {name: one.value for name, one in found.figures.items()}
    assert figures["kept_error"] == 0.0
    assert figures["kept_share"] == pytest.approx(0.4)
    assert figures["phone_alone"] == pytest.approx(0.5, abs=0.01)
    assert figures["ours"] > figures["random"] > figures["max_probability"]
    assert figures["oracle"] >= figures["ours"]
    assert figures["gap_closed_at_threshold"] > 0.8
    assert 0.6 < figures["gap_closed"] <= 1.0
    worst = report([replace(one, score=1 - one.score) for one in made(300)], 0.6)
    assert worst.figures["gap_closed"].value < -0.6
    assert figures["with_home_over_alone"] == pytest.approx(
        figures["ours"] / figures["phone_alone"]
    )
    assert figures["home_right_where_phone_wrong"] == pytest.approx(2 / 3, abs=0.02)
    assert all(one.low <= one.value <= one.high for one in found.figures.values())
    assert found.curve[-1][1] == pytest.approx(0.5, abs=0.01)
    assert found.accuracy[0][1] == figures["phone_alone"]
    assert found.accuracy[-1][1] == pytest.approx(figures["home_alone"])
    assert sum(count for _, _, count in found.reliability) == 300


def test_a_report_can_be_read_and_parsed_and_needs_no_home() -> None:
    alone = [replace(one, home=None, home_ms=-1.0) for one in made(40)]
    found = report(alone, 2.0)
    assert "ours" not in found.figures
    assert found.figures["kept_error"].high == 1.0
    written = markdown(found, "phone-actions, test", ["40 requests"])
    assert "| right, phone alone | 47.5%" in written
    assert "| heavy | 20 |" in written
    assert "first token from home" not in written
    assert json.loads(json.dumps(report_to_json(found)))["cases"] == 40


def test_a_report_can_be_seen() -> None:
    found = report(made(40), 0.6)
    pictures = drawn(found, made(40))
    assert sorted(pictures) == [
        "accuracy-escalated.svg",
        "latency.svg",
        "reliability.svg",
        "risk-coverage.svg",
    ]
    assert all(b"</svg>" in picture for picture in pictures.values())
    alone = [replace(one, home=None, home_ms=-1.0) for one in made(40)]
    assert "accuracy-escalated.svg" not in drawn(report(alone, 2.0), alone)


def test_without_what_draws_it_is_said_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plots, "_PACKAGE", "no_such_package")
    with pytest.raises(NotFoundError) as caught:
        drawn(report(made(4), 0.6), made(4))
    assert "homing[plots]" in caught.value.hint


def test_cases_and_trials_become_what_is_counted() -> None:
    seen = (Seen(Point.CALL, {"name_probability": 0.9}),)
    phone = Tried(Called("act", {"text": "now"}), seen, settled=True, ttft_ms=5, total_ms=9)
    at_home = Tried(Said("no"), (), settled=True, ttft_ms=50, total_ms=90)
    records = {("one", PHONE): phone, ("one", HOME): at_home}
    (one,) = judged(trials_of(CASES, records, NOW), records, learned())
    assert (one.phone, one.home, one.group, one.plain) == (True, False, "calls", 0.9)
    handed = labelled("one", "heavy", ACT, {"home": True})
    (one,) = judged(trials_of([handed], records, NOW), records, learned())
    assert one.home


def test_cases_whose_tools_are_not_there_are_left_out() -> None:
    both = labelled("both", "heavy", {"call": "read", "arguments": {}}, {"home": True})
    assert possible([*CASES, WORDS_WANTED, both], {"act"}) == (*CASES, WORDS_WANTED, both)
    assert possible([*CASES, WORDS_WANTED, both], {"other"}) == (WORDS_WANTED, both)


def test_a_file_of_cases_is_read_or_refused(tmp_path: Path) -> None:
    path = tmp_path / "mine.jsonl"
    line = '{"id":"w","request":"r","kind":"irrelevant","lang":"en","accept":[{"decline":true}]}\n'
    path.write_text(line + "\n", "utf-8")
    assert len(read_cases(path)) == 1
    path.write_text(line * 2, "utf-8")
    with pytest.raises(InvalidDataError, match="same id"):
        read_cases(path)
    with pytest.raises(InvalidDataError, match="cannot be read"):
        read_cases(tmp_path / "missing.jsonl")


def test_no_example_stands_in_any_labelled_data() -> None:
    said = {case.request.casefold() for part in Part for case in read_cases(part_file(part))}
    assert not [one.request for one in EXAMPLES if one.request.casefold() in said]


def test_examples_are_written_as_the_model_writes_calls() -> None:
    lamp = Example("lamp off", tool="set_torch", arguments={"state": "off"})
    examples = (lamp, Example("hi", "Hello."))
    assert 'You: {"name": "set_torch", "arguments": {"state": "off"}}' in shown(
        examples, {"set_torch"}, "hermes-json"
    )
    xml = shown(examples, {"set_torch"}, "qwen35-xml")
    assert "<function=set_torch>\n<parameter=state>\noff\n</parameter>" in xml
    assert shown(examples, {"other"}, "hermes-json") == ""


NEEDY = replace(
    fake_spec(),
    parameters={
        "type": "object",
        "properties": {"text": {"type": "string"}, "when": {"type": "string"}},
        "required": ["text", "when"],
    },
)
LACKING = (NAMED, *calls(call_event(text="mom", when="tomorrow")))
WHOLE = (NAMED, *calls(call_event(text="mom", when="now")))
FAILING = (NAMED, *calls(call_event(text="mom")))
DOUBTED = (ToolNamed("act", UNSURE), *calls(call_event(text="mom", when="now", signals=UNSURE)))
WORDS_ONLY = text("Four, of course, as ever.")
BROKEN = text('{"name": "nothing", "argu')


def phone(scripts: tuple[Script, ...], tool: FakeTool, homes: Homes) -> Parts:
    """One whose model plays these while it may call tools, and has words where it may not."""
    engine = PlayedEngine(())
    for script in scripts:
        engine.answer(*script, when=lambda request: bool(request.tools))
    engine.answer(*WORDS_ONLY, when=lambda request: not request.tools, times=None)
    return Parts(
        engine=engine,
        registry=Registry([tool]),
        journal=MemoryJournal(),
        homes=homes,
        signer=FakeSigner(),
        clock=FakeClock(),
    )


@pytest.mark.parametrize(
    "scripts",
    [
        (WHOLE,),
        (DOUBTED,),
        (LACKING,),
        (FAILING, WHOLE),
        (FAILING, DOUBTED),
        (WORDS_ONLY,),
        (BROKEN, WORDS_ONLY),
    ],
)
@pytest.mark.parametrize("keep_from", [0.0, 0.6, 0.8, 0.95, 2.0])
@pytest.mark.parametrize(("fits_from", "name_from"), [(0.0, 0.0), (1.0, 0.0), (0.6, 0.0), (0, 0.6)])
async def test_a_rule_decides_in_the_phone_as_it_was_calibrated(
    scripts: tuple[Script, ...], keep_from: float, fits_from: float, name_from: float
) -> None:
    """What is promised of trials must hold for requests: the same steps stay, and as the same."""
    rule = learned(keep_from=keep_from, fits_from=fits_from, name_from=name_from)
    tool = FakeTool(NEEDY)
    tried = await Trials(phone(scripts, tool, NoHome()), [tool]).attempt("act now for mom")
    words = None
    if tried.at(Point.NAME) is not None:
        in_words = Trials(phone(scripts, tool, NoHome()), [tool])
        words = await in_words.attempt("act now for mom", idle=True)
    expected = outcome(Trial(CASES[0], tried, words, NOW), rule)
    parts = phone(scripts, tool, FakeHomes(FakeRemote([text("done at home")])))
    parts = replace(parts, rules=Rules(score=LearnedRule(rule)))
    seen = await ask(Agent(parts), question("act now for mom", interactive=True))
    assert (seen.answer.place is Place.PHONE) is (expected.score >= keep_from)
    if seen.answer.place is Place.PHONE:
        assert bool(tool.calls) is isinstance(expected.did, Called)
        assert bool(seen.answer.asks) is isinstance(expected.did, Asked)
