"""Measures what trust costs and how fast it acts: `make bench-trust`; goals are in `REACH`.

Node, phone and strangers run on one machine, the strangers in processes of their own; nothing else
should run beside them. Takes about two minutes on 2 cores.
"""

from __future__ import annotations

import asyncio
import math
import sys
from statistics import median
from typing import TYPE_CHECKING

from engine.setting import Results
from homing_agent.runtime.logs import silence_logging
from record import figures_of, report, write_result
from trust.connects import FLOODS, measure_flood, measure_handshakes
from trust.first_token import measure_first_token
from trust.revocation import revoke_to_stream_end

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

REACH: dict[str, tuple[str, float]] = {
    "handshakes_per_s": ("report", 0.0),
    "handshakes_direct_per_s": ("report", 0.0),
    "revoke_to_stream_end_ms": ("<=", 1000.0),
    "connect_p99_flood_over_calm": ("<=", 3.0),
    "connect_p99_unlimited_silence_over_calm": ("report", 0.0),
    "front_door_first_token_ms": ("<=", 2.0),
}


def p99(values: list[float]) -> float:
    """The value that one in a hundred exceeds."""
    return sorted(values)[math.ceil(0.99 * len(values)) - 1]


def figures(samples: dict[str, list[float]]) -> dict[str, float]:
    """The issue's figures from raw samples; those whose samples are missing are left out.

    Of revocation the worst is taken, and of the floods the one that hurts most; each is compared
    with the calm just before it.
    """

    def over_calm(kind: str) -> float:
        return p99(samples[f"connect_{kind}_flood_ms"]) / p99(
            samples[f"connect_calm_before_{kind}_ms"]
        )

    recipes: dict[str, Callable[[], float]] = {
        "handshakes_per_s": lambda: median(samples["handshakes_door_per_s"]),
        "handshakes_direct_per_s": lambda: median(samples["handshakes_direct_per_s"]),
        "revoke_to_stream_end_ms": lambda: max(samples["revoke_to_stream_end_ms"]),
        "connect_p99_flood_over_calm": lambda: max(map(over_calm, FLOODS)),
        "connect_p99_unlimited_silence_over_calm": lambda: (
            p99(samples["connect_silent_flood_unlimited_ms"])
            / p99(samples["connect_calm_before_silent_ms"])
        ),
        "front_door_first_token_ms": lambda: median(samples["front_door_first_token_each_ms"]),
    }
    return figures_of(recipes)


async def measure_revocation(results: Results) -> None:
    """`revoke_to_stream_end_ms`."""
    for value in await revoke_to_stream_end():
        results.add("revoke_to_stream_end_ms", value)


async def measure(wanted: set[str], results: Results) -> None:
    """Run the parts that are wanted, one after the other; all if none is named."""
    parts: dict[str, Callable[[Results], Coroutine[None, None, None]]] = {
        "handshakes": measure_handshakes,
        "revocation": measure_revocation,
        "flood": measure_flood,
        "first_token": measure_first_token,
    }
    if unknown := wanted - parts.keys():
        sys.exit(f"no such part: {', '.join(unknown)}; there are {', '.join(parts)}")
    for name, part in parts.items():
        if not wanted or name in wanted:
            print(f"-- {name}", file=sys.stderr)  # noqa: T201  # progress
            await part(results)


def main() -> None:
    """Measure and print; a whole run also writes bench/results/trust.json."""
    wanted, results = set(sys.argv[1:]), Results()
    silence_logging()
    asyncio.run(measure(wanted, results))
    found = figures(results.samples)
    report(found, REACH)
    if wanted:
        print("a part alone is not recorded")  # noqa: T201  # as above
        return
    reach = {name: f"{sign} {limit:g}" for name, (sign, limit) in REACH.items()}
    facts = {**results.facts, "figures": found, "reach": reach}
    print(f"written: {write_result('trust', results.samples, facts)}")  # noqa: T201  # as above


if __name__ == "__main__":
    main()
