"""Several answers at once, and one alone, against the programs that do the same."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any

import llama_cpp
from support.upstream_checks import run_checks

from engine.llama_server import chat_all, running_server
from engine.setting import CONTEXT, SEQUENCES, engine, threads
from engine.trace import ask, follow, follow_all, task, together

if TYPE_CHECKING:
    from engine.setting import Models, Results

ROUNDS = 4
TOKENS = 96


async def measure_batching(models: Models, results: Results) -> None:
    """`batch8_over_1` and `ours_over_llama_server`, in turns so that both see the same machine."""
    async with engine(models.bf16) as ours:
        await follow(ours.generate(ask(task(0), tokens=8)))
        with running_server(
            models.bf16.path, slots=SEQUENCES, context=CONTEXT, threads=threads()
        ) as address:
            await asyncio.to_thread(chat_all, address, [task(0)], 8)
            for salt in range(1, ROUNDS + 1):
                words = [task(number, salt) for number in range(SEQUENCES)]
                alone = await follow(ours.generate(ask(words[0], tokens=TOKENS)))
                results.add("one_sequence_tokens_per_s", alone.decode_rate)
                started = time.perf_counter()
                traces = await follow_all(ours.generate(ask(text, tokens=TOKENS)) for text in words)
                seconds = time.perf_counter() - started
                written = sum(trace.usage.completion_tokens for trace in traces)
                results.add("eight_sequences_tokens_per_s", together(traces))
                results.add("eight_requests_ours_tokens_per_s", written / seconds)
                seconds, written = await asyncio.to_thread(chat_all, address, words, TOKENS)
                results.add("eight_requests_llama_server_tokens_per_s", written / seconds)


async def measure_single(models: Models, results: Results) -> None:
    """`single_over_llama_cpp_python`: one stream against `llama_cpp.Llama`, in turns."""
    theirs = llama_cpp.Llama(
        str(models.bf16.path),
        n_ctx=CONTEXT,
        n_threads=threads(),
        n_threads_batch=threads(),
        verbose=False,
    )
    async with engine(models.bf16) as ours:
        await follow(ours.generate(ask(task(0), tokens=8)))
        for salt in range(ROUNDS + 1):
            words = task(1, salt)
            trace = await follow(ours.generate(ask(words, tokens=TOKENS)))
            rate = await asyncio.to_thread(_their_rate, theirs, words)
            if salt:  # the first round is for the caches
                results.add("single_ours_tokens_per_s", trace.decode_rate)
                results.add("single_llama_cpp_python_tokens_per_s", rate)
    theirs.close()


def _their_rate(theirs: Any, words: str) -> float:  # noqa: ANN401  # the bindings have no types
    """Tokens a second behind the first."""
    pieces = theirs.create_chat_completion(
        messages=[{"role": "user", "content": words}],
        max_tokens=TOKENS,
        temperature=0.0,
        stream=True,
    )
    times = [time.perf_counter() for piece in pieces if piece["choices"][0]["delta"].get("content")]
    # As with ours, a piece may hold more than one token; both write the same greedy answer.
    return (TOKENS - 1) / (times[-1] - times[0])


async def check_upstream(models: Models, results: Results) -> None:
    """Not a figure: what the tests ask of other servers, asked of llama.cpp's own."""
    with running_server(
        models.q4.path, slots=SEQUENCES, context=CONTEXT, threads=threads()
    ) as address:
        await run_checks(address)
    results.facts["upstream_checks"] = "passed against llama-server"
