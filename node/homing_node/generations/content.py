"""Whether two requests ask the same."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import MISSING, Field, fields, is_dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any, cast

from homing_core.canonical import JsonValue, sha256_json
from homing_core.errors import InvalidDataError

if TYPE_CHECKING:
    from homing_core.generation import GenerateRequest

# The id is the key; when and how urgently it runs is not what is asked, and a phone that repeats
# itself after a while may well have less time left. The owner is the asking device, by which
# generations are kept apart anyway.
_NOT_CONTENT = frozenset({"id", "priority", "deadline_ms", "owner"})


def content_digest(request: GenerateRequest) -> str:
    """SHA-256 (hex) of everything that makes the answer: messages, tools, model, sampling.

    What has its default value is as good as not said, so a kind of wish that was invented later
    changes nothing for those who do not know it.

    Raises:
        InvalidDataError: the request holds a value that has no canonical form, such as NaN.
    """
    try:
        said = {field.name: getattr(request, field.name) for field in fields(request)}
        return sha256_json(
            {
                field.name: _plain(said[field.name])
                for field in fields(request)
                if field.name not in _NOT_CONTENT and said[field.name] != _default(field)
            }
        )
    except (ValueError, TypeError, RecursionError) as error:
        msg = "the request holds a value that has no JSON form"
        raise InvalidDataError(msg, "Send finite numbers and plain values.") from error


def _default(field: Field[Any]) -> object:
    if field.default_factory is not MISSING:
        return field.default_factory()
    return field.default


def _plain(value: object) -> JsonValue:
    """Dataclasses and their like as JSON; parts say what they are, so that none equals another."""
    if isinstance(value, Enum):
        return cast("JsonValue", value.value)
    if is_dataclass(value) and not isinstance(value, type):
        own: dict[str, JsonValue] = {
            field.name: _plain(getattr(value, field.name)) for field in fields(value)
        }
        return {"type": type(value).__name__, **own}
    if isinstance(value, Mapping):
        pairs = cast("Mapping[str, object]", value)
        return {key: _plain(item) for key, item in pairs.items()}
    if isinstance(value, AbstractSet):
        return sorted(str(_plain(item)) for item in cast("AbstractSet[object]", value))
    if isinstance(value, list | tuple):
        return [_plain(item) for item in cast("tuple[object, ...]", value)]
    return cast("JsonValue", value)
