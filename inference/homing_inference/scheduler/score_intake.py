"""Turns requests for scores into tasks, and sees that what they are compared with is computed."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Final

from homing_core.errors import TooLongError
from homing_core.generation import GenerateRequest
from homing_core.ids import new_generation_id

from homing_inference.scheduler.scoring_task import Scoring
from homing_inference.scheduler.tasks import Demand
from homing_inference.scoring.baseline import (
    BASELINE_FLOOR,
    Baseline,
    BaselineKey,
    Baselines,
    content_free,
)
from homing_inference.scoring.score_plan import LOOKED_AT

if TYPE_CHECKING:
    from collections.abc import Callable

    from homing_core.errors import HomingError
    from homing_core.scoring import ScoreRequest, ToolScores

    from homing_inference.answers.prompts import PromptWriter, TokenizedPrompt
    from homing_inference.scoring.score_plan import ScorePlanner

    Spare = Callable[[Scoring], int]
    Told = Callable[[ToolScores | HomingError], None]

_NAME_CELLS: Final = 64
"""Tokens that looking at names takes beyond the call's opening, more or less, at most."""


class ScoreIntake:
    """Knows how a model can be asked which tool it leans to.

    Args:
        writer: renders requests.
        planner: makes the planner of what to compute, when it is first needed.
        context_tokens: most tokens of a prompt with a call's opening.
    """

    def __init__(
        self, writer: PromptWriter, planner: Callable[[], ScorePlanner], context_tokens: int
    ) -> None:
        """Nothing is known."""
        self._writer = writer
        self._planner = planner
        self._context_tokens = context_tokens
        self._baselines = Baselines()
        self._coming: set[BaselineKey] = set()

    def scoring(self, request: ScoreRequest, spare: Spare, done: Told) -> list[Scoring]:
        """The tasks of a request in order: what it is compared with, if that is new, and itself.

        Raises:
            UsageError: there are no tools, or the model has no form for calls.
            TooLongError: the prompt does not fit.
            InvalidDataError: the template refuses the conversation.
        """
        prompt = self._prompt(request)
        key = _key(request, prompt)

        def told(outcome: ToolScores | HomingError) -> None:
            baseline = self._baselines.get(key)
            if baseline is not None and not isinstance(outcome, Exception):
                outcome = baseline.added_to(outcome)
            done(outcome)

        asked = self._task(request, prompt, LOOKED_AT, spare, told)
        return [asked] if self._knows(key) else [*self.baseline(request, spare), asked]

    def baseline(self, request: ScoreRequest, spare: Spare) -> list[Scoring]:
        """The task that computes what scores of such requests are compared with; none if known.

        Args:
            request: only its system messages, tools and adapter matter.
            spare: as for `Scoring`.

        Raises:
            HomingError: as for `scoring`.
        """
        free = dataclasses.replace(request, messages=content_free(request.messages), owner="")
        # Nobody goes on behind these words, so no state of them is kept.
        prompt = dataclasses.replace(self._prompt(free), cuts=())
        key = _key(free, prompt)
        if self._knows(key):
            return []

        def told(outcome: ToolScores | HomingError) -> None:
            self._coming.discard(key)
            if not isinstance(outcome, Exception):
                self._baselines.put(key, Baseline.of(outcome))

        task = self._task(free, prompt, BASELINE_FLOOR, spare, told)
        self._coming.add(key)
        return [task]

    def _knows(self, key: BaselineKey) -> bool:
        """Whether what scores are compared with is known or about to be."""
        return key in self._coming or self._baselines.get(key) is not None

    def _prompt(self, request: ScoreRequest) -> TokenizedPrompt:
        return self._writer.prompt(
            GenerateRequest(
                new_generation_id(),
                request.messages,
                tools=request.tools,
                thinking=request.thinking,
            )
        )

    def _task(
        self,
        request: ScoreRequest,
        prompt: TokenizedPrompt,
        floor: float,
        spare: Spare,
        done: Told,
    ) -> Scoring:
        plan = self._planner().plan(prompt, [tool.name for tool in request.tools], floor)
        count = len(plan.tokens) + _NAME_CELLS
        if count > self._context_tokens:
            msg = f"the request would take {count} tokens, but the model holds "
            msg += f"{self._context_tokens}, a tool's name included"
            raise TooLongError(msg, "Shorten it, or offer fewer tools.")
        until = max((prompt.prefix_tokens, *prompt.cuts))
        demand = Demand(
            owner=request.owner,
            priority=request.priority,
            adapter=request.adapter,
            # What the scorer computes is no part of it. So it is another prompt than that of an
            # answer to the same words, and begins with whatever state that has left.
            tokens=prompt.tokens[: until + 1],
            prefix_tokens=prompt.prefix_tokens,
            cuts=prompt.cuts,
            until=until,
            cells=count,
            sha256=prompt.prefix_sha256,
        )
        return Scoring(demand, plan, spare, done)


def _key(request: ScoreRequest, prompt: TokenizedPrompt) -> BaselineKey:
    return BaselineKey.of(
        prompt.prefix_sha256, request.adapter, (tool.name for tool in request.tools)
    )
