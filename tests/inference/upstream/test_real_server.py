"""The checks of real servers, over `python -m llama_cpp.server` with the real stand-in model."""

from __future__ import annotations

import asyncio
import os
import re
import sys
from typing import TYPE_CHECKING

import pytest
import pytest_asyncio
from homing_inference.upstream.engine import UpstreamEngine
from homing_inference.upstream.server import UpstreamServer
from support.upstream_checks import BOUND_S, CHECKS

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from pathlib import Path

    from support.upstream_checks import Check

pytestmark = pytest.mark.asyncio(loop_scope="module")

_RUNNING = re.compile(rb"running on (http://127\.0\.0\.1:\d+)")
_KEPT = ("PATH", "HOME", "LD_LIBRARY_PATH", "LANG", "TMPDIR", "LLAMA_CPP_LIB_PATH")
"""Its other settings it would take from the environment, HOST and PORT among them."""
_START_S = 60


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def engine(stand_in_phone: Path) -> AsyncGenerator[UpstreamEngine]:
    """An engine over a server that computes with one thread."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-P", "-m", "llama_cpp.server", "--model", str(stand_in_phone)),
        *("--host", "127.0.0.1", "--port", "0", "--n_ctx", "2048"),
        *("--n_threads", "1", "--n_threads_batch", "1"),
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
        env={name: value for name in _KEPT if (value := os.environ.get(name))},
    )
    output = process.stderr
    assert output is not None
    draining: asyncio.Task[bytes] | None = None
    try:
        async with asyncio.timeout(_START_S):
            while (found := _RUNNING.search(line := await output.readline())) is None:
                assert line, "the server did not start"
        draining = asyncio.create_task(output.read())
        engine = await UpstreamEngine.connect(UpstreamServer(found[1].decode(), name="stand-in"))
        yield engine
        await engine.close()
    finally:
        process.kill()
        await process.wait()
        if draining is not None:
            await draining


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
async def test_over_llama_cpp_python(engine: UpstreamEngine, check: Check) -> None:
    async with asyncio.timeout(BOUND_S):
        await check(engine)
