"""Measures the engine: `make bench-engine`. What each figure should reach is in `REACH`.

Everything compared is measured in turns in one run on one machine; nothing else should run beside
it. Takes about 15 minutes on 2 cores, once llama.cpp's server is built (5 minutes, kept).
"""

from __future__ import annotations

import asyncio
import sys
from statistics import median
from typing import TYPE_CHECKING

from engine.batching import check_upstream, measure_batching, measure_single
from engine.calls import measure_grammar, measure_scores
from engine.hop import measure_hop
from engine.memory import measure_bandwidth, measure_resident
from engine.setting import Results, models
from engine.smoothness import measure_waits
from engine.warmth import BYTES_TOOLS, measure_second_turn, measure_warmth
from record import figures_of, report, write_result

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from engine.setting import Models

REACH: dict[str, tuple[str, float]] = {
    "batch8_over_1": (">=", 3.5),
    "ours_over_llama_server": (">=", 1.0),
    "single_over_llama_cpp_python": (">=", 0.98),
    "warm_over_cold": ("<=", 0.05),
    "warm_over_cold_restart": ("<=", 0.05),
    "warm_over_cold_hybrid": ("<=", 0.05),
    "warm_over_cold_hybrid_restart": ("<=", 0.05),
    "hybrid_second_turn_over_new": ("<=", 1.1),
    "grammar_over_plain": (">=", 0.95),
    "score_over_warm_first_token": ("<=", 0.15),
    "bandwidth_fraction_bf16": ("report", 0.0),
    "bandwidth_fraction_q4_k_m": ("report", 0.0),
    "hop_first_token_ms": ("<=", 5.0),
    "hop_outside_model_ms": ("<=", 5.0),
    "hop_throughput_loss": ("<=", 0.02),
    "resident_extra_mb": ("<=", 150.0),
    "longest_wait_ms": ("<=", 400.0),
    "prefill_under_load_over_alone": (">=", 0.5),
}


def figures(samples: dict[str, list[float]]) -> dict[str, float]:
    """The issue's figures from raw samples; those whose samples are missing are left out."""
    middle = {name: median(values) for name, values in samples.items()}
    worst = {name: max(values) for name, values in samples.items()}
    recipes: dict[str, Callable[[], float]] = {
        "batch8_over_1": lambda: (
            middle["eight_sequences_tokens_per_s"] / middle["one_sequence_tokens_per_s"]
        ),
        "ours_over_llama_server": lambda: (
            middle["eight_requests_ours_tokens_per_s"]
            / middle["eight_requests_llama_server_tokens_per_s"]
        ),
        "single_over_llama_cpp_python": lambda: (
            middle["single_ours_tokens_per_s"] / middle["single_llama_cpp_python_tokens_per_s"]
        ),
        "warm_over_cold": lambda: middle["warm_first_token_ms"] / middle["cold_first_token_ms"],
        "warm_over_cold_restart": lambda: (
            middle["restart_first_token_ms"] / middle["cold_first_token_ms"]
        ),
        "warm_over_cold_hybrid": lambda: (
            middle["hybrid_warm_first_token_ms"] / middle["hybrid_cold_first_token_ms"]
        ),
        "warm_over_cold_hybrid_restart": lambda: (
            middle["hybrid_restart_first_token_ms"] / middle["hybrid_cold_first_token_ms"]
        ),
        "hybrid_second_turn_over_new": lambda: middle["second_turn_computed_over_new"],
        "grammar_over_plain": lambda: middle["grammar_over_plain_each"],
        "score_over_warm_first_token": lambda: (
            middle["score_ms"] / middle["score_warm_first_token_ms"]
        ),
        "bandwidth_fraction_bf16": lambda: middle["bf16_bandwidth_fraction_each"],
        "bandwidth_fraction_q4_k_m": lambda: middle["q4_k_m_bandwidth_fraction_each"],
        "hop_first_token_ms": lambda: middle["hop_first_token_each_ms"],
        "hop_outside_model_ms": lambda: middle["hop_outside_model_ms"],
        "hop_throughput_loss": lambda: middle["hop_throughput_loss_each"],
        "resident_extra_mb": lambda: max(
            worst["bf16_resident_extra_mb"], worst["q4_k_m_resident_extra_mb"]
        ),
        "longest_wait_ms": lambda: worst["wait_ms"],
        "prefill_under_load_over_alone": lambda: (
            middle["long_prompt_alone_ms"] / middle["long_prompt_under_load_ms"]
        ),
    }
    return figures_of(recipes)


async def measure(wanted: set[str], files: Models, results: Results) -> None:
    """Run the parts that are wanted, one after the other; all if none is named."""
    parts: dict[str, Callable[[], Coroutine[None, None, None]]] = {
        "batching": lambda: measure_batching(files, results),
        "upstream": lambda: check_upstream(files, results),
        "single": lambda: measure_single(files, results),
        "warmth": lambda: measure_warmth(files.bf16, results, ""),
        "hybrid": lambda: measure_warmth(files.hybrid, results, "hybrid_", BYTES_TOOLS),
        "turns": lambda: measure_second_turn(files.hybrid, results),
        "grammar": lambda: measure_grammar(files, results),
        "scores": lambda: measure_scores(files, results),
        "bandwidth": lambda: measure_bandwidth(files, results),
        "resident": lambda: measure_resident(files, results),
        "hop": lambda: measure_hop(files, results),
        "waits": lambda: measure_waits(files, results),
    }
    if unknown := wanted - parts.keys():
        sys.exit(f"no such part: {', '.join(unknown)}; there are {', '.join(parts)}")
    for name, part in parts.items():
        if not wanted or name in wanted:
            print(f"-- {name}", file=sys.stderr)  # noqa: T201  # progress
            await part()


def main() -> None:
    """Measure and print; a whole run also writes bench/results/engine.json."""
    wanted, results = set(sys.argv[1:]), Results()
    files = asyncio.run(models())
    asyncio.run(measure(wanted, files, results))
    found = figures(results.samples)
    report(found, REACH)
    if wanted:
        print("a part alone is not recorded")  # noqa: T201  # as above
        return
    reach = {name: f"{sign} {limit:g}" for name, (sign, limit) in REACH.items()}
    facts = {**results.facts, "figures": found, "reach": reach}
    print(f"written: {write_result('engine', results.samples, facts)}")  # noqa: T201  # as above


if __name__ == "__main__":
    main()
