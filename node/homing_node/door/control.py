"""The lines between node and door: one JSON object each, over a socket pair. Pure.

To the door: first `Setup`, then `Proved`, `Expelled`, `Dismissed` and `Drain`. To the node:
`Ready` once, then `Report` at least every `BEAT_S` seconds.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, fields
from typing import Final, TypeAlias, cast

from homing_core.errors import InvalidDataError

from homing_node.door.events import Caps, Dismissed, Expelled, Proved
from homing_node.door.floor import Reason

BEAT_S: Final = 2.0
"""Seconds between two reports of a door where nothing happens."""
MAX_LINE: Final = 1 << 16
_MOST_NUMBER: Final = 1 << 64
_MOST_TEXT: Final = 128
_MOST_SECONDS: Final = 1e6


@dataclass(frozen=True, slots=True)
class Setup:
    """How to begin.

    Attributes:
        listeners: descriptors of the listening sockets, inherited.
        first: number of the first connection; no number occurs twice in a node's life.
        hybrid: whether the post-quantum key exchange is required.
        caps: limits.
    """

    listeners: tuple[int, ...]
    first: int
    hybrid: bool
    caps: Caps


@dataclass(frozen=True, slots=True)
class Drain:
    """Accept no more, and leave once all connections have ended."""


@dataclass(frozen=True, slots=True)
class Ready:
    """It accepts."""


@dataclass(frozen=True, slots=True)
class Report:
    """What was refused since the last one: address (may be empty), reason, how often."""

    refused: tuple[tuple[str, Reason, int], ...] = ()


ToDoor: TypeAlias = Setup | Proved | Expelled | Dismissed | Drain
ToNode: TypeAlias = Ready | Report


def encode(message: ToDoor | ToNode) -> bytes:
    """One line, with its end."""
    match message:
        case Setup():
            body: dict[str, object] = {"setup": asdict(message)}
        case Proved():
            body = {"proved": [message.number, message.device]}
        case Expelled():
            body = {"expelled": message.device}
        case Dismissed():
            body = {"dismissed": message.number}
        case Drain():
            body = {"drain": True}
        case Ready():
            body = {"ready": True}
        case Report():
            body = {"refused": [[a, reason.value, count] for a, reason, count in message.refused]}
    return json.dumps(body, separators=(",", ":")).encode() + b"\n"


def decode(line: bytes) -> ToDoor | ToNode:
    """Read a line back, strictly.

    Raises:
        InvalidDataError: it is none of ours.
    """
    try:
        ((kind, value),) = cast("dict[str, object]", json.loads(line)).items()
        return _read(kind, value)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        msg = "a line between node and front door is malformed"
        raise InvalidDataError(msg, "Both may be of different versions: restart.") from error


def _read(kind: str, value: object) -> ToDoor | ToNode:
    match kind:
        case "setup":
            return _setup(value)
        case "proved" | "expelled" | "dismissed":
            return _about(kind, value)
        case "drain" if value is True:
            return Drain()
        case "ready" if value is True:
            return Ready()
        case "refused":
            return Report(tuple(_refused(entry) for entry in _list(value)))
        case _:
            raise KeyError(kind)


def _about(kind: str, value: object) -> Proved | Expelled | Dismissed:
    """What the node knows of a connection or a device."""
    if kind == "expelled":
        return Expelled(_text(value))
    if kind == "dismissed":
        return Dismissed(_number(value))
    number, device = _list(value)
    return Proved(_number(number), _text(device))


def _setup(value: object) -> Setup:
    given = _exactly(value, Setup)
    caps = _exactly(given["caps"], Caps)
    listeners = tuple(_number(entry) for entry in _list(given["listeners"]))
    return Setup(
        listeners,
        _number(given["first"]),
        _boolean(given["hybrid"]),
        Caps(
            outside=_number(caps["outside"]),
            outside_each=_number(caps["outside_each"]),
            inside=_number(caps["inside"]),
            inside_each=_number(caps["inside_each"]),
            proven=_number(caps["proven"]),
            proven_each=_number(caps["proven_each"]),
            handshakes=_number(caps["handshakes"]),
            answer_s=_seconds(caps["answer_s"]),
            hello_s=_seconds(caps["hello_s"]),
            turn_s=_seconds(caps["turn_s"]),
            proof_s=_seconds(caps["proof_s"]),
        ),
    )


def _refused(value: object) -> tuple[str, Reason, int]:
    address, reason, count = _list(value)
    return _text(address), Reason(reason), _number(count)


def _exactly(value: object, kind: type[Setup | Caps]) -> dict[str, object]:
    if not isinstance(value, dict) or value.keys() != {field.name for field in fields(kind)}:
        raise TypeError
    return cast("dict[str, object]", value)


def _seconds(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError
    if not 0 < value < _MOST_SECONDS:
        raise ValueError(value)
    return float(value)


def _boolean(value: object) -> bool:
    if not isinstance(value, bool):
        raise TypeError
    return value


def _list(value: object) -> list[object]:
    if not isinstance(value, list):
        raise TypeError
    return cast("list[object]", value)


def _number(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < _MOST_NUMBER:
        raise TypeError
    return value


def _text(value: object) -> str:
    if not isinstance(value, str) or len(value) > _MOST_TEXT:
        raise TypeError
    return value
