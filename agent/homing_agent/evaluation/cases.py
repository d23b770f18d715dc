"""A labelled request: what a person says, and every first action that is right. Pure.

One JSON object a line, as `tests/data/phone_actions/README.md` describes it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Final, NoReturn, TypeAlias

from homing_core.errors import InvalidDataError
from homing_core.labels import clean_label
from homing_proto.codec.json_text import decode_json_object

if TYPE_CHECKING:
    from homing_core.canonical import JsonObject, JsonValue

MAX_REQUEST: Final = 4000
"""Characters of a request."""
_MOST: Final = 64
"""Actions of a case, constraints of an action, words of a constraint."""


class Kind(Enum):
    """What a request is like."""

    PLAIN = "plain"
    TERSE = "terse"
    MISSPELLED = "misspelled"
    LANGUAGE = "language"
    MULTI_STEP = "multi_step"
    MISSING = "missing"
    IRRELEVANT = "irrelevant"
    HARMFUL = "harmful"
    HEAVY = "heavy"


Words: TypeAlias = tuple[frozenset[str], ...]
"""Of each set one must occur."""


@dataclass(frozen=True, slots=True)
class Constraint:
    """What an argument must be. Of what is empty or None, nothing is asked.

    Attributes:
        has: words that must occur, in lower case.
        lacks: words that must not.
        among: values of which it must be one; texts are compared without regard to case.
        moments: local moments, `2026-03-18T18:00`, of which its words must mean one.
        days: local days, `2026-03-18`, of which its words must mean one.
        seconds: the length that its words must mean; 0 asks nothing.
        optional: whether it may be left out.
    """

    has: Words = ()
    lacks: Words = ()
    among: tuple[JsonValue, ...] = ()
    moments: frozenset[str] = frozenset()
    days: frozenset[str] = frozenset()
    seconds: int = 0
    optional: bool = False


@dataclass(frozen=True, slots=True)
class Calls:
    """The call of a tool. An argument without a constraint makes it wrong.

    Attributes:
        tool: its name.
        arguments: what each must be.
    """

    tool: str
    arguments: Mapping[str, Constraint] = field(default_factory=dict[str, Constraint])


@dataclass(frozen=True, slots=True)
class Asks:
    """A question for parameters that are missing and cannot be guessed."""

    parameters: frozenset[str]


@dataclass(frozen=True, slots=True)
class Answers:
    """An answer in words, without a call."""

    has: Words = ()
    lacks: Words = ()


@dataclass(frozen=True, slots=True)
class Declines:
    """Nothing is called; words that it cannot or will not be done."""


@dataclass(frozen=True, slots=True)
class HandsOver:
    """The step goes to a node."""


Action: TypeAlias = Calls | Asks | Answers | Declines | HandsOver


@dataclass(frozen=True, slots=True)
class Case:
    """A labelled request.

    Attributes:
        id: unlike every other one's.
        request: what the person says.
        kind: what it is like.
        language: two letters.
        accepted: every first action that is right.
        then: of a request of several steps, the tools in an order that makes sense.
    """

    id: str
    request: str
    kind: Kind
    language: str
    accepted: tuple[Action, ...]
    then: tuple[str, ...] = ()


def decode_case(line: str) -> Case:
    """Read one case.

    Raises:
        InvalidDataError: it has not the form that the data's description gives it.
    """
    made = decode_json_object(line, "case")
    name = made.get("id")
    try:
        known = {"id", "request", "kind", "lang", "accept", "then"}
        if made.keys() - known:
            _refuse(f"there is no {clean_label(min(made.keys() - known))!r}")
        request = _text(made, "request")
        if len(request) > MAX_REQUEST:
            _refuse(f"the request is longer than {MAX_REQUEST} characters")
        accepted = tuple(_action(_object(one)) for one in _list(made.get("accept")))
        if not accepted:
            _refuse("nothing is accepted")
        return Case(
            _text(made, "id"),
            request,
            Kind(_text(made, "kind")),
            _text(made, "lang"),
            accepted,
            tuple(map(_string, _list(made.get("then", ())))),
        )
    except ValueError as error:  # of `Kind`
        msg = f"case {clean_label(str(name))}: there is no such kind"
        raise InvalidDataError(
            msg, f"There are: {', '.join(kind.value for kind in Kind)}"
        ) from error
    except InvalidDataError as error:
        msg = f"case {clean_label(str(name))}: {error.what}"
        raise InvalidDataError(msg, error.hint) from error


def _action(made: JsonObject) -> Action:
    match dict(made):
        case {"call": str(tool), "arguments": Mapping() as arguments, **rest} if not rest:
            return Calls(tool, {name: _constraint(_object(one)) for name, one in arguments.items()})
        case {"ask": names, **rest} if not rest and _list(names):
            return Asks(frozenset(map(_string, _list(names))))
        case {"answer": Mapping() as answer, **rest} if not rest and not answer.keys() - {
            "has",
            "lacks",
        }:
            return Answers(_words(answer.get("has", ())), _words(answer.get("lacks", ())))
        case {"decline": True, **rest} if not rest:
            return Declines()
        case {"home": True, **rest} if not rest:
            return HandsOver()
        case _:
            pass
    return _refuse("an action is none that there is")


def _constraint(made: JsonObject) -> Constraint:
    known = {"has", "lacks", "is", "in", "moment", "day", "seconds", "words", "optional", "free"}
    if made.keys() - known - {"parser"}:
        _refuse("a constraint is none that there is")
    seconds = made.get("seconds", 0)
    if not isinstance(seconds, int) or seconds < 0:
        _refuse("a length is no number of seconds")
    among = _list(made.get("in", ()))
    return Constraint(
        has=_words(made.get("has", ())),
        lacks=_words(made.get("lacks", ())),
        among=(*((made["is"],) if "is" in made else ()), *among),
        moments=_one_or_more(made.get("moment", ())),
        days=_one_or_more(made.get("day", ())),
        seconds=seconds,
        optional=made.get("optional") is True,
    )


def _one_or_more(value: JsonValue) -> frozenset[str]:
    return frozenset({value}) if isinstance(value, str) else frozenset(map(_string, _list(value)))


def _words(value: JsonValue) -> Words:
    return tuple(_one_or_more(one) for one in _list(value))


def _list(value: JsonValue) -> Sequence[JsonValue]:
    if isinstance(value, str) or not isinstance(value, Sequence) or len(value) > _MOST:
        _refuse("something is no list, or too long a one")
    return value


def _object(value: JsonValue) -> JsonObject:
    if not isinstance(value, Mapping) or len(value) > _MOST:
        _refuse("something is no object, or too large a one")
    return value


def _string(value: JsonValue) -> str:
    if not isinstance(value, str) or not value:
        _refuse("something is no text")
    return value


def _text(made: JsonObject, name: str) -> str:
    value = made.get(name)
    if not isinstance(value, str) or not value.strip():
        _refuse(f"its {name} is no text")
    return value


def _refuse(what: str) -> NoReturn:
    raise InvalidDataError(what, "See the description of the data.")
