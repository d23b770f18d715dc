"""What is around a phone's jobs: its keys, requests that a person ends, words of consent."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING

from homing_agent.policy.permit import NeedPerson, PermitContext, Refuse, permit
from homing_client.sessions import Sessions
from homing_core.ids import new_tool_call_id
from homing_core.tools import EffectClass, Place, ToolCall
from support.agent_world import question
from support.job_world import WAIT_S, JobWorld, tool
from support.key_world import KeyPhone, introduce, key_node, key_phone
from support.node_rig import within

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from pathlib import Path

    from homing_agent.events import AgentEvent
    from homing_agent.ports import Consent
    from homing_agent.request import AskInput
    from homing_core.ids import RequestId


class Endless:
    """An agent that answers nothing."""

    def __init__(self) -> None:
        self.began = asyncio.Event()

    async def ask(self, asked: AskInput, consent: Consent) -> AsyncGenerator[AgentEvent, None]:
        del asked, consent
        self.began.set()
        await asyncio.Event().wait()
        yield  # type: ignore[misc]  # never reached; it makes this a generator


async def test_ending_a_request_ends_its_jobs_and_leaving_does_not() -> None:
    ended: list[RequestId] = []
    agent = Endless()
    sessions = Sessions(agent, lambda: None, ended.append)
    mine, other = question(), question()
    session = sessions.open(mine)
    sessions.open(other)
    async with asyncio.timeout(WAIT_S):
        await agent.began.wait()
    sessions.cancel(session)
    assert ended == [mine.request_id]
    await sessions.close()
    assert ended == [mine.request_id]


async def test_an_earlier_key_stays_while_a_result_may_come_sealed_for_it(tmp_path: Path) -> None:
    async with key_node(tmp_path / "node") as rig, key_phone(tmp_path / "phone") as phone:
        introduce(phone, rig)
        await within(phone.call())
        old, awaits = phone.current.device_id, [True]
        phone.keys.keep_while(lambda: awaits[0])
        await rotate(phone)
        assert [one.device_id for one in phone.keys.identities][1:] == [old]
        awaits[0] = False
        await within(phone.keys.tidy())
        assert len(phone.keys.identities) == 1


async def rotate(phone: KeyPhone) -> None:
    await within(phone.desk.rotate())
    await within(phone.call())
    await within(phone.keys.tidy())


async def test_a_book_says_whether_a_result_may_still_come(tmp_path: Path) -> None:
    world = JobWorld(tmp_path)
    node = world.node()
    async with world.process() as phone:
        assert not phone.parts.book.awaits()
        job = (await phone.start()).id
        assert phone.parts.book.awaits()
        node.succeed(job)
        await phone.settled(job)
        assert not phone.parts.book.awaits()


def test_consent_names_the_place() -> None:
    for place, effect, words in (
        (Place.HOME, EffectClass.WRITE, "tidy writes to den"),
        (Place.HOME, EffectClass.DELETE, "tidy deletes something, on den"),
        (Place.HOME, EffectClass.SETTINGS, "tidy changes settings, on den"),
        (Place.HOME, EffectClass.READ_NETWORK, "over the network, from den"),
        (Place.PEER, EffectClass.READ, "tidy sends what it is given to den, and reads there"),
        (Place.PHONE, EffectClass.WRITE, "tidy writes to this phone"),
    ):
        spec = replace(tool("tidy", effect), place=place)
        call = ToolCall(new_tool_call_id(), "tidy", {})
        asked = permit(spec, call, PermitContext(interactive=True, where="den"))
        assert isinstance(asked, NeedPerson)
        assert words in asked.reason
        refused = permit(spec, call, PermitContext(changed=True))
        assert isinstance(refused, Refuse)
        assert "has changed" in refused.reason
