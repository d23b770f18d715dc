"""A device's keys over time, on disk."""

from __future__ import annotations

import json
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from homing_core.errors import ConflictError, HomingError, NotFoundError
from homing_core.keys import KeyProtection
from homing_core.testing import FakeClock
from homing_crypto.identity import IDENTITY_FILE, DeviceIdentity
from homing_crypto.identity_file import MAX_EARLIER_KEYS, change_keys
from homing_crypto.keyring_file import KeyRing

KILLER = Path(__file__).parents[1] / "support" / "rotation_killer.py"


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "identity"


def ids(ring: KeyRing) -> list[str]:
    return [one.device_id for one in ring.identities]


def test_a_new_key_is_the_present_one_and_the_old_one_stays_until_it_is_retired(
    folder: Path, clock: FakeClock
) -> None:
    ring = KeyRing(folder, clock)
    first = ring.current
    clock.advance(100)
    second = ring.begin_rotation()
    assert ids(ring) == [second.device_id, first.device_id]
    assert [key.replaced_at for key in ring.earlier] == [clock.now()]
    again = KeyRing(folder, clock)
    assert (again.current, again.earlier) == (ring.current, ring.earlier)
    assert again.get(first.device_id) == first
    assert DeviceIdentity.load_or_create(folder, clock) == second
    ring.retire(first.device_id)
    ring.retire(first.device_id)
    assert ids(KeyRing(folder, clock)) == [second.device_id]
    assert ring.get(first.device_id) is None


def test_the_present_key_cannot_be_retired(folder: Path, clock: FakeClock) -> None:
    ring = KeyRing(folder, clock)
    ring.retire(ring.current.device_id)
    assert ids(KeyRing(folder, clock)) == [ring.current.device_id]


@pytest.mark.attack
def test_a_retired_key_is_in_no_file_and_the_file_is_private(
    folder: Path, clock: FakeClock
) -> None:
    ring = KeyRing(folder, clock)
    old = ring.current
    ring.begin_rotation()
    ring.retire(old.device_id)
    secret = old.private_key_pem.splitlines()[1]
    (path,) = folder.iterdir()
    assert secret not in path.read_bytes().replace(b"\\n", b"\n")
    assert old.device_id not in path.read_text()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_file_of_version_1_is_read_and_written_anew(folder: Path, clock: FakeClock) -> None:
    before = KeyRing(folder, clock).current
    path = folder / IDENTITY_FILE
    fields = json.loads(path.read_text())
    del fields["previous"]
    path.write_text(json.dumps(fields | {"version": 1}))
    assert KeyRing(folder, clock).current == before
    assert json.loads(path.read_text())["version"] == 2


def test_more_earlier_keys_than_are_kept_are_refused(folder: Path, clock: FakeClock) -> None:
    ring = KeyRing(folder, clock)
    for _ in range(MAX_EARLIER_KEYS):
        ring.begin_rotation()
    before = ids(ring)
    with pytest.raises(ConflictError):
        ring.begin_rotation()
    assert ids(ring) == ids(KeyRing(folder, clock)) == before


@pytest.mark.parametrize(
    "previous",
    [None, {}, [{}], [1], "text", [{"device_key": "x"}]],
    ids=["none", "object", "empty", "number", "text", "half"],
)
def test_damaged_earlier_keys_are_an_error(
    folder: Path, clock: FakeClock, previous: object
) -> None:
    KeyRing(folder, clock)
    path = folder / IDENTITY_FILE
    content = json.dumps(json.loads(path.read_text()) | {"previous": previous})
    path.write_text(content)
    with pytest.raises(HomingError) as caught:
        KeyRing(folder, clock)
    assert str(path) in caught.value.what
    assert path.read_text() == content


def test_one_key_does_not_stand_twice(folder: Path, clock: FakeClock) -> None:
    KeyRing(folder, clock)
    path = folder / IDENTITY_FILE
    fields = json.loads(path.read_text())
    twice = {key: value for key, value in fields.items() if key not in {"version", "previous"}}
    path.write_text(json.dumps(fields | {"previous": [twice | {"replaced_at": 1.0}]}))
    with pytest.raises(HomingError):
        KeyRing(folder, clock)


def test_keys_that_are_gone_are_not_made_anew_by_a_change(folder: Path, clock: FakeClock) -> None:
    ring = KeyRing(folder, clock)
    (folder / IDENTITY_FILE).unlink()
    with pytest.raises(NotFoundError):
        ring.begin_rotation()
    with pytest.raises(NotFoundError):
        change_keys(folder, lambda keys: keys)
    assert list(folder.iterdir()) == []


def test_it_says_how_the_keys_are_protected(folder: Path, clock: FakeClock) -> None:
    assert KeyRing(folder, clock).protection is KeyProtection.FILE


@pytest.mark.attack
@pytest.mark.parametrize("mode", ["upgrade", "rotate", "retire"])
def test_a_kill_at_any_line_leaves_the_old_keys_or_the_new_ones(tmp_path: Path, mode: str) -> None:
    done = subprocess.run(  # noqa: S603  # our own script
        [sys.executable, str(KILLER), str(tmp_path), mode],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    result = json.loads(done.stdout)
    assert result["problems"] == []
    assert result["killed"] > 40
    assert 0 < result["changed"] < result["killed"]
