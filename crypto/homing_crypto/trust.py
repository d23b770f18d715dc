"""Whom a node knows: the boundary. On disk in `truststore`, in memory in `testing`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, TypeVar

from homing_crypto.devices import Rewrite

if TYPE_CHECKING:
    from collections.abc import Callable, Container

    from homing_core.access import DeviceRole, Limits, Scope
    from homing_core.ids import DeviceId

    from homing_crypto.devices import PairedDevice

RewriteT = TypeVar("RewriteT", bound=Rewrite)

SEEN_RESOLUTION_S = 60.0
"""`touch` writes at most this often for one device, in seconds: a write waits for the disk."""


class TrustStore(Protocol):
    """Whom a node knows. Safe to use from any thread."""

    def add(self, device: PairedDevice, link_id: str = "") -> PairedDevice:
        """Pair or introduce a device and mark its link as used, both or neither.

        Repeating it is harmless. A device that is paired already keeps its role, scopes and limits,
        and a used link changes nothing any more (see `merged` and `repeated` in
        `homing_crypto.devices`).

        Returns:
            What is stored now.

        Raises:
            InvalidDataError: its certificate is malformed.
            IntegrityError: its certificate is another device's.
            RefusedError: an introduction of a device that was revoked here, or the link of a device
                that was revoked since.
            ConflictError: an introduction of a device for which another node vouches, or a link
                that another device used.
        """
        ...

    def lookup(self, device_id: DeviceId) -> PairedDevice | None:
        """The device, revoked or not; None if unknown.

        Raises:
            HomingError: the store cannot be read. Whoever asks must refuse then.
        """
        ...

    def get(self, device_id: DeviceId) -> PairedDevice:
        """As `lookup`; raises `NotFoundError` if unknown."""
        ...

    def find(self, prefix: str) -> PairedDevice:
        """The one device of this name, or whose id starts with `prefix`.

        Raises:
            UsageError: the prefix is too short.
            NotFoundError: nothing fits.
            ConflictError: several do.
        """
        ...

    def keys(self, account: str) -> tuple[PairedDevice, ...]:
        """Every readable entry of one account, revoked and replaced ones too, oldest first.

        Raises:
            HomingError: the store cannot be read.
        """
        ...

    def devices(self) -> tuple[PairedDevice, ...]:
        """Every readable device, revoked ones too, oldest first."""
        ...

    def revoke(self, device_id: DeviceId) -> tuple[PairedDevice, ...]:
        """Shut a device out, with everything that hangs on it; harmless twice.

        All keys of its account go, and all devices for which they vouch. Live calls are the
        caller's to end afterwards.

        Returns:
            Every entry concerned, the named one first.

        Raises:
            NotFoundError: it is unknown.
        """
        ...

    def grant(
        self, device_id: DeviceId, role: DeviceRole, scopes: frozenset[Scope], limits: Limits
    ) -> PairedDevice:
        """Change what a device may do, with each of its keys.

        Raises:
            NotFoundError: it is unknown.
            RefusedError: it is revoked.
        """
        ...

    def rewrite(self, decide: Callable[[tuple[PairedDevice, ...]], RewriteT]) -> RewriteT:
        """Let something decide from all readable devices, and store what it says: all or nothing.

        Nothing else changes the store meanwhile; `decide` must be quick and not use the store.

        Returns:
            What was decided; certificates are checked and names cleaned in the store only.

        Raises:
            InvalidDataError: a certificate is malformed.
            IntegrityError: it is another device's, or would replace an entry that is unreadable.
            HomingError: whatever `decide` raised; nothing is stored then.
        """
        ...

    def touch(self, device_id: DeviceId) -> None:
        """Note that the device called now; at most one write in `SEEN_RESOLUTION_S`."""
        ...

    def roots_pem(self, without: Container[PairedDevice] = ()) -> bytes:
        """Certificates of all live devices for TLS; `b""`, which lets nobody in, if none.

        `without` names further devices to leave out: `homing_crypto.guard.ShutOut`.

        gRPC takes None for "the system's roots", so it is never None; and one garbled certificate
        would make it drop all later ones, so each is checked on its own.
        """
        ...

    def link_used(self, link_id: str) -> bool:
        """Whether a pairing link has already paired a device."""
        ...
