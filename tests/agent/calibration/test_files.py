"""What is kept on disk: calibrations and corrections; and that damaged files harm nobody."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from homing_agent.calibration.book import CalibrationBook
from homing_agent.calibration.corrections import Correction, Corrections, correction_of
from homing_agent.calibration.file import Ties, calibration_text, decode_calibration
from homing_agent.request import FinalAnswer
from homing_core.errors import InternalError, InvalidDataError
from homing_core.ids import new_conversation_id, new_request_id
from homing_core.tools import Place
from support.calibrations import calibration

if TYPE_CHECKING:
    from pathlib import Path

KEPT = calibration()


def test_a_calibration_survives_being_written() -> None:
    assert decode_calibration(calibration_text(KEPT)) == KEPT


def changed(path: str, value: object) -> str:
    made: Any = json.loads(calibration_text(KEPT))
    *parents, last = path.split(".")
    target = made
    for name in parents:
        target = target[name]
    target[last] = value
    return json.dumps(made)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("version", 2),
        ("wish", 1.5),
        ("wish", "a tenth"),
        ("delta", None),
        ("made_at", -1),
        ("made_at", True),
        ("model", 7),
        ("model", "x" * 500),
        ("tested", []),
        ("tested.kept", 3.5),
        ("tested.threshold", 0.1),
        ("groups", {"calls": 1}),
        ("rule.call", "no"),
        ("rule.call.intercept", float("nan")),
        ("rule.call.terms.name_probability.scale", 0),
        ("rule.call.terms.name_probability.weight", float("inf")),
        ("rule.keep_from", False),
        ("opinion", None),
        ("opinion.bias", {"act": 1.0}),
        ("opinion.bias", "act"),
        ("opinion.weights", "!!!"),
        ("opinion.weights", "AAAA"),
        ("opinion.weights", "\u00e9"),
        ("opinion.bias", [1.0, 2.0, 3.0]),
        ("opinion.scales", {"act": 1.0, "=answer": 1.0}),
        ("opinion.scales", {"=answer": "a", "act": 1.0}),
        ("more", 1),
    ],
)
def test_a_damaged_calibration_is_refused_with_what_to_do(path: str, value: object) -> None:
    with pytest.raises(InvalidDataError) as caught:
        decode_calibration(changed(path, value))
    assert caught.value.hint


@pytest.mark.parametrize("text", ["", "{", "[]", "null", "x" * 5_000_000])
def test_what_is_no_calibration_at_all_is_refused(text: str) -> None:
    with pytest.raises(InvalidDataError):
        decode_calibration(text)


def test_a_calibration_holds_for_its_model_prompt_and_tools_alone(tmp_path: Path) -> None:
    book = CalibrationBook(tmp_path / "calibration")
    ties = KEPT.ties
    assert book.find(ties) is None
    path = book.save(KEPT)
    assert path.stat().st_mode & 0o777 == 0o600
    assert book.find(ties) == KEPT
    assert book.find(replace(ties, model_sha256="")) == KEPT
    for other in (
        replace(ties, model="other"),
        replace(ties, prefix_sha256="c" * 64),
        replace(ties, model_sha256="c" * 64),
    ):
        assert book.find(other) is None


def test_a_new_calibration_takes_the_place_of_the_old_one(tmp_path: Path) -> None:
    book = CalibrationBook(tmp_path)
    book.save(KEPT)
    newer = replace(KEPT, made_at=KEPT.made_at + 1)
    book.save(newer)
    assert book.find(KEPT.ties) == newer
    assert len(list(tmp_path.iterdir())) == 1


def test_the_newest_is_shown_first(tmp_path: Path) -> None:
    book = CalibrationBook(tmp_path)
    other = replace(KEPT.ties, prefix_sha256="c" * 64)
    newer = replace(KEPT, ties=other, made_at=KEPT.made_at + 1)
    for kept in (KEPT, newer):
        book.save(kept)
    assert book.all() == (newer, KEPT)
    assert book.find(KEPT.ties) == KEPT
    assert book.find(other) == newer


def test_damaged_files_are_passed_over(tmp_path: Path) -> None:
    book = CalibrationBook(tmp_path)
    (tmp_path / "a.json").write_text("{", "utf-8")
    (tmp_path / "b.json").write_bytes(b"\xff\xfe")
    (tmp_path / "c.json").write_text("x" * 5_000_000, "utf-8")
    (tmp_path / "d.json").mkdir()
    book.save(KEPT)
    assert book.find(KEPT.ties) == KEPT


def test_a_name_cannot_leave_the_folder(tmp_path: Path) -> None:
    book = CalibrationBook(tmp_path / "inner")
    path = book.save(replace(KEPT, ties=Ties("../../etc/x", "../" * 10)))
    assert path.parent == tmp_path / "inner"


def test_a_folder_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", "utf-8")
    with pytest.raises(InternalError, match="cannot be written"):
        CalibrationBook(tmp_path / "file" / "x").save(KEPT)


def answer(place: Place = Place.PHONE, **features: float) -> FinalAnswer:
    return FinalAnswer(
        request_id=new_request_id(),
        conversation_id=new_conversation_id(),
        place=place,
        node="",
        reason="",
        confidence=0.9,
        model="phone-model",
        stand_in=False,
        ttft_ms=1,
        total_ms=2,
        text="",
        features=features,
    )


def test_what_a_person_says_of_an_answer_is_kept(tmp_path: Path) -> None:
    kept = Corrections(tmp_path / "feedback.jsonl")
    call, words = answer(said_share=1.0, acts=1.0), answer(text_first_probability=0.5)
    for one, right in ((call, False), (words, True), (call, True)):
        found = correction_of(one, right=right)
        assert found is not None
        kept.add(found)
    first, second = Corrections(tmp_path / "feedback.jsonl").of("phone-model")
    assert (first.request_id, first.right, first.words) == (call.request_id, True, False)
    assert (second.request_id, second.right, second.words) == (words.request_id, True, True)
    assert first.numbers == {"said_share": 1.0, "acts": 1.0}
    assert kept.of("another model") == ()
    assert (tmp_path / "feedback.jsonl").stat().st_mode & 0o777 == 0o600


def test_an_answer_that_no_rule_judged_teaches_nothing() -> None:
    assert correction_of(answer(Place.HOME, said_share=1.0), right=False) is None
    assert correction_of(answer(tools=3.0), right=False) is None


def test_a_line_that_was_cut_off_is_passed_over_and_a_damaged_one_is_named(tmp_path: Path) -> None:
    path = tmp_path / "feedback.jsonl"
    kept = Corrections(path)
    assert kept.of("m") == ()
    kept.add(Correction("r", right=True, model="m", words=False, numbers={}))
    whole = path.read_text("utf-8")
    path.write_text(whole + whole[:20], "utf-8")
    assert len(kept.of("m")) == 1
    path.write_text(whole + "[]\n", "utf-8")
    with pytest.raises(InvalidDataError):
        kept.of("m")
