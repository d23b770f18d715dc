"""What a home signs for one peer, and what that peer makes of it."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import pytest
from homing_core.access import DeviceRole, Limits, Scope
from homing_core.errors import (
    ConflictError,
    HomingError,
    IntegrityError,
    InvalidDataError,
    OverloadedError,
    RefusedError,
    UnpairedError,
)
from homing_crypto.introductions import (
    MAX_LEASE_S,
    Introduction,
    introduce,
    next_serial,
    verify_introduction,
)
from homing_crypto.pushes import Taken, take
from homing_crypto.testing import MemoryTrustStore, paired_device, throwaway_identity
from homing_crypto.vouching import Terms
from homing_crypto.withdrawals import Ended, leave, tighten, withdraw
from hypothesis import given
from hypothesis import strategies as st

if TYPE_CHECKING:
    from homing_core.ids import DeviceId
    from homing_crypto.devices import PairedDevice
    from homing_crypto.identity import DeviceIdentity

NOW = 1_800_000_000.0
HOUR_S = 3600.0
HOME, OTHER, ME, PHONE, SECOND = (throwaway_identity() for _ in range(5))
TERMS = Terms(me=frozenset({ME.device_id}))
FULL = Limits(1000, 2, 3, ("small*",), ("notes.*",), int(NOW) + 9_000, "08:00-22:00")


def said(  # noqa: PLR0913  # what a home can say wrong
    device: DeviceIdentity = PHONE,
    home: DeviceIdentity = HOME,
    *,
    peer: DeviceId = ME.device_id,
    serial: int = 5,
    lease: float = NOW + 3600,
    role: DeviceRole = DeviceRole.MEMBER,
    limits: Limits = FULL,
) -> Introduction:
    entry = dataclasses.replace(paired_device(device, role, name="Ada"), limits=limits)
    return introduce(home, peer, entry, lease_expires_at=int(lease), serial=serial)


def home_entry(
    home: DeviceIdentity = HOME,
    scopes: frozenset[Scope] = frozenset({Scope.INTRODUCE}),
    limits: Limits = Limits(),  # noqa: B008  # frozen
) -> PairedDevice:
    return dataclasses.replace(paired_device(home, DeviceRole.PEER, scopes), limits=limits)


def push(
    store: MemoryTrustStore,
    *introductions: Introduction,
    home: DeviceIdentity = HOME,
    now: float = NOW,
    terms: Terms = TERMS,
) -> Taken:
    return store.rewrite(lambda all_: take(introductions, home.device_id, all_, now, terms))


def back(
    store: MemoryTrustStore, *ids: DeviceId, serial: int, home: DeviceIdentity = HOME
) -> Ended:
    return store.rewrite(lambda all_: withdraw(ids, serial, home.device_id, all_, NOW))


@pytest.fixture
def store() -> MemoryTrustStore:
    made = MemoryTrustStore()
    made.add(home_entry())
    return made


def why(taken: Taken) -> type[HomingError]:
    ((_, error),) = taken.refused
    assert not taken.accepted
    return type(error)


def test_an_introduction_verifies_for_its_peer() -> None:
    made = said()
    certificate = verify_introduction(made, HOME.certificate, {ME.device_id}, NOW)
    assert certificate.device_id == PHONE.device_id


@pytest.mark.parametrize(
    "change",
    [
        {"name": "Eve"},
        {"scopes": frozenset({Scope.INFERENCE, Scope.DEVICES})},
        {"limits": Limits()},
        {"lease_expires_at": int(NOW) + 7200},
        {"serial": 6},
        {"device_id": SECOND.device_id},
        {"certificate_der": SECOND.certificate.der},
        {"hpke_public_key": SECOND.hpke.public_bytes},
        {"hpke_signature": SECOND.hpke_signature},
        {"hpke_public_key": b"", "hpke_signature": b""},
        {"home_id": OTHER.device_id},
        {"peer_id": OTHER.device_id},
        {"signature": b""},
    ],
    ids=lambda change: next(iter(change)),
)
def test_each_field_is_signed(change: dict[str, object]) -> None:
    altered = dataclasses.replace(said(), **change)  # type: ignore[arg-type]
    with pytest.raises(IntegrityError):
        verify_introduction(altered, HOME.certificate, {ME.device_id, OTHER.device_id}, NOW)


@given(name=st.text(max_size=30), models=st.lists(st.text(max_size=9), max_size=3))
def test_no_two_introductions_share_a_form(name: str, models: list[str]) -> None:
    made = said()
    other = dataclasses.replace(
        made, name=name, limits=dataclasses.replace(made.limits, models=tuple(models))
    )
    if other == made:
        return
    with pytest.raises((IntegrityError, InvalidDataError)):
        verify_introduction(other, HOME.certificate, {ME.device_id}, NOW)


def test_a_push_makes_guests_within_the_homes_limits(store: MemoryTrustStore) -> None:
    store.grant(
        HOME.device_id,
        DeviceRole.PEER,
        frozenset({Scope.INTRODUCE, Scope.TOOLS}),
        Limits(tokens_per_day=50, concurrent_streams=9),
    )
    taken = push(store, said(role=DeviceRole.OWNER))
    (entry,) = taken.accepted
    assert taken.fresh == (entry,)
    assert store.get(PHONE.device_id) == entry
    assert entry.role is DeviceRole.GUEST
    assert entry.scopes == {Scope.INFERENCE, Scope.TOOLS}
    assert (entry.limits.tokens_per_day, entry.limits.concurrent_streams) == (50, 2)
    assert entry.limits.models == ("small*",)
    assert (entry.introduced_by, entry.serial) == (HOME.device_id, 5)
    assert store.get(HOME.device_id).serial == 5


def test_the_very_same_push_again_changes_nothing(store: MemoryTrustStore) -> None:
    first = push(store, said())
    again = push(store, said())
    assert (again.put, again.fresh, again.accepted) == ((), (), first.accepted)


def test_a_newer_push_renews(store: MemoryTrustStore) -> None:
    push(store, said())
    taken = push(store, said(serial=6, lease=NOW + 7200))
    assert taken.fresh == ()
    assert store.get(PHONE.device_id).lease_expires_at == NOW + 7200


def test_a_withdrawal_ends_a_device_until_something_newer_is_said(store: MemoryTrustStore) -> None:
    push(store, said())
    (ended,) = back(store, PHONE.device_id, serial=6).ended
    assert ended.id == PHONE.device_id
    assert not store.get(PHONE.device_id).live(NOW)
    assert why(push(store, said())) is RefusedError
    assert push(store, said(serial=7)).fresh
    assert store.get(PHONE.device_id).live(NOW)


def test_a_home_that_forgot_its_serial_learns_it(store: MemoryTrustStore) -> None:
    push(store, said(serial=900))
    ended = back(store, PHONE.device_id, serial=3)
    assert (ended.serial, ended.ended) == (900, ())
    taken = push(store, said(SECOND, serial=4))
    assert (why(taken), taken.serial) == (RefusedError, 900)
    assert next_serial(900, now=0.0) == 901
    assert next_serial(0, now=2.0) == 2_000_000


def test_a_home_withdraws_only_its_own(store: MemoryTrustStore) -> None:
    store.add(home_entry(OTHER))
    direct = store.add(paired_device(SECOND, DeviceRole.OWNER))
    push(store, said())
    ended = back(store, PHONE.device_id, SECOND.device_id, HOME.device_id, serial=9, home=OTHER)
    assert ended.ended == ()
    assert store.get(PHONE.device_id).live(NOW)
    assert store.get(SECOND.device_id) == direct


def test_a_device_that_was_paired_here_is_left_alone(store: MemoryTrustStore) -> None:
    owner = store.add(paired_device(PHONE, DeviceRole.OWNER))
    assert push(store, said()).accepted == (owner,)
    assert store.get(PHONE.device_id) == owner


def test_another_homes_device_is_a_conflict_until_that_home_lets_go(
    store: MemoryTrustStore,
) -> None:
    store.add(home_entry(OTHER))
    push(store, said())
    assert why(push(store, said(home=OTHER), home=OTHER)) is ConflictError
    back(store, PHONE.device_id, serial=6)
    assert push(store, said(home=OTHER), home=OTHER).fresh
    assert store.get(PHONE.device_id).introduced_by == OTHER.device_id


def test_a_device_revoked_here_stays_revoked(store: MemoryTrustStore) -> None:
    push(store, said())
    store.revoke(PHONE.device_id)
    for serial in (5, 6):
        assert why(push(store, said(serial=serial))) is RefusedError
    back(store, PHONE.device_id, serial=7)
    assert why(push(store, said(serial=8))) is RefusedError


def test_a_home_has_no_more_devices_in_a_day_than_at_once(store: MemoryTrustStore) -> None:
    few = dataclasses.replace(TERMS, most_devices=2)
    devices = [throwaway_identity() for _ in range(4)]
    first = push(store, *(said(one) for one in devices[:3]), terms=few)
    assert len(first.accepted) == 2
    assert [type(error) for _, error in first.refused] == [OverloadedError]
    back(store, devices[0].device_id, serial=6)
    assert why(push(store, said(devices[3], serial=7), terms=few)) is OverloadedError
    later = NOW + MAX_LEASE_S + 1
    new = said(devices[3], serial=8, lease=later + 60, limits=Limits())
    assert push(store, new, now=later, terms=few).fresh
    assert store.lookup(devices[0].device_id) is None, "what lapsed a day ago is forgotten"


def successor(store: MemoryTrustStore, first: DeviceIdentity, new: DeviceIdentity) -> None:
    """Another key of an introduced device, whose first one is retired."""
    before = store.get(first.device_id)
    now = paired_device(new)
    later = dataclasses.replace(
        before, id=now.id, certificate_der=now.certificate_der, account=first.device_id
    )
    store.rewrite(lambda _: Ended((later, dataclasses.replace(before, retires_at=1))))


@pytest.mark.parametrize("named", [PHONE, SECOND], ids=["its first key", "its new key"])
def test_all_keys_of_a_device_end_whichever_is_named(
    store: MemoryTrustStore, named: DeviceIdentity
) -> None:
    push(store, said())
    successor(store, PHONE, SECOND)
    done = back(store, named.device_id, serial=6)
    assert [one.id for one in done.ended] == [SECOND.device_id]
    assert done.idle == (PHONE.device_id,)
    assert not store.get(SECOND.device_id).live(NOW)


def test_what_a_home_says_of_one_key_holds_for_the_others(store: MemoryTrustStore) -> None:
    push(store, said())
    successor(store, PHONE, SECOND)
    less = dataclasses.replace(FULL, tokens_per_day=7)
    push(store, said(SECOND, serial=6, limits=less, lease=NOW + 60))
    for key in (PHONE, SECOND):
        assert store.get(key.device_id).limits.tokens_per_day == 7
        assert store.get(key.device_id).lease_expires_at == NOW + 60


def test_a_device_counts_once_whatever_keys_it_has(store: MemoryTrustStore) -> None:
    push(store, said())
    successor(store, PHONE, SECOND)
    two = dataclasses.replace(TERMS, most_devices=2)
    assert push(store, said(throwaway_identity(), serial=6), terms=two).fresh
    assert why(push(store, said(throwaway_identity(), serial=7), terms=two)) is OverloadedError


def test_an_account_stays_with_the_home_that_vouches_for_its_keys(store: MemoryTrustStore) -> None:
    store.add(home_entry(OTHER))
    push(store, said())
    successor(store, PHONE, SECOND)
    later = NOW + MAX_LEASE_S
    push(store, said(SECOND, serial=6, limits=Limits(), lease=later + 3600), now=later)
    later += MAX_LEASE_S - HOUR_S
    push(store, said(SECOND, serial=7, limits=Limits(), lease=later + 3600), now=later)
    later += HOUR_S / 2
    theirs = said(home=OTHER, limits=Limits(), lease=later + 60)
    assert why(push(store, theirs, home=OTHER, now=later)) is ConflictError
    assert store.get(PHONE.device_id).introduced_by == HOME.device_id, "it is not forgotten"
    # Even where it came to be, a withdrawal there ends nothing of the other home's device.
    taken = dataclasses.replace(store.get(PHONE.device_id), introduced_by=OTHER.device_id)
    store.rewrite(lambda _: Ended((taken,)))
    done = store.rewrite(lambda all_: withdraw([PHONE.device_id], 9, OTHER.device_id, all_, later))
    assert done.idle == ()
    assert store.get(SECOND.device_id).live(later)


def test_revoked_devices_keep_their_places_for_a_day(store: MemoryTrustStore) -> None:
    one = dataclasses.replace(TERMS, most_devices=1)
    push(store, said(), terms=one)
    revoked = dataclasses.replace(store.get(PHONE.device_id), revoked_at=NOW)
    store.rewrite(lambda _: Ended((revoked,)))
    assert why(push(store, said(SECOND, serial=6), terms=one)) is OverloadedError
    later = NOW + MAX_LEASE_S
    new = said(SECOND, serial=7, limits=Limits(), lease=later + 60)
    assert push(store, new, now=later, terms=one).fresh
    assert store.get(PHONE.device_id).revoked_at, "what was revoked here stays so"


def test_a_device_leaves_until_its_home_says_something_new(store: MemoryTrustStore) -> None:
    direct = store.add(paired_device(SECOND))
    push(store, said())
    done = store.rewrite(lambda all_: leave(PHONE.device_id, all_, NOW))
    assert ([one.id for one in done.ended], done.idle) == ([PHONE.device_id], (PHONE.device_id,))
    assert not store.get(PHONE.device_id).live(NOW)
    assert why(push(store, said())) is RefusedError
    assert push(store, said(serial=6)).fresh
    assert store.rewrite(lambda all_: leave(SECOND.device_id, all_, NOW)).put == ()
    assert store.get(SECOND.device_id) == direct


def test_introductions_do_not_chain(store: MemoryTrustStore) -> None:
    push(store, said(OTHER))
    assert why(push(store, said(home=OTHER), home=OTHER)) is RefusedError
    raised = dataclasses.replace(store.get(OTHER.device_id), role=DeviceRole.PEER)
    raised = dataclasses.replace(raised, scopes=frozenset({Scope.INTRODUCE}))
    store.rewrite(lambda _: Ended((raised,)))
    assert why(push(store, said(home=OTHER), home=OTHER)) is RefusedError


@pytest.mark.parametrize("role", [DeviceRole.OWNER, DeviceRole.MEMBER, DeviceRole.GUEST])
def test_only_a_peer_introduces(store: MemoryTrustStore, role: DeviceRole) -> None:
    store.add(paired_device(OTHER, role, frozenset(Scope)))
    assert why(push(store, said(home=OTHER), home=OTHER)) is RefusedError


def test_a_peer_without_the_scope_introduces_nobody() -> None:
    store = MemoryTrustStore()
    store.add(home_entry(scopes=frozenset({Scope.INFERENCE})))
    assert why(push(store, said())) is RefusedError
    with pytest.raises(UnpairedError):
        push(store, said(), home=OTHER)


@pytest.mark.parametrize("lease", [NOW, NOW - 1, NOW + MAX_LEASE_S + 1, 0, 1 << 62])
def test_a_lease_that_is_over_or_too_long_is_refused(store: MemoryTrustStore, lease: float) -> None:
    assert why(push(store, said(lease=lease))) is InvalidDataError


def test_a_node_takes_no_devices_where_its_owner_says_so(store: MemoryTrustStore) -> None:
    push(store, said())
    closed = dataclasses.replace(TERMS, accept=False)
    assert why(push(store, said(SECOND, serial=6), terms=closed)) is RefusedError
    ended = store.rewrite(lambda all_: tighten(all_, NOW, closed))
    assert [one.id for one in ended.ended] == [PHONE.device_id]


def test_a_home_that_may_do_less_takes_its_devices_with_it(store: MemoryTrustStore) -> None:
    push(store, said())
    limits = Limits(tokens_per_day=7)
    store.grant(HOME.device_id, DeviceRole.PEER, frozenset({Scope.INTRODUCE}), limits)
    assert not store.rewrite(lambda all_: tighten(all_, NOW, TERMS)).ended
    assert store.get(PHONE.device_id).limits.tokens_per_day == 7
    assert store.rewrite(lambda all_: tighten(all_, NOW, TERMS)).put == ()
    store.grant(HOME.device_id, DeviceRole.PEER, frozenset(), limits)
    assert store.rewrite(lambda all_: tighten(all_, NOW, TERMS)).ended


def test_a_homes_new_key_goes_on_where_the_old_one_was(store: MemoryTrustStore) -> None:
    push(store, said(serial=50))
    renewed = dataclasses.replace(home_entry(OTHER), account=HOME.device_id)
    store.rewrite(lambda _: Ended((renewed,)))
    assert why(push(store, said(home=OTHER, serial=49), home=OTHER)) is RefusedError
    taken = push(store, said(home=OTHER, serial=51), home=OTHER)
    assert taken.accepted
    assert taken.fresh == ()
    assert store.rewrite(lambda all_: tighten(all_, NOW, TERMS)).ended == ()
    assert back(store, PHONE.device_id, serial=52, home=OTHER).ended


def test_a_node_is_not_introduced_to_itself(store: MemoryTrustStore) -> None:
    assert why(push(store, said(ME))) is RefusedError
