"""One answer being written: scores in, events out, and the token to compute next."""

from __future__ import annotations

import dataclasses
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from homing_core.generation import FinishReason, TokenLogprob, TokenLogprobs, ToolChoice

from homing_inference.answers.answer import Answer
from homing_inference.answers.choosing import Chooser, top
from homing_inference.answers.loops import LoopWatch
from homing_inference.answers.thinking import CLOSING, ThinkingWatch
from homing_inference.scoring.name_watch import NameWatch

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    from homing_core.generation import GenerateRequest, SampleEvent
    from numpy.typing import NDArray

    from homing_inference.answers.choosing import Choice
    from homing_inference.answers.prompts import TokenizedPrompt
    from homing_inference.formats.base import ChatFormat
    from homing_inference.scoring.names import NameTries


class Tokens(Protocol):
    """Of a vocabulary, what an answer needs; see `Vocabulary`."""

    def tokenize(self, text: str) -> list[int]:
        """`text` as tokens; texts of control tokens become those."""
        ...

    def piece(self, token: int) -> bytes:
        """A token's bytes, which may be part of a character."""
        ...

    def ends_turn(self, token: int) -> bool:
        """Whether the model says with it that its turn is over."""
        ...


class TokenGuard(Protocol):
    """Decides which tokens may be written, of one answer."""

    def choose(self, chooser: Chooser, scores: NDArray[np.float32]) -> Choice:
        """The next token, of those that are allowed."""
        ...

    def force(self, token: int) -> None:
        """A token that was written without being chosen."""
        ...


class FreeGuard:
    """Allows everything."""

    def choose(self, chooser: Chooser, scores: NDArray[np.float32]) -> Choice:
        """Whatever the chooser takes."""
        return chooser.choose(scores)

    def force(self, token: int) -> None:
        """Nothing follows from it."""


@dataclass(frozen=True, slots=True)
class Step:
    """What one token brought.

    Attributes:
        events: that became certain with it.
        reason: why the answer ends with it; None if it goes on.
    """

    events: list[SampleEvent]
    reason: FinishReason | None = None


class Run:
    """One answer. It does not touch the model's context.

    Args:
        request: what was asked.
        answer: turns tokens into events.
        guard: decides which tokens may be written.
        vocabulary: the model's tokens.
        room: tokens that it may have, at least 1.
        names: watches how tools' names are written; None if there are none.
        thinking: whether it begins inside a think block.
        sample: number of the answer to this request, from 0; it shifts the seed.
    """

    def __init__(  # noqa: PLR0913  # each is one independent part
        self,
        request: GenerateRequest,
        answer: Answer,
        guard: TokenGuard,
        vocabulary: Tokens,
        *,
        room: int,
        names: NameWatch | None = None,
        thinking: bool = False,
        sample: int = 0,
    ) -> None:
        """Nothing is written yet."""
        sampling = request.sampling
        if sampling.seed:
            sampling = dataclasses.replace(sampling, seed=sampling.seed + sample)
        self._answer = answer
        self._guard = guard
        self._vocabulary = vocabulary
        self._chooser = Chooser(sampling)
        self._room = room
        self._names = names
        self._logprobs = request.logprobs
        self._budget = request.thinking_budget
        self._thinking = ThinkingWatch(inside=thinking)
        self._forced: deque[int] = deque()
        self._loop = LoopWatch()
        self.token = -1
        """The token to compute next."""

    @property
    def written(self) -> int:
        """Tokens so far."""
        return self._answer.tokens

    @property
    def room(self) -> int:
        """Tokens that may still follow."""
        return self._room - self._answer.tokens

    def advance(self, scores: NDArray[np.float32]) -> Step:
        """Write the next token.

        Args:
            scores: logits behind what was computed so far, shape (vocabulary,).

        Raises:
            InternalError: the scores are not numbers.
        """
        choice = self._next(scores)
        self.token = choice.token
        if self._vocabulary.ends_turn(choice.token):
            events = self._answer.finish(end_of_turn=True)
            return Step(events, self._answer.ending())
        piece = self._vocabulary.piece(choice.token)
        if self._names is not None:
            self._names.saw(scores, choice.token, piece)
        events, stopped = self._answer.take(choice, piece)
        if self._logprobs:
            events.insert(0, self._logprob(scores, choice.token, piece))
        if stopped:
            return Step(events, self._answer.ending())
        if self.room <= 0 or self._loops(choice.token):
            return Step(events + self._answer.finish(end_of_turn=False), FinishReason.LENGTH)
        self._think(piece)
        return Step(events)

    def cut_off(self) -> list[SampleEvent]:
        """The rest, where no token follows because nobody waits for it any more."""
        return self._answer.finish(end_of_turn=False)

    def _next(self, scores: NDArray[np.float32]) -> Choice:
        if not self._forced:
            return self._guard.choose(self._chooser, scores)
        token = self._forced.popleft()
        self._guard.force(token)
        return self._chooser.judge(scores, token)

    def _loops(self, token: int) -> bool:
        """Whether a call is being written that says the same over and over: it is cut short."""
        if self._answer.in_call:
            return self._loop.add(token)
        self._loop.clear()
        return False

    def _think(self, piece: bytes) -> None:
        self._thinking.feed(piece)
        over = self._thinking.inside and 0 < self._budget <= self._thinking.tokens
        if over and not self._forced:
            self._forced.extend(self._vocabulary.tokenize(CLOSING))

    def _logprob(self, scores: NDArray[np.float32], token: int, piece: bytes) -> TokenLogprobs:
        best, norm = top(scores, self._logprobs)
        told = tuple((_text(self._vocabulary.piece(other)), value) for other, value in best)
        return TokenLogprobs((TokenLogprob(_text(piece), float(scores[token]) - norm, told),))


class RunMaker:
    """Begins the answers of requests.

    Args:
        chat: the model's chat format.
        vocabulary: its tokens.
        guard: makes the guard of one answer; None lets everything be written.
        tries: makes the tries of tools' names, when they are first needed; None watches no names.
    """

    def __init__(
        self,
        chat: ChatFormat,
        vocabulary: Tokens,
        guard: Callable[[GenerateRequest, TokenizedPrompt], TokenGuard] | None = None,
        tries: Callable[[], NameTries] | None = None,
    ) -> None:
        """Keep them."""
        self._chat = chat
        self._vocabulary = vocabulary
        self._guard = guard
        self._tries = tries

    def runs(self, request: GenerateRequest, prompt: TokenizedPrompt, room: int) -> list[Run]:
        """As many answers as the request wants, none of them begun.

        Args:
            request: what was asked.
            prompt: of it.
            room: tokens that each may have.

        Raises:
            UsageError: the tools' schemas cannot be a grammar.
        """
        return [self._run(request, prompt, room, sample) for sample in range(request.samples)]

    def _run(
        self, request: GenerateRequest, prompt: TokenizedPrompt, room: int, sample: int
    ) -> Run:
        parser = self._chat.parser(
            # Where none may be called, JSON that happens to name one is text.
            () if request.tool_choice is ToolChoice.NONE else request.tools,
            starts_in_thinking=prompt.starts_in_thinking,
            continues_text=prompt.continues_text,
        )
        names = self._names(request)
        return Run(
            request,
            Answer(
                parser,
                self._chat.stop,
                request.sampling.stop,
                names,
                early_names=request.early_names,
            ),
            self._guard(request, prompt) if self._guard else FreeGuard(),
            self._vocabulary,
            room=room,
            names=names,
            thinking=prompt.starts_in_thinking,
            sample=sample,
        )

    def _names(self, request: GenerateRequest) -> NameWatch | None:
        if self._tries is None or not request.tools or request.tool_choice is ToolChoice.NONE:
            return None
        return NameWatch(self._tries(), [tool.name for tool in request.tools])


def _text(piece: bytes) -> str:
    return piece.decode("utf-8", "replace")
