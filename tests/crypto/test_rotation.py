"""What two keys say of each other, and what a node's list becomes by it, on both stores."""

from __future__ import annotations

import dataclasses
import itertools
from typing import TYPE_CHECKING

import pytest
from homing_core.access import DeviceRole, Limits
from homing_core.errors import (
    ConflictError,
    HomingError,
    IntegrityError,
    InvalidDataError,
    NotFoundError,
    OverloadedError,
    RefusedError,
)
from homing_core.keys import KeyChange
from homing_core.testing import FakeClock
from homing_crypto.devices import RETIRED
from homing_crypto.rotation import (
    NewKey,
    check_rotation,
    check_succession,
    sign_rotation,
    sign_succession,
)
from homing_crypto.rotation_rules import MOST_EARLIER_KEYS, finished, rotated
from homing_crypto.testing import MemoryTrustStore, paired_device, throwaway_identity
from homing_crypto.truststore import SqliteTrustStore
from hypothesis import given
from hypothesis import strategies as st

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from homing_crypto.devices import PairedDevice
    from homing_crypto.identity import DeviceIdentity
    from homing_crypto.rotation_rules import Rotated
    from homing_crypto.trust import TrustStore

NODE, ELSEWHERE, OLD, NEW, OTHER, *MORE = (throwaway_identity() for _ in range(12))
WEEK_S = 7 * 24 * 60 * 60
PARTS = [field.name for field in dataclasses.fields(KeyChange)]


def new_key(identity: DeviceIdentity) -> NewKey:
    return NewKey(identity.certificate, identity.hpke.public_bytes, identity.hpke_signature)


def test_a_right_statement_gives_the_new_key() -> None:
    change = sign_rotation(NODE.device_id, OLD, NEW)
    nodes = [ELSEWHERE.device_id, NODE.device_id]
    assert check_rotation(change, nodes, OLD.certificate) == new_key(NEW)
    assert check_succession(sign_succession(OLD, NEW), OLD.certificate) == new_key(NEW)


@pytest.mark.attack
@pytest.mark.parametrize(
    "change",
    [
        sign_rotation(ELSEWHERE.device_id, OLD, NEW),
        sign_rotation(NODE.device_id, OTHER, NEW),
        sign_succession(OLD, NEW),
        dataclasses.replace(sign_rotation(NODE.device_id, OLD, NEW), old_signature=b"\x30\x00"),
        sign_rotation(NODE.device_id, OLD, OLD),
    ],
    ids=["another node", "another device", "a node's own", "one key only", "itself"],
)
def test_a_wrong_statement_is_refused(change: KeyChange) -> None:
    with pytest.raises(IntegrityError):
        check_rotation(change, [NODE.device_id], OLD.certificate)


@pytest.mark.attack
@pytest.mark.parametrize("part", PARTS)
def test_no_part_of_a_statement_can_be_exchanged_for_anothers(part: str) -> None:
    right = sign_rotation(NODE.device_id, OLD, NEW)
    foreign = sign_rotation(NODE.device_id, OLD, OTHER)
    mixed = dataclasses.replace(right, **{part: getattr(foreign, part)})
    with pytest.raises(IntegrityError):
        check_rotation(mixed, [NODE.device_id], OLD.certificate)
    successor = dataclasses.replace(
        sign_succession(OLD, NEW), **{part: getattr(sign_succession(OLD, OTHER), part)}
    )
    with pytest.raises(IntegrityError):
        check_succession(successor, OLD.certificate)


@pytest.mark.attack
@given(part=st.sampled_from(PARTS), garbage=st.binary(max_size=1500))
def test_garbage_in_any_part_is_a_clear_error(part: str, garbage: bytes) -> None:
    broken = dataclasses.replace(sign_rotation(NODE.device_id, OLD, NEW), **{part: garbage})
    with pytest.raises((IntegrityError, InvalidDataError)):
        check_rotation(broken, [NODE.device_id], OLD.certificate)


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture(params=["memory", "sqlite"])
def store(request: pytest.FixtureRequest, tmp_path: Path, clock: FakeClock) -> Iterator[TrustStore]:
    if request.param == "memory":
        yield MemoryTrustStore(clock)
        return
    on_disk = SqliteTrustStore(tmp_path / "trust.db", clock)
    yield on_disk
    on_disk.close()


def rotate(
    store: TrustStore, clock: FakeClock, old: DeviceIdentity, new: DeviceIdentity
) -> Rotated:
    def decide(known: tuple[PairedDevice, ...]) -> Rotated:
        now = clock.now()
        ends = int(now) + WEEK_S
        return rotated(known, old.device_id, new_key(new), now=now, retires_at=ends)

    return store.rewrite(decide)


def test_the_new_key_has_what_the_old_one_had_and_nothing_more(
    store: TrustStore, clock: FakeClock
) -> None:
    before = dataclasses.replace(
        paired_device(OLD, DeviceRole.GUEST, name="Ada"),
        limits=Limits(tokens_per_day=7),
        serial=4,
    )
    store.add(before)
    done = rotate(store, clock, OLD, NEW)
    after = store.get(NEW.device_id)
    assert after == dataclasses.replace(
        before,
        id=NEW.device_id,
        certificate_der=NEW.certificate.der,
        hpke_public_key=NEW.hpke.public_bytes,
        hpke_signature=NEW.hpke_signature,
        account=OLD.device_id,
    )
    assert (done.device, done.again) == (after, False)
    assert store.get(OLD.device_id).retires_at == int(clock.now()) + WEEK_S == done.old_until


def test_both_keys_are_let_in_until_the_overlap_ends(store: TrustStore, clock: FakeClock) -> None:
    store.add(paired_device(OLD))
    rotate(store, clock, OLD, NEW)
    assert all(one.certificate.pem in store.roots_pem() for one in (OLD, NEW))
    clock.advance(WEEK_S)
    assert store.roots_pem() == NEW.certificate.pem


@pytest.mark.parametrize("wait", [0, WEEK_S * 100], ids=["at once", "clock set back"])
def test_the_old_key_is_over_for_good_once_the_new_one_works(
    store: TrustStore, clock: FakeClock, wait: float
) -> None:
    store.add(paired_device(OLD))
    store.add(paired_device(OTHER))
    rotate(store, clock, OLD, NEW)
    for _ in range(2):
        store.rewrite(lambda known: finished(known, NEW.device_id))
    clock.advance(-wait)
    assert store.get(OLD.device_id).retires_at == RETIRED
    assert OLD.certificate.pem not in store.roots_pem()
    assert NEW.certificate.pem in store.roots_pem()
    assert store.get(OTHER.device_id).retires_at == 0


def test_finishing_with_the_old_key_ends_no_newer_one(store: TrustStore, clock: FakeClock) -> None:
    store.add(paired_device(OLD))
    rotate(store, clock, OLD, NEW)
    store.rewrite(lambda known: finished(known, OLD.device_id))
    assert store.get(NEW.device_id).live(clock.now())


def test_repeating_a_rotation_changes_nothing(store: TrustStore, clock: FakeClock) -> None:
    store.add(paired_device(OLD))
    first = rotate(store, clock, OLD, NEW)
    stored = store.devices()
    clock.advance(60)
    again = rotate(store, clock, OLD, NEW)
    assert again.again
    assert again.old_until == first.old_until
    assert store.devices() == stored


def test_a_chain_of_rotations_stays_one_account(store: TrustStore, clock: FakeClock) -> None:
    store.add(paired_device(OLD, DeviceRole.OWNER))
    chain = [OLD, NEW, *MORE[:2]]
    for before, after in itertools.pairwise(chain):
        rotate(store, clock, before, after)
    keys = [store.get(one.device_id) for one in chain]
    assert {key.owner for key in keys} == {OLD.device_id}
    assert [key.listed for key in keys] == [False, False, False, True]
    concerned = store.revoke(NEW.device_id)
    assert {device.id for device in concerned} == {one.device_id for one in chain}
    assert store.roots_pem() == b""


@pytest.mark.attack
def test_a_device_that_was_shut_out_or_is_over_cannot_rotate(
    store: TrustStore, clock: FakeClock
) -> None:
    store.add(paired_device(OLD))
    store.add(dataclasses.replace(paired_device(OTHER), lease_expires_at=int(clock.now()) + 5))
    store.revoke(OLD.device_id)
    clock.advance(6)
    for old in (OLD, OTHER):
        with pytest.raises(RefusedError):
            rotate(store, clock, old, NEW)
    with pytest.raises(NotFoundError):
        rotate(store, clock, ELSEWHERE, NEW)
    assert store.lookup(NEW.device_id) is None


@pytest.mark.attack
def test_a_key_names_one_successor_and_no_key_of_somebody_else(
    store: TrustStore, clock: FakeClock
) -> None:
    store.add(paired_device(OLD))
    store.add(paired_device(OTHER, DeviceRole.OWNER))
    with pytest.raises(ConflictError):
        rotate(store, clock, OLD, OTHER)
    rotate(store, clock, OLD, NEW)
    with pytest.raises(ConflictError):
        rotate(store, clock, OLD, ELSEWHERE)
    with pytest.raises(ConflictError):
        rotate(store, clock, NEW, OLD)
    assert store.get(OTHER.device_id).role is DeviceRole.OWNER


@pytest.mark.attack
def test_rotating_on_and_on_is_refused_and_fills_no_store(
    store: TrustStore, clock: FakeClock
) -> None:
    chain = [OLD, NEW, *MORE]
    store.add(paired_device(OLD))
    pairs = list(itertools.pairwise(chain))
    for before, after in pairs[:MOST_EARLIER_KEYS]:
        rotate(store, clock, before, after)
    with pytest.raises(OverloadedError):
        rotate(store, clock, *pairs[MOST_EARLIER_KEYS])
    for before, after in pairs[MOST_EARLIER_KEYS:]:
        store.rewrite(lambda known, key=before: finished(known, key.device_id))  # type: ignore[misc]  # the loop's own key
        rotate(store, clock, before, after)
    assert len(store.devices()) <= MOST_EARLIER_KEYS
    assert store.get(OLD.device_id).owner == OLD.device_id


def test_an_error_while_deciding_stores_nothing(store: TrustStore, clock: FakeClock) -> None:
    store.add(paired_device(OLD))
    garbled = dataclasses.replace(new_key(NEW), certificate=OTHER.certificate)
    before = store.devices()

    def decide(known: tuple[PairedDevice, ...]) -> Rotated:
        done = rotated(known, OLD.device_id, garbled, now=clock.now(), retires_at=1 << 40)
        broken = dataclasses.replace(done.put[0], certificate_der=b"")
        return dataclasses.replace(done, put=(broken, *done.put[1:]))

    with pytest.raises(HomingError):
        store.rewrite(decide)
    assert store.devices() == before


def test_a_device_on_another_nodes_word_replaces_no_key_here(
    store: TrustStore, clock: FakeClock
) -> None:
    ends = int(clock.now()) + 60
    guest = dataclasses.replace(
        paired_device(OLD), introduced_by=ELSEWHERE.device_id, lease_expires_at=ends
    )
    store.add(guest)
    with pytest.raises(RefusedError, match="its home"):
        rotate(store, clock, OLD, NEW)
    with pytest.raises(RefusedError, match="its home"):
        store.rewrite(lambda known: finished(known, OLD.device_id))
    assert store.devices() == (guest,)


def test_a_new_key_that_a_home_told_of_first_is_the_paired_devices_all_the_same(
    store: TrustStore, clock: FakeClock
) -> None:
    store.add(paired_device(OLD))
    ends = int(clock.now()) + 60
    store.add(
        dataclasses.replace(
            paired_device(NEW, DeviceRole.GUEST),
            introduced_by=ELSEWHERE.device_id,
            lease_expires_at=ends,
        )
    )
    done = rotate(store, clock, OLD, NEW)
    assert not done.again
    after = store.get(NEW.device_id)
    assert (after.role, after.introduced_by, after.owner) == (DeviceRole.MEMBER, "", OLD.device_id)
    assert rotate(store, clock, OLD, NEW).again
