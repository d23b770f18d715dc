"""Roles, scopes and limits of devices."""

from __future__ import annotations

from typing import TYPE_CHECKING

from homing_core.access import DeviceRole, Limits, Scope
from homing_core.errors import UsageError
from homing_core.limits import MAX_PATTERNS, checked_limits

from homing_proto.codec import limits
from homing_proto.codec.fields import EnumTable, encoder, max_items, refuse
from homing_proto.v1 import devices_pb2
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


@encoder
def encode_limits(value: Limits) -> devices_pb2.Limits:
    """Limits on one device."""
    return devices_pb2.Limits(
        tokens_per_day=value.tokens_per_day,
        concurrent_streams=value.concurrent_streams,
        jobs=value.jobs,
        models=value.models,
        tools=value.tools,
        expires_at=value.expires_at,
        hours=value.hours,
    )


def decode_limits(message: devices_pb2.Limits, patterns: int = MAX_PATTERNS) -> Limits:
    """Limits on one device, as another may set them.

    Args:
        message: from the other side.
        patterns: of one kind at most; `limits.MAX_LIMIT_PATTERNS` where they are only shown.

    Raises:
        InvalidDataError: it is nothing that `checked_limits` takes.
    """
    max_items(message.models, patterns, "patterns for models")
    max_items(message.tools, patterns, "patterns for tools")
    try:
        return checked_limits(
            Limits(
                tokens_per_day=message.tokens_per_day,
                concurrent_streams=message.concurrent_streams,
                jobs=message.jobs,
                models=tuple(message.models),
                tools=tuple(message.tools),
                expires_at=message.expires_at,
                hours=message.hours,
            ),
            patterns,
        )
    except UsageError as error:
        refuse(error.what)
