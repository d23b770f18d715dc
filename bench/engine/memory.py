"""Memory: its bandwidth, the share of it that decoding uses, and what the engine takes of it."""

from __future__ import annotations

import os
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from gguf import GGUFReader

from engine.setting import CONTEXT, SEQUENCES, engine, threads
from engine.trace import ask, follow, follow_all, task

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from engine.setting import Models, Results

ROUNDS = 4
_NUMBERS = 1 << 24
_REPEATS = 5
_BLOCK = 1 << 13
_KV_BYTES = 2  # F16


def triad_bandwidth() -> tuple[float, float]:
    """Bytes a second on the engine's threads: STREAM's Add, and reading alone.

    Add (a = b + c) counts 24 bytes for each number as STREAM does, although a store reads its line
    first; decoding only reads, so it may come out above it. Reading is the dot product of two
    arrays, 16 bytes for each number.
    """
    count = threads()
    parts: list[tuple[NDArray[np.float64], ...]] = [
        tuple(np.ones(_NUMBERS) for _ in range(3)) for _ in range(count)
    ]

    def add(part: tuple[NDArray[np.float64], ...]) -> None:
        np.add(part[1], part[2], out=part[0])

    def read(part: tuple[NDArray[np.float64], ...]) -> None:
        for start in range(0, _NUMBERS, _BLOCK):  # below the size at which BLAS takes threads
            np.dot(part[1][start : start + _BLOCK], part[2][start : start + _BLOCK])

    best = {add: 0.0, read: 0.0}
    with ThreadPoolExecutor(count) as pool:
        for work, each in ((add, 24), (read, 16)) * _REPEATS:
            started = time.perf_counter()
            list(pool.map(work, parts))
            spent = time.perf_counter() - started
            best[work] = max(best[work], count * _NUMBERS * each / spent)
    return best[add], best[read]


def weight_bytes(path: Path) -> int:
    """All tensors; with tied embeddings every one of them is read for each token."""
    return sum(int(tensor.n_bytes) for tensor in GGUFReader(path).tensors)


def kv_bytes_a_token(path: Path) -> int:
    """Keys and values of one token over all layers of a model with attention in each, in F16."""
    reader = GGUFReader(path)

    def number(key: str) -> int:
        field = next(f for name, f in reader.fields.items() if name.endswith(key))
        return int(field.contents())

    width = number(".embedding_length") // number(".attention.head_count")
    return 2 * number(".block_count") * number(".attention.head_count_kv") * width * _KV_BYTES


async def measure_bandwidth(models: Models, results: Results) -> None:
    """`bandwidth_fraction` for both formats of the stand-in."""
    for name, model in (("bf16", models.bf16), ("q4_k_m", models.q4)):
        weights, kv = weight_bytes(model.path), kv_bytes_a_token(model.path)
        async with engine(model) as opened:
            for salt in range(ROUNDS):
                trace = await follow(opened.generate(ask(task(2, salt), tokens=96)))
                # The bandwidth of a shared machine changes within a run: each in turn.
                add, reading = triad_bandwidth()
                held = trace.usage.prompt_tokens + trace.usage.completion_tokens / 2
                read = (weights + kv * held) * trace.decode_rate
                results.add(f"{name}_read_gb_per_s", read / 1e9)
                results.add("add_gb_per_s", add / 1e9)
                results.add("reading_gb_per_s", reading / 1e9)
                results.add(f"{name}_bandwidth_fraction_each", read / add)
                results.add(f"{name}_reading_fraction_each", read / reading)


async def measure_resident(models: Models, results: Results) -> None:
    """`resident_extra_mb`: the process after eight answers at once, less weights and KV cache.

    States of conversations, which are kept in main memory up to a bound, count as extra; how much
    they are is reported beside it. So is how much of the file is resident: rows of the embedding
    that no prompt had, and tensors that are computed with in a copy, are not.
    """
    pool = min(4, SEQUENCES) * CONTEXT
    for name, model in (("bf16", models.bf16), ("q4_k_m", models.q4)):
        async with engine(model) as opened:
            asked = [ask(task(number, 7), tokens=16) for number in range(SEQUENCES)]
            traces = await follow_all(opened.generate(one) for one in asked)
            resident = _resident(opened.pid or 0)
            of_file = _resident_of(opened.pid or 0, model.path)
        kv = kv_bytes_a_token(model.path) * pool
        results.add(f"{name}_resident_mb", resident / 1e6)
        held = sum(one.usage.prompt_tokens + one.usage.completion_tokens for one in traces)
        results.add(f"{name}_states_mb", kv_bytes_a_token(model.path) * held / 1e6)
        results.add(f"{name}_file_resident_mb", of_file / 1e6)
        results.add(f"{name}_weights_mb", weight_bytes(model.path) / 1e6)
        results.add(f"{name}_kv_mb", kv / 1e6)
        extra = (resident - weight_bytes(model.path) - kv) / 1e6
        results.add(f"{name}_resident_extra_mb", extra)


def _resident(pid: int) -> int:
    pages = int(Path(f"/proc/{pid}/statm").read_text("ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def _resident_of(pid: int, path: Path) -> int:
    """Bytes of a mapped file that are resident."""
    found, inside = 0, False
    for line in Path(f"/proc/{pid}/smaps").read_text("utf-8").splitlines():
        name, _, rest = line.partition(":")
        if " " in name:  # a mapping begins
            inside = line.endswith(str(path.resolve()))
        elif inside and name == "Rss":
            found += int(rest.split()[0]) * 1024
    return found
