"""Where in an answer's text a call opens, in step with the parser of `formats`.

    fresh ──<think>──► thinking ──</think>──► fresh
      │ a word
      ▼
     text ──<tool_call> or <function=──► a call ──► fresh

Marks are looked for in the bytes, so it is the same whether a mark is one token or one for each
letter, and a token may go on behind it. At a fresh place, `{"name": "X"` of an offered tool opens a
call as well. Inside a think block nothing does.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np

from homing_inference.formats.marks import CALL, FUNCTION, THINK, THINK_END, WHITE
from homing_inference.grammar.calls import Opened, OpenedBare

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from numpy.typing import NDArray

    from homing_inference.grammar.pieces import Pieces

_CALL: Final = CALL.encode()
_FUNCTION: Final = FUNCTION.encode()
_THINK: Final = THINK.encode()
_THINK_END: Final = THINK_END.encode()
_WHITE: Final = WHITE.encode()
_LONGEST: Final = max(len(_CALL), len(_FUNCTION), len(_THINK_END))
_MARKS: Final = re.compile(b"|".join(map(re.escape, (_CALL, _FUNCTION))))
_BARE: Final = re.compile(
    rb"[ \t\r\n]*(?:```[A-Za-z_]{0,16}[ \t\r\n]+)?(?:\[[ \t\r\n]*)?\{[ \t\r\n]*"
    rb'"(?:name)"[ \t\r\n]*:[ \t\r\n]*("(?:[^"\\]|\\.)*")'
)
_MAX_BARE: Final = 512
"""Bytes in which a call without marks has named its tool, or is none."""
OPENERS: Final = b'>="'
"""Bytes of which one ends every opening of a call, and every think block."""


class _Mode(Enum):
    FRESH = "fresh"
    BARE = "text that began as a call without marks does"
    TEXT = "text"
    THINKING = "thinking"


@dataclass(frozen=True, slots=True)
class ThinkingOver:
    """A think block has ended."""


Opening: TypeAlias = Opened | OpenedBare | ThinkingOver


@dataclass(frozen=True, slots=True)
class Found:
    """What opened, and the bytes of the same piece that stand behind it."""

    opening: Opening
    rest: bytes


@dataclass(frozen=True, slots=True)
class Reading:
    """How far an answer has been read outside its calls. Immutable: a token can be tried first."""

    mode: _Mode
    tail: bytes = b""

    @property
    def thinking(self) -> bool:
        """Whether it stands in a think block."""
        return self.mode is _Mode.THINKING


FRESH: Final = Reading(_Mode.FRESH)
TEXT: Final = Reading(_Mode.TEXT)
THINKING: Final = Reading(_Mode.THINKING)


class OpeningReader:
    """Reads what is outside calls.

    Args:
        names: the offered tools.
    """

    def __init__(self, names: Iterable[str]) -> None:
        """Keep the names."""
        self._names = {_quoted(name): name for name in names}

    def read(self, reading: Reading, piece: bytes) -> tuple[Reading, Found | None]:
        """The next bytes: where the answer stands behind them, and the first opening in them."""
        text = reading.tail + piece
        match reading.mode:
            case _Mode.THINKING:
                here = text.find(_THINK_END)
                if here < 0:
                    return Reading(_Mode.THINKING, text[-_LONGEST:]), None
                return FRESH, Found(ThinkingOver(), text[here + len(_THINK_END) :])
            case _Mode.FRESH:
                return self._fresh(text)
            case _Mode.BARE:
                return self._bare(text)
            case _Mode.TEXT:
                return _text(text)

    def _fresh(self, text: bytes) -> tuple[Reading, Found | None]:
        begun = text.lstrip(_WHITE)
        if begun.startswith(_THINK):
            return self.read(THINKING, begun[len(_THINK) :])
        if begun.startswith(_THINK_END):
            return FRESH, Found(ThinkingOver(), begun[len(_THINK_END) :])
        if _THINK.startswith(begun) or _THINK_END.startswith(begun):
            return Reading(_Mode.FRESH, begun), None
        return self._bare(begun) if begun[:1] in {b"{", b"[", b"`"} else _text(text)

    def _bare(self, text: bytes) -> tuple[Reading, Found | None]:
        named = _BARE.match(text)
        name = self._names.get(named[1]) if named else None
        if named is not None and name is not None:
            return TEXT, Found(OpenedBare(name), text[named.end() :])
        reading, found = _text(text)
        if found is None and named is None and len(text) <= _MAX_BARE:
            return Reading(_Mode.BARE, text), None
        return reading, found


def _text(text: bytes) -> tuple[Reading, Found | None]:
    mark = _MARKS.search(text)
    if mark is None:
        return Reading(_Mode.TEXT, text[1 - _LONGEST :]), None
    opened = Opened.MARK if mark[0] == _CALL else Opened.FUNCTION
    return TEXT, Found(opened, text[mark.end() :])


def _quoted(name: str) -> bytes:
    return b'"' + name.encode() + b'"'


def allowed_tokens(
    pieces: Pieces, fits: Callable[[int], bool], *, also: bool = False
) -> NDArray[np.bool_]:
    """All tokens but those that open something and do not fit.

    Args:
        pieces: the vocabulary.
        fits: whether one token does.
        also: whether control tokens are out as well.
    """
    allowed = ~pieces.control if also else np.ones(len(pieces.texts), dtype=np.bool_)
    for token in pieces.holding(OPENERS):
        if allowed[token] and not fits(token):
            allowed[token] = False
    return allowed
