"""llama.cpp's own server, built from the very sources that our bindings were built from."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import socket
import subprocess
import sys
import tarfile
import time
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from itertools import repeat
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from support.qwen35 import cache_dir
from support.sdist import VERSION, fetch_sdist

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

START_S = 120.0
ANSWER_S = 600.0
_OPTIONS = (
    "-DCMAKE_BUILD_TYPE=Release",
    "-DBUILD_SHARED_LIBS=OFF",
    "-DLLAMA_CURL=OFF",
    "-DLLAMA_OPENSSL=OFF",
    "-DLLAMA_BUILD_TESTS=OFF",
    "-DLLAMA_BUILD_EXAMPLES=OFF",
    "-DLLAMA_BUILD_UI=OFF",
    "-DLLAMA_USE_PREBUILT_UI=OFF",
)


def llama_server() -> Path:
    """The program; built the first time, which takes about 5 minutes on 2 cores.

    Raises:
        subprocess.CalledProcessError: cmake or the compiler failed; its output was shown.
    """
    program = cache_dir() / f"llama-server-{VERSION}"
    if program.exists():
        return program
    with TemporaryDirectory(dir=cache_dir(), prefix="llama-server-") as name:
        folder = Path(name)
        archive = folder / "sdist.tar.gz"
        with archive.open("wb") as file:
            fetch_sdist(file)
        with tarfile.open(archive) as content:
            content.extractall(folder, filter="data")
        (source,) = folder.glob("*/vendor/llama.cpp")
        build = folder / "build"
        cmake = [shutil.which("cmake", path=_tools_path()) or "cmake"]
        environment = os.environ | {"PATH": _tools_path()}
        _run([*cmake, "-S", str(source), "-B", str(build), *_OPTIONS], environment)
        target = ["--target", "llama-server", "-j", str(os.cpu_count() or 1)]
        _run([*cmake, "--build", str(build), *target], environment)
        # One move, so that a broken-off build never leaves half a program.
        shutil.copy2(build / "bin" / "llama-server", folder / "done")
        (folder / "done").replace(program)
    return program


def _tools_path() -> str:
    """The virtual environment's programs first: its cmake comes with the `dev` extra."""
    return f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', os.defpath)}"


def _run(command: Sequence[str], environment: dict[str, str]) -> None:
    subprocess.run(command, check=True, stdout=sys.stderr, env=environment)  # noqa: S603  # ours


@contextlib.contextmanager
def running_server(model: Path, *, slots: int, context: int, threads: int) -> Generator[str]:
    """Run it on a free port; gives its address.

    Args:
        model: a GGUF file.
        slots: answers that are written at once.
        context: tokens of one slot.
        threads: that compute.
    """
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    command = [
        *(str(llama_server()), "--model", str(model), "--host", "127.0.0.1", "--port", str(port)),
        *("--parallel", str(slots), "--ctx-size", str(context * slots), "--threads", str(threads)),
        *("--jinja", "--no-webui", "--log-disable", "--kv-unified"),
    ]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # noqa: S603  # ours
    address = f"http://127.0.0.1:{port}"
    try:
        _wait_until_healthy(address, process)
        yield address
    finally:
        process.terminate()
        process.wait()


def _wait_until_healthy(address: str, process: subprocess.Popen[bytes]) -> None:
    give_up = time.monotonic() + START_S
    while time.monotonic() < give_up:
        if process.poll() is not None:
            msg = f"llama-server ended with status {process.returncode}"
            raise RuntimeError(msg)
        with contextlib.suppress(OSError), urllib.request.urlopen(f"{address}/health", timeout=2):  # noqa: S310  # our own
            return
        time.sleep(0.1)
    msg = "llama-server did not become ready"
    raise RuntimeError(msg)


def chat(address: str, words: str, tokens: int) -> int:
    """One greedy answer to a person's words; gives how many tokens it had."""
    body = {
        "messages": [{"role": "user", "content": words}],
        "max_tokens": tokens,
        "temperature": 0,
        "cache_prompt": False,
    }
    request = urllib.request.Request(  # noqa: S310  # our own server
        f"{address}/v1/chat/completions",
        json.dumps(body).encode(),
        {"Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=ANSWER_S) as response:  # noqa: S310  # our own server
        answer: dict[str, Any] = json.load(response)
    written: int = answer["usage"]["completion_tokens"]
    return written


def chat_all(address: str, prompts: Sequence[str], tokens: int) -> tuple[float, int]:
    """All of them at once; gives the seconds until the last was done, and all new tokens."""
    with ThreadPoolExecutor(len(prompts)) as pool:
        started = time.perf_counter()
        written = list(pool.map(chat, repeat(address), prompts, repeat(tokens)))
        return time.perf_counter() - started, sum(written)
