"""A context without a model: a toy language that depends on every token before, and strict books.

It catches misuse that a real context would answer with an abort or with silently wrong scores:
batches over the limit, closed sequences, a full pool, two adapters in one sequence, and scores that
are looked at after the next computation.
"""

from __future__ import annotations

import functools
import hashlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from homing_core.errors import (
    HomingError,
    InternalError,
    NotFoundError,
    OverloadedError,
    TooLongError,
)
from homing_inference.answers.prompts import PromptWriter
from homing_inference.answers.run import RunMaker
from homing_inference.formats.select import choose
from homing_inference.llama.segments import Segments
from homing_inference.machine.sizes import PINNED_PREFIXES
from homing_inference.scheduler.intake import Intake
from homing_inference.scheduler.pace import Pace
from homing_inference.scheduler.scheduler import Scheduler
from homing_inference.scheduler.score_intake import ScoreIntake
from homing_inference.scoring.names import NameTries
from homing_inference.scoring.score_plan import ScorePlanner
from homing_inference.scoring.token_texts import TokenTexts
from homing_inference.states.beginnings import Beginnings

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from homing_inference.formats.base import ChatFormat
    from numpy.typing import NDArray

END = 256
"""The token that ends a turn."""
THINK = 257
THINK_END = 258
START = 259
SIZE = 260
_SPECIAL = {START: b"<|im_start|>", END: b"<|im_end|>", THINK: b"<think>", THINK_END: b"</think>"}


class ByteVocabulary:
    """A token for each byte, and four marks."""

    leading_token: int | None = None
    size = SIZE

    def tokenize(self, text: str) -> list[int]:
        raw = text.encode("utf-8", "replace")
        tokens: list[int] = []
        while raw:
            mark = next((token for token, text in _SPECIAL.items() if raw.startswith(text)), None)
            tokens.append(raw[0] if mark is None else mark)
            raw = raw[1 if mark is None else len(_SPECIAL[mark]) :]
        return tokens

    def piece(self, token: int) -> bytes:
        return _SPECIAL.get(token) or bytes([token])

    def ends_turn(self, token: int) -> bool:
        return token == END


def toy_scores(tokens: Sequence[int], adapter: str = "") -> NDArray[np.float32]:
    """Logits that depend on all tokens: mostly small letters, now and then the end."""
    digest = hashlib.blake2b(repr((adapter, tuple(tokens))).encode(), digest_size=8).digest()
    scores = np.random.default_rng(int.from_bytes(digest)).normal(size=SIZE).astype(np.float32)
    scores[ord("a") : ord("z") + 1] += 4
    scores[END] += 1.5
    return scores


@dataclass
class _Held:
    tokens: list[int] = field(default_factory=list[int])
    adapter: str = ""


@dataclass
class Computed:
    """One computation: whose tokens, and how many of each."""

    rows: dict[int, int]
    prefill: bool


class FakeSequences:
    """Keeps to the interface of `Sequences`.

    Attributes:
        log: every computation.
        script: says the next token after what a sequence holds; None leaves it to the toy language.
        fault: raised by the next computation, which closes what it concerns.
        before: called before every computation.
        equal_parts: whether parts of a batch must be equally long.
    """

    def __init__(  # noqa: PLR0913  # each is one size or kind
        self,
        *,
        sequences: int = 12,
        cells: int = 4096,
        context_tokens: int = 1024,
        batch_tokens: int = 32,
        adapters: Sequence[str] = (),
        equal_parts: bool = False,
    ) -> None:
        self.sequences = sequences
        self.equal_parts = equal_parts
        self.cells = cells
        self.context_tokens = context_tokens
        self.batch_tokens = batch_tokens
        self.log: list[Computed] = []
        self.script: Callable[[tuple[int, ...]], int | None] = lambda _: None
        self.fault: Exception | None = None
        self.before: Callable[[], None] = lambda: None
        self.threads: list[int] = []
        self.shut_down = False
        self.adapter = ""
        self._adapters = {"", *adapters}
        self._held: dict[int, _Held] = {}
        self._segments = Segments()
        self._views: list[NDArray[np.float32]] = []

    @property
    def score_rows(self) -> int:
        return self.batch_tokens

    @property
    def used_cells(self) -> int:
        return self._segments.used

    @property
    def free_sequences(self) -> int:
        return self.sequences - len(self._held)

    @property
    def open_ids(self) -> set[int]:
        return set(self._held)

    def is_open(self, sequence: int) -> bool:
        return sequence in self._held

    def tokens(self, sequence: int) -> tuple[int, ...]:
        return tuple(self._of(sequence).tokens)

    def length(self, sequence: int) -> int:
        return len(self._of(sequence).tokens)

    def own_cells(self, sequence: int) -> int:
        return self._segments.own(sequence)

    def open(self, *, pinned: bool = False) -> int:
        free = [number for number in range(self.sequences) if number not in self._held]
        if not free:
            msg = "all sequences are in use"
            raise OverloadedError(msg)
        sequence = max(free) if pinned else min(free)
        self._held[sequence] = _Held()
        return sequence

    def fork(self, source: int, *, pinned: bool = False) -> int:
        held = self._of(source)
        target = self.open(pinned=pinned)
        self._held[target] = _Held(list(held.tokens), held.adapter)
        self._segments.fork(source, target)
        return target

    def prefill(
        self, sequence: int, tokens: Sequence[int], *, scores_at: Sequence[int] = ()
    ) -> list[NDArray[np.float32]]:
        assert 0 < len(tokens) <= self.batch_tokens
        held = self._of(sequence)
        start = len(held.tokens)
        self._compute({sequence: list(tokens)}, prefill=True)
        return [self._scores(held, start + index + 1) for index in scores_at]

    def prefill_many(
        self, parts: Mapping[int, Sequence[int]], *, scores_at: Collection[int] = ()
    ) -> dict[int, NDArray[np.float32]]:
        assert 0 < sum(map(len, parts.values())) <= self.batch_tokens
        assert all(parts.values())
        assert not self.equal_parts or len({len(tokens) for tokens in parts.values()}) == 1
        assert set(scores_at) <= set(parts)
        assert len(scores_at) <= self.score_rows
        self._compute({one: list(tokens) for one, tokens in parts.items()}, prefill=True)
        return {one: self._scores(self._of(one), self.length(one)) for one in scores_at}

    def step(self, tokens: Mapping[int, int]) -> dict[int, NDArray[np.float32]]:
        assert 0 < len(tokens) <= self.batch_tokens
        self._compute({sequence: [token] for sequence, token in tokens.items()}, prefill=False)
        return {
            sequence: self._scores(held, len(held.tokens))
            for sequence in tokens
            for held in (self._of(sequence),)
        }

    def cut(self, sequence: int, keep: int) -> bool:
        del self._of(sequence).tokens[keep:]
        self._segments.cut(sequence, keep)
        return True

    def close(self, sequence: int) -> None:
        if self._held.pop(sequence, None) is not None:
            self._segments.close(sequence)

    def save(self, sequence: int) -> bytes:
        return repr(self._of(sequence)).encode()

    def restore(self, tokens: Sequence[int], state: bytes, *, pinned: bool = False) -> int | None:
        held = _Held(list(tokens), self.adapter)
        if repr(held).encode() != state or self.used_cells + len(held.tokens) > self.cells:
            return None
        sequence = self.open(pinned=pinned)
        self._held[sequence] = held
        self._segments.grow(sequence, len(tokens))
        return sequence

    def use_adapter(self, name: str) -> None:
        if name not in self._adapters:
            msg = f"there is no adapter {name}"
            raise NotFoundError(msg)
        self.adapter = name

    def use_threads(self, threads: int) -> None:
        self.threads.append(threads)

    def shut(self) -> None:
        self.shut_down = True
        self._held.clear()

    def _of(self, sequence: int) -> _Held:
        if sequence not in self._held:
            msg = f"sequence {sequence} is not open"
            raise InternalError(msg)
        return self._held[sequence]

    def _compute(self, rows: Mapping[int, list[int]], *, prefill: bool) -> None:
        self.before()
        for view in self._views:
            view.fill(np.nan)
        self._views.clear()
        for sequence, tokens in rows.items():
            held = self._of(sequence)
            assert all(0 <= token < SIZE for token in tokens)
            assert len(held.tokens) + len(tokens) <= self.context_tokens
            assert not held.tokens or held.adapter == self.adapter
        if self.used_cells + sum(map(len, rows.values())) > self.cells:
            msg = "the pool is full"
            raise OverloadedError(msg)
        if self.fault is not None:
            fault, self.fault = self.fault, None
            if not isinstance(fault, OverloadedError):
                for sequence in rows:
                    self.close(sequence)
            raise fault
        for sequence, tokens in rows.items():
            held = self._held[sequence]
            held.tokens.extend(tokens)
            held.adapter = self.adapter
            self._segments.grow(sequence, len(tokens))
        counts = {sequence: len(tokens) for sequence, tokens in rows.items()}
        self.log.append(Computed(counts, prefill))

    def _scores(self, held: _Held, length: int) -> NDArray[np.float32]:
        tokens = tuple(held.tokens[:length])
        scores = toy_scores(tokens, held.adapter)
        if (wanted := self.script(tokens)) is not None:
            scores[wanted] = 50
        self._views.append(scores)
        return scores


class FakeThreads:
    """Counts how often it was told that the engine computes or rests."""

    def __init__(self, *threads: int) -> None:
        self._threads = list(threads)
        self.told: list[str] = []

    def busy(self) -> None:
        self.told.append("busy")

    def idle(self) -> None:
        self.told.append("idle")

    def now(self) -> int:
        return self._threads.pop(0) if len(self._threads) > 1 else self._threads[0]

    def close(self) -> None:
        self.told.append("close")


def fake_scheduler(  # noqa: PLR0913  # each is one independent part
    memory: FakeSequences | None = None,
    *,
    chat: ChatFormat | None = None,
    max_sequences: int = 4,
    max_waiting: int = 64,
    can_rewind: bool = True,
    threads: FakeThreads | None = None,
    pace: Pace | None = None,
) -> tuple[Scheduler, FakeSequences]:
    """A scheduler over the toy language."""
    held = memory or FakeSequences(sequences=max_sequences + PINNED_PREFIXES + 1)
    format_ = chat or choose("", eos="<|im_end|>")
    vocabulary = ByteVocabulary()
    writer = PromptWriter(format_, vocabulary, ["<|im_start|>", "<|im_end|>"])
    tries = functools.cache(lambda: NameTries(TokenTexts(vocabulary)))
    intake = Intake(
        writer,
        RunMaker(format_, vocabulary, tries=tries),
        ScoreIntake(
            writer, lambda: ScorePlanner(format_, vocabulary, tries()), held.context_tokens
        ),
        context_tokens=held.context_tokens,
        max_sequences=max_sequences,
        cells=held.cells,
        embed=_embed,
    )
    states = Beginnings(held, can_rewind=can_rewind, checkpoint_bytes=1 << 20)
    scheduler = Scheduler(
        intake,
        held,
        states,
        pace or Pace(held.batch_tokens),
        threads=threads,
        keep_answers=can_rewind,
        max_waiting=max_waiting,
    )
    return scheduler, held


def _embed(text: str) -> tuple[float, ...]:
    if len(text) > 100:
        msg = "a text is too long"
        raise TooLongError(msg)
    return (1.0, float(len(text)))


def step_all(scheduler: Scheduler, most: int = 10_000) -> int:
    """Step until nothing is left to do; how many steps that took."""
    for steps in range(most):
        if not scheduler.step():
            return steps
    msg = "the scheduler does not come to an end"
    raise AssertionError(msg)


def broken_computation() -> HomingError:
    """What a failed computation raises."""
    return InternalError("the model could not compute its next step")
