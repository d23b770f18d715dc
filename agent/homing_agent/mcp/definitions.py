"""A server's tools as they are offered: cleaned, and with schemas that can be checked."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, cast

from homing_core.canonical import canonical_json, sha256_json
from homing_core.errors import InvalidDataError
from homing_core.labels import clean_label

from homing_agent.mcp.schemas import simplify

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from homing_core.canonical import JsonObject, JsonValue

_DESCRIPTION_CHARS: Final = 1024
_SCHEMA_BYTES: Final = 64 << 10
_RAW_NAME_CHARS: Final = 128
_NAME_CHARS: Final = 64
_NOT_IN_NAMES: Final = re.compile(r"[^A-Za-z0-9_-]+")
_HASH: Final = re.compile(r"[0-9a-f]{64}")


def _no_parameters() -> JsonObject:
    return {"type": "object"}


@dataclass(frozen=True, slots=True)
class Definition:
    """One tool as its server describes it.

    Attributes:
        name: the server's own name for it.
        hash: SHA-256 (hex) of all that the server says of it and a call depends on; the operator's
            consent is to exactly this.
        description: what a model is told; one clean line.
        schema: of its arguments, in the subset that is checked.
        task: whether calls are made as tasks of the server (MCP 2025-11-25).
        problem: why it cannot be offered, for a person; empty if it can.
    """

    name: str
    hash: str
    description: str = ""
    schema: JsonObject = field(default_factory=_no_parameters)
    task: bool = False
    problem: str = ""


def define(name: str, description: str, schema: Mapping[str, object], *, task: bool) -> Definition:
    """A tool from what its server says. Never raises: what is wrong with it stands in `problem`."""
    raw: dict[str, JsonValue] = {
        "name": name,
        "description": description,
        "parameters": cast("JsonObject", schema),
    }
    if task:
        raw["task"] = True
    try:
        size = len(canonical_json(raw["parameters"]))
        fingerprint = sha256_json(raw)
    except (ValueError, RecursionError):
        return Definition(name, sha256_json(clean_label(name)), problem="its schema is malformed")
    told = clean_label(description, _DESCRIPTION_CHARS, "")
    if size > _SCHEMA_BYTES:
        problem = f"its schema is larger than {_SCHEMA_BYTES >> 10} KiB"
        return Definition(name, fingerprint, told, problem=problem)
    if not name or len(name) > _RAW_NAME_CHARS or not name.isprintable():
        return Definition(name, fingerprint, told, problem="its name cannot be shown")
    try:
        return Definition(name, fingerprint, told, simplify(schema), task=task)
    except InvalidDataError as error:
        return Definition(name, fingerprint, told, problem=error.what)
    except RecursionError:
        return Definition(name, fingerprint, told, problem="its schema is too deep")


def without_repeats(definitions: Iterable[Definition]) -> tuple[Definition, ...]:
    """The tools of one server; of several with one name none can be meant."""
    found: dict[str, Definition] = {}
    for definition in definitions:
        if definition.name in found:
            both = found[definition.name].hash + definition.hash
            problem = "the server has two tools of this name"
            found[definition.name] = Definition(definition.name, sha256_json(both), problem=problem)
        else:
            found[definition.name] = definition
    return tuple(found.values())


def name_for(server: str, tool: str, taken: Collection[str]) -> str:
    """What a model calls a tool: its own name if that is legal and free."""
    plain = _NOT_IN_NAMES.sub("_", tool).strip("_")[:_NAME_CHARS] or "tool"
    for name in (plain, f"{server}_{plain}"[:_NAME_CHARS]):
        if name not in taken:
            return name
    number = 2
    while (name := f"{server}_{plain}"[: _NAME_CHARS - 4] + f"_{number}") in taken:
        number += 1
    return name


def definition_to_json(definition: Definition) -> dict[str, JsonValue]:
    """The form in which it is kept."""
    return {
        "hash": definition.hash,
        "description": definition.description,
        "schema": definition.schema,
        "task": definition.task,
    }


def definition_from_json(name: str, value: Mapping[str, object]) -> Definition:
    """Read what was kept. Raises `InvalidDataError`."""
    fingerprint, description = value.get("hash"), value.get("description")
    schema, task = value.get("schema"), value.get("task")
    if (
        not isinstance(fingerprint, str)
        or not _HASH.fullmatch(fingerprint)
        or not isinstance(description, str)
        or not isinstance(schema, Mapping)
        or not isinstance(task, bool)
    ):
        msg = "a tool of an MCP server is written down in no form we know"
        raise InvalidDataError(msg)
    kept = simplify(cast("Mapping[str, object]", schema))
    return Definition(name, fingerprint, description, kept, task=task)
