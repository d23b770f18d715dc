"""What node and door say to each other comes back as it was, and nothing else is taken."""

from __future__ import annotations

import pytest
from homing_core.errors import InvalidDataError
from homing_node.door.control import (
    MAX_LINE,
    Drain,
    Ready,
    Report,
    Setup,
    ToDoor,
    ToNode,
    decode,
    encode,
)
from homing_node.door.events import Caps, Dismissed, Expelled, Proved
from homing_node.door.floor import Reason
from homing_node.door.tally import MOST, Tally
from hypothesis import given
from hypothesis import strategies as st

DEVICE = "d" * 64


@pytest.mark.parametrize(
    "message",
    [
        Setup((3, 4), 1 << 32, True, Caps()),  # noqa: FBT003  # fields in order
        Proved(7, DEVICE),
        Expelled(DEVICE),
        Dismissed(7),
        Drain(),
        Ready(),
        Report(),
        Report((("192.168.1.7", Reason.LEFT, 3), ("", Reason.NOT_TLS, 1))),
    ],
    ids=lambda message: type(message).__name__,
)
def test_a_message_comes_back(message: ToDoor | ToNode) -> None:
    line = encode(message)
    assert line.endswith(b"\n")
    assert decode(line) == message


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"\n",
        b"{}",
        b"[]",
        b"null",
        b"\xff",
        b"[" * 100_000,
        b'{"proved":[1]}',
        b'{"proved":[-1,"d"]}',
        b'{"proved":[true,"d"]}',
        b'{"proved":[1.5,"d"]}',
        b'{"proved":[1,2]}',
        b'{"proved":[18446744073709551616,"d"]}',
        b'{"proved":[1,"' + b"d" * 200 + b'"]}',
        b'{"expelled":1}',
        b'{"dismissed":"1"}',
        b'{"drain":1}',
        b'{"ready":false}',
        b'{"ready":true,"drain":true}',
        b'{"refused":[["a","no such reason",1]]}',
        b'{"refused":[["a","not TLS"]]}',
        b'{"refused":{}}',
        b'{"setup":{}}',
        b'{"setup":{"listeners":[],"first":0,"hybrid":true,"caps":{"outside":1}}}',
        b'{"setup":{"listeners":[],"first":0,"hybrid":true,"caps":[]}}',
        encode(Setup((), 0, True, Caps())).replace(b"3.0", b"-1"),  # noqa: FBT003  # as above
        encode(Setup((), 0, True, Caps())).replace(b"3.0", b"NaN"),  # noqa: FBT003  # as above
        encode(Setup((), 0, True, Caps())).replace(b"true", b"1"),  # noqa: FBT003  # as above
        b'{"unknown":1}',
    ],
    ids=lambda line: repr(line[:50]),
)
def test_another_line_is_refused(line: bytes) -> None:
    with pytest.raises(InvalidDataError):
        decode(line)


@given(st.binary(max_size=100))
def test_no_bytes_are_believed(line: bytes) -> None:
    with pytest.raises(InvalidDataError):
        decode(line)


def test_a_flood_from_everywhere_fits_one_line() -> None:
    tally = Tally()
    for number in range(5000):
        tally.add(f"2001:db8:ffff:ffff:ffff:ffff:ffff:{number:x}", Reason.NOT_REACHED)
        tally.add("10.0.0.1", Reason.NO_HELLO)
    report = Report(tuple(tally.take()))
    assert len(encode(report)) < MAX_LINE
    assert sum(count for _, _, count in report.refused) == 10_000
    assert len(report.refused) <= MOST + len(Reason)
    assert ("10.0.0.1", Reason.NO_HELLO, 5000) in report.refused
    assert not tally
