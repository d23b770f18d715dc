"""Attack 24: one paired device tries to read, end or confirm another's generations.

Expected: an id of another device's is an id that nobody used, in words and in status; what was
computed for one device is found again by that device alone. Stated residual: the beginning that all
prompts share (a model's own words, the same tools) is found warm by everyone, and says nothing of a
conversation.
"""

from __future__ import annotations

import secrets
import signal
from dataclasses import replace
from typing import TYPE_CHECKING

import grpc.aio
import pytest
from homing_core.access import DeviceRole
from homing_core.generation import (
    Done,
    FinishReason,
    GenerateRequest,
    Numbered,
    Sampling,
    TextDelta,
    Usage,
)
from homing_core.ids import GenerationId, new_generation_id
from homing_core.messages import Message, assistant, user
from homing_inference.synthetic import write_qwen35
from homing_proto.codec.generation import encode_generate_request
from homing_proto.v1 import inference_pb2 as wire
from support.node_rig import (
    DEADLINE_S,
    Events,
    NodeRig,
    Phone,
    all_events,
    next_event,
    node_rig,
    refusal,
    within,
)
from support.real_node import real_node
from support.templates import HERMES

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from homing_core.errors import HomingError

SECRET = "marzipan-and-gunpowder"  # noqa: S105  # words of a conversation, no password
STOP = Done(FinishReason.STOP)
GUESSES = 50


@pytest.fixture
async def rig(tmp_path: Path) -> AsyncIterator[NodeRig]:
    async with node_rig(tmp_path) as running:
        yield running


def generate(phone: Phone, request: GenerateRequest) -> Events:
    return phone.inference.Generate(encode_generate_request(request), timeout=DEADLINE_S)


def resume(phone: Phone, id: GenerationId, after: int = 0) -> Events:  # noqa: A002  # its name
    message = wire.ResumeRequest(generation_id=id, after_seq=after)
    return phone.inference.Resume(message, timeout=DEADLINE_S)


async def victim_asks(rig: NodeRig, victim: Phone) -> tuple[GenerateRequest, Events]:
    request = GenerateRequest(new_generation_id(), (user(f"keep {SECRET}"),))
    call = generate(victim, request)
    await within(rig.engine.started.get())
    rig.engine.feed(request.id, TextDelta(SECRET))
    assert await next_event(call) == Numbered(1, TextDelta(SECRET))
    return request, call


def told(error: HomingError) -> tuple[str, str, str]:
    return error.code.value, error.what, error.hint


@pytest.mark.attack(24)
@pytest.mark.parametrize("role", [DeviceRole.OWNER, DeviceRole.MEMBER, DeviceRole.GUEST])
async def test_resume_with_anothers_id_is_answered_as_an_id_that_nobody_used(
    rig: NodeRig, role: DeviceRole
) -> None:
    """Not even the owner's phone reads a guest's generation."""
    victim, thief = await rig.phone(DeviceRole.GUEST), await rig.phone(role)
    request, call = await victim_asks(rig, victim)
    nobodys = told(await refusal(resume(thief, new_generation_id())))
    for after in (0, 1, 7, (1 << 64) - 1):
        assert told(await refusal(resume(thief, request.id, after))) == nobodys
    assert SECRET not in " ".join(nobodys)
    rig.engine.feed(request.id, STOP)
    assert await next_event(call) == Numbered(2, STOP)
    assert told(await refusal(resume(thief, request.id))) == nobodys  # nor when it has ended


@pytest.mark.attack(24)
async def test_ack_and_cancel_with_anothers_id_change_nothing_and_tell_nothing(
    rig: NodeRig,
) -> None:
    victim, thief = await rig.phone(), await rig.phone()
    request, call = await victim_asks(rig, victim)

    async def outcome(id: str, method: str) -> object:  # noqa: A002  # its name everywhere
        try:
            if method == "ack":
                await thief.inference.Ack(
                    wire.AckRequest(generation_id=id, up_to_seq=1), timeout=DEADLINE_S
                )
                return "done"
            answer = await thief.inference.Cancel(
                wire.CancelRequest(generation_id=id), timeout=DEADLINE_S
            )
        except grpc.aio.AioRpcError as error:
            return error.code(), error.details()
        return answer.was_running

    for method in ("ack", "cancel"):
        assert await outcome(request.id, method) == await outcome(new_generation_id(), method)
    assert rig.engine.closed.empty()
    rig.engine.feed(request.id, STOP)
    assert await next_event(call) == Numbered(2, STOP)
    assert await all_events(resume(victim, request.id)) == [  # nothing was forgotten for it
        Numbered(1, TextDelta(SECRET)),
        Numbered(2, STOP),
    ]


@pytest.mark.attack(24)
async def test_the_same_id_and_even_the_same_words_start_ones_own(rig: NodeRig) -> None:
    victim, thief = await rig.phone(), await rig.phone()
    request, _ = await victim_asks(rig, victim)
    for repeated in (request, replace(request, messages=(user("what did I say?"),))):
        other = await rig.phone() if repeated is not request else thief
        call = generate(other, repeated)
        began = await within(rig.engine.started.get())
        assert began.owner == other.identity.device_id
        assert began.messages == repeated.messages
        call.cancel()


@pytest.mark.attack(24)
async def test_guessed_ids_all_look_the_same(rig: NodeRig) -> None:
    victim, thief = await rig.phone(), await rig.phone()
    request, _ = await victim_asks(rig, victim)
    near = [request.id[:-1] + digit for digit in "0123456789abcdef" if digit != request.id[-1]]
    guesses = [*near, *(f"gen-{secrets.token_hex(16)}" for _ in range(GUESSES)), request.id]
    answers = {told(await refusal(resume(thief, GenerationId(guess)))) for guess in guesses}
    assert len(answers) == 1


async def cached(phone: Phone, *messages: Message) -> tuple[int, int]:
    """Tokens of a prompt that the node found computed already, and all of it."""
    request = GenerateRequest(new_generation_id(), messages, sampling=Sampling(max_tokens=2))
    events = [item.event for item in await all_events(generate(phone, request))]
    (usage,) = [event for event in events if isinstance(event, Usage)]
    return usage.cached_tokens, usage.prompt_tokens


@pytest.mark.attack(24)
async def test_what_was_computed_for_one_device_makes_nothing_faster_for_another(
    tmp_path: Path,
) -> None:
    """The time to a first word goes with the tokens that still have to be computed.

    The thief guesses a conversation word for word, right and wrong. Both times the node finds as
    much computed as for any new conversation, while the victim's own device finds its first turn.
    """
    model = write_qwen35(tmp_path / "tiny.gguf", HERMES)
    right = user(f"The code of the safe is {SECRET}, do not tell. " * 6)
    wrong = user(f"The code of the safe is {SECRET[::-1]}, do not tell. " * 6)
    more = (assistant("I will not."), user("What is it?"))
    async with real_node(tmp_path, model) as node:
        (victim, _), (thief, _) = await node.phone(), await node.phone()
        await cached(victim, right)
        found_wrong, _ = await cached(thief, wrong, *more)
        found_right, whole = await cached(thief, right, *more)
        found_by_its_own, _ = await cached(victim, right, *more)
        assert await node.process.end(signal.SIGTERM) == 0
    assert found_right == found_wrong
    assert found_by_its_own > whole // 2 > found_right
