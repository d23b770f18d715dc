"""Wire messages that are likely to be valid: every field set, ids where a name asks for one."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any, cast

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message_factory import GetMessageClass
from homing_core.errors import HomingError

if TYPE_CHECKING:
    from collections.abc import Callable

    from google.protobuf.message import Message

_F = FieldDescriptor
_TRIES = 600
_WANTED = 6
_IDS = {
    "request": "req",
    "generation": "gen",
    "job": "job",
    "call": "call",
    "approval": "appr",
    "conversation": "conv",
}
_HEX = "0a" * 32
_TEXTS = ("note", "", "{}", _HEX, *(f"{kind}-{'0a' * 16}" for kind in _IDS.values()))
_DEPTH = 5


def samples(kind: type[Message], read: Callable[[Any], object]) -> list[bytes]:
    """A few messages that `read` takes, or if none is found, some that it does not."""
    chance = random.Random(kind.DESCRIPTOR.full_name)  # noqa: S311  # the same ones each time
    good: list[bytes] = []
    other: list[bytes] = []
    for _ in range(_TRIES):
        made = _message(chance, kind, 0)
        raw = made.SerializeToString()
        try:
            read(made)
        except HomingError:
            other.append(raw)
            continue
        good.append(raw)
        if len(good) == _WANTED:
            break
    return good or other[:_WANTED]


def _message(chance: random.Random, kind: type[Message], depth: int) -> Message:
    content: dict[str, Any] = {}
    taken: set[str] = set()
    fields = cast("list[FieldDescriptor]", list(kind.DESCRIPTOR.fields))
    chance.shuffle(fields)
    for field in fields:
        group = field.containing_oneof
        name = "" if group is None else group.name
        if (name and name in taken) or chance.random() < 0.1 or depth > _DEPTH:
            continue
        taken.add(name)
        if field.message_type is not None and field.message_type.GetOptions().map_entry:
            key, value = cast("list[FieldDescriptor]", field.message_type.fields)
            content[field.name] = {_scalar(chance, key): _scalar(chance, value)}
            continue
        one = (
            _message(chance, GetMessageClass(field.message_type), depth + 1)
            if field.message_type is not None
            else _scalar(chance, field)
        )
        content[field.name] = [one] if field.is_repeated else one
    return kind(**content)


def _scalar(chance: random.Random, field: FieldDescriptor) -> Any:  # noqa: ANN401  # of a field's type
    match field.type:
        case _F.TYPE_STRING:
            return _word(chance, field.name)
        case _F.TYPE_BYTES:
            return bytes(chance.choice((1, 32, 64, 70)))
        case _F.TYPE_BOOL:
            return chance.random() < 0.5
        case _F.TYPE_DOUBLE | _F.TYPE_FLOAT:
            return chance.choice((0.5, 0.0, 1.0))
        case _F.TYPE_ENUM:
            return chance.choice((1, 2, 3))
        case _:
            return chance.choice((1, 2, 5))


def _word(chance: random.Random, name: str) -> str:
    if chance.random() < 0.9:
        for part, kind in _IDS.items():
            if part in name:
                return f"{kind}-{'0a' * 16}"
        if any(part in name for part in ("device", "sha256", "hash", "node", "key")):
            return _HEX
        if name in {"id", "introduced_by"}:
            return _HEX
        if name == "hours":
            return "08:00-22:00"
        if "json" in name:
            return "{}"
    return chance.choice(_TEXTS)
