"""What TLS, gRPC and the child process cost: a real node on loopback against the bare scheduler."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from homing_client.rpc.node_calls import NodeCalls
from homing_core.access import DeviceRole
from homing_core.clock import SystemClock
from homing_crypto.credentials import client_channel
from homing_crypto.identity import DeviceIdentity
from homing_crypto.testing import paired_device, throwaway_identity
from homing_crypto.truststore import TRUST_STORE_FILE, SqliteTrustStore
from homing_inference.formats.select import choose
from homing_inference.llama.model import LoadedModel
from homing_inference.scheduler.opening import open_scheduler
from homing_inference.scheduler.settings import EngineSettings

from engine.setting import CONTEXT, SEQUENCES, threads
from engine.trace import Trace, ask, task

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from homing_core.generation import GenerateRequest
    from homing_inference.scheduler.scheduler import Scheduler

    from engine.setting import Models, Results

LIVES = 4
"""Of both programs: where a model's memory lies makes one process compute a prompt several per cent
faster than the next, for as long as it lives."""
LONG_ROUNDS = 2
"""Of each life, for the throughput."""
LONG_TOKENS = 96
SHORT_ROUNDS = 10
"""Of each life, for the first token: a prefill alone varies by milliseconds."""
SHORT_TOKENS = 8


async def measure_hop(models: Models, results: Results) -> None:
    """`hop_first_token_ms` and `hop_throughput_loss`, in turns on one machine.

    While one of the two computes the other sleeps; both have the model in memory. Which comes first
    alternates, because whoever comes first finds the caches as the round before left them. What the
    way costs without the model's own computing is kept beside it as `hop_outside_model_ms`.
    """
    # One thread loads and computes, as in the child process.
    asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(1))
    for _ in range(LIVES):
        bare = await asyncio.to_thread(_bare, models)
        try:
            async with _node() as calls:
                await _live(bare, calls, results)
        finally:
            await asyncio.to_thread(bare.close)


async def _live(bare: Scheduler, calls: NodeCalls, results: Results) -> None:
    await _both(bare, calls, 0, SHORT_TOKENS)  # the first round is for the caches
    for salt in range(1, LONG_ROUNDS + 1):
        near, far = await _both(bare, calls, salt, LONG_TOKENS)
        results.add("bare_tokens_per_s", _rate(near))
        results.add("node_tokens_per_s", _rate(far))
        results.add("hop_throughput_loss_each", 1 - _rate(far) / _rate(near))
    for salt in range(LONG_ROUNDS + 1, LONG_ROUNDS + SHORT_ROUNDS + 1):
        near, far = await _both(bare, calls, salt, SHORT_TOKENS)
        results.add("bare_first_token_ms", near.first_ms)
        results.add("hop_first_token_each_ms", far.first_ms - near.first_ms)
        outside = far.first_ms - far.usage.prefill_ms - (near.first_ms - near.usage.prefill_ms)
        results.add("hop_outside_model_ms", outside)


async def _both(bare: Scheduler, calls: NodeCalls, salt: int, tokens: int) -> tuple[Trace, Trace]:
    """The same request without and with everything around the engine."""
    words = task(3, salt)
    if salt % 2:
        near = await asyncio.to_thread(_near, bare, ask(words, tokens=tokens))
        return near, await _far(calls, ask(words, tokens=tokens))
    far = await _far(calls, ask(words, tokens=tokens))
    return await asyncio.to_thread(_near, bare, ask(words, tokens=tokens)), far


def _rate(trace: Trace) -> float:
    """As the reader sees it, not by the engine's clock."""
    return (trace.usage.completion_tokens - 1) / (trace.times[-1] - trace.times[0])


def _bare(models: Models) -> Scheduler:
    model = LoadedModel(models.bf16.path)
    facts = model.facts
    chat = choose(facts.template, facts.bos, facts.eos, facts.architecture)
    settings = EngineSettings(context_tokens=CONTEXT, threads=threads(), max_sequences=SEQUENCES)
    return open_scheduler(model, chat, settings)


def _near(scheduler: Scheduler, asked: GenerateRequest) -> Trace:
    trace = Trace()
    for event in scheduler.generate(asked):
        trace.take(event)
    return trace


async def _far(calls: NodeCalls, asked: GenerateRequest) -> Trace:
    trace = Trace()
    async for numbered in calls.generate(asked):
        trace.take(numbered.event)
    return trace


async def _lines(process: asyncio.subprocess.Process) -> AsyncGenerator[bytes]:
    if process.stdout is not None:
        async for line in process.stdout:
            yield line


@contextlib.asynccontextmanager
async def _node() -> AsyncGenerator[NodeCalls]:
    """The installed daemon in a process of its own, and a paired phone's calls to it."""
    with TemporaryDirectory(prefix="homing-bench-") as name:
        folder = Path(name)
        clock = SystemClock()
        node = DeviceIdentity.load_or_create(folder, clock)
        phone = throwaway_identity()
        store = SqliteTrustStore(folder / TRUST_STORE_FILE, clock)
        store.add(paired_device(phone, DeviceRole.OWNER, None))
        store.close()
        (folder / "node.toml").write_text(
            f'[listen]\nhost = "127.0.0.1"\nport = 0\n[discovery]\nmdns = false\n'
            f"[model]\nstand_in = true\ncontext_tokens = {CONTEXT}\nthreads = {threads()}\n",
            "utf-8",
        )
        process = await asyncio.create_subprocess_exec(
            str(Path(sys.executable).parent / "homing-node"),
            *("run", "--json", "--data-dir", name),
            env=os.environ | {"HOME": name},
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
        )
        try:
            port = 0
            async for line in _lines(process):
                event = json.loads(line)
                if event["event"] == "up":
                    port = int(event["addresses"][0].rpartition(":")[2])
                if event["event"] == "model" and event.get("state") == "ready":
                    break
            target = f"127.0.0.1:{port}"
            async with client_channel(target, phone, node.certificate) as channel:
                yield NodeCalls(channel)
        finally:
            with contextlib.suppress(ProcessLookupError):
                process.terminate()
            await process.wait()
