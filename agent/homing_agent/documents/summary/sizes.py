"""How much text fits one generation. Estimates: there is no tokenizer on this side. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

_ASCII_A_TOKEN: Final = 3.2
"""Characters; English prose has about four, tables and code fewer."""
_OVERHEAD: Final = 320
"""Tokens of instructions, names and the template."""
_MOST_TEXT: Final = 3000
"""Small models lose the thread of more, and a prompt costs time in proportion."""
_LEAST_TEXT: Final = 128
_UNKNOWN_CONTEXT: Final = 2048


@dataclass(frozen=True, slots=True)
class Sizes:
    """Tokens.

    Attributes:
        text: of documents in one prompt.
        short: of an answer about a part.
        long: of the answer about the whole.
    """

    text: int
    short: int = 220
    long: int = 600

    def halved(self) -> Sizes:
        """For text that took more tokens than was thought."""
        return Sizes(self.text // 2, self.short, self.long)

    @property
    def least(self) -> bool:
        """Whether less makes no sense."""
        return self.text < _LEAST_TEXT


def sizes_for(context_tokens: int) -> Sizes:
    """What fits a model that holds so many tokens, prompt and answer; 0 if that is unknown."""
    context = context_tokens or _UNKNOWN_CONTEXT
    long = min(Sizes(0).long, context // 4)
    short = min(Sizes(0).short, context // 6)
    room = context - _OVERHEAD - long
    return Sizes(max(_LEAST_TEXT, min(room, _MOST_TEXT)), short, long)


def tokens_of(text: str) -> int:
    """About how many tokens a text takes; rather too many than too few."""
    ascii_chars = sum(char.isascii() for char in text)
    return int(ascii_chars / _ASCII_A_TOKEN) + (len(text) - ascii_chars) + 1


def grouped(texts: Sequence[str], most_tokens: int) -> list[list[int]]:
    """Indices of texts in runs that fit; a text that does not fit stands alone."""
    groups: list[list[int]] = []
    room = 0
    for index, text in enumerate(texts):
        tokens = tokens_of(text)
        if not groups or tokens > room:
            groups.append([])
            room = most_tokens
        groups[-1].append(index)
        room -= tokens
    return groups


def cut_to(text: str, most_tokens: int) -> str:
    """The beginning of a text that takes at most so many tokens."""
    while (tokens := tokens_of(text)) > most_tokens and len(text) > 1:
        text = text[: max(1, int(len(text) * most_tokens / tokens))]
    return text
