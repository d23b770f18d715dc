"""From what somebody types to a query of SQLite's full-text search that is never malformed. Pure.

Every word goes in as a quoted string, so nothing in it can be an operator
(https://sqlite.org/fts5.html#full_text_query_syntax).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

_MOST_TERMS: Final = 24
_MOST_TERM: Final = 80
_TOKEN: Final = re.compile(r"\"([^\"]*)\"|(\w[\w'\u2019]*)(\*?)")
_LEAST_PREFIX: Final = 4
_COMMON_WORDS: Final = (
    "a about an and any are as at be by can did do does find for from had has have how i if in "
    "into is it its me my of on or our please say says show tell that the their there these they "
    "this to us was we were what when where which who why will with would you your"
)
_COMMON: Final = frozenset(_COMMON_WORDS.split())
"""Words that say nothing of what is looked for; left out unless there are no others."""


@dataclass(frozen=True, slots=True)
class Query:
    """A search.

    Attributes:
        strict: finds what holds every term; empty if there is nothing to look for.
        loose: finds what holds any of them, or a longer word that begins like one.
    """

    strict: str
    loose: str


def build_query(text: str) -> Query:
    """Read words, "phrases in quotes" and prefix* out of any text."""
    terms = [_term(found) for found in _TOKEN.finditer(text[: _MOST_TERMS * _MOST_TERM])]
    terms = [term for term in dict.fromkeys(terms) if term[0]][:_MOST_TERMS]
    telling = [term for term in terms if term[0].casefold() not in _COMMON] or terms
    strict = " ".join(f"{_quoted(term)}{' *' if prefix else ''}" for term, prefix in telling)
    loose = " OR ".join(
        f"{_quoted(term)}{' *' if prefix or _may_grow(term) else ''}" for term, prefix in telling
    )
    return Query(strict, loose)


def _term(found: re.Match[str]) -> tuple[str, bool]:
    phrase, word, star = found.groups()
    if phrase is not None:
        words = re.findall(r"\w+", phrase[:_MOST_TERM])
        return " ".join(words), False
    return word[:_MOST_TERM].strip("'\u2019_"), bool(star)


def _may_grow(term: str) -> bool:
    return len(term) >= _LEAST_PREFIX and " " not in term


def _quoted(term: str) -> str:
    return f'"{term}"'
