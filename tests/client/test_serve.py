"""The resident process: comes by itself, one for each data directory, and leaves in good order."""

from __future__ import annotations

import asyncio
import json
import signal
import stat
from typing import TYPE_CHECKING

import pytest
from support.phone_process import DEADLINE_S, PhoneRig, answer, objects, one_line

if TYPE_CHECKING:
    from asyncio.subprocess import Process


async def event(process: Process, name: str) -> dict[str, str]:
    """The next thing of this name that `homing serve --json` tells."""
    assert process.stdout is not None
    while line := await asyncio.wait_for(process.stdout.readline(), DEADLINE_S):
        found: dict[str, str] = json.loads(line)
        if found["event"] == name:
            return found
    msg = f"it ended without {name!r}"
    raise AssertionError(msg)


async def test_commands_start_it_by_themselves(rig: PhoneRig) -> None:
    tools = await rig.run("tools", "--json")
    assert tools.status == 0, tools.err
    names = {found["name"] for found in objects(tools.out) if found["available"]}
    assert {"set_reminder", "add_event", "save_note", "current_time"} <= names
    pid = rig.resident_pid()
    assert pid
    assert (await rig.run("nodes", "--json")).status == 0
    assert rig.resident_pid() == pid


async def test_what_it_keeps_is_its_users_alone(rig: PhoneRig) -> None:
    await rig.run("tools")
    for path in [rig.data_dir, *rig.data_dir.rglob("*")]:
        if path.is_socket():  # its folder keeps others away
            continue
        assert stat.S_IMODE(path.lstat().st_mode) & 0o077 == 0, path


async def test_many_commands_at_once_start_one(rig: PhoneRig) -> None:
    done = await asyncio.gather(*(rig.run("tools", "--json") for _ in range(4)))
    assert [one.status for one in done] == [0, 0, 0, 0], [one.err for one in done]
    assert len({one.out for one in done}) == 1


async def test_a_second_one_is_refused_in_one_line(rig: PhoneRig) -> None:
    async with rig.scripted():
        done = await rig.run("serve")
        assert done.status == 1
        assert f"another homing runs (pid {rig.resident_pid()})" in one_line(done)
        assert str(rig.data_dir) in one_line(done)


async def test_what_a_killed_one_left_is_no_hindrance(rig: PhoneRig) -> None:
    await rig.run("tools")
    await rig.kill_resident()
    assert (rig.data_dir / "run" / "control.sock").is_socket()
    done = await rig.run("tools")
    assert done.status == 0, done.err
    assert rig.resident_pid()


async def test_it_tells_how_it_is_and_leaves_when_told(rig: PhoneRig) -> None:
    async with rig.scripted() as resident:
        (status,) = objects((await rig.run("serve", "--status", "--json")).out)
        assert status["event"] == "status"
        assert (status["model"], status["stand_in"], status["ready"]) == ("scripted", True, True)
        assert status["pid"] == resident.process.pid
        assert len(status["device_id"]) == 64
        spoken = await rig.run("serve", "--status")
        assert f"runs (pid {resident.process.pid})" in spoken.out
        assert "scripted (stand-in), ready" in spoken.out
        stopped = await rig.run("serve", "--stop")
        # It has gone when the command returns, and not some time later.
        assert rig.resident_pid() == 0
        assert (stopped.status, stopped.err) == (
            0,
            f"Homing has left (pid {resident.process.pid}).\n",
        )
        assert await resident.process.wait() == 0
    assert not (rig.data_dir / "run" / "control.sock").exists()
    again = await rig.run("serve", "--stop", "--json")
    assert (again.status, objects(again.out)) == (0, [{"event": "stopped", "pid": None}])
    status_of_none = await rig.run("serve", "--status")
    assert status_of_none.status == 1
    assert "Start it with: homing serve" in one_line(status_of_none)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
async def test_a_signal_ends_it_in_good_order(rig: PhoneRig, number: signal.Signals) -> None:
    async with rig.started("serve", "--data-dir", rig.data_dir, "--json") as process:
        await event(process, "listening")
        process.send_signal(number)
        await event(process, "stopped")
        assert await asyncio.wait_for(process.wait(), DEADLINE_S) == 0
    assert not (rig.data_dir / "run" / "control.sock").exists()


async def test_whoever_waits_is_told_when_it_leaves(rig: PhoneRig) -> None:
    long = "a start that is long enough to be shown, "
    async with (
        rig.scripted(answer(long, {"gate": "never"})) as resident,
        rig.started("ask", "--data-dir", rig.data_dir, "count") as process,
    ):
        assert process.stdout is not None
        await process.stdout.readexactly(len(long))
        resident.process.send_signal(signal.SIGTERM)
        _, err = await asyncio.wait_for(process.communicate(), DEADLINE_S)
        assert process.returncode == 1
        assert "the resident process was stopped. Ask again." in err.decode()


async def test_it_leaves_when_nobody_needs_it(rig: PhoneRig) -> None:
    async with rig.scripted(answer("Noon."), idle_seconds=1) as resident:
        assert (await rig.run("ask", "what time is it?")).status == 0
        assert await asyncio.wait_for(resident.process.wait(), DEADLINE_S) == 0
    assert "resident.idle" in (rig.data_dir / "log.jsonl").read_text("utf-8")


async def test_it_stays_while_a_request_runs(rig: PhoneRig) -> None:
    held = answer({"gate": "go"}, "Noon.")
    async with (
        rig.scripted(held, idle_seconds=1) as resident,
        rig.started("ask", "--data-dir", rig.data_dir, "--json", "x") as process,
    ):
        # Twice the time after which it would have left.
        done, _ = await asyncio.wait({asyncio.ensure_future(resident.process.wait())}, timeout=2.5)
        assert not done
        await resident.open_gate("go")
        out, _ = await asyncio.wait_for(process.communicate(), DEADLINE_S)
        assert json.loads(out.splitlines()[-1])["text"] == "Noon."


@pytest.mark.attack
async def test_logs_hold_no_words(rig: PhoneRig) -> None:
    private = "my-bank-balance-is-42"
    async with rig.scripted(answer("It is ", private)):
        await rig.run("ask", f"what is {private}?")
    assert private not in (rig.data_dir / "log.jsonl").read_text("utf-8")


@pytest.mark.parametrize(
    ("text", "words", "command"),
    [
        ("[phone\n", "not valid TOML", ("serve",)),
        ("[phone]\nnick = 'x'\n", "nick", ("ask", "hi")),
        ("[phone]\nidle_minutes = 'soon'\n", "phone.idle_minutes", ("chat",)),
        ("[phone]\nidle_minutes = -1\n", "phone.idle_minutes", ("tools",)),
        ("[home]\naddresses = ['nonsense']\n", "home.addresses", ("nodes",)),
        ("[home]\nreach_seconds = 0\n", "home.reach_seconds", ("models",)),
        ("[model]\ncontext_tokens = 12\n", "model.context_tokens", ("serve",)),
        ("[privacy]\nsensitivity = 'open'\n", "privacy.sensitivity", ("ask", "hi")),
    ],
)
async def test_a_wrong_configuration_is_2_and_names_the_key(
    rig: PhoneRig, text: str, words: str, command: tuple[str, ...]
) -> None:
    rig.configure(text)
    done = await rig.run(*command)
    assert done.status == 2
    assert words in one_line(done)
    assert "phone.toml" in one_line(done)
    assert rig.resident_pid() == 0


async def test_a_named_configuration_must_exist(rig: PhoneRig) -> None:
    done = await rig.run("tools", "--config", rig.folder / "none.toml")
    assert done.status == 2
    assert "none.toml does not exist" in one_line(done)


@pytest.mark.parametrize("name", ["identity/identity.json", "nodes.db", "journal.db", "alarms.db"])
@pytest.mark.parametrize("command", ["serve", "tools"])
async def test_a_damaged_file_is_said_in_one_line_and_left_as_it_is(
    rig: PhoneRig, name: str, command: str
) -> None:
    await rig.run("tools")
    await rig.kill_resident()
    for leftover in rig.data_dir.glob(f"{name}-*"):
        leftover.unlink()  # of SQLite's write-ahead log
    damaged = rig.data_dir / name
    damaged.write_bytes(b"this is not what was written here, and far too short")
    done = await rig.run(command)
    assert done.status == 1
    line = one_line(done)
    assert damaged.name in line
    assert "damaged" in line or "not" in line
    assert damaged.read_bytes().startswith(b"this is not what was written here")
    assert rig.resident_pid() == 0


@pytest.mark.attack
async def test_a_folder_that_is_open_to_others_is_refused(rig: PhoneRig) -> None:
    rig.data_dir.mkdir(mode=0o755)
    (rig.data_dir / "something").touch()
    rig.data_dir.chmod(0o755)
    done = await rig.run("tools")
    assert done.status == 2
    assert "chmod 700" in one_line(done)


async def test_an_alarm_is_shown_where_it_runs(rig: PhoneRig) -> None:
    timer = {"call": "set_timer", "arguments": {"duration": "1 second"}}
    async with rig.scripted(answer(timer)) as resident:
        await rig.run("ask", "--allow", "set_timer", "start a timer of 1 second")
        assert "timer" in (await resident.event("alarm"))["text"].lower()
