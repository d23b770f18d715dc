"""Tool names as a trie over a model's tokens: which names each possible next token leads to.

A name is written as text, and a model may cut that text into tokens in several ways. The usual way
depends on what stands around: Qwen's vocabulary writes `<function=get_time>` as `<`, `function`,
`=get`, `_time`, and `>` with a line's end in one token: a token may reach from the call's opening
into the name, and from the name over the character that closes it. So the trie is one of bytes. A
place in it is what of a name has been written, and the names that still fit; a token moves from
place to place as its bytes do.

Where several names fit, every token of the vocabulary belongs to the names that still fit behind
it, or to none. Tokens with the same names form one branch, whose mass is the sum of theirs: so
other ways of writing the same beginning (`s` and `set`, where all names fit behind both) count
together. Branches are nested or disjoint. One that leaves all names is a beginning that decides
nothing yet.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from homing_inference.formats.values import dump_json, write_key

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from homing_inference.scoring.token_texts import TokenTexts

_JSON_END: Final = '"'
_KEPT_TRIES: Final = 16
_KEPT_PLACES: Final = 4096


@dataclass(frozen=True, slots=True)
class Place:
    """How far a name has been written.

    Attributes:
        written: bytes of the name, and of what closes it.
        first: number of the first name that still fits.
        last: number behind the last one; names are sorted by their bytes.
        lead: bytes of the call's opening that are still to come before the name.
        complete: whether the name and what closes it are written.
    """

    written: bytes
    first: int
    last: int
    lead: bytes = b""
    complete: bool = False

    @property
    def names(self) -> tuple[int, int]:
        """The names that still fit, as a half-open range of numbers."""
        return self.first, self.last


@dataclass(frozen=True, slots=True)
class Branches:
    """The tokens that can stand next at a place, by the names that fit behind them.

    Attributes:
        tokens: shape (n,).
        branch: for each of them, which of `names` it leads to; shape (n,).
        names: half-open ranges of names, each once, the smaller ones first.
    """

    tokens: NDArray[np.intp]
    branch: NDArray[np.intp]
    names: tuple[tuple[int, int], ...]

    def masses(self, scores: NDArray[np.float32], highest: float) -> NDArray[np.float64]:
        """Each branch's mass, as a multiple of that of a token with the score `highest`.

        Args:
            scores: logits of the whole vocabulary, shape (vocabulary,).
            highest: a logit, to stay within what floats can hold.
        """
        weights = np.exp(scores[self.tokens].astype(np.float64) - highest)
        masses = np.zeros(len(self.names))
        np.add.at(masses, self.branch, weights)
        return masses

    def best(self, branch: int, scores: NDArray[np.float32]) -> int:
        """The branch's most likely token."""
        tokens = self.tokens[self.branch == branch]
        return int(tokens[np.argmax(scores[tokens])])


class NameTrie:
    """The names that a model may write, for one way of closing them.

    Args:
        names: repeated ones count once.
        closing: the character that ends a name in a call.
        texts: the model's tokens.
    """

    def __init__(self, names: Sequence[str], closing: str, texts: TokenTexts) -> None:
        """Sort them; branches are looked for when first needed."""
        written = {
            written_name(name, closing).encode("utf-8", "surrogatepass"): name for name in names
        }
        end = closing.encode()
        self._texts: Final = texts
        self._targets: Final = sorted(text + end for text in written)
        self.names: Final = tuple(written[text[: -len(end)]] for text in self._targets)
        """Sorted by their bytes, what closes them included."""
        self.closing: Final = closing
        self._branches: Final[dict[tuple[bytes, bytes], Branches]] = {}

    def start(self, lead: bytes = b"") -> Place:
        """Where nothing of a name is written, and `lead` of the opening is still to come."""
        return Place(b"", 0, len(self.names), lead)

    def after(self, place: Place, piece: bytes) -> Place | None:
        """Where these bytes lead; None if no name fits."""
        if place.lead:
            if place.lead.startswith(piece):
                return Place(place.written, place.first, place.last, place.lead[len(piece) :])
            if not piece.startswith(place.lead):
                return None
            piece = piece[len(place.lead) :]
        written = place.written + piece
        first = bisect_left(self._targets, written, place.first, place.last)
        last = first
        if first < place.last and self._targets[first].startswith(written):
            last = self._behind(written, first, place.last)
        if first < last:
            return Place(written, first, last, complete=self._targets[first] == written)
        # Bytes may follow behind the name's end in the same token.
        before = bisect_right(self._targets, written, place.first, place.last) - 1
        if before >= place.first and written.startswith(self._targets[before]):
            return Place(self._targets[before], before, before + 1, complete=True)
        return None

    def follow(self, place: Place, token: int) -> Place | None:
        """Where a token leads; None if no name fits."""
        return self.after(place, self._texts.piece(token))

    def name_length(self, name: int) -> int:
        """Bytes of a name as it is written, without what closes it."""
        return len(self._targets[name]) - len(self.closing.encode())

    def branches(self, place: Place) -> Branches:
        """What may come next at a place that is not complete."""
        key = place.lead, place.written
        known = self._branches.get(key)
        if known is None:
            if len(self._branches) >= _KEPT_PLACES:  # a place can be reached by many leads
                self._branches.clear()
            known = self._branches[key] = _gathered(self._leading(place))
        return known

    def _leading(self, place: Place) -> Iterator[tuple[int, tuple[int, int]]]:
        """Every token that can come next, and the names behind it."""
        lead = place.lead
        for length in range(1, len(lead) + 1):
            for token in self._texts.exactly(lead[:length]):
                yield token, place.names
        held = len(place.written)
        before = place.written
        for name in range(place.first, place.last):
            target = self._targets[name]
            shared = _shared(before, target)
            before = target
            for end in range(
                max(shared, held) + 1, min(len(target), held + self._texts.longest) + 1
            ):
                last = 0
                for token in self._texts.exactly(lead + target[held:end]):
                    last = last or self._behind(target[:end], name, place.last)
                    yield token, (name, last)
            if len(target) - held < self._texts.longest:
                for token in self._texts.beyond(lead + target[held:]):
                    yield token, (name, name + 1)

    def _behind(self, beginning: bytes, first: int, last: int) -> int:
        """Number behind the last name that has a beginning, if number `first` has it."""
        return bisect_right(
            self._targets, beginning, first, last, key=lambda text: text[: len(beginning)]
        )


class NameTries:
    """Tries that were made lately, since most requests offer the same tools.

    Args:
        texts: the model's tokens.
    """

    def __init__(self, texts: TokenTexts) -> None:
        """None was made yet."""
        self._texts: Final = texts
        self._tries: Final[OrderedDict[tuple[tuple[str, ...], str], NameTrie]] = OrderedDict()

    def trie(self, names: Iterable[str], closing: str) -> NameTrie:
        """The trie of these names, in whatever order they come."""
        key = tuple(sorted(set(names))), closing
        trie = self._tries.get(key)
        if trie is None:
            trie = self._tries[key] = NameTrie(key[0], closing, self._texts)
            if len(self._tries) > _KEPT_TRIES:
                self._tries.popitem(last=False)
        self._tries.move_to_end(key)
        return trie


def written_name(name: str, closing: str) -> str:
    """A name as it stands in a call whose names are closed by this character."""
    return dump_json(name)[1:-1] if closing == _JSON_END else write_key(name)


def log_total(scores: NDArray[np.float32]) -> float:
    """Logarithm of the sum of the exponentials of logits, shape (vocabulary,)."""
    highest = float(scores.max())
    return highest + float(np.log(np.exp(scores - highest).sum(dtype=np.float64)))


def _gathered(leading: Iterator[tuple[int, tuple[int, int]]]) -> Branches:
    found = dict(leading)
    names = sorted(set(found.values()), key=lambda span: (span[1] - span[0], span))
    number = {span: index for index, span in enumerate(names)}
    return Branches(
        np.fromiter(found, np.intp, len(found)),
        np.fromiter((number[span] for span in found.values()), np.intp, len(found)),
        tuple(names),
    )


def _shared(left: bytes, right: bytes) -> int:
    """Length of the beginning that both have."""
    for index, (one, other) in enumerate(zip(left, right, strict=False)):
        if one != other:
            return index
    return min(len(left), len(right))
