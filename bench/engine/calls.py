"""What grammar and scores cost."""

from __future__ import annotations

import dataclasses
import time
from typing import TYPE_CHECKING

from homing_core.generation import CallGrammar
from homing_core.scoring import ScoreRequest

from engine.setting import engine
from engine.tools import THIRTY
from engine.trace import SYSTEM, ask, follow
from engine.warmth import QUESTIONS

if TYPE_CHECKING:
    from engine.setting import Models, Results

ROUNDS = 3


async def measure_grammar(models: Models, results: Results) -> None:
    """`grammar_over_plain`: the same calls with and without the grammar, in turns."""
    async with engine(models.q4) as opened:
        await opened.warm([SYSTEM], THIRTY, ask("", tokens=1).thinking)
        for turn in range(ROUNDS + 1):
            for question in QUESTIONS:
                asked = ask(question, tokens=80, tools=THIRTY, with_system=True)
                plain = await follow(
                    opened.generate(dataclasses.replace(asked, call_grammar=CallGrammar.OFF))
                )
                again = ask(question, tokens=80, tools=THIRTY, with_system=True)
                held = await follow(opened.generate(again))
                same = plain.usage.completion_tokens == held.usage.completion_tokens
                if turn and same and held.calls and held.usage.completion_tokens > 1:
                    results.add("plain_tokens_per_s", plain.decode_rate)
                    results.add("grammar_tokens_per_s", held.decode_rate)
                    results.add("grammar_over_plain_each", held.decode_rate / plain.decode_rate)


async def measure_scores(models: Models, results: Results) -> None:
    """`score_over_warm_first_token`: thirty tools scored once the prompt itself is known."""
    async with engine(models.q4) as opened:
        await opened.warm([SYSTEM], THIRTY, ask("", tokens=1).thinking)
        for turn in range(ROUNDS + 1):
            for question in QUESTIONS:
                owner = f"{turn} {question}"
                asked = ask(question, tokens=1, tools=THIRTY, with_system=True, owner=owner)
                first = await follow(opened.generate(asked))
                started = time.perf_counter()
                scores = await opened.score(ScoreRequest(asked.messages, THIRTY, owner=owner))
                spent = 1000 * (time.perf_counter() - started)
                if turn:
                    results.add("score_ms", spent)
                    results.add("score_warm_first_token_ms", first.usage.prefill_ms)
                    results.add("score_computed_tokens", scores.scored_tokens)
