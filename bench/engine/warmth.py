"""What need not be computed again: prefixes, over a restart too, and conversations."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from homing_core.messages import assistant, user

from engine.setting import engine
from engine.tools import THIRTY
from engine.trace import ask, follow

if TYPE_CHECKING:
    from homing_inference.host import ModelFile

    from engine.setting import Results

QUESTIONS = (
    "Remind me to water the plants tomorrow at nine in the morning.",
    "How warm will it be in Lisbon on Friday?",
    "Send Anna a message that I will be ten minutes late.",
    "Start a timer for the pasta, eleven minutes.",
    "What is on my calendar next Monday?",
)


async def measure_warmth(model: ModelFile, results: Results, prefix: str) -> None:
    """First tokens with nothing known, with the prefix pinned, and after a restart from disk."""
    with TemporaryDirectory(prefix="homing-bench-") as name:
        states = Path(name) / "states"
        async with engine(model, states=states) as opened:
            for number, question in enumerate(QUESTIONS):
                asked = ask(question, tokens=4, tools=THIRTY, with_system=True)
                trace = await follow(opened.generate(asked))
                kind = "warm" if number else "cold"
                results.add(f"{prefix}{kind}_first_token_ms", trace.usage.prefill_ms)
                results.facts[f"{prefix}prompt_tokens"] = trace.usage.prompt_tokens
        for question in QUESTIONS[1:4]:
            async with engine(model, states=states) as opened:
                asked = ask(question, tokens=4, tools=THIRTY, with_system=True)
                trace = await follow(opened.generate(asked))
                results.add(f"{prefix}restart_first_token_ms", trace.usage.prefill_ms)


async def measure_second_turn(model: ModelFile, results: Results) -> None:
    """Tokens that a second turn computes for each one that is new, on a hybrid model."""
    async with engine(model) as opened:
        for number, question in enumerate(QUESTIONS[:3]):
            owner = f"person {number}"
            first = ask(question, tokens=40, with_system=True, owner=owner)
            answer = await follow(opened.generate(first))
            turns = (user(question), assistant(answer.text), user(QUESTIONS[3]))
            second = await follow(
                opened.generate(ask(turns, tokens=4, with_system=True, owner=owner))
            )
            computed = second.usage.prompt_tokens - second.usage.cached_tokens
            new = second.usage.prompt_tokens - answer.usage.prompt_tokens
            results.add("second_turn_computed_tokens", computed)
            results.add("second_turn_new_tokens", new)
            results.add("second_turn_computed_over_new", computed / new)
