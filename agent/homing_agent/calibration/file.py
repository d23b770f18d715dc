"""The calibration file: JSON, versioned, and void for any other model, prompt or set of tools.

What a rule was calibrated on is part of it, so that `homing calibrate --show` can say what its
promise rests on.
"""

from __future__ import annotations

import base64
import dataclasses
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NoReturn

from homing_core.errors import InvalidDataError
from homing_core.strict_json import Fields
from homing_proto.codec.json_text import decode_json_object

from homing_agent.calibration.guarantee import Tested
from homing_agent.calibration.result import Calibrated, GroupReport
from homing_agent.routing.learned import Learned
from homing_agent.routing.linear import Linear, Term
from homing_agent.routing.opinion import BUCKETS, Opinion

if TYPE_CHECKING:
    from homing_core.canonical import JsonObject

VERSION: Final = 1
MAX_BYTES: Final = 4 << 20
_MOST: Final = 200
_HINT: Final = "Run `homing calibrate` again."
_RULES: Final = ("fits", "name", "call", "text")
_FROM: Final = ("fits_from", "name_from", "keep_from")
_ALL: Final = (
    *("version", "model", "model_sha256", "prefix_sha256", "made_at", "corrections"),
    *("wish", "delta", "fitted_on", "phone_error", "tested", "groups", "rule", "opinion"),
)


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
            **{name: _linear_to_json(getattr(learned, name)) for name in _RULES},
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
    fields = Fields(made, _ALL, "the calibration", _HINT)
    tested = fields.within(fields.raw("tested"), _names(Tested))
    calibrated = Calibrated(
        _learned(fields.within(fields.raw("rule"), (*_RULES, *_FROM)), fields),
        wish=fields.number("wish", 0, 1),
        delta=fields.number("delta", 0, 1),
        tested=Tested(
            tested.number("threshold"),
            tested.whole("kept"),
            tested.whole("wrong"),
            tested.number("bound", 0, 1),
            tested.whole("cases"),
        ),
        phone_error=fields.number("phone_error", 0, 1),
        groups={
            name: _group(fields.within(one, _names(GroupReport)))
            for name, one in fields.object("groups").items()
        },
        fitted_on=fields.whole("fitted_on"),
    )
    if calibrated.tested.threshold != calibrated.learned.keep_from:
        _refuse("its threshold is not the one that was tested")
    return Calibration(
        Ties(
            fields.text("model", _MOST),
            fields.text("prefix_sha256", _MOST),
            fields.text("model_sha256", _MOST),
        ),
        fields.whole("made_at"),
        fields.whole("corrections"),
        calibrated,
    )


def _opinion_to_json(opinion: Opinion) -> JsonObject:
    return {
        "bias": dict(zip(opinion.actions, opinion.bias, strict=True)),
        "scales": dict(zip(opinion.actions, opinion.scales, strict=True)),
        "weights": base64.b64encode(opinion.weights).decode("ascii"),
    }


def _learned(rule: Fields, fields: Fields) -> Learned:
    fits, name, call, text = (
        _linear(rule.within(rule.raw(one), ("intercept", "terms"))) for one in _RULES
    )
    fits_from, name_from, keep_from = (rule.number(one) for one in _FROM)
    opinion = _opinion(fields.within(fields.raw("opinion"), ("bias", "scales", "weights")))
    return Learned(fits, name, call, text, fits_from, name_from, keep_from, opinion)


def _opinion(fields: Fields) -> Opinion:
    bias, scales = fields.numbers("bias", _MOST), fields.numbers("scales", _MOST)
    try:
        weights = base64.b64decode(fields.text("weights", MAX_BYTES), validate=True)
    except ValueError:
        _refuse("its weights are no bytes")
    if tuple(bias) != tuple(scales) or len(weights) != BUCKETS * len(bias):
        _refuse("its opinion is not about as many actions as it says")
    return Opinion(tuple(bias), tuple(bias.values()), tuple(scales.values()), weights)


def _linear_to_json(linear: Linear) -> JsonObject:
    return {
        "intercept": linear.intercept,
        "terms": {
            name: {"mean": term.mean, "scale": term.scale, "weight": term.weight}
            for name, term in linear.terms.items()
        },
    }


def _linear(fields: Fields) -> Linear:
    terms = fields.object("terms")
    return Linear(
        fields.number("intercept"),
        {name: _term(fields.within(one, _names(Term))) for name, one in terms.items()},
    )


def _term(fields: Fields) -> Term:
    term = Term(fields.number("mean"), fields.number("scale"), fields.number("weight"))
    if term.scale <= 0:
        fields.refuse()
    return term


def _group(fields: Fields) -> GroupReport:
    return GroupReport(
        fields.whole("kept"),
        fields.whole("wrong"),
        fields.number("low", 0, 1),
        fields.number("high", 0, 1),
    )


def _names(kind: type) -> tuple[str, ...]:
    """The fields of a dataclass, which are those of its object."""
    return tuple(field.name for field in dataclasses.fields(kind))


def _refuse(why: str) -> NoReturn:
    msg = f"the calibration cannot be used: {why}"
    raise InvalidDataError(msg, _HINT)
