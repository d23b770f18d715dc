"""The child process itself: it leaves when nobody is there, and says nothing on a terminal."""

from __future__ import annotations

import os
import select
import signal
import socket
import subprocess
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest
from homing_core.errors import NotFoundError
from homing_core.generation import Thinking
from homing_core.ids import new_generation_id
from homing_inference.process.worker import EXIT_BROKEN, EXIT_MALFORMED, EXIT_NOT_LOADED, EXIT_USAGE
from homing_proto.codec.engine import (
    CancelGeneration,
    LoadFailed,
    LoadModel,
    ModelReady,
    StartGeneration,
    WarmPrefix,
    decode_engine_report,
    encode_engine_command,
)
from homing_proto.frames import FrameReader, frame
from support.engines import BOUND_S, ask

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path

    from homing_proto.codec.engine import EngineReport


_RUN = ("-P", "-m", "homing_inference.process.worker")


@contextmanager
def _worker(
    program: tuple[str, ...] = _RUN,
) -> Generator[tuple[socket.socket, subprocess.Popen[bytes]]]:
    ours, theirs = socket.socketpair()
    ours.settimeout(BOUND_S)
    with ours, theirs:
        command = [sys.executable, *program, str(theirs.fileno())]
        with subprocess.Popen(  # noqa: S603  # our own interpreter and module
            command, pass_fds=[theirs.fileno()], stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        ) as process:
            theirs.close()
            try:
                yield ours, process
            finally:
                ours.close()
                process.wait(BOUND_S)


def _last_report(connection: socket.socket) -> EngineReport:
    """The last report before it waits or hangs up, loading aside."""
    reader = FrameReader()
    while True:
        for content in reader.feed(connection.recv(1 << 16)):
            report = decode_engine_report(content)
            if isinstance(report, ModelReady | LoadFailed):
                return report


@pytest.mark.parametrize(
    "content",
    [
        b"\xff\xff\xff\xff",
        frame(b"noise"),
        frame(b""),
        frame(encode_engine_command(CancelGeneration(new_generation_id()))),
    ],
    ids=["false length", "noise", "empty", "not a load"],
)
def test_a_malformed_command_ends_it(content: bytes) -> None:
    with _worker() as (connection, process):
        connection.sendall(content)
        assert process.wait(BOUND_S) == EXIT_MALFORMED


def test_it_leaves_when_the_daemon_hangs_up(tiny_qwen35: Path) -> None:
    with _worker() as (connection, process):
        connection.sendall(frame(encode_engine_command(LoadModel(str(tiny_qwen35), "tiny", 512))))
        assert isinstance(_last_report(connection), ModelReady)
        connection.close()
        assert process.wait(BOUND_S) == 0


def test_it_leaves_when_the_daemon_hangs_up_before_it_said_anything() -> None:
    with _worker() as (connection, process):
        connection.close()
        assert process.wait(BOUND_S) == 0


def test_it_says_why_it_cannot_load_and_leaves(tmp_path: Path) -> None:
    with _worker() as (connection, process):
        load = LoadModel(str(tmp_path / "none.gguf"), "none")
        connection.sendall(frame(encode_engine_command(load)))
        report = _last_report(connection)
        assert isinstance(report, LoadFailed)
        assert isinstance(report.error.to_error(), NotFoundError)
        assert process.wait(BOUND_S) == EXIT_NOT_LOADED


def test_a_second_load_is_ignored(tiny_qwen35: Path) -> None:
    with _worker() as (connection, process):
        load = frame(encode_engine_command(LoadModel(str(tiny_qwen35), "tiny", 512)))
        connection.sendall(load + load)
        assert isinstance(_last_report(connection), ModelReady)
        warm = WarmPrefix(1, (), (), Thinking.OFF)
        connection.sendall(frame(encode_engine_command(warm)))
        assert connection.recv(1 << 16)
        assert process.poll() is None


_BUGGY = """
from homing_inference.process import worker
from homing_inference.scheduler.scheduler import Scheduler

def submit(self, request, sink, *, taken_at):
    raise ZeroDivisionError(request.messages[-1].text)

Scheduler.submit = submit
worker.main()
"""


def test_a_bug_ends_it_and_the_log_says_where_but_not_what_was_asked(tiny_qwen35: Path) -> None:
    with _worker(("-c", _BUGGY)) as (connection, process):
        connection.sendall(frame(encode_engine_command(LoadModel(str(tiny_qwen35), "tiny", 512))))
        assert isinstance(_last_report(connection), ModelReady)
        connection.sendall(frame(encode_engine_command(StartGeneration(ask("my secret")))))
        assert process.wait(BOUND_S) == EXIT_BROKEN
        assert process.stdout is not None
        said = process.stdout.read()
        assert b"ZeroDivisionError < " in said
        assert b"model_thread.py" in said
        assert b"secret" not in said
        assert b"Traceback" not in said


@pytest.mark.parametrize("arguments", [[], ["x"], ["12345"]])
def test_started_by_hand_it_says_what_it_is(arguments: list[str]) -> None:
    result = subprocess.run(  # noqa: S603  # our own interpreter and module
        [sys.executable, "-m", "homing_inference.process.worker", *arguments],
        capture_output=True,
        timeout=BOUND_S,
        check=False,
    )
    assert result.returncode == EXIT_USAGE
    assert result.stderr.decode().count("\n") == 1
    assert b"started by a daemon" in result.stderr


_DAEMON = """
import asyncio, sys
from pathlib import Path
from homing_inference.host import ChildEngine, ModelFile
{more}
async def main():
    engine = await ChildEngine.start(ModelFile(Path({path!r}), "tiny"), context_tokens=2048)
    print(engine.pid, flush=True)
    {then}
    await engine.close()
asyncio.run(main())
"""


def test_it_does_not_outlive_a_killed_daemon(tiny_qwen35: Path) -> None:
    script = _DAEMON.format(path=str(tiny_qwen35), more="", then="await asyncio.sleep(600)")
    command = [sys.executable, "-c", script]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as daemon:  # noqa: S603  # our own interpreter and module
        assert daemon.stdout is not None
        child = int(daemon.stdout.readline())
        watch = os.pidfd_open(child)
        try:
            daemon.send_signal(signal.SIGKILL)
            readable, _, _ = select.select([watch], [], [], BOUND_S)
            assert readable == [watch]
        finally:
            os.close(watch)


def test_the_daemon_stays_free_of_the_runtime_and_its_terminal_clean(tiny_qwen35: Path) -> None:
    script = _DAEMON.format(
        path=str(tiny_qwen35),
        more="import structlog, logging\n"
        "structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.INFO))",
        then="await engine.warm([], [], __import__('homing_core.generation').generation"
        ".Thinking.OFF)\n"
        "    print(sorted({'llama_cpp', 'numpy', 'jinja2'} & set(sys.modules)))",
    )
    result = subprocess.run(  # noqa: S603  # our own interpreter and module
        [sys.executable, "-c", script], capture_output=True, timeout=BOUND_S, check=True
    )
    pid, modules = result.stdout.decode().splitlines()
    assert pid.isdigit()
    assert modules == "[]"
    assert result.stderr == b""
