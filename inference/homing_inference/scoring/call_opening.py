"""The tokens in which a model would open a call, up to where its name is chosen."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol

from homing_inference.scoring.names import written_name

if TYPE_CHECKING:
    from collections.abc import Sequence

    from homing_inference.formats.base import CallSyntax
    from homing_inference.scoring.names import NameTrie, Place

_PLAIN: Final = re.compile(r"[\w.-]+", re.ASCII)
"""Names whose text no vocabulary reads as a control token."""


class Tokenizer(Protocol):
    """Of a vocabulary, what tries need; see `Vocabulary`."""

    def tokenize(self, text: str) -> list[int]:
        """`text` as tokens; texts of control tokens become those."""
        ...

    def piece(self, token: int) -> bytes:
        """A token's bytes."""
        ...


@dataclass(frozen=True, slots=True)
class CallOpening:
    """What to compute behind a prompt so that a name comes next.

    Attributes:
        tokens: from the call's mark to where the names part, or to where tokens of names may begin.
        mark: which of them write the mark, as a half-open range.
        place: where the names stand behind them.
    """

    tokens: tuple[int, ...]
    mark: tuple[int, int]
    place: Place


def call_opening(
    trie: NameTrie, syntax: CallSyntax, vocabulary: Tokenizer, lead: str = ""
) -> CallOpening:
    """The tokens in which a model would open a call to any of the names.

    They end where the usual tokens of the names differ, so that no token is forced that the model
    would not write before some of them. What all names begin with is among them.

    Args:
        trie: the names, at least one, for this syntax.
        syntax: how calls begin.
        vocabulary: the model's tokens.
        lead: text to write before the mark, such as the end of a think block.
    """
    before = lead + syntax.opening
    plain = all(_PLAIN.fullmatch(name) for name in trie.names)
    # A lone name would be common to all; nothing of it needs to be computed.
    beyond = len(before.encode()) if len(trie.names) == 1 or not plain else None
    usual = [
        vocabulary.tokenize(before + written_name(name, trie.closing) + trie.closing)
        for name in trie.names
    ]
    tokens: list[int] = []
    text = b""
    for column in zip(*usual, strict=False):
        longer = text + vocabulary.piece(column[0])
        if len(set(column)) > 1 or (beyond is not None and len(longer) > beyond):
            break
        tokens.append(column[0])
        text = longer
    opening = before.encode()
    place = trie.start(opening[len(text) :])
    if len(text) > len(opening):
        place = trie.after(place, text[len(opening) :]) or place
    mark = (
        _tokens_within(tokens, len(lead.encode()), vocabulary),
        _tokens_within(tokens, len((lead + syntax.mark).encode()), vocabulary),
    )
    return CallOpening(tuple(tokens), mark, place)


def _tokens_within(tokens: Sequence[int], end: int, vocabulary: Tokenizer) -> int:
    """How many tokens begin before this byte."""
    covered = 0
    for index, token in enumerate(tokens):
        if covered >= end:
            return index
        covered += len(vocabulary.piece(token))
    return len(tokens)
