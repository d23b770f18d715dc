"""Calibrating and evaluating a phone: its own agent, a scripted model, nothing carried out."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from homing_agent.calibration.book import CalibrationBook
from homing_agent.evaluation.cases import Case, decode_case
from homing_agent.runtime.model_host import ModelStatus, Phase
from homing_agent.runtime.paths import program_paths
from homing_client.config import ClientConfig
from homing_client.evaluation import Where, calibrate_phone, evaluate
from homing_core.errors import ConflictError, HomingError, InvalidDataError
from homing_core.generation import (
    CallSignals,
    TextDelta,
    TokenSignals,
    ToolCallEvent,
    ToolNamed,
)
from homing_core.ids import new_tool_call_id
from homing_core.tools import ToolCall
from homing_inference.engine import EngineInfo
from homing_inference.testing import ScriptedEngine
from support.phone_process import PhoneRig, answer, objects, one_line

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from homing_core.generation import GenerateRequest
    from homing_inference.engine import Engine
    from homing_inference.script import Step

INFO = EngineInfo("scripted", "Q4_K_M", 8192, "hermes-json", can_think=False, stand_in=True)
SURE = CallSignals(0.95, 0.97, 0.9, 0.9)
UNSURE = CallSignals(0.5, 0.4, 0.05, 0.3)
MANY = 70


def call(name: str, signals: CallSignals, **arguments: object) -> tuple[Step, ...]:
    made: Any = arguments
    return (
        ToolNamed(name, signals),
        ToolCallEvent(ToolCall(new_tool_call_id(), name, made), signals),
    )


class Source:
    """A model that is right where it is sure, but for its words."""

    def __init__(self) -> None:
        self.engine = ScriptedEngine(info=INFO)

    async def load(self, report: Callable[[ModelStatus], None]) -> Engine:
        report(ModelStatus("scripted", Phase.LOADING, stand_in=True))
        self.engine = ScriptedEngine(info=INFO)
        for number in range(MANY):
            length = f"{number} minutes"
            self._plays(f"timer for {length}", call("set_timer", SURE, duration=length))
            self._plays(f"jot {number} down", call("current_time", UNSURE))
            self._plays(f"why is {number}", call("current_time", UNSURE), tools=True)
            words = (TextDelta("Because it is so, and not otherwise."), TokenSignals(0.9, -0.1, 8))
            self._plays(f"why is {number}", words, tools=False)
            halting = (TextDelta("Well, it may be so, or not at all."), TokenSignals(0.2, -2.0, 8))
            self._plays(f"who was number {number}", halting)
        return self.engine

    def _plays(self, part: str, steps: tuple[Step, ...], *, tools: bool | None = None) -> None:
        def fits(request: GenerateRequest) -> bool:
            asked = str(request.messages[-1].parts[0])
            return f"{part}." in asked and tools in {None, bool(request.tools)}

        self.engine.answer(*steps, when=fits, times=None)


def case(name: str, request: str, accept: object) -> Case:
    made = {"id": name, "request": request, "kind": "plain", "lang": "en", "accept": [accept]}
    return decode_case(json.dumps(made))


def cases(numbers: range) -> list[Case]:
    found: list[Case] = []
    for one in numbers:
        timer = {"call": "set_timer", "arguments": {"duration": {"seconds": 60 * one}}}
        found += [
            case(f"timer-{one}", f"timer for {one} minutes.", timer),
            case(f"jot-{one}", f"jot {one} down.", {"call": "save_note", "arguments": {}}),
            case(f"why-{one}", f"why is {one}.", {"answer": {"has": ["because"]}}),
            case(f"who-{one}", f"who was number {one}.", {"answer": {"has": ["nobody"]}}),
        ]
    return found


FITTING, CHOOSING, TEST = cases(range(1, 25)), cases(range(25, 60)), cases(range(60, 65))


def nothing(done: int, total: int) -> None:
    assert 0 <= done <= total


@pytest.fixture
def where(tmp_path: Path) -> Where:
    paths = program_paths("homing", "phone", tmp_path / "phone", None)
    return Where(paths, ClientConfig(), source=Source())


async def test_a_phone_is_calibrated_and_then_measured(where: Where) -> None:
    steps: list[tuple[int, int]] = []

    def step(done: int, total: int) -> None:
        steps.append((done, total))

    kept, path = await calibrate_phone(where, FITTING, CHOOSING, 0.1, step)
    assert steps[0] == (0, 236)
    assert steps[-1] == (236, 236)
    assert path.is_file()
    tested = kept.calibrated.tested
    assert tested.bound <= 0.1
    assert (tested.kept, tested.wrong) == (70, 0)  # timers, and "because"
    assert set(kept.calibrated.groups) == {"calls", "words"}
    assert kept.ties.model == "scripted"
    found = await evaluate(where, TEST, "test", nothing, at_home=False)
    assert found.report.cases == 20
    assert found.report.figures["kept_share"].value == 0.5
    assert found.report.figures["kept_error"].value == 0.0
    assert found.report.figures["phone_alone"].value == 0.5
    assert found.calibration == kept
    assert not (where.paths.data_dir / "data").exists() or not any(
        (where.paths.data_dir / "data").iterdir()
    )


async def test_what_was_tried_is_not_tried_again(where: Where) -> None:
    await calibrate_phone(where, FITTING, CHOOSING, 0.1, nothing)
    again = Where(where.paths, where.config, source=Source())
    steps: list[int] = []
    kept, _ = await calibrate_phone(
        again, FITTING, CHOOSING, 0.3, lambda done, _: steps.append(done)
    )
    assert steps == [236]
    assert isinstance(again.source, Source)
    assert not again.source.engine.requests
    assert kept.calibrated.wish == 0.3


async def test_a_phone_that_is_not_calibrated_says_what_to_do(where: Where) -> None:
    with pytest.raises(InvalidDataError, match="not calibrated") as caught:
        await evaluate(where, TEST, "test", nothing, at_home=False)
    assert "homing calibrate" in caught.value.hint


async def test_home_is_not_replaced_by_the_phone(where: Where) -> None:
    await calibrate_phone(where, FITTING, CHOOSING, 0.1, nothing)
    with pytest.raises(HomingError, match="home could not be reached"):
        await evaluate(where, TEST, "test", nothing, at_home=True)


async def test_cases_whose_tools_are_not_offered_are_left_out(where: Where) -> None:
    await calibrate_phone(where, FITTING, CHOOSING, 0.1, nothing)
    torch = case("torch", "lamp on.", {"call": "set_torch", "arguments": {}})
    found = await evaluate(where, [*TEST, torch], "test", nothing, at_home=False)
    assert (found.report.cases, found.left_out) == (20, 1)
    with pytest.raises(InvalidDataError, match="no case"):
        await evaluate(where, [torch], "torch", nothing, at_home=False)


async def test_a_calibration_decides_in_the_phone_itself(where: Where) -> None:
    kept, _ = await calibrate_phone(where, FITTING, CHOOSING, 0.1, nothing)
    assert CalibrationBook(where.paths.data_dir / "calibration").find(kept.ties) == kept


async def test_what_was_calibrated_can_be_shown(where: Where, rig: PhoneRig) -> None:
    never = await rig.run("calibrate", "--show")
    assert never.status == 1
    assert "never calibrated" in one_line(never)
    kept, _ = await calibrate_phone(where, FITTING, CHOOSING, 0.1, nothing)
    CalibrationBook(rig.data_dir / "calibration").save(kept)
    shown = await rig.run("calibrate", "--show")
    assert "Model scripted: fitted on 96 requests, threshold chosen on 140 others." in shown.out
    assert "The phone keeps 50% (70 of 140, 0 of them wrong)" in shown.out
    (found,) = objects((await rig.run("calibrate", "--show", "--json")).out)
    assert (found["event"], found["kept"], found["at_most"]) == ("calibrated", 70, 0.1)


async def test_two_do_not_run_on_one_phone(where: Where) -> None:
    async with where.laboratory():
        with pytest.raises(ConflictError):
            async with Where(where.paths, where.config, source=Source()).laboratory():
                pass


async def test_feedback_on_the_last_answer_is_kept(rig: PhoneRig) -> None:
    early = await rig.run("feedback", "last", "wrong")
    assert early.status == 1
    assert "nothing was asked yet" in one_line(early)
    async with rig.scripted(answer("It is half past nine, I think.")):
        done, last = await rig.ask("--route", "phone", "what time is it")
        assert done.status == 0
        said = await rig.run("feedback", "last", "wrong", "--json")
        assert objects(said.out) == [
            {
                "event": "feedback",
                "request_id": last["request_id"],
                "verdict": "wrong",
                "kept": True,
            }
        ]
        spoken = await rig.run("feedback", "last", "right")
        assert "joins the next calibration" in spoken.out
    lines = (rig.data_dir / "feedback.jsonl").read_text("utf-8").splitlines()
    assert [json.loads(line)["right"] for line in lines] == [False, True]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("feedback", "first", "wrong"), "on the last request"),
        (("feedback", "last", "awful"), "VERDICT takes one of right, wrong"),
        (("eval", "phone-actions", "--part", "best"), "--part takes one of"),
        (("eval", "phone-actions", "--cases", "missing.jsonl"), "cannot be read"),
        (("calibrate", "--cases", "missing.jsonl"), "cannot be read"),
    ],
)
async def test_wrong_usage_is_said_in_one_line(
    rig: PhoneRig, arguments: tuple[str, ...], words: str
) -> None:
    done = await rig.run(*arguments)
    assert done.status != 0
    assert words in one_line(done)
