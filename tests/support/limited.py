"""Devices with limits on a node in this process, for those who try to get round them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from homing_core.access import DeviceRole, Limits
from homing_core.generation import GenerateRequest, Sampling, TextDelta
from homing_core.ids import new_generation_id
from homing_core.messages import user
from homing_core.testing import FakeClock
from homing_crypto.audit.records import CONSOLE
from homing_crypto.testing import paired_device, throwaway_identity
from homing_proto.codec.generation import encode_generate_request
from homing_proto.codec.nodes import decode_node_info
from homing_proto.v1 import node_pb2
from support.node_rig import DEADLINE_S, all_events, refusal, within

if TYPE_CHECKING:
    from homing_core.errors import HomingError
    from homing_core.generation import GenerationEvent
    from homing_core.nodes import NodeInfo
    from homing_crypto.identity import DeviceIdentity
    from support.node_rig import Events, NodeRig, Phone


class SetClock(FakeClock):
    """A clock whose wall time can be set, as a person or a bad time server does."""

    def set(self, wall: float) -> None:
        """Set the wall; what runs by itself does not notice."""
        self._wall = wall


async def limited_phone(  # noqa: PLR0913  # each says something of the device
    rig: NodeRig,
    limits: Limits,
    role: DeviceRole = DeviceRole.MEMBER,
    *,
    identity: DeviceIdentity | None = None,
    account: str = "",
    introduced_by: str = "",
) -> Phone:
    """A device with these limits, and a connection of its own."""
    own = identity or throwaway_identity()
    entry = paired_device(own, role)
    rig.running.store.add(
        replace(entry, limits=limits, account=account, introduced_by=introduced_by)
    )
    return await rig.dial(own)


async def grant(rig: NodeRig, phone: Phone, limits: Limits) -> None:
    """Change a device's limits, as at the console."""
    device = rig.running.store.get(phone.identity.device_id)
    await rig.running.desk.grant(device.id, device.role, device.scopes, limits, CONSOLE)


def question(
    text: str = "hello", *, model: str = "", max_tokens: int = 1024, samples: int = 1
) -> GenerateRequest:
    """Something to ask."""
    sampling = Sampling(max_tokens=max_tokens)
    return GenerateRequest(
        new_generation_id(), (user(text),), model, sampling=sampling, samples=samples
    )


def asked(phone: Phone, request: GenerateRequest) -> Events:
    """Ask it."""
    return phone.inference.Generate(encode_generate_request(request), timeout=DEADLINE_S)


async def started(rig: NodeRig, phone: Phone, request: GenerateRequest) -> Events:
    """Ask it, and wait until the engine has it."""
    call = asked(phone, request)
    assert (await within(rig.engine.started.get())).id == request.id
    return call


async def refused(phone: Phone, request: GenerateRequest) -> HomingError:
    """Ask it; the error with which it is refused."""
    return await refusal(asked(phone, request))


def words(count: int) -> list[GenerationEvent]:
    """Events of about so many tokens, one each."""
    return [TextDelta("word") for _ in range(count)]


async def rest(call: Events) -> list[GenerationEvent]:
    """What follows, to the end."""
    return [numbered.event for numbered in await all_events(call)]


async def described(phone: Phone) -> NodeInfo:
    """The node as this device sees it."""
    return decode_node_info(await phone.node.GetNode(node_pb2.GetNodeRequest(), timeout=DEADLINE_S))
