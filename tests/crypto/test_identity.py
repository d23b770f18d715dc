from __future__ import annotations

import json
import multiprocessing
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from homing_core.errors import ConfigError, HomingError, IntegrityError
from homing_core.testing import FakeClock
from homing_crypto.identity import IDENTITY_FILE, DeviceIdentity
from homing_crypto.keys import verify, verify_hpke_key
from homing_crypto.testing import throwaway_identity
from hypothesis import given
from hypothesis import strategies as st
from support.first_start import device_id_in

KILLER = Path(__file__).parents[1] / "support" / "kill_at_every_line.py"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "deep" / "identity"


def load(folder: Path) -> DeviceIdentity:
    return DeviceIdentity.load_or_create(folder, FakeClock())


def test_a_new_identity_is_whole_and_consistent() -> None:
    identity = throwaway_identity()
    certificate = identity.certificate
    verify(certificate.public_key, identity.sign(b"text"), b"text", "the text")
    verify_hpke_key(certificate.public_key, identity.hpke.public_bytes, identity.hpke_signature)
    assert identity.device_id == certificate.device_id


def test_it_is_made_once_and_kept_in_private(folder: Path) -> None:
    first = load(folder)
    second = load(folder)
    assert second.device_id == first.device_id
    assert second.certificate.der == first.certificate.der
    assert second.hpke == first.hpke
    assert second.created_at == first.created_at == FakeClock().now()
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert [stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()] == [0o600]


@pytest.mark.attack
def test_its_secrets_are_not_shown(folder: Path) -> None:
    identity = load(folder)
    shown = repr(identity)
    assert identity.device_id in shown
    assert repr(identity.hpke.secret) not in shown
    assert "PRIVATE" not in shown


@pytest.mark.attack
@pytest.mark.parametrize("mode", [0o755, 0o770, 0o701])
def test_a_folder_open_to_others_is_refused_with_the_command_that_closes_it(
    folder: Path, mode: int
) -> None:
    load(folder)
    folder.chmod(mode)
    with pytest.raises(ConfigError) as caught:
        load(folder)
    assert f"chmod 700 '{folder}'" in caught.value.hint


@pytest.mark.attack
def test_a_file_open_to_others_is_refused_with_the_command_that_closes_it(folder: Path) -> None:
    load(folder)
    (folder / IDENTITY_FILE).chmod(0o644)
    with pytest.raises(ConfigError) as caught:
        load(folder)
    assert f"chmod 600 '{folder / IDENTITY_FILE}'" in caught.value.hint


def test_something_else_in_its_place_is_refused(folder: Path) -> None:
    folder.mkdir(parents=True, mode=0o700)
    (folder / IDENTITY_FILE).mkdir()
    with pytest.raises(HomingError):
        load(folder)
    folder.parent.joinpath("file").write_text("")
    with pytest.raises(HomingError):
        load(folder.parent / "file")


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("whole")
    load(folder)
    return folder / IDENTITY_FILE


def damage(folder: Path, content: bytes) -> None:
    """The file holds this; loading must say so and change nothing."""
    path = folder / IDENTITY_FILE
    path.write_bytes(content)
    with pytest.raises(HomingError) as caught:
        load(folder)
    assert str(path) in caught.value.what
    assert caught.value.hint
    assert path.read_bytes() == content


@pytest.mark.parametrize(
    "content",
    [b"", b"{}", b"[]", b"null", b"\xff", b'{"version": 1}', b"[" * 15_000, b"x" * 20_000],
)
def test_a_damaged_file_is_an_error_and_never_a_new_identity(folder: Path, content: bytes) -> None:
    load(folder)
    damage(folder, content)


def test_a_newer_file_asks_for_an_update(folder: Path) -> None:
    load(folder)
    path = folder / IDENTITY_FILE
    path.write_text(json.dumps(json.loads(path.read_text()) | {"version": 3}))
    with pytest.raises(IntegrityError, match="newer Homing"):
        load(folder)


@pytest.mark.parametrize("part", ["device_key", "certificate", "hpke_key", "hpke_signature"])
def test_parts_of_two_identities_do_not_mix(tmp_path: Path, part: str) -> None:
    mine, other = tmp_path / "mine", tmp_path / "other"
    load(mine)
    load(other)
    foreign = json.loads((other / IDENTITY_FILE).read_text())[part]
    fields = json.loads((mine / IDENTITY_FILE).read_text()) | {part: foreign}
    damage(mine, json.dumps(fields).encode())


@given(place=st.integers(0, 2_000), length=st.integers(1, 40), value=st.binary(min_size=1))
def test_any_overwritten_stretch_is_an_error_or_harmless(
    tmp_path_factory: pytest.TempPathFactory, whole: Path, place: int, length: int, value: bytes
) -> None:
    path = tmp_path_factory.mktemp("identity") / IDENTITY_FILE
    path.touch(mode=0o600)
    content = whole.read_bytes()
    place %= len(content)
    path.write_bytes(content[:place] + value + content[place + length :])
    try:
        found = load(path.parent)
    except HomingError:
        return
    assert found.device_id == json.loads(content)["device_id"]


def test_two_first_starts_at_once_agree_on_one_identity(tmp_path: Path) -> None:
    folders = [tmp_path / "identity"] * 8
    with multiprocessing.get_context("spawn").Pool(4) as pool:
        assert len(set(pool.map(device_id_in, folders))) == 1


def test_a_kill_at_any_line_leaves_nothing_or_a_whole_identity(tmp_path: Path) -> None:
    done = subprocess.run(  # noqa: S603  # our own script
        [sys.executable, str(KILLER), str(tmp_path)],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    result = json.loads(done.stdout)
    assert result["problems"] == []
    assert result["killed"] > 40
    assert 0 < result["whole"] < result["killed"]
