"""Decides which tokens may be written: one guard for each answer.

The model's own choice is tried first. Only where the grammar refuses it, the grammar says what it
would allow, and the choice is made again among that: for temperature 0 the best of the allowed
tokens, otherwise a draw from the model's distribution restricted to them. Without `top_k` and
`top_p` this is exactly that distribution; with them, a token is cut off if it is neither among the
best of all tokens nor among the best of the allowed ones.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol

from homing_inference.formats.marks import CALL_END, FUNCTION_END, THINK
from homing_inference.grammar.calls import Opened, OpenedBare, Syntax
from homing_inference.grammar.opening import (
    FRESH,
    TEXT,
    THINKING,
    Found,
    OpeningReader,
    Reading,
    ThinkingOver,
    allowed_tokens,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from homing_inference.answers.choosing import Choice, Chooser
    from homing_inference.grammar.backend import Matcher
    from homing_inference.grammar.pieces import Pieces

_NAME_MARKS: Final = {
    Syntax.JSON: (b'{"name": "', b'"'),
    Syntax.XML: (b"<function=", b">"),
}
_ENDS: Final = (CALL_END.encode()[-1:], FUNCTION_END.encode()[-1:], b"}")


class CallSource(Protocol):
    """The offered tools' grammars, ready for use."""

    @property
    def syntax(self) -> Syntax:
        """How the model's format writes calls."""
        ...

    @property
    def names(self) -> Sequence[str]:
        """The offered tools."""
        ...

    def start(self, opened: Opened | OpenedBare) -> Matcher:
        """A matcher for what may follow.

        Raises:
            UsageError: it is too complex.
        """
        ...


@dataclass(slots=True)
class _Call:
    """A call being written: its matcher, how it was opened, and its text so far."""

    matcher: Matcher
    opened: Opened | OpenedBare
    text: bytes = b""


class CallGuard:
    """Leaves words free and holds calls to the offered tools and their schemas.

    Args:
        calls: grammars of the offered tools.
        pieces: the vocabulary.
        required: whether a call must come first, behind thinking.
        may_think: whether a think block may come before a required call.
        reading: where the answer begins.
    """

    def __init__(
        self,
        calls: CallSource,
        pieces: Pieces,
        *,
        required: bool = False,
        may_think: bool = False,
        reading: Reading = FRESH,
    ) -> None:
        """Nothing is written yet."""
        self._calls = calls
        self._pieces = pieces
        self._openings = OpeningReader(calls.names)
        self._reading = reading
        self._required = required
        self._call: _Call | None = None
        if required and not reading.thinking:
            opened = Opened.REQUIRED_OR_THINKING if may_think else Opened.REQUIRED
            self._call = _Call(calls.start(opened), opened)

    def choose(self, chooser: Chooser, scores: NDArray[np.float32]) -> Choice:
        """The next token, of those that are allowed; see `TokenGuard`.

        Raises:
            UsageError: the grammar turned out to be too complex.
        """
        choice = chooser.choose(scores)
        if self._call is not None:
            choice = self._within(self._call, choice, chooser, scores)
        elif not self._fits(choice.token):
            choice = chooser.choose(scores, self._outside())
        self.force(choice.token)
        return choice

    def force(self, token: int) -> None:
        """A token that was written without being chosen. One that breaks a call ends its hold."""
        piece = self._pieces.texts[token]
        call = self._call
        if call is None:
            self._read(piece)
        elif not call.matcher.advance(token):
            self._call, self._reading, self._required = None, TEXT, False
        else:
            call.text += piece
            if any(end in piece for end in _ENDS) and call.matcher.complete:
                self._close(call, piece)

    def _within(
        self, call: _Call, choice: Choice, chooser: Chooser, scores: NDArray[np.float32]
    ) -> Choice:
        if call.matcher.accepts(choice.token) and not self._names(call, choice.token):
            return choice
        allowed = call.matcher.allowed()
        if not allowed.any():  # a dead end: the answer must be able to go on, and to end
            return choice
        return chooser.choose(scores, allowed)

    def _names(self, call: _Call, token: int) -> bool:
        """Whether the token writes part of the tool's name: routers look at its share."""
        if isinstance(call.opened, OpenedBare):
            return False
        syntax = Syntax.XML if call.opened is Opened.FUNCTION else self._calls.syntax
        opening, closing = _NAME_MARKS[syntax]
        text = call.text + self._pieces.texts[token]
        if call.opened is Opened.FUNCTION:
            start = 0
        else:
            start = text.find(opening) + len(opening)
            if start < len(opening):
                return False
        return len(text) > start and closing not in call.text[start:]

    def _close(self, call: _Call, piece: bytes) -> None:
        if call.opened is Opened.REQUIRED_OR_THINKING and THINK.encode() in call.text:
            self._call, self._reading = None, THINKING
            self._read(call.text.partition(THINK.encode())[2])
            return
        self._call, self._reading, self._required = None, FRESH, False
        end = max(piece.rfind(one) for one in _ENDS)
        self._read(piece[end + 1 :])

    def _read(self, piece: bytes) -> None:
        """Words outside calls; what they open is started, its first bytes read."""
        while True:
            self._reading, found = self._openings.read(self._reading, piece)
            if found is None:
                return
            call = self._open(found)
            if call is not None:
                self._call = call if call.text == found.rest else None
                return
            piece = found.rest

    def _open(self, found: Found) -> _Call | None:
        """The call that was opened; its text is shorter than the rest if that does not fit."""
        if isinstance(found.opening, ThinkingOver):
            if not self._required:
                return None
            opened: Opened | OpenedBare = Opened.REQUIRED
        else:
            opened = found.opening
        call = _Call(self._calls.start(opened), opened)
        tokens = self._pieces.spell(found.rest)
        if tokens is not None and all(map(call.matcher.advance, tokens)):
            call.text = found.rest
        return call

    def _fits(self, token: int) -> bool:
        """Whether what a token opens goes on, in the same token, as it must."""
        if self._required and self._pieces.control[token]:
            return False
        reading, piece = self._reading, self._pieces.texts[token]
        while True:
            reading, found = self._openings.read(reading, piece)
            if found is None:
                return True
            if found.rest or not isinstance(found.opening, ThinkingOver):
                call = self._open(found) if found.rest else None
                if call is not None:
                    return call.text == found.rest
            if not found.rest:
                return True
            piece = found.rest

    def _outside(self) -> NDArray[np.bool_]:
        """Which tokens fit outside a call."""
        return allowed_tokens(self._pieces, self._fits, also=self._required)
