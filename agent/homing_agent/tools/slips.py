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
    "second",
    "seconds",
    "fifteen",
    "twenty",
)
_FINE: Final = frozenset({"night", "nights"})
"""Words of their own that look like one of these."""
_LETTERS: Final = re.compile(r"[a-z]{3,}")
_HOURS: Final = re.compile(r"(?<=\d )our(?=s?\b)")
_LONG: Final = 5
_ALIKE: Final = 0.82
"""Above what two words of five letters reach that differ in one."""
_USUAL: Final = {
    "fourty": "forty",
    "haf": "half",
    "hlaf": "half",
    "ninty": "ninety",
    "todya": "today",
    "tody": "today",
}
"""Too short for the rule, and usual."""


def mended(text: str) -> str:
    """`text`, in lower case, with slips in words for times mended."""
    return _HOURS.sub("hour", _LETTERS.sub(lambda found: _word(found[0]), text))


@functools.lru_cache(maxsize=4096)
def _word(word: str) -> str:
    if word in _USUAL:
        return _USUAL[word]
    if word in _FINE or {word, word.removesuffix("s"), f"{word}s"} & set(_WORDS):
        return word
    if len(word) < _LONG:
        return word
    close = difflib.get_close_matches(word, _WORDS, 3, _ALIKE)
    alike = [one for one in close if one[0] == word[0]] or close
    # "munday" is as near to sunday as to monday: people rarely miss the first letter.
    return alike[0] if len(alike) == 1 or alike is not close else word
