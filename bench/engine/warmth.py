"""What need not be computed again: prefixes, over a restart too, and conversations."""

from __future__ import annotations

from os.path import commonprefix
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from homing_core.messages import assistant, user
from homing_inference.answers.prompts import PromptWriter
from homing_inference.formats.select import choose
from homing_inference.llama.model import LoadedModel

from engine.setting import engine
from engine.tools import THIRTY
from engine.trace import ask, follow

if TYPE_CHECKING:
    from homing_core.tools import ToolSpec
    from homing_inference.host import ModelFile

    from engine.setting import Results

BYTES_TOOLS = THIRTY[:8]
"""About as many tokens for the random model, to which every byte is one."""
QUESTIONS = (
    "Remind me to water the plants tomorrow at nine in the morning.",
    "How warm will it be in Lisbon on Friday?",
    "Send Anna a message that I will be ten minutes late.",
    "Start a timer for the pasta, eleven minutes.",
    "What is on my calendar next Monday?",
)


async def measure_warmth(
    model: ModelFile, results: Results, prefix: str, tools: tuple[ToolSpec, ...] = THIRTY
) -> None:
    """First tokens with nothing known, with the prefix pinned, and after a restart from disk."""
    with TemporaryDirectory(prefix="homing-bench-") as name:
        states = Path(name) / "states"
        async with engine(model, states=states) as opened:
            for number, question in enumerate(QUESTIONS):
                asked = ask(question, tokens=4, tools=tools, with_system=True)
                trace = await follow(opened.generate(asked))
                kind = "warm" if number else "cold"
                results.add(f"{prefix}{kind}_first_token_ms", trace.usage.prefill_ms)
                results.facts[f"{prefix}prompt_tokens"] = trace.usage.prompt_tokens
        for question in QUESTIONS[1:4]:
            async with engine(model, states=states) as opened:
                asked = ask(question, tokens=4, tools=tools, with_system=True)
                trace = await follow(opened.generate(asked))
                results.add(f"{prefix}restart_first_token_ms", trace.usage.prefill_ms)


async def measure_second_turn(model: ModelFile, results: Results) -> None:
    """Tokens that a second turn computes for each one that is new, on a hybrid model.

    New is what stands behind the longest beginning that both turns' prompts share.
    """
    loaded = LoadedModel(model.path)
    facts = loaded.facts
    chat = choose(facts.template, facts.bos, facts.eos, facts.architecture)
    writer = PromptWriter(chat, loaded.vocabulary)
    async with engine(model) as opened:
        for number, question in enumerate(QUESTIONS[:3]):
            owner = f"person {number}"
            first = ask(question, tokens=200, with_system=True, owner=owner)
            answer = await follow(opened.generate(first))
            turns = (user(question), assistant(answer.text), user(QUESTIONS[3]))
            second = ask(turns, tokens=4, with_system=True, owner=owner)
            usage = (await follow(opened.generate(second))).usage
            prompts = [writer.prompt(asked).tokens for asked in (first, second)]
            new = len(prompts[1]) - len(commonprefix(prompts))  # noqa: RUF071  # of tokens
            computed = usage.prompt_tokens - usage.cached_tokens
            results.add("second_turn_computed_tokens", computed)
            results.add("second_turn_new_tokens", new)
            results.add("second_turn_computed_over_new", computed / new)
    loaded.close()
