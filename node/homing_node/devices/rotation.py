"""A device replaces its key here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from homing_crypto.audit.records import AuditKind
from homing_crypto.rotation_rules import Rotated, finished, rotated

from homing_node.devices.rotation_count import ROTATIONS_FILE, RotationCount

if TYPE_CHECKING:
    from pathlib import Path

    from homing_core.clock import Clock
    from homing_core.ids import DeviceId
    from homing_crypto.audit.records import Audit
    from homing_crypto.devices import PairedDevice, Rewrite
    from homing_crypto.rotation import NewKey

    from homing_node.devices.desk import DeviceDesk


class DeviceRotation:
    """Takes devices' new keys, through the desk. Repeating anything is harmless.

    Args:
        desk: the one door for changes.
        audit: where they are noted.
        clock: for when an old key's overlap ends.
        overlap_s: how long that is, in seconds.
        folder: the data directory, where they are counted.
    """

    def __init__(
        self, desk: DeviceDesk, audit: Audit, clock: Clock, overlap_s: float, folder: Path
    ) -> None:
        """Keep where to look."""
        self._desk = desk
        self._audit = audit
        self._clock = clock
        self._overlap_s = overlap_s
        self._count = RotationCount(folder / ROTATIONS_FILE, clock)

    async def rotate(self, old_id: DeviceId, new: NewKey) -> Rotated:
        """Let a checked key follow the one that spoke for it.

        Raises:
            RefusedError: the old key was shut out meanwhile.
            ConflictError: it has another successor, or the new key is another device's.
            OverloadedError: too many rotations in one overlap, or in one day.
            HomingError: it could not be stored.
        """
        now = self._clock.now()
        until = int(now + self._overlap_s)

        def decide(known: tuple[PairedDevice, ...]) -> Rotated:
            done = rotated(known, old_id, new, now=now, retires_at=until)
            if not done.again:
                self._count.count(done.device.owner)
            return done

        async def then(done: Rotated) -> bool:
            if not done.again:
                detail = {"of": "device", "account": done.device.owner}
                self._audit.record(
                    AuditKind.KEY_ROTATED, actor=old_id, device=new.id, detail=detail
                )
            return not done.again

        return await self._desk.rewrite(decide, then)

    async def finish(self, new_id: DeviceId) -> None:
        """The key works; its device's earlier ones are over at once."""

        async def then(done: Rewrite) -> bool:
            return bool(done.put)

        await self._desk.rewrite(lambda known: finished(known, new_id), then)
