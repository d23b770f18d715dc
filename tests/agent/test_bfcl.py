"""BFCL's cases on the phone's path, judged by the package's own rules."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import pytest
from homing_agent.evaluation import bfcl
from homing_agent.evaluation.bfcl import (
    CATEGORIES,
    BfclJudge,
    decode_bfcl,
    read_bfcl,
    tool_name,
)
from homing_agent.evaluation.bfcl_running import count_bfcl, run_bfcl, sample
from homing_agent.evaluation.judge import Asked, Called, Said
from homing_agent.evaluation.markdown import bfcl_lines, bfcl_to_json
from homing_agent.evaluation.running import PHONE
from homing_agent.evaluation.trial import NoHome
from homing_agent.parts import Parts
from homing_agent.registry import Registry
from homing_agent.schema import unsupported
from homing_agent.testing import FakeSigner, MemoryJournal
from homing_core.errors import InvalidDataError, NotFoundError
from homing_core.generation import ToolNamed
from homing_core.testing import FakeClock
from support.agent_world import SURE, PlayedEngine, call_event, calls

if TYPE_CHECKING:
    from pathlib import Path

JUDGE = BfclJudge()


@pytest.mark.parametrize("category", CATEGORIES)
def test_every_case_can_be_offered_to_the_phone(category: str) -> None:
    cases = read_bfcl(category)
    assert len(cases) >= 200
    for case in cases:
        assert case.request.strip()
        assert [unsupported(tool.parameters) for tool in case.tools] == [""] * len(case.tools)
        assert all(tool_name(tool.name) == tool.name for tool in case.tools)
        assert bool(case.answers) is (category != "irrelevance")


def test_what_the_data_calls_right_is_right() -> None:
    cases = read_bfcl("simple_python")
    right = 0
    for case in cases:
        ((tool, wanted),) = dict(case.answers[0]).items()
        options: Any = wanted
        chosen = {
            name: next(value for value in values if value != "")
            for name, values in options.items()
            if any(value != "" for value in values)
        }
        right += JUDGE.right(case, Called(tool, chosen))
        assert not JUDGE.right(case, Called("other", chosen))
        assert not JUDGE.right(case, Said("no tool fits"))
        assert not JUDGE.right(case, Asked(frozenset(chosen)))
    assert right >= 395  # a few want nested values that are written otherwise


def test_where_no_call_is_right_words_are() -> None:
    case = read_bfcl("irrelevance")[0]
    assert JUDGE.right(case, Said("I cannot do that."))
    assert not JUDGE.right(case, Said(" "))
    assert not JUDGE.right(case, Called(case.tools[0].name, {}))


def test_the_checker_leaves_no_stand_ins_behind() -> None:
    assert "bfcl_eval.constants.model_config" not in sys.modules


def test_a_missing_package_and_an_unknown_category_are_said(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with pytest.raises(NotFoundError, match="there is no category"):
        read_bfcl("multi_turn")
    monkeypatch.setattr(bfcl, "PACKAGE", "no_such_package")
    for use in (lambda: read_bfcl("multiple"), BfclJudge):
        with pytest.raises(NotFoundError) as caught:
            use()
        assert "pip install --no-deps bfcl-eval" in caught.value.hint


@pytest.mark.parametrize(
    "line",
    [
        "",
        "[]",
        "{}",
        '{"id": 7}',
        '{"id": "a", "question": "x", "function": []}',
        '{"id": "a", "question": [["x"]], "function": []}',
        '{"id": "a", "question": [], "function": [{"name": "f"}]}',
        (
            '{"id": "a", "question": [], "function": [{"name": "f", "description": "d", '
            '"parameters": {"type": "dict", "properties": []}}]}'
        ),
    ],
)
def test_damaged_data_is_refused(line: str) -> None:
    with pytest.raises(InvalidDataError):
        decode_bfcl(line)


def test_a_sample_is_spread_over_the_data_and_always_the_same() -> None:
    cases = read_bfcl("multiple")
    some = sample(cases, 7)
    assert [case.id for case in some] == [cases[number * 200 // 7].id for number in range(7)]
    assert sample(cases, 0) == sample(cases, 500) == cases


async def test_cases_are_tried_with_their_own_tools_counted_and_not_tried_again(
    tmp_path: Path,
) -> None:
    wanted, unwanted = sample(read_bfcl("simple_python"), 1)[0], read_bfcl("irrelevance")[0]
    tool = wanted.tools[0].name
    right = calls(call_event(tool, base=10, height=5))
    wrong = calls(call_event(unwanted.tools[0].name, weight=1.5, height=1.5))
    named = ToolNamed(unwanted.tools[0].name, SURE)
    engine = PlayedEngine(
        [
            (ToolNamed(tool, SURE), *right),
            (named, *wrong),
        ]
    )
    parts = Parts(
        engine=engine,
        registry=Registry(),
        journal=MemoryJournal(),
        homes=NoHome(),
        signer=FakeSigner(),
        clock=FakeClock(),
    )
    path, steps = tmp_path / "bfcl.jsonl", list[int]()
    known = await run_bfcl([wanted, unwanted], parts, path, lambda done, _: steps.append(done))
    assert steps == [0, 1, 2]
    assert known[wanted.id, PHONE].did == Called(tool, {"base": 10, "height": 5})
    again = await run_bfcl([wanted, unwanted], parts, path, lambda done, _: steps.append(done))
    assert (again, steps[-1]) == (known, 2)
    assert [tools for _, tools, _ in engine.warmed] == [wanted.tools, unwanted.tools]
    kept = count_bfcl([wanted], known, JUDGE)
    assert kept.right.value == 1.0
    assert kept.valid is not None
    assert kept.valid.value == 1.0
    called = count_bfcl([unwanted], known, JUDGE)
    assert called.right.value == 0.0
    found = {"simple_python": kept, "irrelevance": called}
    lines = "\n".join(bfcl_lines(found))
    assert "| simple_python | 1 | 100.0% (2.5% to 100.0%) | 100.0% (2.5% to 100.0%) |" in lines
    assert json.loads(json.dumps(bfcl_to_json(found)))["categories"]["irrelevance"]["cases"] == 1
