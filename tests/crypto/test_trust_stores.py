"""One contract for both trust stores, and what only the one on disk can go through."""

from __future__ import annotations

import dataclasses
import signal
import sqlite3
import stat
import subprocess
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from homing_core.access import DeviceRole, Limits, Scope
from homing_core.errors import (
    ConfigError,
    ConflictError,
    HomingError,
    IntegrityError,
    InvalidDataError,
    NotFoundError,
    RefusedError,
    UnavailableError,
    UsageError,
)
from homing_core.ids import DeviceId
from homing_core.testing import FakeClock
from homing_crypto.devices import PairedDevice, Rewrite, scopes_for
from homing_crypto.testing import MemoryTrustStore, paired_device, throwaway_identity
from homing_crypto.truststore import SqliteTrustStore
from hypothesis import given
from hypothesis import strategies as st

if TYPE_CHECKING:
    from collections.abc import Iterator

    from homing_crypto.trust import TrustStore

WRITER = Path(__file__).parents[1] / "support" / "trust_writer.py"
ONE, TWO, THREE = (throwaway_identity() for _ in range(3))
UNKNOWN = DeviceId("0" * 64)


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


def test_what_is_added_is_found_as_it_was(store: TrustStore) -> None:
    device = dataclasses.replace(
        paired_device(ONE, DeviceRole.OWNER, name="Ada"),
        limits=Limits(1000, 2, 3, ("small",), ("notes.*",), 1_900_000_000, "08:00-22:00"),
        lease_expires_at=1_900_000_001,
    )
    assert store.add(device) == device
    assert store.lookup(ONE.device_id) == device
    assert store.get(ONE.device_id) == device
    assert store.devices() == (device,)


def test_unknown_devices_are_none_to_lookup_and_an_error_to_the_rest(store: TrustStore) -> None:
    assert store.lookup(UNKNOWN) is None
    assert store.devices() == ()
    store.touch(UNKNOWN)
    with pytest.raises(NotFoundError):
        store.get(UNKNOWN)
    with pytest.raises(NotFoundError):
        store.revoke(UNKNOWN)
    with pytest.raises(NotFoundError):
        store.find("0000")
    with pytest.raises(NotFoundError):
        store.grant(UNKNOWN, DeviceRole.OWNER, frozenset(), Limits())


def test_names_are_cleaned(store: TrustStore) -> None:
    assert store.add(paired_device(ONE, name="\x1b[31mred\u202e\n")).name == "[31mred"


def test_adding_again_changes_the_name_but_never_the_role(
    store: TrustStore, clock: FakeClock
) -> None:
    store.add(paired_device(ONE, DeviceRole.GUEST, name="old"))
    clock.advance(10)
    again = dataclasses.replace(
        paired_device(ONE, DeviceRole.OWNER, name="new"), paired_at=clock.now()
    )
    stored = store.add(again)
    assert (stored.name, stored.role) == ("new", DeviceRole.GUEST)
    assert stored.scopes == scopes_for(DeviceRole.GUEST)
    assert stored.paired_at == FakeClock().now()
    assert store.get(ONE.device_id) == stored


def test_a_certificate_of_another_device_or_none_is_refused(store: TrustStore) -> None:
    swapped = dataclasses.replace(paired_device(ONE), certificate_der=TWO.certificate.der)
    with pytest.raises(IntegrityError):
        store.add(swapped)
    with pytest.raises(InvalidDataError):
        store.add(dataclasses.replace(paired_device(ONE), certificate_der=b"garbage"))
    assert store.devices() == ()


def test_revoking_shuts_out_and_is_harmless_twice(store: TrustStore, clock: FakeClock) -> None:
    store.add(paired_device(ONE))
    store.add(paired_device(TWO))
    clock.advance(5)
    (revoked,) = store.revoke(ONE.device_id)
    clock.advance(5)
    assert store.revoke(ONE.device_id) == (revoked,)
    assert revoked.revoked_at == clock.now() - 5
    assert not revoked.live(clock.now())
    assert store.roots_pem() == TWO.certificate.pem
    with pytest.raises(RefusedError):
        store.grant(ONE.device_id, DeviceRole.OWNER, frozenset(), Limits())


def test_revoking_takes_all_keys_of_a_device_and_all_for_whom_it_vouches(
    store: TrustStore, clock: FakeClock
) -> None:
    home, renewed, guest, other = (throwaway_identity() for _ in range(4))
    store.add(paired_device(home, DeviceRole.PEER))
    store.add(dataclasses.replace(paired_device(renewed, DeviceRole.PEER), account=home.device_id))
    store.add(dataclasses.replace(paired_device(guest), introduced_by=renewed.device_id))
    store.add(paired_device(other))
    concerned = store.revoke(home.device_id)
    assert concerned[0].id == home.device_id
    assert {device.id for device in concerned} == {
        home.device_id,
        renewed.device_id,
        guest.device_id,
    }
    assert not any(device.live(clock.now()) for device in concerned)
    assert store.roots_pem() == other.certificate.pem


def test_the_keys_of_an_account_are_found_by_it_and_by_nothing_else(store: TrustStore) -> None:
    old, renewed, other = (throwaway_identity() for _ in range(3))
    store.add(paired_device(old))
    store.add(dataclasses.replace(paired_device(renewed), account=old.device_id))
    store.add(paired_device(other))
    store.revoke(renewed.device_id)
    found = store.keys(old.device_id)
    assert {key.id for key in found} == {old.device_id, renewed.device_id}
    assert all(key.revoked_at for key in found)
    assert [key.id for key in store.keys(other.device_id)] == [other.device_id]
    assert store.keys(renewed.device_id) == store.keys("") == ()


def test_a_retired_key_is_let_in_until_its_overlap_ends(
    store: TrustStore, clock: FakeClock
) -> None:
    retires_at = int(clock.now()) + 60
    store.add(dataclasses.replace(paired_device(ONE), retires_at=retires_at))
    assert store.roots_pem() == ONE.certificate.pem
    clock.advance(61)
    assert store.roots_pem() == b""


def test_pairing_a_revoked_device_again_starts_anew(store: TrustStore) -> None:
    store.add(paired_device(ONE, DeviceRole.OWNER))
    store.revoke(ONE.device_id)
    stored = store.add(paired_device(ONE, DeviceRole.GUEST))
    assert (stored.role, stored.revoked_at) == (DeviceRole.GUEST, 0.0)
    assert store.roots_pem() == ONE.certificate.pem


def test_pairing_a_device_whose_time_is_over_starts_anew(
    store: TrustStore, clock: FakeClock
) -> None:
    store.add(paired_device(ONE))
    ends = Limits(expires_at=int(clock.now()) + 5)
    store.grant(ONE.device_id, DeviceRole.GUEST, frozenset(), ends)
    clock.advance(6)
    again = dataclasses.replace(paired_device(ONE, DeviceRole.MEMBER), paired_at=clock.now())
    assert store.add(again) == again


def test_a_grant_changes_role_scopes_and_limits(store: TrustStore) -> None:
    store.add(paired_device(ONE, DeviceRole.GUEST))
    limits = Limits(tokens_per_day=5, models=("m",))
    granted = store.grant(ONE.device_id, DeviceRole.OWNER, frozenset({Scope.RELAY}), limits)
    assert (granted.role, granted.scopes, granted.limits) == (
        DeviceRole.OWNER,
        frozenset({Scope.RELAY}),
        limits,
    )
    assert store.get(ONE.device_id) == granted


def test_a_grant_holds_for_all_keys_of_a_device(store: TrustStore) -> None:
    store.add(paired_device(ONE, DeviceRole.OWNER))
    store.add(dataclasses.replace(paired_device(TWO, DeviceRole.OWNER), account=ONE.device_id))
    store.add(paired_device(THREE, DeviceRole.OWNER))
    for named in (TWO, ONE):
        limits = Limits(tokens_per_day=5 if named is TWO else 6)
        store.grant(named.device_id, DeviceRole.GUEST, frozenset(), limits)
        keys = [store.get(one.device_id) for one in (ONE, TWO)]
        assert [(key.role, key.limits) for key in keys] == [(DeviceRole.GUEST, limits)] * 2
    assert store.get(THREE.device_id).role is DeviceRole.OWNER


@pytest.mark.attack
def test_a_clock_that_is_set_back_revives_nothing_that_has_ended(
    store: TrustStore, clock: FakeClock
) -> None:
    """Clock at 1970: whoever has an end stays out; whoever has none is let in as always."""
    now = int(clock.now())
    store.add(dataclasses.replace(paired_device(ONE), limits=Limits(expires_at=now + 60)))
    store.add(dataclasses.replace(paired_device(TWO), lease_expires_at=now + 60))
    store.add(dataclasses.replace(paired_device(THREE)))
    store.touch(ONE.device_id)
    clock.advance(61)
    assert store.roots_pem() == THREE.certificate.pem
    clock.advance(-now)
    assert store.roots_pem() == THREE.certificate.pem
    assert not store.get(ONE.device_id).live(clock.now())
    assert not store.get(TWO.device_id).live(clock.now())


def test_an_id_prefix_finds_one_device_or_says_why_not(store: TrustStore) -> None:
    store.add(paired_device(ONE))
    assert store.find(ONE.device_id[:8].upper() + " ").id == ONE.device_id
    with pytest.raises(UsageError):
        store.find(ONE.device_id[:3])
    with pytest.raises(NotFoundError):
        store.find(f"{ONE.device_id}0")


def test_last_seen_is_noted_but_not_on_every_call(store: TrustStore, clock: FakeClock) -> None:
    store.add(paired_device(ONE))
    first = clock.now()
    store.touch(ONE.device_id)
    clock.advance(30)
    store.touch(ONE.device_id)
    assert store.get(ONE.device_id).last_seen_at == first
    clock.advance(31)
    store.touch(ONE.device_id)
    assert store.get(ONE.device_id).last_seen_at == clock.now()
    clock.advance(-100_000)
    store.touch(ONE.device_id)
    assert store.get(ONE.device_id).last_seen_at == clock.now()


def test_no_live_device_gives_an_empty_bundle_and_not_none(store: TrustStore) -> None:
    assert store.roots_pem() == b""


def test_the_bundle_holds_live_devices_only(store: TrustStore, clock: FakeClock) -> None:
    store.add(paired_device(ONE))
    leased = dataclasses.replace(
        paired_device(TWO), introduced_by=THREE.device_id, lease_expires_at=int(clock.now()) + 10
    )
    store.add(leased)
    both = ONE.certificate.pem, TWO.certificate.pem
    assert all(pem in store.roots_pem() for pem in both)
    clock.advance(10)
    assert store.roots_pem() == ONE.certificate.pem


def test_a_used_link_is_remembered(store: TrustStore) -> None:
    assert not store.link_used("abc")
    store.add(paired_device(ONE), "abc")
    store.add(paired_device(ONE), "abc")
    assert store.link_used("abc")
    assert not store.link_used("abd")


def test_a_used_link_gives_its_device_the_same_entry_and_others_nothing(
    store: TrustStore,
) -> None:
    stored = store.add(paired_device(ONE, DeviceRole.GUEST, name="first"), "abc")
    assert store.add(paired_device(ONE, DeviceRole.OWNER, name="again"), "abc") == stored
    with pytest.raises(ConflictError, match="already used"):
        store.add(paired_device(TWO), "abc")
    assert store.devices() == (stored,)


@pytest.mark.attack
def test_a_revoked_device_cannot_bring_itself_back_with_its_old_link(store: TrustStore) -> None:
    store.add(paired_device(ONE), "abc")
    store.revoke(ONE.device_id)
    with pytest.raises(RefusedError):
        store.add(paired_device(ONE), "abc")
    assert store.roots_pem() == b""
    assert store.add(paired_device(ONE), "a new link").revoked_at == 0


@pytest.mark.attack
def test_an_introduction_never_touches_a_device_that_was_paired_here(store: TrustStore) -> None:
    stored = store.add(paired_device(ONE, DeviceRole.MEMBER))
    introduced = dataclasses.replace(
        paired_device(ONE, DeviceRole.OWNER, name="evil"), introduced_by=THREE.device_id
    )
    assert store.add(introduced) == stored
    store.revoke(ONE.device_id)
    with pytest.raises(RefusedError):
        store.add(introduced)
    assert store.roots_pem() == b""


@pytest.mark.attack
def test_an_introduction_is_renewed_by_its_own_node_only(
    store: TrustStore, clock: FakeClock
) -> None:
    first = dataclasses.replace(
        paired_device(ONE, DeviceRole.GUEST),
        introduced_by=TWO.device_id,
        lease_expires_at=int(clock.now()) + 60,
    )
    store.add(first)
    renewed = dataclasses.replace(first, lease_expires_at=first.lease_expires_at + 60)
    assert store.add(renewed) == renewed
    other = dataclasses.replace(first, introduced_by=THREE.device_id)
    with pytest.raises(ConflictError):
        store.add(other)
    clock.advance(121)
    later = dataclasses.replace(other, paired_at=clock.now())
    assert store.add(later).introduced_by == THREE.device_id
    store.revoke(ONE.device_id)
    with pytest.raises(RefusedError):
        store.add(later)


def test_a_rewrite_puts_and_drops_all_or_nothing(store: TrustStore) -> None:
    kept, gone = store.add(paired_device(ONE)), store.add(paired_device(TWO))
    seen: list[tuple[PairedDevice, ...]] = []

    def decide(known: tuple[PairedDevice, ...]) -> Rewrite:
        seen.append(known)
        renamed = dataclasses.replace(kept, name="new\n name", serial=7)
        return Rewrite((renamed, paired_device(THREE)), (gone.id,))

    store.rewrite(decide)
    assert set(seen[0]) == {kept, gone}
    assert {device.id for device in store.devices()} == {kept.id, THREE.device_id}
    assert (store.get(kept.id).name, store.get(kept.id).serial) == ("new name", 7)
    swapped = dataclasses.replace(kept, certificate_der=TWO.certificate.der)
    before = store.devices()
    with pytest.raises(IntegrityError):
        store.rewrite(lambda _: Rewrite((paired_device(TWO), swapped), (THREE.device_id,)))
    with pytest.raises(RefusedError):
        store.rewrite(refuse)
    assert store.devices() == before


def refuse(known: tuple[PairedDevice, ...]) -> Rewrite:
    msg = f"{len(known)} are enough"
    raise RefusedError(msg)


def test_many_threads_may_use_it_at_once(store: TrustStore) -> None:
    store.add(paired_device(ONE))
    errors: list[Exception] = []

    def work() -> None:
        try:
            for _ in range(20):
                assert store.roots_pem() == ONE.certificate.pem
                store.add(paired_device(ONE))
        except Exception as error:  # noqa: BLE001  # to be shown by the test
            errors.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert errors == []


# Only on disk.


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "data" / "trust.db"


def filled(path: Path) -> SqliteTrustStore:
    on_disk = SqliteTrustStore(path, FakeClock())
    on_disk.add(paired_device(ONE, name="one"), "used")
    on_disk.add(paired_device(TWO, name="two"))
    return on_disk


def test_it_is_private_and_survives_closing(path: Path) -> None:
    filled(path).close()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    again = SqliteTrustStore(path, FakeClock())
    assert {device.name for device in again.devices()} == {"one", "two"}
    assert again.link_used("used")
    again.close()


@pytest.mark.attack
def test_a_file_open_to_others_is_refused(path: Path) -> None:
    filled(path).close()
    path.chmod(0o640)
    with pytest.raises(ConfigError):
        SqliteTrustStore(path, FakeClock())


@pytest.mark.parametrize("where", [0, 20, 4096])
def test_a_damaged_file_is_a_clear_error_and_stays_as_it_is(path: Path, where: int) -> None:
    filled(path).close()
    content = bytearray(path.read_bytes())
    content[where : where + 200] = b"\xa5" * 200
    path.write_bytes(content)
    with pytest.raises(IntegrityError) as caught:
        SqliteTrustStore(path, FakeClock())
    assert str(path) in caught.value.what
    assert "move it away" in caught.value.hint
    assert path.read_bytes() == bytes(content)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("whole") / "trust.db"
    filled(path).close()
    return path.read_bytes()


@given(place=st.floats(0, 1), value=st.binary(min_size=1, max_size=600))
def test_any_overwritten_stretch_gives_devices_or_a_clear_error(
    tmp_path_factory: pytest.TempPathFactory, whole: bytes, place: float, value: bytes
) -> None:
    path = tmp_path_factory.mktemp("trust") / "trust.db"
    content = bytearray(whole)
    path.touch(mode=0o600)
    start = int(place * len(content))
    content[start : start + len(value)] = value
    path.write_bytes(content)
    known: set[DeviceId] = set()
    try:
        on_disk = SqliteTrustStore(path, FakeClock())
    except HomingError:
        return
    try:
        known = {device.id for device in on_disk.devices()}
        on_disk.roots_pem()
        on_disk.lookup(ONE.device_id)
    except HomingError:
        pass
    finally:
        on_disk.close()
    assert known <= {ONE.device_id, TWO.device_id}


def test_no_database_at_all_is_a_clear_error(path: Path) -> None:
    path.parent.mkdir(mode=0o700)
    path.write_bytes(b"these are not the bytes you are looking for" * 100)
    path.chmod(0o600)
    with pytest.raises(IntegrityError):
        SqliteTrustStore(path, FakeClock())


def test_another_programs_database_is_left_alone(path: Path) -> None:
    path.parent.mkdir(mode=0o700)
    with sqlite3.connect(path) as other:
        other.execute("CREATE TABLE devices (mine TEXT)")
    other.close()
    path.chmod(0o600)
    with pytest.raises(ConfigError, match="is not the trust store"):
        SqliteTrustStore(path, FakeClock())


def test_a_newer_file_asks_for_an_update(path: Path) -> None:
    filled(path).close()
    with sqlite3.connect(path) as other:
        other.execute("PRAGMA user_version = 99")
    other.close()
    with pytest.raises(InvalidDataError, match="newer Homing"):
        SqliteTrustStore(path, FakeClock())


def test_a_closed_store_fails_closed(path: Path) -> None:
    on_disk = filled(path)
    on_disk.close()
    on_disk.close()
    with pytest.raises(UnavailableError):
        on_disk.lookup(ONE.device_id)
    with pytest.raises(UnavailableError):
        on_disk.roots_pem()


def test_a_file_that_is_damaged_while_in_use_fails_closed(path: Path) -> None:
    on_disk = filled(path)
    path.write_bytes(b"\xa5" * path.stat().st_size)
    with pytest.raises(HomingError):
        on_disk.lookup(ONE.device_id)
    with pytest.raises(HomingError):
        on_disk.roots_pem()
    on_disk.close()


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("certificate", b"garbage"),
        ("certificate", TWO.certificate.der),
        ("role", "emperor"),
        ("scopes", "not json"),
        ("scopes", '["everything"]'),
        ("limits", "[]"),
        ("limits", '{"models": 3}'),
    ],
)
def test_one_garbled_entry_does_not_drop_the_others(
    path: Path, column: str, value: str | bytes
) -> None:
    on_disk = filled(path)
    with sqlite3.connect(path) as other:
        sql = f"UPDATE devices SET {column} = ? WHERE id = ?"  # noqa: S608  # our own names
        other.execute(sql, (value, ONE.device_id))
    other.close()
    assert on_disk.roots_pem() == TWO.certificate.pem
    assert [device.id for device in on_disk.devices()] == [TWO.device_id]
    with pytest.raises(IntegrityError):
        on_disk.lookup(ONE.device_id)
    introduced = dataclasses.replace(paired_device(ONE), introduced_by=THREE.device_id)
    with pytest.raises(IntegrityError):
        on_disk.add(introduced)
    on_disk.add(paired_device(ONE))  # a person pairs it again
    assert on_disk.get(ONE.device_id).name == "phone"
    on_disk.close()


def test_a_write_that_is_refused_leaves_nothing_half_done(path: Path) -> None:
    on_disk = filled(path)
    on_disk.revoke(ONE.device_id)
    introduced = dataclasses.replace(paired_device(ONE), introduced_by=THREE.device_id)
    with pytest.raises(RefusedError):
        on_disk.add(introduced, "another link")
    assert not on_disk.link_used("another link")
    on_disk.close()


def test_another_process_that_writes_for_long_is_a_passing_trouble(path: Path) -> None:
    on_disk = filled(path)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    with pytest.raises(UnavailableError):
        on_disk.revoke(ONE.device_id)
    other.execute("ROLLBACK")
    other.close()
    assert on_disk.revoke(ONE.device_id)[0].revoked_at > 0
    on_disk.close()


def test_what_was_acknowledged_survives_kill_9(path: Path) -> None:
    acknowledged: set[str] = set()
    for kills, lines in enumerate((1, 2, 5, 9, 14), start=1):
        child = subprocess.Popen(  # noqa: S603  # our own script
            [sys.executable, str(WRITER), str(path)], stdout=subprocess.PIPE, text=True
        )
        assert child.stdout is not None
        for _ in range(lines):
            acknowledged.add(child.stdout.readline().strip())
        child.send_signal(signal.SIGKILL)
        acknowledged.update(line.strip() for line in child.stdout if line.endswith("\n"))
        child.stdout.close()
        assert child.wait(30) == -signal.SIGKILL
        on_disk = SqliteTrustStore(path, FakeClock())
        known = {device.id for device in on_disk.devices()}
        assert acknowledged <= known
        assert len(known) <= len(acknowledged) + kills
        assert all(on_disk.link_used(device_id) for device_id in known)
        on_disk.close()


def test_a_device_is_found_by_its_name_too_unless_that_is_not_in_use_any_more(
    store: TrustStore,
) -> None:
    store.add(dataclasses.replace(paired_device(ONE), name="Kid"))
    store.add(dataclasses.replace(paired_device(TWO), name="kid"))
    with pytest.raises(ConflictError) as told:
        store.find("kid")
    assert ONE.device_id[:8] in told.value.hint
    store.revoke(ONE.device_id)
    assert store.find("KID").id == TWO.device_id
    assert store.find(ONE.device_id[:12]).id == ONE.device_id
