"""Slips of the keyboard in words for times: "tomorow", "teusday", "20 mintues".

Only long words that look like nothing else are mended: "light" is not "night".
"""

from __future__ import annotations

import difflib
import functools
import re
from typing import Final

_WORDS: Final = (
    "monday",
    "tuesday",
    "wednesday",
    "thursday",
    "friday",
    "saturday",
    "sunday",
    "tomorrow",
    "tonight",
    "midnight",
    "morning",
    "afternoon",
    "evening",
    "january",
    "february",
    "august",
    "september",
    "october",
    "november",
    "december",
    "minute",
    "minutes",
    "seconds",
    "fifteen",
    "twenty",
)
_FINE: Final = frozenset({"night", "nights"})
"""Words of their own that look like one of these."""
_LETTERS: Final = re.compile(r"[a-z]{5,}")
_ALIKE: Final = 0.82
"""Above what two words of five letters reach that differ in one."""
_USUAL: Final = {"fourty": "forty", "ninty": "ninety", "noone": "noon", "todya": "today"}
"""Too short for the rule, and usual."""


def mended(text: str) -> str:
    """`text`, in lower case, with slips in words for times mended."""
    return _LETTERS.sub(lambda found: _word(found[0]), text)


@functools.lru_cache(maxsize=4096)
def _word(word: str) -> str:
    if word in _USUAL:
        return _USUAL[word]
    if word in _FINE or {word, word.removesuffix("s"), f"{word}s"} & set(_WORDS):
        return word
    close = difflib.get_close_matches(word, _WORDS, 1, _ALIKE)
    return close[0] if close else word
