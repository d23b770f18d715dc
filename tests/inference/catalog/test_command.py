"""`python -m homing_inference.catalog`, as a person or a makefile runs it."""

from __future__ import annotations

import asyncio
import os
import sys
from typing import TYPE_CHECKING

from homing_inference.catalog.fake_depot import FakeDepot
from homing_inference.catalog.testing import gguf_bytes

if TYPE_CHECKING:
    from pathlib import Path


async def run(*words: str, **environ: str) -> tuple[int, str, str]:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "homing_inference.catalog", *words),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env=os.environ | environ,
    )
    async with asyncio.timeout(60):
        out, err = await process.communicate()
    return process.returncode or 0, out.decode(), err.decode()


async def test_a_hub_that_is_down_is_one_line_and_status_1(tmp_path: Path) -> None:
    with FakeDepot() as gone:
        endpoint = gone.hub_endpoint
    status, out, err = await run("fetch", "phone", "--dir", str(tmp_path), HF_ENDPOINT=endpoint)
    assert status == 1
    assert out == ""
    assert err.count("\n") == 1
    assert "--stand-in" in err


async def test_hf_hub_offline_counts(depot: FakeDepot, tmp_path: Path) -> None:
    status, _, err = await run(
        *("fetch", "phone", "--dir", str(tmp_path)),
        HF_ENDPOINT=depot.hub_endpoint,
        HF_HUB_OFFLINE="1",
    )
    assert status == 1
    assert "HF_HUB_OFFLINE" in err
    assert "--stand-in" in err


async def test_fetches_from_the_hub_and_lists_it(depot: FakeDepot, tmp_path: Path) -> None:
    content = gguf_bytes(1000)
    depot.add_hub_file("qvac/BotPsy-0.8B-GGUF", "BotPsy-0.8B-Q4_K_M.gguf", content)
    status, out, err = await run(
        "fetch", "phone", HF_ENDPOINT=depot.hub_endpoint, HOMING_MODELS_DIR=str(tmp_path)
    )
    assert (status, err) == (0, "")
    assert str(tmp_path) in out
    status, out, _ = await run("list", HOMING_MODELS_DIR=str(tmp_path))
    assert status == 0
    line = next(line for line in out.splitlines() if line.startswith("botpsy-0.8b:q4_k_m"))
    assert f"{len(content):,} bytes" in line


async def test_an_unknown_model_is_status_1_and_a_stand_in_unasked_status_2(
    tmp_path: Path,
) -> None:
    status, _, err = await run("fetch", "botpsi-0.8b", "--dir", str(tmp_path))
    assert status == 1
    assert "botpsy-0.8b" in err
    status, _, err = await run("fetch", "stand-in-0.5b", "--dir", str(tmp_path))
    assert status == 2
    assert "--stand-in" in err


async def test_saying_what_is_here_loads_neither_the_runtime_nor_the_hub() -> None:
    program = (
        "import sys\n"
        "import homing_inference.catalog.__main__\n"
        "heavy = {'llama_cpp', 'huggingface_hub', 'httpx2', 'numpy'} & set(sys.modules)\n"
        "sys.exit(str(heavy) if heavy else 0)\n"
    )
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", program)
    assert await process.wait() == 0
