"""For whose sealed results a node vouches."""

from __future__ import annotations

from dataclasses import replace

from homing_core.access import DeviceRole
from homing_core.testing import FakeClock
from homing_crypto.testing import MemoryTrustStore, paired_device, throwaway_identity
from homing_node.jobs.sealers import Sealers

PRESENT, EARLIER, PEER, REVOKED, GUEST, STRANGER = (throwaway_identity() for _ in range(6))


def sealers() -> tuple[Sealers, MemoryTrustStore]:
    clock = FakeClock()
    store = MemoryTrustStore(clock)
    for identity, role in (
        (PEER, DeviceRole.PEER),
        (REVOKED, DeviceRole.PEER),
        (GUEST, DeviceRole.GUEST),
    ):
        store.add(paired_device(identity, role))
    store.revoke(REVOKED.device_id)
    return Sealers(store, lambda: (PRESENT, EARLIER), clock), store


def test_a_node_vouches_for_its_earlier_keys_and_its_peers_alone() -> None:
    found, _ = sealers()
    assert found.certificate_of(EARLIER.device_id) == EARLIER.certificate.der
    assert found.certificate_of(PEER.device_id) == PEER.certificate.der
    for other in (PRESENT, REVOKED, GUEST, STRANGER):
        assert found.certificate_of(other.device_id) == b""
    assert found.certificate_of("nobody") == b""


def test_whom_another_node_vouches_for_and_a_broken_store_give_nothing() -> None:
    found, store = sealers()
    other = throwaway_identity()
    store.add(
        replace(
            paired_device(other, DeviceRole.PEER),
            introduced_by=PEER.device_id,
            lease_expires_at=int(FakeClock().now()) + 99,
        )
    )
    assert found.certificate_of(other.device_id) == b""
    store.broken = True
    assert found.certificate_of(PEER.device_id) == b""
