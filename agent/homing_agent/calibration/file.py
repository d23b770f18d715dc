"""The calibration file: JSON, versioned, and void for any other model, prompt or set of tools.

What a rule was calibrated on is part of it, so that `homing calibrate --show` can say what its
promise rests on.
"""

from __future__ import annotations

import base64
import binascii
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Final, NoReturn

from homing_core.errors import InvalidDataError
from homing_proto.codec.json_text import decode_json_object

from homing_agent.calibration.guarantee import Tested
from homing_agent.calibration.result import Calibrated, GroupReport
from homing_agent.routing.learned import Learned
from homing_agent.routing.linear import Linear, Term
from homing_agent.routing.opinion import BUCKETS, Opinion

if TYPE_CHECKING:
    from homing_core.canonical import JsonObject, JsonValue

VERSION: Final = 1
MAX_BYTES: Final = 4 << 20
_MOST: Final = 200


@dataclass(frozen=True, slots=True)
class Ties:
    """What a calibration holds for.

    Attributes:
        model: name of the phone's model.
        prefix_sha256: of the rendered system message and tools, hex: it changes with the chat
            template, the prompt, the examples and the tools.
        model_sha256: of the model's file, hex; empty where it is not known.
    """

    model: str
    prefix_sha256: str
    model_sha256: str = ""

    def holds_for(self, other: Ties) -> bool:
        """Whether both mean the same; an unknown file is taken to be the one of that name."""
        return (
            self.model == other.model
            and self.prefix_sha256 == other.prefix_sha256
            and (
                self.model_sha256 == other.model_sha256
                or not (self.model_sha256 and other.model_sha256)
            )
        )


@dataclass(frozen=True, slots=True)
class Calibration:
    """A calibrated rule as it is kept.

    Attributes:
        ties: what it holds for.
        made_at: when it was made, seconds since the epoch.
        corrections: how many of the cases were a person's own corrections.
        calibrated: the rule and what it rests on.
    """

    ties: Ties
    made_at: int
    corrections: int
    calibrated: Calibrated


def calibration_text(kept: Calibration) -> str:
    """The file's content."""
    made = kept.calibrated
    learned = made.learned
    content: JsonObject = {
        "version": VERSION,
        "model": kept.ties.model,
        "model_sha256": kept.ties.model_sha256,
        "prefix_sha256": kept.ties.prefix_sha256,
        "made_at": kept.made_at,
        "corrections": kept.corrections,
        "wish": made.wish,
        "delta": made.delta,
        "fitted_on": made.fitted_on,
        "phone_error": made.phone_error,
        "tested": {
            "threshold": made.tested.threshold,
            "kept": made.tested.kept,
            "wrong": made.tested.wrong,
            "bound": made.tested.bound,
            "cases": made.tested.cases,
        },
        "groups": {
            name: {"kept": one.kept, "wrong": one.wrong, "low": one.low, "high": one.high}
            for name, one in made.groups.items()
        },
        "rule": {
            **{
                name: _linear_to_json(getattr(learned, name))
                for name in ("fits", "name", "call", "text")
            },
            "fits_from": learned.fits_from,
            "name_from": learned.name_from,
            "keep_from": learned.keep_from,
        },
        "opinion": _opinion_to_json(learned.opinion),
    }
    return json.dumps(content, indent=1, ensure_ascii=False) + "\n"


def decode_calibration(text: str) -> Calibration:
    """Read a calibration.

    Raises:
        InvalidDataError: this is none, or one of another version.
    """
    if len(text) > MAX_BYTES:
        _refuse("it is too large")
    made = decode_json_object(text, "calibration")
    if made.get("version") != VERSION:
        _refuse("it is of another version")
    tested, rule = _object(made.get("tested")), _object(made.get("rule"))
    learned = Learned(
        _linear(rule.get("fits")),
        _linear(rule.get("name")),
        _linear(rule.get("call")),
        _linear(rule.get("text")),
        fits_from=_number(rule.get("fits_from")),
        name_from=_number(rule.get("name_from")),
        keep_from=_number(rule.get("keep_from")),
        opinion=_opinion(_object(made.get("opinion"))),
    )
    calibrated = Calibrated(
        learned,
        wish=_share(made.get("wish")),
        delta=_share(made.get("delta")),
        tested=Tested(
            _number(tested.get("threshold")),
            _count(tested.get("kept")),
            _count(tested.get("wrong")),
            _share(tested.get("bound")),
            _count(tested.get("cases")),
        ),
        phone_error=_share(made.get("phone_error")),
        groups={name: _group(_object(one)) for name, one in _object(made.get("groups")).items()},
        fitted_on=_count(made.get("fitted_on")),
    )
    if calibrated.tested.threshold != learned.keep_from:
        _refuse("its threshold is not the one that was tested")
    return Calibration(
        Ties(
            _text(made.get("model")),
            _text(made.get("prefix_sha256")),
            _text(made.get("model_sha256")),
        ),
        _count(made.get("made_at")),
        _count(made.get("corrections")),
        calibrated,
    )


def _opinion_to_json(opinion: Opinion) -> JsonObject:
    return {
        "actions": list(opinion.actions),
        "bias": list(opinion.bias),
        "scales": list(opinion.scales),
        "weights": base64.b64encode(opinion.weights).decode("ascii"),
    }


def _opinion(made: JsonObject) -> Opinion:
    actions = tuple(map(_text, _list(made.get("actions"))))
    bias = tuple(map(_number, _list(made.get("bias"))))
    scales = tuple(map(_number, _list(made.get("scales"))))
    try:
        weights = base64.b64decode(_long_text(made.get("weights")), validate=True)
    except (binascii.Error, ValueError):
        _refuse("its weights are no bytes")
    if not (len(bias) == len(scales) == len(actions) == len(set(actions))):
        _refuse("its opinion is not about as many actions as it says")
    if len(weights) != BUCKETS * len(actions):
        _refuse("it has too few or too many weights")
    return Opinion(actions, bias, scales, weights)


def _linear_to_json(linear: Linear) -> JsonObject:
    return {
        "intercept": linear.intercept,
        "terms": {
            name: {"mean": term.mean, "scale": term.scale, "weight": term.weight}
            for name, term in linear.terms.items()
        },
    }


def _linear(value: JsonValue) -> Linear:
    made = _object(value)
    return Linear(
        _number(made.get("intercept")),
        {name: _term(_object(one)) for name, one in _object(made.get("terms")).items()},
    )


def _term(made: JsonObject) -> Term:
    mean, scale, weight = (_number(made.get(field.name)) for field in fields(Term))
    if scale <= 0:
        _refuse("a scale is not positive")
    return Term(mean, scale, weight)


def _group(made: JsonObject) -> GroupReport:
    return GroupReport(
        _count(made.get("kept")),
        _count(made.get("wrong")),
        _share(made.get("low")),
        _share(made.get("high")),
    )


def _object(value: JsonValue) -> JsonObject:
    if not isinstance(value, Mapping) or len(value) > _MOST:
        _refuse("something is no object, or too large a one")
    return value


def _list(value: JsonValue) -> Sequence[JsonValue]:
    if isinstance(value, str) or not isinstance(value, Sequence) or len(value) > _MOST:
        _refuse("something is no list, or too long a one")
    return value


def _long_text(value: JsonValue) -> str:
    if not isinstance(value, str):
        _refuse("something is no text")
    return value


def _text(value: JsonValue) -> str:
    if not isinstance(value, str) or len(value) > _MOST:
        _refuse("something is no text, or too long a one")
    return value


def _number(value: JsonValue) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        _refuse("something is no number")
    number = float(value)
    if not math.isfinite(number):
        _refuse("a number is not finite")
    return number


def _share(value: JsonValue) -> float:
    number = _number(value)
    if not 0.0 <= number <= 1.0:
        _refuse("a share is not in 0 to 1")
    return number


def _count(value: JsonValue) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        _refuse("a count is none")
    return value


def _refuse(why: str) -> NoReturn:
    msg = f"the calibration cannot be used: {why}"
    raise InvalidDataError(msg, "Run `homing calibrate` again.")
