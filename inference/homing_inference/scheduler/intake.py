"""Turns requests into tasks, and refuses at once what can never be answered."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

from homing_core.errors import TooLongError, UsageError
from homing_core.generation import Priority
from homing_core.scoring import ScoreRequest

from homing_inference.answers.choosing import check_sampling
from homing_inference.engine import WarmedPrefix
from homing_inference.scheduler.embedding_task import Embedding
from homing_inference.scheduler.plan import sequences_for_jobs
from homing_inference.scheduler.tasks import Demand
from homing_inference.scheduler.warming import Warming
from homing_inference.scheduler.writing import Writing

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from homing_core.errors import HomingError
    from homing_core.generation import GenerateRequest, GenerationEvent, Thinking
    from homing_core.messages import Message
    from homing_core.scoring import ToolScores
    from homing_core.tools import ToolSpec

    from homing_inference.answers.prompts import PromptWriter, TokenizedPrompt
    from homing_inference.answers.run import RunMaker
    from homing_inference.scheduler.score_intake import ScoreIntake
    from homing_inference.scheduler.scoring_task import Scoring
    from homing_inference.scheduler.tasks import Task

MOST_LOGPROBS: Final = 20
"""Alternatives that may be asked for at each token."""


class Intake:
    """Knows what a model can be asked.

    Args:
        writer: renders requests.
        maker: begins answers.
        scores: turns requests for scores into tasks.
        context_tokens: prompt and answer together, of one answer.
        max_sequences: answers that are written at once.
        cells: tokens that all sequences together hold.
        embed: makes a vector of a text; None if the engine cannot.
    """

    def __init__(  # noqa: PLR0913  # each is one independent part
        self,
        writer: PromptWriter,
        maker: RunMaker,
        scores: ScoreIntake,
        *,
        context_tokens: int,
        max_sequences: int,
        cells: int,
        embed: Callable[[str], tuple[float, ...]] | None = None,
    ) -> None:
        """Keep them."""
        self._scores = scores
        self._embed = embed
        self._writer = writer
        self._maker = maker
        self.context_tokens: Final = context_tokens
        self.max_sequences: Final = max_sequences
        self._cells = cells

    def writing(
        self,
        request: GenerateRequest,
        sink: Callable[[GenerationEvent], None],
        taken_at: float | None,
    ) -> Writing:
        """The task of a request for answers.

        Raises:
            UsageError: a value has no meaning, or more samples are wanted than can be written.
            TooLongError: prompt and answers do not fit.
            InvalidDataError: the template refuses the conversation.
        """
        taken = time.monotonic() if taken_at is None else taken_at
        self._check(request)
        prompt = self._writer.prompt(request)
        room = self._room(request, prompt)
        count = len(prompt.tokens)
        demand = Demand(
            owner=request.owner,
            priority=request.priority,
            adapter=request.adapter,
            deadline=taken + request.deadline_ms / 1000 if request.deadline_ms else float("inf"),
            tokens=prompt.tokens,
            prefix_tokens=prompt.prefix_tokens,
            cuts=prompt.cuts,
            until=count,
            sequences=request.samples,
            cells=count + request.samples * room,
            sha256=prompt.prefix_sha256,
            offer=_offer(request.messages, request.tools, request.thinking, request.adapter),
        )
        return Writing(demand, request, self._maker.runs(request, prompt, room), sink)

    def warming(
        self,
        messages: Sequence[Message],
        tools: Sequence[ToolSpec],
        thinking: Thinking,
        done: Callable[[WarmedPrefix | HomingError], None],
    ) -> Warming:
        """The task of computing a prefix; it may be empty.

        Raises:
            TooLongError: the prefix does not fit.
            InvalidDataError: the template refuses the system message.
        """
        prefix = self._writer.prefix(messages, tools, thinking)
        count = len(prefix.tokens)
        if count >= self.context_tokens:
            raise too_long(count, self.context_tokens, what="the tools")
        demand = Demand(
            priority=Priority.JOB,
            tokens=prefix.tokens,
            prefix_tokens=count,
            until=count,
            cells=count,
            sha256=prefix.sha256,
            offer=_offer(messages, tools, thinking),
        )
        return Warming(demand, WarmedPrefix(count, prefix.sha256), done)

    def scoring(
        self,
        request: ScoreRequest,
        spare: Callable[[Scoring], int],
        done: Callable[[ToolScores | HomingError], None],
    ) -> list[Scoring]:
        """See `ScoreIntake.scoring`."""
        return self._scores.scoring(request, spare, done)

    def baseline(self, task: Task, spare: Callable[[Scoring], int]) -> list[Scoring]:
        """What scores behind a task's prefix are compared with; none if that is known or of no use.

        Raises:
            HomingError: it cannot be computed.
        """
        offer = task.demand.offer
        return [] if offer is None else self._scores.baseline(offer, spare)

    def embedding(
        self,
        texts: Sequence[str],
        done: Callable[[tuple[tuple[float, ...], ...] | HomingError], None],
    ) -> Embedding:
        """The task of making vectors.

        Raises:
            UsageError: this engine makes none.
        """
        if self._embed is None:
            msg = "this engine makes no vectors"
            raise UsageError(msg, "Ask another engine.")
        return Embedding(texts, self._embed, done)

    def _check(self, request: GenerateRequest) -> None:
        check_sampling(request.sampling)
        job = request.priority is Priority.JOB
        most = sequences_for_jobs(self.max_sequences) if job else self.max_sequences
        if not 1 <= request.samples <= most:
            msg = f"{request.samples} answers to one request cannot be written at once"
            raise UsageError(msg, f"Ask for 1 to {most}.")
        if not 0 <= request.logprobs <= MOST_LOGPROBS:
            msg = f"{request.logprobs} alternatives cannot be told for each token"
            raise UsageError(msg, f"Ask for 0 to {MOST_LOGPROBS}.")

    def _room(self, request: GenerateRequest, prompt: TokenizedPrompt) -> int:
        """New tokens that each answer may have; at least 1.

        Raises:
            TooLongError: the prompt leaves no room for any.
        """
        limit = min(self.context_tokens, request.max_context_tokens or self.context_tokens)
        count = len(prompt.tokens)
        room = limit - count
        if room < 1:
            raise too_long(count, limit)
        shared = (self._cells - count) // request.samples
        room = min(room, request.sampling.max_tokens or min(room, shared))
        if room < 1 or room > shared:
            raise too_long(count + request.samples * max(room, 1), self._cells)
        return room


def _offer(
    messages: Sequence[Message],
    tools: Sequence[ToolSpec],
    thinking: Thinking,
    adapter: str = "",
) -> ScoreRequest | None:
    if not tools:
        return None
    return ScoreRequest(
        tuple(messages),
        tuple(tools),
        thinking=thinking,
        priority=Priority.JOB,
        adapter=adapter,
    )


def too_long(count: int, limit: int, what: str = "the request") -> TooLongError:
    """What is said of a prompt of `count` tokens where `limit` fit, answer included."""
    msg = f"{what} would take {count} tokens, but the model holds {limit}, answer included"
    return TooLongError(msg, "Shorten it, offer fewer tools, or start a new conversation.")
