"""What looks after a node's devices, put together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from homing_crypto.guard import ShutOut

from homing_node.devices.desk import DeviceDesk
from homing_node.devices.recovery import RECOVERY_FILE, Recovery
from homing_node.devices.remote import RemoteDesk
from homing_node.devices.watch import Over, Watch

if TYPE_CHECKING:
    from pathlib import Path

    from homing_core.clock import Clock
    from homing_crypto.audit.records import Audit
    from homing_crypto.live_calls import LiveCalls
    from homing_crypto.trust import TrustStore

    from homing_node.devices.desk import Work


@dataclass(frozen=True, slots=True)
class DeviceParts:
    """What looks after devices.

    Attributes:
        shut_out: who is refused at once.
        desk: the one door for changes.
        recovery: the recovery secret.
        remote: changes that owners' phones ask for.
        watch: ends open calls whose time is over; its `run` goes on by itself.
    """

    shut_out: ShutOut
    desk: DeviceDesk
    recovery: Recovery
    remote: RemoteDesk
    watch: Watch


def device_parts(  # noqa: PLR0913  # each is a boundary of its own
    folder: Path,
    *,
    store: TrustStore,
    calls: LiveCalls,
    work: Work,
    audit: Audit,
    clock: Clock,
    over: tuple[Over, ...] = (),
) -> DeviceParts:
    """Put them together. Nothing of it runs yet.

    Args:
        folder: the node's data directory.
        store: whom the node knows.
        calls: calls under way.
        work: what devices have under way.
        audit: where changes are noted.
        clock: for leases, limits and attempts.
        over: further reasons why an open call must end.
    """
    shut_out = ShutOut()
    desk = DeviceDesk(store, shut_out, work, audit, clock)
    recovery = Recovery(folder / RECOVERY_FILE, clock, audit)
    watch = Watch(
        calls=calls,
        store=store,
        shut_out=shut_out,
        work=work,
        desk=desk,
        clock=clock,
        over=over,
    )
    remote = RemoteDesk(
        store=store, desk=desk, recovery=recovery, work=work, audit=audit, clock=clock
    )
    return DeviceParts(shut_out, desk, recovery, remote, watch)
