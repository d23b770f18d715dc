"""Termux's commands, played by small programs that print what the real ones document."""

from __future__ import annotations

import asyncio
import json
import os
import shlex
import stat
import sys
from typing import TYPE_CHECKING

import pytest
from homing_agent.alarms.notify import FirstOf, LineNotifier, TermuxNotifier, default_notifier
from homing_agent.registry import Registry
from homing_agent.testing import FakeNotifier
from homing_agent.tool import AskPersonError, ToolContext, ToolOutput, UnknownOutcomeError
from homing_agent.tools.command import run_command
from homing_agent.tools.termux import BatteryLevel, SendMessage, SetTorch, SetVolume, SetWifi
from homing_core.errors import HomingError, InvalidDataError, UnavailableError
from homing_core.ids import new_request_id, new_tool_call_id
from homing_core.tools import EffectClass, ToolCall, Topic

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from homing_core.canonical import JsonValue

BATTERY = """{
  "health": "GOOD",
  "percentage": 81,
  "plugged": "UNPLUGGED",
  "status": "DISCHARGING",
  "temperature": 24.5,
  "current": -300000
}
"""
VOLUMES = json.dumps(
    [
        {"stream": "call", "volume": 3, "max_volume": 7},
        {"stream": "music", "volume": 2, "max_volume": 15},
    ]
)
TOOLS = (SendMessage(5), SetTorch(5), SetWifi(5), SetVolume(5), BatteryLevel(0.5))


class Phone:
    """A folder on PATH with fake commands that record how they were called."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def install(self, name: str, *, prints: str = "", status: int = 0, hangs: bool = False) -> None:
        body = f"""import json, sys, time
stdin = sys.stdin.read()
with open({str(self.folder / (name + ".log"))!r}, "a") as log:
    log.write(json.dumps([sys.argv[1:], stdin]) + "\\n")
prints = {prints!r}
if {name!r} != "termux-volume" or len(sys.argv) == 1:
    sys.stdout.write(prints)
sys.stdout.flush()
if {hangs}:
    time.sleep(60)
sys.exit({status})
"""
        (self.folder / f"{name}.py").write_text(body)
        path = self.folder / name
        # Not Python's own path behind #!: it may hold a blank.
        words = (sys.executable, str(self.folder / f"{name}.py"))
        path.write_text(f'#!/bin/sh\nexec {shlex.join(words)} "$@"\n')
        path.chmod(path.stat().st_mode | stat.S_IXUSR)

    def calls(self, name: str) -> Sequence[object]:
        log = self.folder / f"{name}.log"
        return [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []


@pytest.fixture
def phone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Phone:
    monkeypatch.setenv("PATH", str(tmp_path))
    return Phone(tmp_path)


async def run(name: str, /, **arguments: JsonValue) -> ToolOutput:
    call = ToolCall(new_tool_call_id(), name, arguments)
    tool = Registry(TOOLS).check(call)
    tool.preview(arguments)
    return await tool.run(arguments, ToolContext(new_request_id(), call.id))


def test_without_the_commands_nothing_is_offered(phone: Phone) -> None:
    assert Registry(TOOLS).offered() == ()
    reasons = {tool.name: tool.reason for tool in Registry(TOOLS).unavailable()}
    assert "termux-torch" in reasons["set_torch"]
    phone.install("termux-torch")
    assert [spec.name for spec in Registry(TOOLS).offered()] == ["set_torch"]


async def test_a_message_is_sent_with_its_text_on_the_input(phone: Phone) -> None:
    phone.install("termux-sms-send")
    text = "-n 110; $(reboot) `x`\nsecond line"
    output = await run("send_message", number="+49 (170) 123-4567", text=text)
    assert phone.calls("termux-sms-send") == [[["-n", "+491701234567"], text]]
    assert "+491701234567" in output.say


@pytest.mark.parametrize("number", ["-s 1", "110,112", "110 -s", "1", "1" * 30, "+", "११०"])
async def test_what_is_no_number_is_never_passed_on(phone: Phone, number: str) -> None:
    phone.install("termux-sms-send")
    with pytest.raises(InvalidDataError):
        await run("send_message", number=number, text="hi")
    assert phone.calls("termux-sms-send") == []


async def test_a_name_instead_of_a_number_asks_the_person(phone: Phone) -> None:
    phone.install("termux-sms-send")
    with pytest.raises(AskPersonError, match="number"):
        await run("send_message", number="Anna", text="hi")


def test_a_message_needs_a_person_always() -> None:
    spec = SendMessage().spec
    assert spec.effect is EffectClass.SEND
    assert Topic.OTHER_PEOPLE in spec.topics
    assert not spec.idempotent


@pytest.mark.parametrize("state", ["on", "off"])
async def test_torch_and_wifi_take_their_documented_words(phone: Phone, state: str) -> None:
    phone.install("termux-torch")
    phone.install("termux-wifi-enable")
    assert state in (await run("set_torch", state=state)).say
    assert state in (await run("set_wifi", state=state)).say
    assert phone.calls("termux-torch") == [[[state], ""]]
    assert phone.calls("termux-wifi-enable") == [[["true" if state == "on" else "false"], ""]]


async def test_other_words_do_not_pass_the_schema(phone: Phone) -> None:
    phone.install("termux-torch")
    with pytest.raises(InvalidDataError, match="one of: on, off"):
        await run("set_torch", state="--help")


async def test_the_volume_is_scaled_to_the_streams_range(phone: Phone) -> None:
    phone.install("termux-volume", prints=VOLUMES)
    assert (await run("set_volume", percent=50)).say == "The music volume is 50 percent."
    await run("set_volume", percent=100, stream="call")
    assert phone.calls("termux-volume") == [
        [[], ""],
        [["music", "8"], ""],
        [[], ""],
        [["call", "7"], ""],
    ]


@pytest.mark.parametrize(
    "prints",
    ["", "nonsense", "{}", "[]", '[{"stream": "music"}]', '[{"stream":"music","max_volume":true}]'],
)
async def test_garbage_from_the_volume_command_changes_nothing(phone: Phone, prints: str) -> None:
    phone.install("termux-volume", prints=prints)
    with pytest.raises(UnavailableError, match="unexpected"):
        await run("set_volume", percent=50)
    assert phone.calls("termux-volume") == [[[], ""]]


async def test_the_battery_is_read(phone: Phone) -> None:
    phone.install("termux-battery-status", prints=BATTERY)
    assert (await run("battery_level")).say == "The battery is at 81 percent."
    phone.install("termux-battery-status", prints='{"percentage": 30, "status": "CHARGING"}')
    assert (await run("battery_level")).say == "The battery is at 30 percent, charging."


@pytest.mark.parametrize(
    "prints",
    [
        "",
        "nonsense",
        "[]",
        '{"percentage": "81", "status": "FULL"}',
        '{"percentage": true, "status": "FULL"}',
        '{"percentage": 300, "status": "FULL"}',
        '{"percentage": 81}',
        '{"percentage": 81, "status": "FULL"',
        "[" * 100_000,
    ],
)
async def test_garbage_from_the_battery_command_is_an_error(phone: Phone, prints: str) -> None:
    phone.install("termux-battery-status", prints=prints)
    with pytest.raises(UnavailableError, match="unexpected"):
        await run("battery_level")


@pytest.mark.parametrize(
    ("prints", "status"),
    [
        ('{"API_ERROR": "Please grant permission"}', 0),
        ("Usage: termux-torch [on | off]", 0),
        ("Illegal parameter: x", 0),
        ("", 1),
    ],
)
async def test_a_refusal_by_android_is_an_error(phone: Phone, prints: str, status: int) -> None:
    phone.install("termux-torch", prints=prints, status=status)
    with pytest.raises(UnavailableError) as caught:
        await run("set_torch", state="on")
    assert caught.value.hint
    assert not isinstance(caught.value, UnknownOutcomeError)


async def test_an_odd_word_after_sending_leaves_the_outcome_unknown(phone: Phone) -> None:
    phone.install("termux-sms-send", prints="segmentation fault")
    with pytest.raises(UnknownOutcomeError):
        await run("send_message", number="110", text="hi")


async def test_a_command_that_hangs_is_killed(phone: Phone) -> None:
    phone.install("termux-battery-status", hangs=True)
    with pytest.raises(UnknownOutcomeError, match=r"did not answer within 0\.5 s"):
        await run("battery_level")


async def test_a_cancelled_command_is_killed_with_what_it_started(phone: Phone) -> None:
    pid_file = phone.folder / "pid"
    os.mkfifo(pid_file)
    script = phone.folder / "slow"
    script.write_text(f"#!/bin/sh\n/bin/sleep 60 &\necho $! > {pid_file}\nwait\n")
    script.chmod(0o700)
    task = asyncio.create_task(run_command("slow", timeout_s=30))
    async with asyncio.timeout(10):
        child = os.pidfd_open(int(await asyncio.to_thread(pid_file.read_text)))
        ended = asyncio.Event()
        asyncio.get_running_loop().add_reader(child, ended.set)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await ended.wait()
    asyncio.get_running_loop().remove_reader(child)
    os.close(child)
    assert ended.is_set()


async def test_a_command_that_cannot_be_run_is_an_error(phone: Phone) -> None:
    with pytest.raises(UnavailableError, match="cannot be run"):
        await run_command("termux-torch", timeout_s=1)
    phone.install("termux-torch")
    with pytest.raises(UnavailableError, match="cannot be run"):
        await run_command("termux-torch", ("a\0b",), timeout_s=1)
    (phone.folder / "termux-torch").write_bytes(b"\x7fELF broken")
    with pytest.raises(UnavailableError, match="cannot be run"):
        await run_command("termux-torch", timeout_s=1)


async def test_notifications_use_what_the_device_has(phone: Phone) -> None:
    lines: list[str] = []

    def write(line: str) -> bool:
        lines.append(line)
        return True

    await default_notifier(write).notify("Timer", "--help")
    assert lines == ["Timer: --help"]
    phone.install("notify-send")
    await default_notifier(write).notify("Timer", "--help")
    assert phone.calls("notify-send") == [[["--", "Timer", "--help"], ""]]
    phone.install("termux-notification")
    await default_notifier(write).notify("Timer", "--help")
    assert phone.calls("termux-notification") == [
        [["--title=Timer", "--content=--help", "--priority=high", "--sound"], ""]
    ]
    assert len(lines) == 1


async def test_the_next_way_is_tried_when_one_fails(phone: Phone) -> None:
    phone.install("termux-notification", status=1)
    fallback = FakeNotifier()
    await FirstOf([TermuxNotifier(), fallback]).notify("Timer", "pasta")
    assert fallback.shown == [("Timer", "pasta")]
    with pytest.raises(HomingError):
        await FirstOf([TermuxNotifier(), LineNotifier(lambda _: False)]).notify("Timer", "pasta")
