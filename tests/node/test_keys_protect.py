"""`homing-node keys protect`, and starting a node whose keys are protected, as processes."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from pathlib import Path

import pytest
from homing_core.clock import SystemClock
from homing_crypto.identity import IDENTITY_FILE, DeviceIdentity
from homing_crypto.vault.directory import DirectoryVault
from support.node_process import environment, finished, started

WORDS = "correct horse battery staple"
NEW = "four quite other words"
RUN = ["run", "--json", "--no-mdns", "--host", "127.0.0.1", "--port", "0", "--name", "den"]


class Rig:
    """A node's data directory, and files with passphrases."""

    def __init__(self, folder: Path, model: Path) -> None:
        self.folder = folder
        self.model = model
        self.env = environment(
            folder,
            PYTHON_KEYRING_BACKEND="keyring.backends.fail.Keyring",
            HOMING_TEST_KEYRING=str(folder / "keyring.json"),
        )
        self.words = self.passphrase_file("words", WORDS)

    @property
    def key_file(self) -> Path:
        return self.folder / "d" / IDENTITY_FILE

    @property
    def run(self) -> list[str | Path]:
        return [*RUN, "--data-dir", self.folder / "d", "--model", self.model]

    @property
    def given(self) -> dict[str, str]:
        """The environment of a start that nobody watches."""
        return self.env | {"HOMING_NODE_PASSPHRASE_FILE": str(self.words)}

    @property
    def in_keyring(self) -> dict[str, str]:
        """The environment in which there is a keyring."""
        return self.env | {
            "PYTHON_KEYRING_BACKEND": "support.kept_keyring.FileKeyring",
            "PYTHONPATH": os.pathsep.join(sys.path),
        }

    def passphrase_file(self, name: str, words: str, mode: int = 0o600) -> Path:
        path = self.folder / name
        path.write_text(words + "\n", "utf-8")
        path.chmod(mode)
        return path

    def protect(self, *words: str | Path) -> list[str | Path]:
        return ["keys", "protect", "--json", "--data-dir", self.folder / "d", *words]

    def by(self, words: Path) -> list[str | Path]:
        return self.protect("--with", "passphrase", "--new-passphrase-file", words)

    def device(self, words: str | None = None) -> str:
        vault = DirectoryVault(words)
        return DeviceIdentity.load_or_create(self.folder / "d", SystemClock(), vault).device_id


def read(path: str) -> bytes:
    return Path(path).read_bytes()


@pytest.fixture
def rig(tmp_path: Path, small_model: Path) -> Rig:
    return Rig(tmp_path, small_model)


async def test_a_node_protected_from_the_start_runs_with_the_passphrases_file(rig: Rig) -> None:
    done = await finished(*rig.by(rig.words), env=rig.env)
    assert done.status == 0, done.err
    told = json.loads(done.out)
    assert (told["event"], told["protected_by"]) == ("protected", "passphrase")
    assert told["files"] == [str(rig.key_file)]
    assert b"PRIVATE" not in rig.key_file.read_bytes()

    shown = await finished(*rig.protect(), env=rig.env)
    assert json.loads(shown.out)["protected_by"] == "passphrase"

    async with started(*rig.run, env=rig.given) as running:
        assert (await running.event("up"))["node_id"] == rig.device(WORDS)
        # It holds its data directory, so its keys cannot be changed behind its back.
        busy = await finished(*rig.protect("--with", "file"), env=rig.given)
        assert busy.status == 1
        assert "Stop it first" in busy.err
        # A command that only talks to it needs no passphrase.
        told = await finished("devices", "--json", "--data-dir", rig.folder / "d", env=rig.env)
        assert told.status == 0, told.err


async def test_a_start_that_nobody_watches_says_what_it_needs(rig: Rig) -> None:
    await finished(*rig.by(rig.words), env=rig.env)
    done = await finished(*rig.run, env=rig.env)
    assert done.status == 2
    assert "HOMING_NODE_PASSPHRASE_FILE" in done.err
    assert "Traceback" not in done.err


@pytest.mark.parametrize(
    ("words", "mode", "status", "part"),
    [
        ("not the right words", 0o600, 3, "not the passphrase"),
        (WORDS, 0o604, 2, "chmod 600"),
        ("short", 0o600, 2, "characters"),
        (f"{WORDS}\nmore", 0o600, 2, "more than one line"),
    ],
)
async def test_a_file_with_a_wrong_passphrase_or_open_to_others(
    rig: Rig, words: str, mode: int, status: int, part: str
) -> None:
    await finished(*rig.by(rig.words), env=rig.env)
    before = rig.key_file.read_bytes()
    other = rig.passphrase_file("other", words, mode)
    done = await finished(*rig.run, env=rig.env | {"HOMING_NODE_PASSPHRASE_FILE": str(other)})
    assert (done.status, part in done.err) == (status, True), done.err
    assert words not in done.err + done.out
    assert rig.key_file.read_bytes() == before


async def test_the_passphrase_can_be_changed_and_given_up(rig: Rig) -> None:
    device = rig.device()
    assert (await finished(*rig.by(rig.words), env=rig.env)).status == 0
    new = rig.passphrase_file("new", NEW)
    assert (await finished(*rig.by(new), env=rig.env)).status == 2  # the old one is needed
    assert (await finished(*rig.by(new), env=rig.given)).status == 0
    assert rig.device(NEW) == device
    given = rig.env | {"HOMING_NODE_PASSPHRASE_FILE": str(new)}
    assert (await finished(*rig.protect("--with", "file"), env=given)).status == 0
    assert rig.device() == device


async def test_the_keyring(rig: Rig) -> None:
    device = rig.device()
    none = await finished(*rig.protect("--with", "keyring"), env=rig.env)
    assert none.status == 1
    assert "no keyring" in none.err
    assert rig.device() == device  # as it was
    done = await finished(*rig.protect("--with", "keyring"), env=rig.in_keyring)
    assert done.status == 0, done.err
    assert b"PRIVATE" not in rig.key_file.read_bytes()
    async with started(*rig.run, env=rig.in_keyring) as running:
        assert (await running.event("up"))["node_id"] == device
    without = await finished(*rig.run, env=rig.env)
    assert without.status == 1
    assert "no keyring" in without.err


async def test_a_rotation_leaves_the_keys_as_protected_as_they_were(rig: Rig) -> None:
    await finished(*rig.by(rig.words), env=rig.env)
    async with started(*rig.run, env=rig.given) as running:
        await running.event("up")
        words = ("keys", "rotate", "--yes", "--json", "--data-dir", rig.folder / "d")
        rotated = await finished(*words, env=rig.env)
        assert rotated.status == 0, rotated.err
        node = json.loads(rotated.out.splitlines()[-1])
    assert b"PRIVATE" not in rig.key_file.read_bytes()
    assert rig.device(WORDS) in json.dumps(node)


async def test_copies_of_the_keys_are_pointed_out(rig: Rig) -> None:
    rig.device()
    copy = rig.key_file.with_name("identity.json.bak")
    copy.write_bytes(rig.key_file.read_bytes())
    told = json.loads((await finished(*rig.by(rig.words), env=rig.env)).out)
    assert told["other_files"] == [str(copy)]


async def test_wrong_usage(rig: Rig) -> None:
    wrong: list[list[str | Path]] = [
        ["--with", "prayer"],
        ["--with", "passphrase"],
        ["--with", "file", "--new-passphrase-file", rig.words],
        ["--with", "passphrase", "--new-passphrase-file", rig.folder / "nowhere"],
        ["--with", "passphrase", "--new-passphrase-file", rig.folder],
    ]
    for words in wrong:
        done = await finished(*rig.protect(*words), env=rig.env)
        assert done.status == 2, words
        assert "Traceback" not in done.err
    assert not rig.key_file.exists()


@pytest.mark.attack
async def test_a_passphrase_is_in_no_argument_and_no_environment(rig: Rig) -> None:
    await finished(*rig.by(rig.words), env=rig.env)
    async with started(*rig.run, env=rig.given) as running:
        await running.event("up")
        for name in ("cmdline", "environ"):
            seen = await asyncio.to_thread(read, f"/proc/{running.process.pid}/{name}")
            assert seen
            assert WORDS.encode() not in seen
        running.process.send_signal(signal.SIGTERM)
        assert WORDS not in await running.rest()
        assert not [
            path
            for path in (rig.folder / "d").rglob("*")
            if path.is_file() and WORDS.encode() in path.read_bytes()
        ]
