"""A second opinion on a request, from its words alone: what is right to do first. Pure.

A linear classifier over words, pairs of words and parts of words, learned from labelled requests.
It is wrong about as often as the small model, but in other cases: where both agree, they are rarely
wrong together, and that is what a routing rule wants to know. It never acts by itself.
"""

from __future__ import annotations

import itertools
import math
import re
import unicodedata
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

BUCKETS: Final = 4096
"""Features share this many places; which one is theirs, a checksum says."""
ASK: Final = "=ask"
ANSWER: Final = "=answer"
DECLINE: Final = "=decline"
HOME: Final = "=home"
NO_TOOLS: Final = frozenset({ASK, ANSWER, DECLINE, HOME})
"""Actions that are no calls; no tool can have such a name."""
_WORD: Final = re.compile(r"[^\W_]+")
_DIGIT: Final = re.compile(r"\d")
_PARTS: Final = (3, 4)
_MOST_WORDS: Final = 120


@dataclass(frozen=True, slots=True)
class Opinion:
    """The classifier.

    Attributes:
        actions: names of tools and of `NO_TOOLS`.
        bias: of each action.
        scales: of each action: what one step of its weights is worth.
        weights: signed bytes, shape (BUCKETS, actions), row by row.
    """

    actions: tuple[str, ...]
    bias: tuple[float, ...]
    scales: tuple[float, ...]
    weights: bytes

    def chances(self, request: str) -> dict[str, float]:
        """How likely each action is; they sum to 1. Empty where nothing was learned."""
        if not self.actions:
            return {}
        count = len(self.actions)
        places = buckets(request)
        signed = memoryview(self.weights).cast("b")
        norm = 1.0 / math.sqrt(max(len(places), 1))
        totals = [
            bias + scale * norm * sum(signed[place * count + action] for place in places)
            for action, (bias, scale) in enumerate(zip(self.bias, self.scales, strict=True))
        ]
        highest = max(totals)
        masses = [math.exp(total - highest) for total in totals]
        whole = math.fsum(masses)
        return {name: mass / whole for name, mass in zip(self.actions, masses, strict=True)}


NO_OPINION: Final = Opinion((), (), (), b"")


def buckets(request: str) -> frozenset[int]:
    """The places of a request's features."""
    return frozenset(zlib.crc32(part.encode()) % BUCKETS for part in _features(request))


def opinion_numbers(chances: Mapping[str, float], action: str) -> dict[str, float]:
    """What a rule may weigh of a second opinion.

    Args:
        chances: of each action; empty where there is no opinion.
        action: what the model would do: a tool's name, `ASK`, or `ANSWER` for any words.

    Returns:
        Nothing where the classifier does not know the action.
    """
    words = chances.get(ANSWER, 0.0) + chances.get(DECLINE, 0.0)
    own = words if action == ANSWER else chances.get(action)
    if not chances or own is None:
        return {}
    rival = max(
        (chance for name, chance in chances.items() if name not in {action, ANSWER, DECLINE}),
        default=0.0,
    )
    rival = rival if action == ANSWER else max(rival, words)
    return {
        "opinion_own": math.log(own + 1e-3),
        "opinion_lead": own - rival,
        "opinion_home": chances.get(HOME, 0.0),
        "opinion_words": words,
        "opinion_ask": chances.get(ASK, 0.0),
    }


def _features(request: str) -> Iterator[str]:
    plain = unicodedata.normalize("NFKD", _DIGIT.sub("0", request.casefold()))
    plain = "".join(one for one in plain if not unicodedata.combining(one))
    words = _WORD.findall(plain)[:_MOST_WORDS]
    for word in words:
        yield f"word {word}"
        marked = f"^{word}$"
        for size in _PARTS:
            for start in range(len(marked) - size + 1):
                yield marked[start : start + size]
    for first, second in itertools.pairwise(words):
        yield f"pair {first} {second}"
