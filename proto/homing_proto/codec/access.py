"""Roles and scopes of devices."""

from __future__ import annotations

from typing import TYPE_CHECKING

from homing_core.access import DeviceRole, Scope

from homing_proto.codec import limits
from homing_proto.codec.fields import EnumTable, max_items
from homing_proto.v1 import node_pb2 as wire

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

DEVICE_ROLES = EnumTable(
    "device's role",
    {
        DeviceRole.OWNER: wire.DEVICE_ROLE_OWNER,
        DeviceRole.MEMBER: wire.DEVICE_ROLE_MEMBER,
        DeviceRole.GUEST: wire.DEVICE_ROLE_GUEST,
        DeviceRole.PEER: wire.DEVICE_ROLE_PEER,
    },
)
SCOPES = EnumTable(
    "scope",
    {
        Scope.INFERENCE: wire.SCOPE_INFERENCE,
        Scope.TOOLS: wire.SCOPE_TOOLS,
        Scope.JOBS: wire.SCOPE_JOBS,
        Scope.DEVICES: wire.SCOPE_DEVICES,
        Scope.RELAY: wire.SCOPE_RELAY,
        Scope.INTRODUCE: wire.SCOPE_INTRODUCE,
    },
)


def encode_device_role(value: DeviceRole) -> wire.DeviceRole:
    """What a device is to a node."""
    return DEVICE_ROLES.encode(value)


def decode_device_role(number: int) -> DeviceRole:
    """What a device is to a node; raises `InvalidDataError` if it is not said."""
    return DEVICE_ROLES.decode(number)


def encode_scopes(values: Iterable[Scope]) -> list[wire.Scope]:
    """What a device may do, each once and in a stable order."""
    return sorted(SCOPES.encode(value) for value in set(values))


def decode_scopes(numbers: Collection[int]) -> frozenset[Scope]:
    """What a device may do; numbers that this version does not know give nothing.

    Raises:
        InvalidDataError: far more entries than there are scopes.
    """
    max_items(numbers, limits.MAX_SCOPES, "scopes")
    return frozenset(SCOPES.decode(number) for number in numbers if SCOPES.known(number))
