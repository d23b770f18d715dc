"""An engine in a child process: what is asked of it, and what happens when the child dies."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import sys
from contextlib import aclosing
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
import pytest_asyncio
import structlog
from homing_core.errors import (
    HomingError,
    IntegrityError,
    InvalidDataError,
    NotFoundError,
    UnavailableError,
    UsageError,
)
from homing_core.generation import (
    Failed,
    FinishReason,
    Priority,
    Sampling,
    Thinking,
    TokenSignals,
    ToolCallEvent,
)
from homing_core.scoring import ScoreRequest
from homing_inference.engine import EngineState, WarmedPrefix
from homing_inference.host import ChildEngine, ModelFile
from homing_inference.process import child_process
from support.engines import (
    BOUND_S,
    SYSTEM,
    TOOLS,
    ask,
    collect,
    done_of,
    failure_of,
    substance,
    text_of,
    usage_of,
)

if TYPE_CHECKING:
    from asyncio.subprocess import Process
    from collections.abc import AsyncGenerator, Awaitable, Callable
    from pathlib import Path

    from homing_core.generation import GenerateRequest, GenerationEvent

LONG = Sampling(max_tokens=1400)
"""Longer than any test waits for."""
MEDIUM = Sampling(max_tokens=150)


@pytest_asyncio.fixture
async def engine(tiny_qwen35: Path) -> AsyncGenerator[ChildEngine, None]:
    opened = await ChildEngine.start(ModelFile(tiny_qwen35, "tiny"), context_tokens=2048)
    yield opened
    await opened.close()


async def _kill(engine: ChildEngine, how: signal.Signals = signal.SIGKILL) -> None:
    assert engine.pid is not None
    os.kill(engine.pid, how)


async def _until_first(
    engine: ChildEngine, asked: GenerateRequest, then: Callable[[], Awaitable[None]]
) -> list[GenerationEvent]:
    """All events; `then` happens once the first is there."""
    events: list[GenerationEvent] = []
    async with asyncio.timeout(BOUND_S):
        async for event in engine.generate(asked):
            if not events:
                await then()
            events.append(event)
    return events


# What is asked


async def test_loading_reports_progress_and_describes_the_model(tiny_qwen35: Path) -> None:
    shares: list[float] = []
    opened = await ChildEngine.start(
        ModelFile(tiny_qwen35, "tiny", stand_in=True), context_tokens=512, on_progress=shares.append
    )
    info = opened.info
    await opened.close()
    assert shares == sorted(shares)
    assert 0 < shares[-1] <= 1
    assert info.model == "tiny"
    assert info.stand_in
    assert info.architecture == "qwen35"
    assert info.chat_format == "qwen35-xml"
    assert info.can_think
    assert info.context_tokens == 512
    assert opened.pid is None


async def test_an_answer_stops_at_its_token_limit(engine: ChildEngine) -> None:
    events = await collect(engine, ask(sampling=Sampling(max_tokens=5)))
    assert usage_of(events).completion_tokens <= 5
    assert done_of(events).reason in {FinishReason.LENGTH, FinishReason.STOP}


async def test_an_answer_stops_when_the_context_is_full(engine: ChildEngine) -> None:
    count = usage_of(await collect(engine, ask())).prompt_tokens
    events = await collect(
        engine, ask(sampling=Sampling(max_tokens=0), max_context_tokens=count + 3)
    )
    assert usage_of(events).completion_tokens <= 3
    assert usage_of(events).prompt_tokens == count


async def test_an_answer_stops_before_a_stop_string(engine: ChildEngine) -> None:
    whole = text_of(await collect(engine, ask(sampling=MEDIUM)))
    stop = whole[4:6]
    events = await collect(engine, ask(sampling=Sampling(max_tokens=150, stop=(stop,))))
    assert text_of(events) == whole[: whole.index(stop)]
    assert done_of(events).reason is FinishReason.STOP


async def test_a_seed_repeats_a_draw(engine: ChildEngine) -> None:
    def draw(seed: int) -> GenerateRequest:
        return ask(sampling=Sampling(temperature=1.5, top_p=0.95, seed=seed, max_tokens=24))

    answers = [substance(await collect(engine, draw(seed))) for seed in (5, 5, 6)]
    assert answers[0] == answers[1] != answers[2]


@pytest.mark.parametrize("sampling", [Sampling(temperature=-1.0), Sampling(top_p=2.0)])
async def test_sampling_without_a_meaning_fails(engine: ChildEngine, sampling: Sampling) -> None:
    before = engine.pid
    failure = failure_of(await collect(engine, ask(sampling=sampling)))
    assert failure.code == "invalid_data"
    assert done_of(await collect(engine, ask()))
    assert engine.pid == before


async def test_a_deadline_ends_an_answer(engine: ChildEngine) -> None:
    failure = failure_of(await collect(engine, ask(sampling=LONG, deadline_ms=40)))
    assert failure.code == "unavailable"
    assert "40 ms" in failure.what
    assert failure.retryable


async def test_a_real_model_calls_a_tool_and_says_how_sure_it_was(stand_in_phone: Path) -> None:
    engine = await ChildEngine.start(ModelFile(stand_in_phone, "real"), context_tokens=2048)
    events = await collect(
        engine,
        ask("Set a timer for 10 minutes.", tools=TOOLS, sampling=Sampling(max_tokens=60)),
    )
    await engine.close()
    (event,) = [event for event in events if isinstance(event, ToolCallEvent)]
    assert event.call.name == "set_timer"
    assert event.call.arguments == {"minutes": 10}
    assert event.signals is not None
    assert 0.5 < event.signals.name_probability <= 1
    assert 0 < event.signals.name_margin <= 1
    assert 0 < event.signals.lowest_argument_probability <= 1
    assert 0 < event.signals.call_probability <= 1
    assert sum(isinstance(event, TokenSignals) for event in events) == 1
    assert done_of(events).reason is FinishReason.TOOL_CALLS


async def test_one_id_runs_once_at_a_time(engine: ChildEngine) -> None:
    asked = ask(sampling=MEDIUM)
    second: list[GenerationEvent] = []

    async def again() -> None:
        second.extend(await collect(engine, asked))

    assert done_of(await _until_first(engine, asked, again))
    assert failure_of(second).code == "conflict"


async def test_an_id_may_be_used_again_right_after_it_was_cancelled(engine: ChildEngine) -> None:
    asked = ask(sampling=MEDIUM)
    async with asyncio.timeout(BOUND_S), aclosing(engine.generate(asked)) as events:
        await anext(events)
    repeated = await collect(engine, asked)
    assert done_of(repeated).reason is not FinishReason.CANCELLED
    assert usage_of(repeated)


async def test_a_prefix_that_does_not_fit_is_refused(engine: ChildEngine) -> None:
    with pytest.raises(HomingError, match=r"would take \d+ tokens, but the model holds 2048"):
        await engine.warm([SYSTEM] * 8, TOOLS, Thinking.OFF)


# What cannot be loaded


async def _refusal(path: Path) -> HomingError:
    with pytest.raises(HomingError) as caught:
        await ChildEngine.start(ModelFile(path, "broken"))
    assert "\n" not in str(caught.value)
    assert caught.value.hint
    return caught.value


def _changed(model: Path, folder: Path, change: Callable[[bytes], bytes]) -> Path:
    path = folder / "changed.gguf"
    path.write_bytes(change(model.read_bytes()))
    return path


async def test_a_missing_file(tmp_path: Path) -> None:
    assert isinstance(await _refusal(tmp_path / "none.gguf"), NotFoundError)


async def test_a_folder(tmp_path: Path) -> None:
    assert isinstance(await _refusal(tmp_path), UsageError)


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04" * 100, b"GGUF" + b"\xff" * 100])
async def test_a_file_that_is_no_model(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "noise.gguf"
    path.write_bytes(content)
    assert isinstance(await _refusal(path), InvalidDataError)


@pytest.mark.parametrize("share", [0.001, 0.5, 0.999])
async def test_a_file_that_is_cut_off(tmp_path: Path, tiny_qwen35: Path, share: float) -> None:
    path = _changed(tiny_qwen35, tmp_path, lambda whole: whole[: int(len(whole) * share)])
    assert isinstance(await _refusal(path), IntegrityError)


async def test_an_architecture_that_the_runtime_does_not_know(
    tmp_path: Path, tiny_qwen35: Path
) -> None:
    path = _changed(tiny_qwen35, tmp_path, lambda whole: whole.replace(b"qwen35", b"qwen99"))
    refusal = await _refusal(path)
    assert isinstance(refusal, InvalidDataError)
    assert "qwen99" in refusal.what


async def test_a_runtime_that_does_not_fit(
    tmp_path: Path, tiny_qwen35: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LLAMA_CPP_LIB_PATH", str(tmp_path))
    refusal = await _refusal(tiny_qwen35)
    assert isinstance(refusal, UnavailableError)
    assert "LLAMA_CPP_LIB_PATH" in refusal.hint


# What happens when the child dies


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGABRT])
async def test_a_killed_child_fails_what_runs_and_serves_what_follows(
    engine: ChildEngine, how: signal.Signals
) -> None:
    warmed = await engine.warm([SYSTEM], TOOLS, Thinking.OFF)
    before = engine.pid
    failure = failure_of(await _until_first(engine, ask(sampling=LONG), lambda: _kill(engine, how)))
    assert failure == Failed(
        "unavailable", "the engine stopped; it is being restarted", "Ask again.", retryable=True
    )
    # The first request may overtake the warming; persons go first.
    assert done_of(await collect(engine, ask(tools=TOOLS)))
    again = await collect(engine, ask("And now?", tools=TOOLS))
    assert usage_of(again).cached_tokens == warmed.tokens
    assert engine.pid != before


async def test_a_prefix_is_warm_again_without_being_asked_for(engine: ChildEngine) -> None:
    warmed = await engine.warm([SYSTEM], TOOLS, Thinking.OFF)
    await _until_first(engine, ask(sampling=LONG), lambda: _kill(engine))
    # A job waits for its turn behind the warming.
    events = await collect(engine, ask(tools=TOOLS))
    job = await collect(engine, ask("Later", tools=TOOLS, priority=Priority.JOB))
    assert done_of(events)
    assert usage_of(job).cached_tokens == warmed.tokens


async def test_a_new_child_is_there_soon(tiny_qwen35: Path) -> None:
    loop = asyncio.get_running_loop()
    began = loop.time()
    engine = await ChildEngine.start(ModelFile(tiny_qwen35, "tiny"), context_tokens=2048)
    load_s = loop.time() - began
    await _until_first(engine, ask(sampling=LONG), lambda: _kill(engine))
    died = loop.time()
    assert engine.state == EngineState()
    events = await collect(engine, ask(sampling=Sampling(max_tokens=1)))
    assert done_of(events)
    assert loop.time() - died < 3 + 2 * load_s
    await engine.close()


async def test_a_prefix_survives_the_process_on_disk(tiny_qwen35: Path, tmp_path: Path) -> None:
    model = ModelFile(tiny_qwen35, "tiny", sha256="0a" * 32)

    async def start() -> ChildEngine:
        return await ChildEngine.start(
            model, context_tokens=2048, state_folder=tmp_path, state_bytes=1 << 30
        )

    first = await start()
    warmed = await first.warm([SYSTEM], TOOLS, Thinking.OFF)
    await first.close()
    second = await start()
    usage = usage_of(await collect(second, ask(tools=TOOLS)))
    await second.close()
    assert usage.cached_tokens == warmed.tokens


async def test_what_is_in_flight_fails_and_the_state_is_forgotten(engine: ChildEngine) -> None:
    async def kill_amid_others() -> None:
        others.append(asyncio.create_task(engine.score(ScoreRequest((SYSTEM,) * 3, TOOLS))))
        others.append(asyncio.create_task(engine.embed(["a boat"])))
        await asyncio.sleep(0)
        await _kill(engine, signal.SIGSTOP)  # so that neither is answered first
        await _kill(engine)

    others: list[asyncio.Task[object]] = []
    await _until_first(engine, ask(sampling=LONG), kill_amid_others)
    for other in others:
        with pytest.raises(UnavailableError, match="restarted"):
            await other
    assert engine.state.running == 0


async def test_a_child_that_hangs_is_ended_and_replaced(tiny_qwen35: Path) -> None:
    engine = await ChildEngine.start(
        ModelFile(tiny_qwen35, "tiny"), context_tokens=2048, step_silence_s=3.0
    )
    before = engine.pid
    failure = failure_of(
        await _until_first(engine, ask(sampling=LONG), lambda: _kill(engine, signal.SIGSTOP))
    )
    assert failure.code == "unavailable"
    assert failure.retryable
    assert done_of(await collect(engine, ask()))
    assert engine.pid != before
    await engine.close()


async def test_a_waiting_request_fails_too_and_may_be_repeated(engine: ChildEngine) -> None:
    async def kill_with_another_waiting() -> None:
        waiting.append(asyncio.create_task(collect(engine, ask("Second"))))
        await asyncio.sleep(0)
        await _kill(engine)

    waiting: list[asyncio.Task[list[GenerationEvent]]] = []
    failures = [
        failure_of(await _until_first(engine, ask(sampling=LONG), kill_with_another_waiting)),
        failure_of(await waiting[0]),
    ]
    assert all(failure.retryable for failure in failures)
    assert done_of(await collect(engine, ask("Second")))


async def test_several_crashes_in_a_row_give_it_up_until_asked(engine: ChildEngine) -> None:
    for _ in range(3):
        await _until_first(engine, ask(sampling=LONG), lambda: _kill(engine))
    failure = failure_of(await collect(engine, ask()))
    assert failure.what == "the model tiny stopped 3 times within a minute"
    with pytest.raises(UnavailableError, match="3 times"):
        await engine.warm([SYSTEM], TOOLS, Thinking.OFF)
    await engine.restart()
    assert done_of(await collect(engine, ask()))


async def test_a_model_that_vanished_is_said_and_served_once_it_is_back(
    tmp_path: Path, tiny_qwen35: Path
) -> None:
    path = tmp_path / "model.gguf"
    shutil.copy(tiny_qwen35, path)
    engine = await ChildEngine.start(ModelFile(path, "tiny"), context_tokens=2048)
    path.unlink()
    await _until_first(engine, ask(sampling=LONG), lambda: _kill(engine))
    assert failure_of(await collect(engine, ask())).code == "not_found"
    shutil.copy(tiny_qwen35, path)
    assert done_of(await collect(engine, ask(sampling=Sampling(max_tokens=2))))
    await engine.close()


async def test_closing_ends_what_runs(tiny_qwen35: Path) -> None:
    engine = await ChildEngine.start(ModelFile(tiny_qwen35, "tiny"), context_tokens=2048)
    failure = failure_of(await _until_first(engine, ask(sampling=LONG), engine.close))
    assert failure.what == "the engine was closed"


async def test_closing_while_it_restarts(tiny_qwen35: Path) -> None:
    engine = await ChildEngine.start(ModelFile(tiny_qwen35, "tiny"), context_tokens=2048)
    await _until_first(engine, ask(sampling=LONG), lambda: _kill(engine))
    waiting = asyncio.create_task(collect(engine, ask()))
    await asyncio.sleep(0)
    await engine.close()
    assert failure_of(await waiting).what == "the engine was closed"


_ABORTING = """
from homing_inference.process import worker
from homing_inference.llama.context import Context

compute = Context.compute

def oversized(self, rows, scores_at):
    if len({sequence for _, _, sequence in rows}) < 2:
        return compute(self, rows, scores_at)
    self.clear()
    count = 4 * self.sizes.batch_tokens
    batch = self._library.llama_batch_init(count, 0, 1)
    batch.n_tokens = count
    for index in range(count):
        batch.token[index] = 65
        batch.pos[index] = index
        batch.n_seq_id[index] = 1
        batch.seq_id[index][0] = 0
        batch.logits[index] = 0
    self._library.llama_decode(self._handle, batch)

Context.compute = oversized
worker.main()
"""


async def test_a_native_abort_takes_only_the_child_with_it(
    tiny_qwen35: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = child_process.spawn_worker

    async def spawn(descriptor: int) -> Process:
        return await asyncio.create_subprocess_exec(
            *(sys.executable, "-c", _ABORTING, str(descriptor)),
            pass_fds=(descriptor,),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )

    monkeypatch.setattr(child_process, "spawn_worker", spawn)
    engine = await ChildEngine.start(ModelFile(tiny_qwen35, "tiny"), context_tokens=2048)
    monkeypatch.setattr(child_process, "spawn_worker", real)
    with structlog.testing.capture_logs() as logs:
        # It aborts as soon as two are written at once.
        both = await asyncio.gather(*(collect(engine, ask(sampling=LONG)) for _ in range(2)))
        assert all(failure_of(events).retryable for events in both)
        assert done_of(await collect(engine, ask()))
        await engine.close()
    (ended,) = [entry for entry in logs if entry.get("status") == -signal.SIGABRT]
    assert "GGML_ASSERT" in ended["what"]
    assert ended["log_level"] == "warning"


# A child that misbehaves


def _impostor(code: str) -> Callable[[int], Awaitable[Process]]:
    async def spawn(descriptor: int) -> Process:
        return await asyncio.create_subprocess_exec(
            *(
                sys.executable,
                "-c",
                f"import socket, sys\ns = socket.socket(fileno={descriptor})\n{code}",
            ),
            pass_fds=(descriptor,),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )

    return spawn


_ANSWERS = """
from homing_core.generation import Done, FinishReason, TextDelta
from homing_core.scoring import ToolScores
from homing_proto.codec.engine import *
from homing_proto.frames import FrameReader, frame

def say(report):
    s.sendall(frame(encode_engine_report(report)))

def commands():
    reader = FrameReader()
    while data := s.recv(1 << 16):
        yield from map(decode_engine_command, reader.feed(data))

for command in commands():
    match command:
        case LoadModel():
            say(ModelReady("BF16", 2048, "plain", False, "made-up", 5))
            say(EngineBusy(2, 1, 30.0, 400.0, 1 << 30, ((7, "0a" * 32),)))
        case StartGeneration(request) if request.owner:
            say(GenerationReport(request.id, TextDelta(request.owner)))
            say(GenerationReport(request.id, Done(FinishReason.STOP)))
        case WarmPrefix() | EmbedTexts():
            say(ToolsScored(command.ticket, ToolScores((), -0.5)))
        case ScoreTools():
            say(PrefixWarmed(command.ticket, 7, "0a" * 32))
"""
"""A child that answers with the owner, with the wrong kind of thing, or not at all."""


@pytest_asyncio.fixture
async def odd_engine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncGenerator[ChildEngine, None]:
    monkeypatch.setattr(child_process, "spawn_worker", _impostor(_ANSWERS))
    opened = await ChildEngine.start(
        ModelFile(tmp_path / "any.gguf", "any"),
        adapters=[("polite", tmp_path / "polite.gguf")],
        step_silence_s=0.2,
    )
    yield opened
    await opened.close()


async def test_what_the_child_says_of_itself_is_passed_on(odd_engine: ChildEngine) -> None:
    # The first answer comes behind the report on how busy it is.
    await collect(odd_engine, replace(ask(), owner="ab" * 32))
    assert odd_engine.state == EngineState(
        2, 1, 30.0, 400.0, 1 << 30, (WarmedPrefix(7, "0a" * 32),)
    )
    assert odd_engine.info.max_sequences == 5
    assert odd_engine.info.adapters == ("polite",)
    await odd_engine.close()
    assert odd_engine.state == EngineState()


async def test_the_child_is_told_whose_request_it_is(odd_engine: ChildEngine) -> None:
    events = await collect(odd_engine, replace(ask(), owner="ab" * 32))
    assert text_of(events) == "ab" * 32


async def test_an_answer_to_another_question_is_refused(odd_engine: ChildEngine) -> None:
    with pytest.raises(InvalidDataError, match="something else"):
        await odd_engine.warm([SYSTEM], TOOLS, Thinking.OFF)
    with pytest.raises(InvalidDataError, match="something else"):
        await odd_engine.score(ScoreRequest((SYSTEM,), TOOLS))
    with pytest.raises(InvalidDataError, match="something else"):
        await odd_engine.embed(["a boat"])


async def test_a_child_that_takes_a_request_and_says_nothing_is_ended(
    odd_engine: ChildEngine,
) -> None:
    with structlog.testing.capture_logs() as logs:
        failure = failure_of(await collect(odd_engine, ask()))
    assert failure.retryable
    assert [entry for entry in logs if entry["event"] == "engine.silent"]


@pytest.mark.parametrize(
    "code",
    [
        "s.recv(1); sys.exit(3)",
        "s.sendall(b'\\xff\\xff\\xff\\xff'); s.recv(1 << 20); s.recv(1)",
        "s.sendall(b'\\x00\\x00\\x00\\x03abc'); s.recv(1 << 20); s.recv(1)",
        "s.sendall(b'\\x00\\x00\\x00\\x00'); s.recv(1 << 20); s.recv(1)",
        "s.close(); sys.stdin.read()",
    ],
    ids=["exits", "false length", "noise", "empty", "hangs up"],
)
async def test_a_child_that_talks_nonsense_is_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: str
) -> None:
    monkeypatch.setattr(child_process, "spawn_worker", _impostor(code))
    async with asyncio.timeout(BOUND_S):
        with pytest.raises(UnavailableError, match="stopped while it loaded"):
            await ChildEngine.start(ModelFile(tmp_path / "any.gguf", "any"))


async def test_a_child_that_falls_silent_is_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(child_process, "spawn_worker", _impostor("s.recv(1 << 20); s.recv(1)"))
    async with asyncio.timeout(BOUND_S):
        with pytest.raises(UnavailableError, match="made no progress for 0 s"):
            await ChildEngine.start(ModelFile(tmp_path / "any.gguf", "any"), load_silence_s=0.2)
