"""What was tried, one JSON object a line, so that an evaluation goes on where it was broken off."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from homing_core.strict_json import Fields
from homing_proto.codec.json_text import decode_json_object

from homing_agent.evaluation.judge import Asked, Called, HandedOver, Said
from homing_agent.evaluation.trial import Seen, Tried
from homing_agent.routing.features import Point

if TYPE_CHECKING:
    from homing_core.canonical import JsonObject

    from homing_agent.evaluation.judge import Did

_MOST: Final = 1000
_SEEN: Final = ("point", "numbers", "lacking", "tool", "passed")
_HINT: Final = "Delete it, or the whole file, and run the evaluation again."


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
                "passed": one.passed,
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
    names = ("case", "way", "did", "seen", "settled", "ttft_ms", "total_ms")
    fields = Fields(decode_json_object(line, "record"), names, "a line of trials", _HINT)
    tried = Tried(
        _did_from_json(fields),
        tuple(_seen(fields.within(one, _SEEN)) for one in fields.items("seen", _MOST)),
        fields.flag("settled"),
        fields.number("ttft_ms"),
        fields.number("total_ms"),
    )
    return Record(fields.text("case", _MOST), fields.text("way", _MOST), tried)


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


def _did_from_json(fields: Fields) -> Did:
    match dict(fields.object("did")):
        case {"call": str(tool), "arguments": Mapping() as arguments}:
            return Called(tool, {str(name): value for name, value in arguments.items()})
        case {"ask": _} as asked:
            return Asked(frozenset(fields.within(asked, ("ask",)).texts("ask", _MOST, _MOST)))
        case {"say": str(text)}:
            return Said(text)
        case {"home": True}:
            return HandedOver()
        case _:
            pass
    return fields.refuse()


def _seen(fields: Fields) -> Seen:
    return Seen(
        fields.one_of(Point, "point"),
        fields.numbers("numbers", _MOST),
        fields.texts("lacking", _MOST, _MOST),
        fields.text("tool", _MOST),
        fields.flag("passed"),
    )
