"""How sure the model was, by token and by where a token stands in the answer's text."""

from __future__ import annotations

import math
from bisect import bisect_right
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
from homing_core.generation import CallSignals, TokenSignals

if TYPE_CHECKING:
    from homing_core.generation import NameProbability

    from homing_inference.answers.choosing import Choice
    from homing_inference.formats.base import CallNamed, CallOpened, CallParsed

SIGNAL_TOKENS: Final = 16
"""Tokens at the start of an answer that `TokenSignals` looks at."""


@dataclass(frozen=True, slots=True)
class _Token:
    """A written token: characters [start, end) of the answer, and how sure the model was."""

    start: int
    end: int
    probability: float
    margin: float
    share: float


class TokenLog:
    """What was written so far, by token and by character."""

    def __init__(self) -> None:
        """Nothing yet."""
        self._tokens: list[_Token] = []
        self._starts: list[int] = []

    def __len__(self) -> int:
        """Tokens so far."""
        return len(self._tokens)

    def add(self, start: int, end: int, choice: Choice) -> None:
        """A token that covers the answer's characters [start, end)."""
        self._tokens.append(_Token(start, end, choice.probability, choice.margin, choice.share))
        self._starts.append(start)

    def within(self, start: int, end: int) -> list[_Token]:
        """The tokens that cover any of the characters [start, end)."""
        if end <= start:
            return []
        last = bisect_right(self._starts, end - 1)
        first = last
        while first > 0 and self._tokens[first - 1].end > start:
            first -= 1
        return [token for token in self._tokens[first:last] if token.end > start]

    def start_signals(self, first: int) -> TokenSignals | None:
        """How sure the model was in the first tokens from number `first` on; None if none."""
        tokens = self._tokens[first : first + SIGNAL_TOKENS]
        if not tokens:
            return None
        logprobs = [math.log(max(token.probability, 1e-30)) for token in tokens]
        return TokenSignals(tokens[0].probability, sum(logprobs) / len(tokens), len(tokens))

    def name_signals(
        self, opened: CallOpened | None, named: CallNamed, names: tuple[NameProbability, ...] = ()
    ) -> CallSignals:
        """How sure the model was of a call's name; of its arguments nothing is known yet."""
        name = self.within(named.start, named.end)
        call = self.within(opened.start, named.end) if opened else []
        return CallSignals(
            call_probability=call[0].probability if call else 0.0,
            name_probability=math.prod(token.probability for token in name),
            name_margin=min((token.margin for token in name), default=0.0),
            grammar_share=min((token.share for token in call), default=1.0),
            names=names,
        )

    def call_signals(
        self,
        opened: CallOpened | None,
        named: CallNamed | None,
        parsed: CallParsed,
        names: tuple[NameProbability, ...] = (),
    ) -> CallSignals:
        """How sure the model was of a call, from where its parts stand in the answer.

        What was not seen counts as not sure at all. `names` are passed on.
        """
        name = self.within(named.start, named.end) if named else []
        arguments = self.within(parsed.arguments_start, parsed.end)
        call = self.within(opened.start, parsed.end) if opened else []
        certain = [token.probability for token in arguments] or [1.0]
        decile, median = (float(value) for value in np.quantile(certain, (0.1, 0.5)))
        return CallSignals(
            call_probability=call[0].probability if call else 0.0,
            name_probability=math.prod(token.probability for token in name) if name else 0.0,
            name_margin=min((token.margin for token in name), default=0.0),
            lowest_argument_probability=min(certain),
            grammar_share=min((token.share for token in call), default=1.0),
            argument_decile=decile,
            argument_median=median,
            names=names,
        )
