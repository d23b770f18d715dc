"""Pairing by short code with the installed commands: on a terminal, for scripts, by mDNS."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import pty
import re
import subprocess
import sys
import termios
from typing import TYPE_CHECKING

import pytest
from support.commands import ROOT
from support.phone_process import Terminal
from support.programs import BIN, WAIT_S, Program, objects, one_line

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterator

    from support.household import Household, Node, Phone


@pytest.fixture
def node(tiny: Household, stranger: Phone) -> Iterator[Node]:
    """A node that knows its own phone, and at the end no other."""
    yield tiny.node
    stranger.close()
    for device in objects(tiny.node("devices", "--json")):
        if device["name"] == stranger.folder.name:
            tiny.node("devices", "revoke", device["id"])


@contextlib.asynccontextmanager
async def asking(node: Node, *words: str, columns: int = 120) -> AsyncGenerator[Terminal]:
    """`homing-node pair` on a terminal of its own."""
    master, slave = pty.openpty()
    termios.tcsetwinsize(slave, (50, columns))
    try:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "support.on_terminal", str(BIN / "homing-node"), "pair"),
            *("--data-dir", str(node.folder), *words),
            env=dict(node.env) | {"PYTHONPATH": str(ROOT / "tests"), "TERM": "xterm"},
            stdin=slave,
            stdout=slave,
            stderr=slave,
        )
    finally:
        os.close(slave)
    shown = Terminal(process, master)
    loop = asyncio.get_running_loop()
    loop.add_reader(master, shown.on_readable)
    try:
        yield shown
    finally:
        loop.remove_reader(master)
        os.close(master)
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()


async def shown_code(terminal: Terminal) -> tuple[str, str]:
    """The code and the address that a person reads."""
    await terminal.expect("(if it does not find this node)")
    found = re.search(r"homing pair (\d{4}-\d{4}) --at (\S+)", terminal.text)
    assert found is not None
    return found[1], found[2]


def test_a_code_is_enough_on_the_same_network(node: Node, stranger: Phone) -> None:
    words = ("pair", "--json", "--yes", "--data-dir", str(node.folder))
    with Program("homing-node", *words, env=node.env) as shown:
        code = shown.event("opened")["code"]
        looking, waiting, paired = objects(stranger("pair", code, "--json"))
        assert looking == {"event": "looking"}
        assert (waiting["event"], waiting["node"]) == ("waiting", node.folder.name)
        device = shown.event("paired")["device"]
        assert shown.end() == 0
    assert (paired["event"], paired["role"], paired["reachable"]) == ("paired", "member", True)
    assert device["id"] == waiting["device_id"]


async def test_a_person_is_asked_on_the_terminal_and_says_yes(node: Node, stranger: Phone) -> None:
    async with asking(node) as terminal:
        code, at = await shown_code(terminal)
        words = ("pair", *code.split("-"), "--at", at)
        pairing = asyncio.create_task(asyncio.to_thread(stranger, *words))
        await terminal.expect("Let it in as member? [y/N]")
        assert f"“{stranger.folder.name}”" in terminal.text
        terminal.type("y\n")
        await terminal.expect("Paired")
        assert await terminal.end() == 0
        done = await pairing
    assert done.status == 0, done.err
    assert "as member" in done.out
    shown = re.search(r"It shows there as device ([0-9a-f]{12})", done.err)
    assert shown is not None
    assert shown[1] in terminal.text


async def test_a_window_that_is_too_narrow_for_the_picture_is_told_so(node: Node) -> None:
    async with asking(node) as wide:
        await shown_code(wide)
    picture = [line for line in wide.text.splitlines() if "\u2588" in line or "\u2580" in line]
    needed = max(len(line.rstrip()) for line in picture)
    async with asking(node, columns=needed - 1) as narrow:
        await narrow.expect("this is too narrow")
        await shown_code(narrow)
        assert "\u2580" not in narrow.text
        assert "Scan this" not in narrow.text


async def test_nobody_is_asked_where_the_first_code_comes_in_unasked(node: Node) -> None:
    async with asking(node, "--yes") as terminal:
        await shown_code(terminal)
        assert "answer for it here" not in terminal.text


async def test_a_person_who_only_presses_enter_says_no(node: Node, stranger: Phone) -> None:
    async with asking(node) as terminal:
        code, at = await shown_code(terminal)
        pairing = asyncio.create_task(asyncio.to_thread(stranger, "pair", code, "--at", at))
        await terminal.expect("[y/N]")
        terminal.type("\n")
        await terminal.expect("you did not let the device in")
        assert await terminal.end() == 1
        done = await pairing
    assert done.status == 3
    assert "the person at the node said no" in done.err
    assert objects(stranger("nodes", "--json", "--no-check")) == []


def test_a_script_answers_on_standard_input(node: Node, stranger: Phone) -> None:
    with subprocess.Popen(  # noqa: S603  # our own command
        [BIN / "homing-node", "pair", "--json", "--code", "--data-dir", node.folder],
        env=dict(node.env),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as shown:
        assert shown.stdin is not None
        assert shown.stdout is not None
        events = [json.loads(shown.stdout.readline())]
        while events[-1]["event"] != "opened":
            events.append(json.loads(shown.stdout.readline()))
        shown.stdin.write("y\n")
        shown.stdin.flush()
        done = stranger("pair", events[-1]["code"], "--json")
        rest = [json.loads(line) for line in shown.stdout]
        assert shown.wait(WAIT_S) == 0
    assert [event["event"] for event in rest] == ["asks", "paired"]
    assert rest[0]["name"] == stranger.folder.name
    assert objects(done)[-1]["event"] == "paired"


@pytest.mark.parametrize(
    ("words", "status", "says"),
    [
        (("4821-773",), 2, "this has 7"),
        (("4821-7736", "--at", "nowhere"), 2, "that is not an address"),
        (("homing://pair?v=1", "--at", "127.0.0.1:1"), 2, "damaged"),
        (("hello",), 2, "not a pairing link"),
    ],
)
def test_what_is_typed_wrongly_is_said_at_once(
    stranger: Phone, words: tuple[str, ...], status: int, says: str
) -> None:
    done = stranger("pair", *words)
    assert done.status == status
    assert says in one_line(done)


def test_a_code_that_nobody_shows_names_the_other_way(stranger: Phone) -> None:
    done = stranger("pair", "4821-7736", "--at", "127.0.0.1:1")
    assert done.status == 1
    assert "cannot be reached" in done.err
    stranger.close()


def test_asking_for_a_code_and_for_none_is_wrong_usage(tiny: Household) -> None:
    done = tiny.node("pair", "--yes", "--no-code")
    assert done.status == 2
    assert "--no-code" in one_line(done)
