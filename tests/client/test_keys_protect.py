"""A phone whose keys are protected by a passphrase: who is asked for it, and who never is."""

from __future__ import annotations

import asyncio
import json
import signal
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from support.phone_process import objects, one_line, phone_rig

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from support.phone_process import PhoneRig

WORDS = "correct horse battery staple"


@pytest.fixture
async def rig(tmp_path: Path) -> AsyncGenerator[PhoneRig]:
    async with phone_rig(tmp_path) as made:
        yield made


def words_file(rig: PhoneRig, words: str = WORDS) -> Path:
    path = rig.folder / "words"
    path.write_text(words + "\n", "utf-8")
    path.chmod(0o600)
    return path


def identity(rig: PhoneRig) -> bytes:
    return (rig.data_dir / "identity" / "identity.json").read_bytes()


def read(path: str) -> bytes:
    return Path(path).read_bytes()


async def protected(rig: PhoneRig) -> None:
    by = ("--with", "passphrase", "--new-passphrase-file", words_file(rig))
    done = await rig.run("keys", "protect", "--json", *by)
    assert done.status == 0, done.err
    assert b"PRIVATE" not in identity(rig)


async def test_a_new_passphrase_is_asked_for_twice(rig: PhoneRig) -> None:
    async with rig.terminal("keys", "protect", "--with", "passphrase") as terminal:
        await terminal.expect("New passphrase")
        terminal.type(f"{WORDS}\n")
        await terminal.expect("The same again")
        terminal.type("something else entirely\n")
        await terminal.expect("differ")
        assert await terminal.end() == 2
    assert not (rig.data_dir / "identity").exists()
    async with rig.terminal("keys", "protect", "--with", "passphrase") as terminal:
        for prompt in ("New passphrase", "The same again"):
            await terminal.expect(prompt)
            terminal.type(f"{WORDS}\n")
        await terminal.expect("now protected by a passphrase")
        assert await terminal.end() == 0
        assert WORDS not in terminal.shown
        assert "the disk held" not in terminal.shown  # there were no keys before
    assert b"PRIVATE" not in identity(rig)
    (shown,) = objects((await rig.run("keys", "protect", "--json")).out)
    assert shown["protected_by"] == "passphrase"


async def test_keys_that_lay_open_are_best_replaced(rig: PhoneRig) -> None:
    assert (await rig.run("keys", "protect", "--with", "file")).status == 0
    by = ("--with", "passphrase", "--new-passphrase-file", words_file(rig))
    done = await rig.run("keys", "protect", *by)
    assert done.status == 0, done.err
    assert "homing keys rotate" in done.out
    back = await rig.run("keys", "protect", "--with", "file")
    assert back.status == 2
    assert "Run homing keys protect on a terminal" in one_line(back)


async def test_whoever_starts_the_phone_is_asked_and_the_others_are_not(rig: PhoneRig) -> None:
    await protected(rig)
    async with rig.terminal("tools") as terminal:
        await terminal.expect("Passphrase of homing's keys")
        terminal.type("not the right words\n")
        await terminal.expect("not the passphrase")
        await terminal.expect("Passphrase of homing's keys")
        terminal.type(f"{WORDS}\n")
        await terminal.expect("set_timer")
        assert await terminal.end() == 0
        assert WORDS not in terminal.shown
    # From here on the resident process has the keys; nobody needs the passphrase to talk to it.
    done = await rig.run("tools", "--json")
    assert done.status == 0, done.err
    for name in ("cmdline", "environ"):
        seen = await asyncio.to_thread(read, f"/proc/{rig.resident_pid()}/{name}")
        assert WORDS.encode() not in seen
    pid = rig.resident_pid()
    shut = await rig.run("keys", "protect", "--with", "file")
    assert (shut.status, rig.resident_pid()) == (2, pid)  # who cannot open the keys ends nothing
    rig.env["HOMING_PASSPHRASE_FILE"] = str(words_file(rig))
    done = await rig.run("keys", "protect", "--with", "file")
    assert done.status == 0, done.err
    assert "background process has left" in done.err
    assert (await rig.run("tools", "--json")).status == 0


@pytest.mark.parametrize("command", [["ask", "hello"], ["tools"], ["serve"]])
async def test_without_a_terminal_it_says_what_to_do(rig: PhoneRig, command: list[str]) -> None:
    await protected(rig)
    done = await rig.run(command[0], *command[1:])
    assert done.status == 2
    line = one_line(done)
    assert "HOMING_PASSPHRASE_FILE" in line
    assert "homing serve" in line


async def test_a_file_with_the_passphrase_starts_it_unattended(rig: PhoneRig) -> None:
    await protected(rig)
    rig.env["HOMING_PASSPHRASE_FILE"] = str(words_file(rig))
    done = await rig.run("tools", "--json")
    assert done.status == 0, done.err
    assert rig.resident_pid()
    await rig.kill_resident()
    words_file(rig, "not the right words")
    wrong = await rig.run("tools", "--json")
    assert wrong.status == 3
    assert json.loads(wrong.out)["code"] == "refused"


async def test_serve_asks_on_its_terminal(rig: PhoneRig) -> None:
    await protected(rig)
    async with rig.terminal("serve") as terminal:
        for _ in range(2):
            await terminal.expect("Passphrase of homing's keys")
            terminal.type("not the right words\n")
        await terminal.expect("Passphrase of homing's keys")
        terminal.type(f"{WORDS}\n")
        await terminal.expect("Homing is here")
        terminal.process.send_signal(signal.SIGTERM)
        assert await terminal.end() == 0


async def test_three_wrong_passphrases_and_ctrl_c(rig: PhoneRig) -> None:
    await protected(rig)
    before = identity(rig)
    async with rig.terminal("tools") as terminal:
        for _ in range(3):
            await terminal.expect("Passphrase of homing's keys")
            terminal.type("not the right words\n")
        assert await terminal.end() == 3
    async with rig.terminal("tools") as terminal:
        await terminal.expect("Passphrase of homing's keys")
        terminal.type("\x03")
        assert await terminal.end() == 130
    assert rig.resident_pid() == 0
    assert identity(rig) == before
