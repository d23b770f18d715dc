"""What networks, files, people and other programs hand to node and phone."""

from __future__ import annotations

import asyncio
import json
from datetime import UTC, datetime, time, timedelta
from functools import cache
from typing import TYPE_CHECKING, Any, cast

from fuzz.found import wire_run
from fuzz.journals import fill, read_all
from fuzz.rows import Damaged, scratch
from fuzz.samples import samples
from fuzz.target import Target, of_text, text
from homing_agent.journal.json_form import (
    answer_from_json,
    call_from_json,
    message_from_json,
    result_from_json,
)
from homing_agent.journal.rows import load
from homing_agent.journal.sqlite import SqliteJournal
from homing_agent.schema import check_arguments, unsupported
from homing_agent.tools.contacts import read_cards
from homing_agent.tools.durations import parse_duration
from homing_agent.tools.icalfile import read_entries
from homing_agent.tools.termux import BatteryLevel
from homing_agent.tools.when import parse_future, parse_when
from homing_client.config import ClientConfig
from homing_client.rpc.phone_codec import decode_question
from homing_core.config import parse_config
from homing_core.errors import HomingError, InvalidDataError
from homing_core.limit_words import read_hours, read_names, read_until
from homing_core.provenance import Sensitivity
from homing_core.testing import FakeClock
from homing_crypto.testing import MemoryAudit
from homing_discovery.addresses import parse_hint_address
from homing_discovery.hints import NODES, decode_txt
from homing_discovery.records import pointed_name
from homing_node.config import ENVIRONMENT_PREFIX, NodeConfig
from homing_node.devices.recovery import Recovery
from homing_node.door import control
from homing_node.door.client_hello import MalformedError, NotTlsError, read_client_hello
from homing_node.door.names import caller_address, visitor
from homing_proto.codec.json_text import decode_json, decode_json_object
from homing_proto.frames import FrameReader, frame
from homing_proto.v1 import phone_pb2
from support.wire_strategies import arbitrary
from zeroconf import DNSIncoming, DNSText  # type: ignore[attr-defined]  # left out of __all__

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from pathlib import Path

    from homing_agent.tool import ToolContext
    from homing_core.addresses import Address
    from homing_core.canonical import JsonValue

_NOW = datetime(2026, 3, 4, 12, 0, tzinfo=UTC)


def _frames(data: bytes) -> object:
    reader = FrameReader(1 << 20)
    half = len(data) // 2
    return reader.feed(data[:half]) + reader.feed(data[half:])


def _hint(data: bytes) -> Address | None:
    return parse_hint_address(text(data[2:]), int.from_bytes(data[:2]))


def _packet(data: bytes) -> object:
    """A packet by multicast: the library reads it, then we read its records."""
    packet = DNSIncoming(data)
    found: list[object] = []
    for record in packet.answers():
        found += [pointed_name(record), NODES.token_of(record.name)]
        if isinstance(record, DNSText):
            found.append(decode_txt(record.text))
    return found


_PACKET = bytes.fromhex(
    "000084000000000200000000075f686f6d696e67045f746370056c6f63616c00000c000100001194000a07"
    "686f6d696e672dc00c07686f6d696e672dc00c00108001000011940004037631"
)


def _hello() -> bytes:
    """A ClientHello with one cipher, TLS 1.3, the hybrid group and an empty share for it."""
    lists = "002b0003020304000a0004000211ec00330007000511ec000100"
    body = "0303" + "11" * 32 + "00000213010100" + f"{len(lists) // 2:04x}" + lists
    message = "01" + f"{len(body) // 2:06x}" + body
    return bytes.fromhex("160301" + f"{len(message) // 2:04x}" + message)


def _config(kind: type[Any], prefix: str) -> Callable[[str], object]:
    return lambda found: parse_config(found, kind, "file", {}, prefix)


@cache
def _file(name: str) -> Path:
    return scratch() / name


def _calendar(data: bytes) -> object:
    _file("todo.ics").write_bytes(data)
    return read_entries(_file("todo.ics"), "VTODO")


_ICS = (
    "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:-//x//EN\r\nBEGIN:VTODO\r\nUID:1\r\n"
    "SUMMARY:Milk\r\nDUE;TZID=Europe/Berlin:20260304T090000\r\nRRULE:FREQ=DAILY\r\n"
    "BEGIN:VALARM\r\nTRIGGER:-PT5M\r\nEND:VALARM\r\nEND:VTODO\r\nEND:VCALENDAR\r\n"
)
_VCF = (
    "BEGIN:VCARD\r\nVERSION:4.0\r\nUID:1\r\nFN:Ann \\, B\r\nTEL;TYPE=cell:+49 1\r\n"
    "EMAIL;PREF=1:a@b.c\r\nNOTE:folded\r\n  line\r\nEND:VCARD\r\n"
)


class _Battery(BatteryLevel):
    def __init__(self, output: str) -> None:
        super().__init__()
        self._output = output

    async def command(self, *arguments: str, stdin: str = "") -> str:
        del arguments, stdin
        return self._output


def _battery(output: str) -> object:
    return _finish(_Battery(output).run({}, cast("ToolContext", None)))


def _finish(work: Coroutine[Any, Any, object]) -> object:
    """Run what waits for nothing."""
    try:
        work.send(None)
    except StopIteration as done:
        return done.value
    msg = "it waits"
    raise AssertionError(msg)


@cache
def _recovery() -> Recovery:
    return Recovery(_file("recovery.json"), FakeClock(), MemoryAudit())


def _recovery_file(data: bytes) -> object:
    path = _file("recovery.json")
    path.write_bytes(data)
    path.chmod(0o600)
    return asyncio.run(_recovery().state())


def _recovery_files() -> list[bytes]:
    path = _file("made.json")
    made = Recovery(path, FakeClock(), MemoryAudit())
    asyncio.run(made.make())
    return [path.read_bytes()]


def _journal_json(data: bytes) -> object:
    value = load(text(data))
    for read in (message_from_json, call_from_json, result_from_json, answer_from_json):
        try:
            read(value)
        except HomingError:
            continue
    return None


def _arguments(data: bytes) -> object:
    """What a model gives a tool, against the schema that somebody else wrote."""
    schema, _, arguments = data.partition(b"\x00")
    try:
        wanted, given = json.loads(schema), json.loads(arguments)
    except (ValueError, RecursionError) as error:
        msg = "no JSON"
        raise InvalidDataError(msg) from error
    if isinstance(wanted, dict) and not unsupported(cast("dict[str, JsonValue]", wanted)):
        check_arguments(cast("dict[str, JsonValue]", wanted), given)
    return None


def _journal(path: Path) -> Callable[[], object]:
    journal = SqliteJournal.open(path)
    fill(journal)
    return lambda: read_all(journal)


def _ask(message: phone_pb2.Question) -> object:
    return decode_question(message, Sensitivity.HOME_ONLY)


_question = arbitrary(phone_pb2.Question).map(lambda found: found.SerializeToString())

TARGETS = [
    Target("wire.frames", _frames, seeds=lambda: [frame(b"abc") + frame(b"")]),
    Target(
        "wire.json",
        lambda data: (decode_json(text(data), "x"), decode_json_object(text(data), "x")),
        (
            "homing_proto.codec.json_text.decode_json",
            "homing_proto.codec.json_text.decode_json_object",
        ),
        lambda: [b'{"a": [1, -2.5e3, "x", null, true]}'],
    ),
    Target(
        "phone.question",
        wire_run(phone_pb2.Question, _ask),
        ("homing_client.rpc.phone_codec.decode_question",),
        lambda: samples(phone_pb2.Question, _ask),
        structured=_question,
    ),
    Target(
        "mdns.address",
        _hint,
        ("homing_discovery.addresses.parse_hint_address",),
        lambda: [b"\x12\x34192.168.1.2", b"\x12\x34fe80::1%eth0", b"\x12\x34::ffff:1.2.3.4"],
    ),
    Target("mdns.packet", _packet, seeds=lambda: [_PACKET]),
    Target(
        "door.client_hello",
        read_client_hello,
        seeds=lambda: [_hello()],
        allowed=(NotTlsError, MalformedError),
    ),
    Target(
        "door.control",
        control.decode,
        seeds=lambda: [
            b'{"ready":true}',
            b'{"expelled":"ab"}',
            b'{"refused":[["1.2.3.4","rate",2]]}',
        ],
    ),
    of_text(
        "door.peer",
        lambda found: (visitor(found), caller_address(found)),
        "unix:c1-c0a80107",
        "ipv4:1.2.3.4:5",
        "ipv6:%5Bfe80::1%25eth0%5D:5",
    ),
    of_text(
        "config.node",
        _config(NodeConfig, ENVIRONMENT_PREFIX),
        '[node]\nname = "den"\n[listen]\nport = 47100\n[limits]\n',
        covers=("homing_core.config.parse_config",),
        quick=150,
    ),
    of_text(
        "config.phone",
        _config(ClientConfig, "HOMING_"),
        "[phone]\nidle_minutes = 5\n[home]\nmdns = true\n",
        quick=150,
    ),
    Target("file.calendar", _calendar, seeds=lambda: [_ICS.encode()], quick=100),
    of_text("file.contacts", lambda found: read_cards(found, _file("c.vcf")), _VCF, quick=150),
    of_text("termux.battery", _battery, '{"percentage": 55, "status": "CHARGING"}'),
    of_text(
        "words.when",
        lambda found: (parse_when(found, _NOW), parse_future(found, _NOW, time(9))),
        "tomorrow at 9am",
        "in 5 minutes",
        "2026-03-05T10:00",
        "next friday",
        "noon",
        covers=("homing_agent.tools.when.parse_when", "homing_agent.tools.when.parse_future"),
        quick=60,
    ),
    of_text(
        "words.duration",
        lambda found: parse_duration(found, timedelta(days=1)),
        "5 minutes",
        "1h30",
        "an hour and a half",
        covers=("homing_agent.tools.durations.parse_duration",),
    ),
    of_text(
        "words.limits", lambda found: (read_names(found), read_hours(found)), "a,b", "08:00-22:00"
    ),
    of_text(
        "words.until", lambda found: read_until(found, _NOW.timestamp(), UTC), "2026-05-01", "7d"
    ),
    Target("node.recovery", _recovery_file, seeds=_recovery_files, quick=60),
    Target("journal.json", _journal_json, seeds=lambda: [b'{"name":"note","arguments":{}}']),
    Target("journal.rows", Damaged(_journal, "journal.db"), seeds=lambda: [b"\x07{}"], quick=60),
    Target(
        "tool.arguments",
        _arguments,
        seeds=lambda: [
            b'{"type":"object","properties":{"a":{"type":"integer","minimum":1}}}\x00{"a":5}'
        ],
    ),
]
