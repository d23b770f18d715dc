"""Numbers in words, as far as times and durations need them."""

from __future__ import annotations

import re

_ONES = {
    word: value
    for value, word in enumerate(
        [
            "zero",
            "one",
            "two",
            "three",
            "four",
            "five",
            "six",
            "seven",
            "eight",
            "nine",
            "ten",
            "eleven",
            "twelve",
            "thirteen",
            "fourteen",
            "fifteen",
            "sixteen",
            "seventeen",
            "eighteen",
            "nineteen",
        ]
    )
}
_TENS = {
    word: (position + 2) * 10
    for position, word in enumerate(
        ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]
    )
}
_ONE_TO_NINE = "|".join(word for word, value in _ONES.items() if 1 <= value <= 9)  # noqa: PLR2004
_COMPOUND = re.compile(rf"\b({'|'.join(_TENS)})(?:[ -]({_ONE_TO_NINE}))?\b")
_SINGLE = re.compile(rf"\b({'|'.join(_ONES)})\b")


def digits(text: str) -> str:
    """`text`, in lower case, with number words up to ninety-nine written as digits."""
    lowered = text.casefold()
    tens = _COMPOUND.sub(lambda m: str(_TENS[m[1]] + (_ONES[m[2]] if m[2] else 0)), lowered)
    return _SINGLE.sub(lambda m: str(_ONES[m[1]]), tens)
