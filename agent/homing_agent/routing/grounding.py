"""Do a call's arguments come from what the person said, or did the model make them up?

Small models fill a parameter they have no value for with something plausible ("tomorrow at 9",
"bob@example.com"). Whether the words of an argument occur in the person's own words is a cheap and
strong sign of that (after routing features published for small tool callers; measured here on the
stand-in: it catches "Hello!" becoming a reminder for ten in the morning).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from homing_agent.numbers import digits

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from homing_core.canonical import JsonValue

_MEANT = {
    "100": frozenset(["full", "fully", "max", "maximum", "loudest", "top"]),
    "50": frozenset(["half", "halfway", "middle"]),
    "25": frozenset(["quarter"]),
}
"""Numbers that people say in other words."""
_MONTH = 3
_MONTHS = (
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
)
"""Months in words are numbers in most arguments; so are their first `_MONTH` letters."""
_FILLERS = frozenset(
    word
    for line in (
        "a an the to for of on in at by my me i it this that some something please pls",
        "new make set create add write save put take start send show tell give get",
        "do can could you would note down up let know want need like have",
        "be nice good great just also then us our is am are was will shall",
    )
    for word in line.split()
)
"""Words that are no content by themselves."""
_WORDS = re.compile(r"\d+|[^\W\d_]+")
_STEM = 4
"""Words count as the same if they share this many leading letters ("call", "calling")."""


@dataclass(frozen=True, slots=True)
class Grounding:
    """How much of a call the person said.

    Attributes:
        lowest_share: the smallest share of words said, in [0, 1], over the required arguments; 1
            if there are none.
        weakest: name of that argument; empty if there is none.
        unsaid_optional: optional arguments of which not one word was said.
        shares: of each required argument, in the order in which the tool requires them.
        numbers: those of them that are numbers, which may be worked out from what was said.
    """

    lowest_share: float
    weakest: str
    unsaid_optional: tuple[str, ...]
    shares: tuple[tuple[str, float], ...] = ()
    numbers: frozenset[str] = frozenset()

    def below(self, share: float) -> tuple[str, ...]:
        """The required arguments of which less than this was said."""
        return tuple(name for name, said in self.shares if said < share)

    def texts_below(self, share: float) -> tuple[str, ...]:
        """The same without numbers."""
        return tuple(name for name in self.below(share) if name not in self.numbers)


def ground(
    arguments: Mapping[str, JsonValue],
    required: Iterable[str],
    said: Iterable[str],
    own: str = "",
) -> Grounding:
    """Compare a call's arguments with the person's words.

    A required text that says nothing but what tool is wanted ("make a note") counts as not said.

    Args:
        arguments: of the call.
        required: names of the parameters that the tool requires.
        said: everything the person said in this conversation.
        own: the tool's name and description.
    """
    heard = frozenset(word for text in said for word in _words(text))
    heard |= {number for number, words in _MEANT.items() if words & heard}
    if any(word.isdigit() for word in heard):  # otherwise "may" and "mar" are hardly months
        months = enumerate(_MONTHS, 1)
        heard |= {str(month) for month, name in months if heard & {name, name[:_MONTH]}}
    ordered = tuple(required)
    needed = frozenset(ordered)
    shares = {name: _share(value, heard) for name, value in arguments.items()}
    if own:
        nothing = [name for name in ordered if _says_nothing(name, arguments, ordered, own)]
        shares |= dict.fromkeys(nothing, 0.0)
    weakest = min((name for name in shares if name in needed), key=shares.__getitem__, default="")
    return Grounding(
        lowest_share=shares.get(weakest, 1.0),
        weakest=weakest,
        unsaid_optional=tuple(
            name for name, share in shares.items() if name not in needed and share <= 0
        ),
        shares=tuple((name, shares[name]) for name in ordered if name in shares),
        numbers=frozenset(name for name in ordered if isinstance(arguments.get(name), int | float)),
    )


def _says_nothing(
    name: str, arguments: Mapping[str, JsonValue], required: Sequence[str], own: str
) -> bool:
    """Whether a text holds no word but fillers, the tool's own and those of a shorter argument."""
    value = arguments.get(name)
    if not isinstance(value, str) or not value.strip():
        return False
    length = len(list(_words(value)))
    others = (
        words
        for other in required
        if other != name and other in arguments
        for words in [[word for text in _texts(arguments[other]) for word in _words(text)]]
        if len(words) < length
    )
    return repeats(value, own, (word for words in others for word in words))


def repeats(text: str, own: str, elsewhere: Iterable[str]) -> bool:
    """Whether a text only repeats what is clear anyway.

    Args:
        text: not empty.
        own: the tool's name and description.
        elsewhere: words of other arguments.
    """
    known = _FILLERS | frozenset(_words(own)) | frozenset(elsewhere)
    return all(_said(word, known) for word in _words(text))


def unused_numbers(arguments: Mapping[str, JsonValue], request: str) -> int:
    """How many numbers of a request are in none of a call's arguments: something was left out."""
    used = {word for value in arguments.values() for text in _texts(value) for word in _words(text)}
    return sum(word.isdigit() and word not in used for word in set(_words(request)))


def _share(value: JsonValue, heard: frozenset[str]) -> float:
    words = [word for text in _texts(value) for word in _words(text)]
    if not words:
        return 1.0
    if any(word.isdigit() and word != "0" and word not in heard for word in words):
        return 0.0  # a number nobody said is the worst kind of invention
    return sum(_said(word, heard) for word in words) / len(words)


def _said(word: str, heard: frozenset[str]) -> bool:
    if word in heard or word == "0":  # the zeros of "5:00" say nothing
        return True
    return len(word) >= _STEM and any(other.startswith(word[:_STEM]) for other in heard)


def _texts(value: JsonValue) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, bool) or value is None:
        return
    elif isinstance(value, int | float):
        yield str(value)
    else:
        for item in value.values() if isinstance(value, Mapping) else value:
            yield from _texts(item)


def words_of(text: str) -> list[str]:
    """A text's words and numbers, in one form."""
    return list(_words(text))


def _words(text: str) -> Iterator[str]:
    for word in _WORDS.findall(digits(unicodedata.normalize("NFKC", text))):
        yield word.lstrip("0") or "0" if word.isdigit() else word
