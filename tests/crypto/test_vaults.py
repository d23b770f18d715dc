"""Keys at rest: every way of protecting them, and what happens to files that are not right."""

from __future__ import annotations

import base64
import hashlib
import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest.mock import Mock

import keyring
import pytest
from homing_core.canonical import canonical_json
from homing_core.errors import (
    HomingError,
    IntegrityError,
    InvalidDataError,
    RefusedError,
    UnavailableError,
    UsageError,
)
from homing_core.testing import FakeClock
from homing_crypto.identity import IDENTITY_FILE, DeviceIdentity
from homing_crypto.testing import MemoryKeyring
from homing_crypto.vault import FileMode, Protection
from homing_crypto.vault.directory import DirectoryVault
from homing_crypto.vault.envelope import protection_of
from homing_crypto.vault.files import key_files, protect_all, protections
from homing_crypto.vault.keyring import KeyringVault, SystemKeyring
from homing_crypto.vault.passphrase import Cost, PassphraseVault
from hypothesis import given
from hypothesis import strategies as st
from keyring.backends import fail, null
from keyring.errors import KeyringLocked
from support.kept_keyring import FileKeyring, file_keyring

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from homing_crypto.vault import KeyVault
    from keyring.backend import KeyringBackend

KILLER = Path(__file__).parents[1] / "support" / "kill_while_protecting.py"
WORDS = "correct horse battery staple"
CHEAP = Cost(memory_kib=1024, passes=1, lanes=1)
SECRET = b'{"device_key": "PRIVATE"}'


def by_words(words: str = WORDS) -> PassphraseVault:
    return PassphraseVault(words, CHEAP)


@pytest.fixture
def keeper() -> MemoryKeyring:
    return MemoryKeyring()


@pytest.fixture
def system_keyring(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("HOMING_TEST_KEYRING", str(tmp_path / "keyring.json"))
    before = keyring.get_keyring()
    keyring.set_keyring(file_keyring())
    yield
    keyring.set_keyring(before)


@pytest.fixture(params=["file", "passphrase", "memory-keyring", "system-keyring", "directory"])
def make(
    request: pytest.FixtureRequest, keeper: MemoryKeyring, system_keyring: None
) -> Callable[[], KeyVault]:
    del system_keyring

    def directory() -> DirectoryVault:
        vault = DirectoryVault(WORDS, keeper)
        vault.reveal(by_words().protect(b"opened first"))
        return vault

    ways: dict[str, Callable[[], KeyVault]] = {
        "file": FileMode,
        "passphrase": by_words,
        "memory-keyring": lambda: KeyringVault(keeper),
        "system-keyring": KeyringVault,
        "directory": directory,
    }
    return ways[request.param]


class TestEveryVault:
    def test_what_is_protected_can_be_revealed_by_the_next_process(
        self, make: Callable[[], KeyVault]
    ) -> None:
        stored = make().protect(SECRET)
        assert make().reveal(stored) == SECRET

    def test_a_protected_file_says_how_and_shows_nothing_else(
        self, make: Callable[[], KeyVault], keeper: MemoryKeyring
    ) -> None:
        vault = make()
        stored = vault.protect(SECRET)
        if protection_of(stored) is Protection.FILE:
            assert stored == SECRET
        else:
            assert b"PRIVATE" not in stored
            assert stored != vault.protect(SECRET)  # no nonce twice
            assert DirectoryVault(WORDS, keeper if keeper.keys else None).reveal(stored) == SECRET


STORED = by_words().protect(SECRET)


@pytest.mark.attack
@given(bit=st.integers(0, len(STORED) * 8 - 1))
def test_any_flipped_bit_of_a_protected_file_is_told(bit: int) -> None:
    altered = bytearray(STORED)
    altered[bit // 8] ^= 1 << bit % 8
    try:
        found = by_words().reveal(bytes(altered))
    except HomingError:
        return
    assert found == SECRET  # an insignificant blank of JSON
    assert json.loads(altered) == json.loads(STORED)


@given(st.integers(0, len(STORED) - 2))
def test_a_file_that_was_cut_short_is_damaged_not_new(size: int) -> None:
    with pytest.raises(IntegrityError):
        by_words().reveal(STORED[:size])


@pytest.mark.attack
def test_a_wrong_passphrase_opens_nothing() -> None:
    with pytest.raises(RefusedError, match="not the passphrase"):
        by_words("correct horse battery stable").reveal(STORED)


def test_a_missing_passphrase_is_said() -> None:
    with pytest.raises(RefusedError, match="none was given"):
        DirectoryVault().reveal(STORED)


def test_keyboards_that_write_a_letter_differently_agree() -> None:
    stored = by_words("cafe\u0301 au lait").protect(SECRET)
    assert by_words("caf\u00e9 au lait").reveal(stored) == SECRET


@pytest.mark.parametrize("words", ["", "short", "x" * 1025, "surrogate \ud800 here"])
def test_what_can_be_no_passphrase(words: str) -> None:
    with pytest.raises(UsageError):
        PassphraseVault(words)


def forged(**changes: object) -> bytes:
    """The stored file with other fields, its checksum made right: anybody can do that."""
    fields: dict[str, Any] = json.loads(STORED)
    fields |= changes
    fields = {name: value for name, value in fields.items() if value is not None}
    header = {name: value for name, value in fields.items() if name not in {"sealed", "checksum"}}
    sealed = fields.get("sealed")
    raw = base64.b64decode(sealed) if isinstance(sealed, str) and "!" not in sealed else b""
    fields["checksum"] = hashlib.sha256(canonical_json(header) + b"\x00" + raw).hexdigest()
    return json.dumps(fields).encode()


@pytest.mark.attack
@pytest.mark.parametrize(
    "changes",
    [
        {"memory_kib": 1 << 30},
        {"memory_kib": 257 * 1024},
        {"memory_kib": 8},
        {"memory_kib": -1},
        {"memory_kib": True},
        {"memory_kib": "1024"},
        {"passes": 1 << 40},
        {"passes": 0},
        {"lanes": 1 << 20},
        {"lanes": None},
        {"salt": "AAAA"},
        {"salt": 5},
        {"nonce": ""},
        {"sealed": "not base64!"},
        {"sealed": None},
        {"protection": "prayer"},
        {"protection": "file"},
        {"protection": "keyring"},
        {"homing_vault": 0},
        {"homing_vault": 2},
        {"homing_vault": True},
        {"homing_vault": 1.0},
    ],
    ids=lambda changes: "-".join(f"{key}-{value}" for key, value in changes.items()),
)
def test_a_hostile_file_is_refused_at_no_cost(changes: dict[str, object]) -> None:
    with pytest.raises(IntegrityError):
        DirectoryVault(WORDS, MemoryKeyring()).reveal(forged(**changes))


def test_the_forger_of_these_tests_forges_well() -> None:
    assert by_words().reveal(forged()) == SECRET


@pytest.mark.attack
def test_an_added_field_does_not_open() -> None:
    with pytest.raises(RefusedError):
        by_words().reveal(forged(note="hello"))


def test_a_deeply_nested_file_is_refused() -> None:
    with pytest.raises(IntegrityError):
        by_words().reveal(b'{"homing_vault": ' + b"[" * 100_000)


def test_a_protected_file_in_the_place_of_another_way_is_not_believed() -> None:
    for vault in (by_words(), KeyringVault(MemoryKeyring())):
        with pytest.raises(IntegrityError):
            vault.reveal(SECRET)


def test_too_much_to_be_keys() -> None:
    with pytest.raises(InvalidDataError):
        by_words().protect(bytes(1 << 20))


class TestKeyring:
    def test_two_files_share_one_entry_and_old_entries_stay(self, keeper: MemoryKeyring) -> None:
        first = KeyringVault(keeper)
        one, two = first.protect(b"one"), first.protect(b"two")
        assert len(keeper.keys) == 1
        before = dict(keeper.keys)
        KeyringVault(keeper).protect(b"anew")
        assert before.items() < keeper.keys.items()
        later = KeyringVault(keeper)
        assert (later.reveal(one), later.reveal(two)) == (b"one", b"two")
        later.protect(b"three")
        assert len(keeper.keys) == 2

    def test_a_keyring_without_the_key_refuses(self, keeper: MemoryKeyring) -> None:
        stored = KeyringVault(keeper).protect(SECRET)
        with pytest.raises(RefusedError, match="no key"):
            KeyringVault(MemoryKeyring()).reveal(stored)

    def test_a_keyring_with_another_key_is_told_from_damage(self, keeper: MemoryKeyring) -> None:
        stored = KeyringVault(keeper).protect(SECRET)
        keeper.keys = dict.fromkeys(keeper.keys, bytes(32))
        with pytest.raises(IntegrityError, match="does not fit"):
            KeyringVault(keeper).reveal(stored)

    def test_a_locked_keyring(self, keeper: MemoryKeyring) -> None:
        keeper.broken = True
        with pytest.raises(UnavailableError):
            KeyringVault(keeper).protect(SECRET)

    def test_a_keyring_that_forgets_at_once_protects_nothing(
        self, keeper: MemoryKeyring, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(keeper, "put", dict[str, bytes]().setdefault)
        with pytest.raises(UnavailableError, match="does not keep"):
            KeyringVault(keeper).protect(SECRET)

    @pytest.mark.parametrize("backend", [fail.Keyring, null.Keyring])
    def test_a_system_without_a_keyring_is_said(
        self, backend: type[KeyringBackend], system_keyring: None
    ) -> None:
        del system_keyring
        keyring.set_keyring(backend())
        with pytest.raises(UnavailableError, match="no keyring") as told:
            KeyringVault().protect(SECRET)
        assert "passphrase" in told.value.hint

    def test_the_library_missing_is_said(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, "keyring", None)
        with pytest.raises(UnavailableError, match="not installed"):
            SystemKeyring().get("00")

    def test_what_a_backend_raises_is_said_in_our_words(
        self, system_keyring: None, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        del system_keyring

        def locked(*_: object) -> None:
            raise KeyringLocked

        monkeypatch.setattr(FileKeyring, "get_password", locked)
        monkeypatch.setattr(FileKeyring, "set_password", locked)
        with pytest.raises(UnavailableError, match="locked"):
            SystemKeyring().get("00")
        with pytest.raises(UnavailableError, match="locked"):
            SystemKeyring().put("00", b"")

    def test_what_is_no_key_in_the_keyring_is_told(
        self, system_keyring: None, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        del system_keyring
        for text in ("no base64 \u00e9", "AAAA"):
            monkeypatch.setattr(FileKeyring, "get_password", Mock(return_value=text))
            with pytest.raises(IntegrityError, match="is no key"):
                SystemKeyring().get("00")


class TestDirectory:
    def test_it_writes_as_it_opened_and_never_weaker(self, keeper: MemoryKeyring) -> None:
        vault = DirectoryVault(WORDS, keeper)
        assert vault.protect(SECRET) == SECRET
        vault.reveal(KeyringVault(keeper).protect(SECRET))
        vault.reveal(SECRET)
        vault.reveal(STORED)
        assert protection_of(vault.protect(SECRET)) is Protection.KEYRING

    def test_an_identity_can_be_made_protected_from_the_start(self, tmp_path: Path) -> None:
        made = DeviceIdentity.load_or_create(tmp_path / "id", FakeClock(), by_words())
        assert b"PRIVATE" not in (tmp_path / "id" / IDENTITY_FILE).read_bytes()
        opened = DeviceIdentity.load_or_create(tmp_path / "id", FakeClock(), DirectoryVault(WORDS))
        assert opened.device_id == made.device_id


class TestProtectingAgain:
    def test_every_way_into_every_other(self, tmp_path: Path, keeper: MemoryKeyring) -> None:
        first = DeviceIdentity.load_or_create(tmp_path / "id", FakeClock())
        files = key_files(tmp_path / "id")
        ways: list[tuple[Protection, Callable[[], KeyVault]]] = [
            (Protection.PASSPHRASE, by_words),
            (Protection.PASSPHRASE, lambda: by_words("another passphrase")),
            (Protection.KEYRING, lambda: KeyringVault(keeper)),
            (Protection.KEYRING, lambda: KeyringVault(keeper)),
            (Protection.FILE, FileMode),
            (Protection.KEYRING, lambda: KeyringVault(keeper)),
            (Protection.PASSPHRASE, by_words),
            (Protection.FILE, FileMode),
        ]
        words = WORDS
        for way, make in ways:
            protect_all(files, DirectoryVault(words, keeper), make)
            assert set(protections(files).values()) == {way}
            words = "another passphrase" if ways.index((way, make)) == 1 else WORDS
            vault = DirectoryVault(words, keeper)
            again = DeviceIdentity.load_or_create(tmp_path / "id", FakeClock(), vault)
            assert again.device_id == first.device_id
        assert [path.name for path in (tmp_path / "id").iterdir()] == [IDENTITY_FILE]

    def test_a_wrong_passphrase_changes_nothing(self, tmp_path: Path) -> None:
        DeviceIdentity.load_or_create(tmp_path / "id", FakeClock(), by_words())
        path = tmp_path / "id" / IDENTITY_FILE
        before = path.read_bytes()
        with pytest.raises(RefusedError):
            protect_all([path], DirectoryVault("another passphrase"), FileMode)
        assert path.read_bytes() == before

    def test_a_damaged_file_is_left_as_it_is(self, tmp_path: Path) -> None:
        DeviceIdentity.load_or_create(tmp_path / "id", FakeClock(), by_words())
        path = tmp_path / "id" / IDENTITY_FILE
        damaged = path.read_bytes()[:-40]
        path.write_bytes(damaged)
        with pytest.raises(IntegrityError):
            protect_all([path], DirectoryVault(WORDS), FileMode)
        with pytest.raises(IntegrityError):
            DeviceIdentity.load_or_create(tmp_path / "id", FakeClock(), DirectoryVault(WORDS))
        assert path.read_bytes() == damaged

    @pytest.mark.attack
    def test_what_an_interrupted_write_left_in_the_clear_goes(self, tmp_path: Path) -> None:
        DeviceIdentity.load_or_create(tmp_path / "id", FakeClock())
        path = tmp_path / "id" / IDENTITY_FILE
        left = path.with_name(f".{IDENTITY_FILE}.0011223344556677.partial")
        left.write_bytes(path.read_bytes())
        protect_all([path], FileMode(), by_words)
        assert [one.name for one in (tmp_path / "id").iterdir()] == [IDENTITY_FILE]

    def test_a_kill_at_any_line_leaves_one_file_that_opens(self, tmp_path: Path) -> None:
        done = subprocess.run(  # noqa: S603  # our own script
            [sys.executable, KILLER, tmp_path],
            capture_output=True,
            text=True,
            check=True,
            timeout=120,
        )
        found = json.loads(done.stdout)
        assert found["problems"] == []
        assert found["killed"] > 100
        assert found["left"].keys() == {"file", "passphrase"}
