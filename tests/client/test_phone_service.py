"""The local socket: whatever comes over it, the resident process stays and says what is wrong."""

from __future__ import annotations

import asyncio
import json
import os
from typing import TYPE_CHECKING

import grpc
import pytest
from homing_agent.ports import ConsentAnswer
from homing_agent.request import AskInput
from homing_agent.runtime.localsocket import open_local_channel
from homing_client.attach import _read_report, report_ready  # pyright: ignore[reportPrivateUsage]
from homing_client.rpc.phone_calls import PhoneCalls, ResidentGoneError
from homing_client.rpc.phone_codec import encode_consent_answer, encode_question
from homing_core.approvals import Verdict
from homing_core.errors import (
    ConfigError,
    ConflictError,
    HomingError,
    InvalidDataError,
    UnavailableError,
)
from homing_core.ids import new_approval_id, new_request_id
from homing_crypto.rpc_errors import error_from_rpc
from homing_proto.v1 import phone_pb2, phone_pb2_grpc
from support.phone_process import DEADLINE_S, PhoneRig, answer

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

LONG = "a start that is long enough to be shown, "
ASK = "/homing_proto.v1.PhoneService/Ask"


@pytest.fixture
async def channel(rig: PhoneRig) -> AsyncIterator[grpc.aio.Channel]:
    async with (
        rig.scripted(answer(LONG, {"gate": "never"}, when="long"), answer("Noon.")),
        open_local_channel(rig.paths, "homing serve") as opened,
    ):
        yield opened


async def error_of(channel: grpc.aio.Channel, *frames: phone_pb2.AskRequest) -> HomingError:
    """What the process says to these frames."""
    call = phone_pb2_grpc.PhoneServiceStub(channel).Ask(_each(frames), timeout=DEADLINE_S)
    with pytest.raises(grpc.aio.AioRpcError) as told:
        async for _ in call:
            pass
    return error_from_rpc(told.value)


async def _each(frames: tuple[phone_pb2.AskRequest, ...]) -> AsyncIterator[phone_pb2.AskRequest]:
    for frame in frames:
        yield frame


def question(text: str = "what time is it?", **fields: object) -> phone_pb2.AskRequest:
    message = encode_question(AskInput(new_request_id(), text))
    for name, value in fields.items():
        setattr(message, name, value)
    return phone_pb2.AskRequest(question=message)


async def still_well(channel: grpc.aio.Channel) -> bool:
    status = await PhoneCalls(channel).status()
    return status.ready and status.running == 0


async def test_bytes_that_are_no_message_are_refused(channel: grpc.aio.Channel) -> None:
    async def garbage() -> AsyncIterator[bytes]:
        yield b"\xff\xff\xff"

    many: grpc.aio.StreamStreamMultiCallable[bytes, bytes] = channel.stream_stream(ASK)
    with pytest.raises(grpc.aio.AioRpcError) as told:
        async for _ in many(garbage(), timeout=DEADLINE_S):
            pass
    error = error_from_rpc(told.value)
    assert isinstance(error, InvalidDataError)
    assert "malformed" in error.what
    assert await still_well(channel)


@pytest.mark.parametrize(
    "frame",
    [
        phone_pb2.AskRequest(),
        phone_pb2.AskRequest(cancel=True),
        phone_pb2.AskRequest(
            consent=encode_consent_answer(ConsentAnswer(new_approval_id(), Verdict.ALLOW))
        ),
        question(request_id="7"),
        question(text=" "),
    ],
    ids=["empty", "cancel", "consent", "id", "no-text"],
)
async def test_a_stream_begins_with_a_question(
    channel: grpc.aio.Channel, frame: phone_pb2.AskRequest
) -> None:
    error = await error_of(channel, frame)
    assert isinstance(error, InvalidDataError)
    assert error.hint
    assert await still_well(channel)


async def test_frames_that_mean_nothing_change_nothing(channel: grpc.aio.Channel) -> None:
    asked = question("something long")
    odd = phone_pb2.AskRequest(consent=phone_pb2.ConsentAnswer(approval_id="x"))
    frames = (asked, odd, phone_pb2.AskRequest(), asked, phone_pb2.AskRequest(cancel=True))
    error = await error_of(channel, *frames)
    assert isinstance(error, ConflictError)
    assert "cancelled" in error.what
    assert await still_well(channel)


async def test_a_process_that_is_killed_under_a_call_has_gone_away(rig: PhoneRig) -> None:
    async with (
        rig.scripted(answer(LONG, {"gate": "never"})) as resident,
        open_local_channel(rig.paths, "homing serve") as opened,
    ):
        events = PhoneCalls(opened).ask(AskInput(new_request_id(), "count")).events()
        await asyncio.wait_for(anext(events), DEADLINE_S)
        await resident.kill()
        with pytest.raises(ResidentGoneError, match="went away"):
            async for _ in events:
                pass


def reported(error: HomingError | None = None) -> HomingError | None:
    """What a starter reads of what a started process says."""
    reading, writing = os.pipe()
    report_ready(writing, error)
    with os.fdopen(reading, "rb") as pipe:
        return _read_report(pipe.read())


def test_a_started_process_says_that_it_listens_or_why_not() -> None:
    assert reported() is None
    error = reported(ConfigError("phone.toml: no such key", "Delete it."))
    assert isinstance(error, ConfigError)
    assert str(error) == "phone.toml: no such key. Delete it."


@pytest.mark.parametrize(
    "data", [b"", b"{", b"[]", b"7", json.dumps({"code": "config"}).encode(), b"\xff"]
)
def test_a_process_that_dies_before_it_says_anything_is_told(data: bytes) -> None:
    error = _read_report(data)
    assert isinstance(error, UnavailableError)
    assert "homing serve" in error.hint
