"""Fakes for this package's boundaries, and throwaway identities. They ship with the package."""

from __future__ import annotations

import dataclasses
import threading
from typing import TYPE_CHECKING

from homing_core.access import DeviceRole, Limits, Scope
from homing_core.errors import NotFoundError, UnavailableError
from homing_core.testing import FakeClock

from homing_crypto.certificates import check_certificate
from homing_crypto.devices import (
    PairedDevice,
    checked_device,
    granted,
    merged,
    repeated,
    scopes_for,
    shut_out_with,
)
from homing_crypto.identity import DeviceIdentity
from homing_crypto.naming import device_names, match_named
from homing_crypto.nodes import (
    KnownNode,
    PendingPairing,
    checked_node,
    find_node,
    in_order,
    offered,
    succeeded,
    updated,
)
from homing_crypto.trust import SEEN_RESOLUTION_S

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Mapping

    from homing_core.canonical import JsonValue
    from homing_core.clock import Clock
    from homing_core.ids import DeviceId

    from homing_crypto.audit.records import AuditKind
    from homing_crypto.rotation import NewKey
    from homing_crypto.trust import RewriteT


def throwaway_identity() -> DeviceIdentity:
    """A fresh identity that is kept nowhere."""
    return DeviceIdentity.generate(FakeClock())


def paired_device(
    identity: DeviceIdentity,
    role: DeviceRole = DeviceRole.MEMBER,
    scopes: frozenset[Scope] | None = None,
    name: str = "phone",
) -> PairedDevice:
    """The entry that a node has of this device after pairing it."""
    return PairedDevice(
        id=identity.device_id,
        certificate_der=identity.certificate.der,
        hpke_public_key=identity.hpke.public_bytes,
        hpke_signature=identity.hpke_signature,
        name=name,
        role=role,
        scopes=scopes_for(role) if scopes is None else scopes,
        paired_at=FakeClock().now(),
    )


class MemoryTrustStore:
    """A `TrustStore` that forgets.

    Args:
        clock: for all times in it.

    Attributes:
        broken: set it, and every call fails as an unreadable store does.
    """

    def __init__(self, clock: Clock | None = None) -> None:
        """Start empty."""
        self.broken = False
        self._clock = clock or FakeClock()
        self._lock = threading.RLock()
        self._devices: dict[DeviceId, PairedDevice] = {}
        self._links: dict[str, DeviceId] = {}

    def add(self, device: PairedDevice, link_id: str = "") -> PairedDevice:
        """See `TrustStore.add`."""
        with self._lock:
            before, checked = self.lookup(device.id), checked_device(device)
            if link_id in self._links:
                return repeated(before, checked, self._links[link_id])
            stored = merged(before, checked)
            if link_id:
                self._links[link_id] = device.id
            return self._put(stored)

    def lookup(self, device_id: DeviceId) -> PairedDevice | None:
        """See `TrustStore.lookup`."""
        return self._known().get(device_id)

    def get(self, device_id: DeviceId) -> PairedDevice:
        """See `TrustStore.get`."""
        device = self.lookup(device_id)
        if device is None:
            msg = "no such device is paired"
            raise NotFoundError(msg, "List them to see their ids.")
        return device

    def find(self, prefix: str) -> PairedDevice:
        """See `TrustStore.find`."""
        return self.get(match_named(device_names(self._known().values()), prefix))

    def keys(self, account: str) -> tuple[PairedDevice, ...]:
        """See `TrustStore.keys`."""
        return tuple(device for device in self.devices() if device.owner == account)

    def devices(self) -> tuple[PairedDevice, ...]:
        """See `TrustStore.devices`."""
        found = self._known().values()
        return tuple(sorted(found, key=lambda device: (device.paired_at, device.id)))

    def revoke(self, device_id: DeviceId) -> tuple[PairedDevice, ...]:
        """See `TrustStore.revoke`."""
        now = self._clock.now()
        with self._lock:
            concerned = shut_out_with(self.get(device_id), self.devices())
            return tuple(
                self._put(dataclasses.replace(device, revoked_at=device.revoked_at or now))
                for device in concerned
            )

    def grant(
        self, device_id: DeviceId, role: DeviceRole, scopes: frozenset[Scope], limits: Limits
    ) -> PairedDevice:
        """See `TrustStore.grant`."""
        with self._lock:
            device = granted(self.get(device_id), role, scopes, limits)
            for key in self.keys(device.owner):
                self._put(dataclasses.replace(key, role=role, scopes=scopes, limits=limits))
            return device

    def rewrite(self, decide: Callable[[tuple[PairedDevice, ...]], RewriteT]) -> RewriteT:
        """See `TrustStore.rewrite`."""
        with self._lock:
            decided = decide(self.devices())
            for device in [checked_device(device) for device in decided.put]:
                self._put(device)
            for device_id in decided.drop:
                self._devices.pop(device_id, None)
            return decided

    def touch(self, device_id: DeviceId) -> None:
        """See `TrustStore.touch`."""
        now = self._clock.now()
        with self._lock:
            device = self.lookup(device_id)
            if device and abs(now - device.last_seen_at) >= SEEN_RESOLUTION_S:
                self._put(dataclasses.replace(device, last_seen_at=now))

    def roots_pem(self, without: Container[PairedDevice] = ()) -> bytes:
        """See `TrustStore.roots_pem`."""
        now = self._clock.now()
        live = [one for one in self.devices() if one.live(now) and one not in without]
        return b"".join(check_certificate(device.certificate_der).pem for device in live)

    def link_used(self, link_id: str) -> bool:
        """See `TrustStore.link_used`."""
        self._known()
        return link_id in self._links

    def _put(self, device: PairedDevice) -> PairedDevice:
        self._devices[device.id] = device
        return device

    def _known(self) -> dict[DeviceId, PairedDevice]:
        if self.broken:
            msg = "cannot use the trust store now"
            raise UnavailableError(msg, "This one is broken on purpose.")
        with self._lock:
            return dict(self._devices)


class MemoryNodeBook:
    """A `NodeBook` that forgets."""

    def __init__(self) -> None:
        """Start empty."""
        self._lock = threading.RLock()
        self._nodes: dict[DeviceId, KnownNode] = {}
        self._pending: dict[str, PendingPairing] = {}

    def add(self, node: KnownNode) -> KnownNode:
        """See `NodeBook.add`."""
        with self._lock:
            stored = updated(self._nodes.get(node.id), checked_node(node))
            self._nodes[node.id] = stored
            return stored

    def get(self, node_id: DeviceId) -> KnownNode:
        """See `NodeBook.get`."""
        try:
            return self._nodes[node_id]
        except KeyError as error:
            msg = "no such node is paired"
            raise NotFoundError(msg, "List the nodes to see their ids.") from error

    def find(self, text: str) -> KnownNode:
        """See `NodeBook.find`."""
        return find_node(self.nodes(), text)

    def nodes(self) -> tuple[KnownNode, ...]:
        """See `NodeBook.nodes`."""
        with self._lock:
            return in_order(self._nodes.values())

    def remove(self, node_id: DeviceId) -> None:
        """See `NodeBook.remove`."""
        with self._lock:
            for node in self.nodes():
                if node_id in {node.id, node.introduced_by}:
                    del self._nodes[node.id]

    def offer(self, home_id: DeviceId, peers: Iterable[KnownNode]) -> None:
        """See `NodeBook.offer`."""
        with self._lock:
            self.get(home_id)
            put, gone = offered(home_id, self.nodes(), peers)
            self._nodes = {key: node for key, node in self._nodes.items() if key not in gone}
            self._nodes |= {node.id: node for node in put}

    def note_verified(self, node_id: DeviceId, address: str, at: float) -> None:
        """See `NodeBook.note_verified`."""
        with self._lock:
            if node_id in self._nodes:
                self._nodes[node_id] = dataclasses.replace(
                    self._nodes[node_id], last_good_address=address, last_verified_at=at
                )

    def note_known_as(self, key: DeviceId, node_id: DeviceId | None = None) -> None:
        """See `NodeBook.note_known_as`."""
        with self._lock:
            for node in self.nodes():
                if node.id == node_id or (node_id is None and not node.known_as):
                    self._nodes[node.id] = dataclasses.replace(node, known_as=key)

    def succeed(self, node_id: DeviceId, key: NewKey) -> KnownNode:
        """See `NodeBook.succeed`."""
        with self._lock:
            stored = succeeded(self._nodes.get(node_id), self._nodes.get(key.id), key)
            self._nodes.pop(node_id, None)
            for node in self.nodes():
                if node.introduced_by == node_id:
                    self._nodes[node.id] = dataclasses.replace(node, introduced_by=stored.id)
            self._nodes[stored.id] = stored
            return stored

    def begin_pairing(self, pending: PendingPairing) -> None:
        """See `NodeBook.begin_pairing`."""
        with self._lock:
            self._pending[pending.link_id] = pending

    def pending_pairings(self) -> tuple[PendingPairing, ...]:
        """See `NodeBook.pending_pairings`."""
        with self._lock:
            return tuple(
                sorted(self._pending.values(), key=lambda item: (item.started_at, item.link_id))
            )

    def finish_pairing(self, link_id: str, node: KnownNode | None) -> None:
        """See `NodeBook.finish_pairing`."""
        with self._lock:
            if node is not None:
                self.add(node)
            self._pending.pop(link_id, None)


class MemoryAudit:
    """An `Audit` that forgets.

    Attributes:
        entries: kind, actor, device and detail of everything recorded, oldest first.
    """

    def __init__(self) -> None:
        """Start empty."""
        self.entries: list[tuple[AuditKind, str, str, dict[str, JsonValue]]] = []

    def record(
        self,
        kind: AuditKind,
        *,
        actor: str,
        device: str = "",
        detail: Mapping[str, JsonValue] | None = None,
    ) -> None:
        """See `Audit.record`."""
        self.entries.append((kind, actor, device, dict(detail or {})))

    def kinds(self) -> list[AuditKind]:
        """What was recorded, oldest first."""
        return [kind for kind, *_ in self.entries]


class MemoryKeyring:
    """A `KeyKeeper` that forgets.

    Attributes:
        keys: what it keeps, by entry.
        broken: set it, and every call fails as a locked keyring does.
    """

    def __init__(self) -> None:
        """Start empty."""
        self.keys: dict[str, bytes] = {}
        self.broken = False

    def get(self, entry: str) -> bytes | None:
        """See `KeyKeeper.get`."""
        self._check()
        return self.keys.get(entry)

    def put(self, entry: str, key: bytes) -> None:
        """See `KeyKeeper.put`."""
        self._check()
        self.keys[entry] = key

    def _check(self) -> None:
        if self.broken:
            msg = "the keyring cannot be reached, or is locked"
            raise UnavailableError(msg, "This one is broken on purpose.")
