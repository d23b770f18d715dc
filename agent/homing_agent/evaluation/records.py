"""What was tried, one JSON object a line, so that an evaluation goes on where it was broken off."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NoReturn

from homing_core.errors import InvalidDataError
from homing_proto.codec.json_text import decode_json_object

from homing_agent.evaluation.judge import Asked, Called, HandedOver, Said
from homing_agent.evaluation.trial import Seen, Tried
from homing_agent.routing.features import Point

if TYPE_CHECKING:
    from homing_core.canonical import JsonObject, JsonValue

    from homing_agent.evaluation.judge import Did

_MOST: Final = 1000


@dataclass(frozen=True, slots=True)
class Record:
    """What was tried of one case.

    Attributes:
        case: the case's id.
        way: `phone` (as it comes), `words` (no tool may be called) or `home`.
        tried: what came of it.
    """

    case: str
    way: str
    tried: Tried


def record_to_json(record: Record) -> JsonObject:
    """A record."""
    tried = record.tried
    return {
        "case": record.case,
        "way": record.way,
        "did": _did_to_json(tried.did),
        "seen": [
            {
                "point": one.point.value,
                "numbers": dict(one.numbers),
                "lacking": list(one.lacking),
                "tool": one.tool,
            }
            for one in tried.seen
        ],
        "settled": tried.settled,
        "ttft_ms": tried.ttft_ms,
        "total_ms": tried.total_ms,
    }


def decode_record(line: str) -> Record:
    """Read one record.

    Raises:
        InvalidDataError: this is none.
    """
    made = decode_json_object(line, "record")
    try:
        tried = Tried(
            _did_from_json(_object(made.get("did"))),
            tuple(map(_seen, _list(made.get("seen")))),
            made.get("settled") is True,
            _number(made.get("ttft_ms")),
            _number(made.get("total_ms")),
        )
    except ValueError:  # of `Point`
        _refuse()
    return Record(_text(made.get("case")), _text(made.get("way")), tried)


def _did_to_json(did: Did) -> JsonObject:
    match did:
        case Called():
            return {"call": did.tool, "arguments": dict(did.arguments)}
        case Asked():
            return {"ask": sorted(did.parameters)}
        case Said():
            return {"say": did.text}
        case HandedOver():
            return {"home": True}


def _did_from_json(made: JsonObject) -> Did:
    match dict(made):
        case {"call": str(tool), "arguments": Mapping() as arguments}:
            return Called(tool, {str(name): value for name, value in arguments.items()})
        case {"ask": names}:
            return Asked(frozenset(map(_text, _list(names))))
        case {"say": str(text)}:
            return Said(text)
        case {"home": True}:
            return HandedOver()
        case _:
            pass
    return _refuse()


def _seen(value: JsonValue) -> Seen:
    made = _object(value)
    numbers = _object(made.get("numbers"))
    return Seen(
        Point(_text(made.get("point"))),
        {name: _number(number) for name, number in numbers.items()},
        tuple(map(_text, _list(made.get("lacking")))),
        _text(made.get("tool")),
    )


def _object(value: JsonValue) -> JsonObject:
    if not isinstance(value, Mapping) or len(value) > _MOST:
        _refuse()
    return value


def _list(value: JsonValue) -> Sequence[JsonValue]:
    if isinstance(value, str) or not isinstance(value, Sequence) or len(value) > _MOST:
        _refuse()
    return value


def _text(value: JsonValue) -> str:
    if not isinstance(value, str):
        _refuse()
    return value


def _number(value: JsonValue) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        _refuse()
    return float(value)


def _refuse() -> NoReturn:
    msg = "a line is no record of a trial"
    raise InvalidDataError(msg, "Delete it, or the whole file, and run the evaluation again.")
