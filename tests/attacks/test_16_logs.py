"""Attack 16, the logs: whatever goes wrong while a prompt is worked on, no log has a word of it.

At every level, debug included; by our own messages, by exceptions, and by the libraries around us.
`HOMING_DEBUG=1`, which a person sets to hunt a bug in their own process, is not meant.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

import pytest
import structlog
from homing_agent.runtime.logs import configure_logging
from homing_core.errors import InvalidDataError
from homing_core.generation import Failed, GenerateRequest, TextDelta
from homing_core.ids import new_generation_id
from homing_core.messages import user
from homing_proto.codec.generation import encode_generate_request
from support.node_rig import DEADLINE_S, all_events, next_event, node_rig, within

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from support.household import Household

SECRET = "marzipan-and-gunpowder"  # noqa: S105  # words of a conversation
LIBRARIES = ("grpc", "grpc._cython.cygrpc", "asyncio", "zeroconf", "httpx2", "llama_cpp")


def content(log: Path) -> str:
    return log.read_text("utf-8")


def fail() -> None:
    raise RuntimeError(SECRET)


@pytest.fixture
def log(tmp_path: Path) -> Iterator[Path]:
    """Everything at debug, into a file, for the length of a test."""
    root = logging.getLogger()
    before, level = list(root.handlers), root.level
    path = tmp_path / "log.jsonl"
    configure_logging(level="debug", file=path)
    yield path
    for handler in list(root.handlers):
        if handler not in before:
            root.removeHandler(handler)
            handler.close()
    for handler in before:
        if handler not in root.handlers:
            root.addHandler(handler)
    root.setLevel(level)
    structlog.reset_defaults()


@pytest.mark.attack(16)
async def test_a_node_that_fails_in_every_way_logs_no_words(log: Path, tmp_path: Path) -> None:
    failures = (RuntimeError(SECRET), ValueError(SECRET), InvalidDataError("it failed", "Again."))
    async with node_rig(tmp_path) as rig:
        phone = await rig.phone()
        for failure in failures:
            request = GenerateRequest(new_generation_id(), (user(SECRET),))
            call = phone.inference.Generate(encode_generate_request(request), timeout=DEADLINE_S)
            await within(rig.engine.started.get())
            rig.engine.feed(request.id, TextDelta(SECRET), failure)
            (*_, last) = await all_events(call)
            assert isinstance(last.event, Failed)
            assert SECRET not in repr(last.event)  # nor does the phone get its own words back
        request = GenerateRequest(new_generation_id(), (user(SECRET),))
        call = phone.inference.Generate(encode_generate_request(request), timeout=DEADLINE_S)
        await within(rig.engine.started.get())
        rig.engine.feed(request.id, TextDelta(SECRET))
        await next_event(call)
        call.cancel()
    text = content(log)
    assert "node.up" in text
    assert "RuntimeError" in text  # what failed is there, and where
    assert SECRET not in text


@pytest.mark.attack(16)
def test_what_anybody_logs_is_left_out_where_it_could_be_words(log: Path) -> None:
    own = structlog.get_logger("homing_node.test")
    own.debug("step", prompt=SECRET, text=SECRET, messages=[SECRET], arguments={"a": SECRET})
    for name in LIBRARIES:
        theirs = logging.getLogger(name)
        for level in (logging.DEBUG, logging.INFO, logging.WARNING, logging.ERROR):
            theirs.log(level, "request %s", SECRET)
        try:
            fail()
        except RuntimeError as error:
            theirs.exception("failed", exc_info=error)
            own.error("failed", exc_info=error)
    text = content(log)
    assert "step" in text
    assert SECRET not in text


@pytest.mark.attack(16)
async def test_a_task_that_dies_with_words_in_its_error(log: Path) -> None:
    async def dies() -> None:
        fail()

    loop = asyncio.get_running_loop()
    task = loop.create_task(dies())
    await asyncio.wait([task])
    loop.default_exception_handler(
        {"message": "Task exception was never retrieved", "exception": task.exception()}
    )
    text = content(log)
    assert "RuntimeError" in text
    assert SECRET not in text


@pytest.mark.attack(16)
def test_a_phone_logs_no_words_at_home_or_alone(tiny: Household) -> None:
    """Asked at home, alone, and of a home that is killed while it answers."""
    home = f"{SECRET} one"
    assert tiny.phone.ask("--route", "home", home)[-1]["route"] == "home"
    tiny.phone.ask("--route", "phone", f"{SECRET} two")
    with tiny.phone.asking("--route", "home", f"{SECRET} three") as asking:
        asking.until(lambda event: event["event"] in {"text", "answer"}, "a word")
        tiny.node.close()
        asking.end()
    tiny.node.start()
    logs = [path for path in tiny.phone.folder.rglob("*.jsonl*") if path.is_file()]
    assert logs
    for path in logs:
        assert SECRET not in path.read_text("utf-8"), path
