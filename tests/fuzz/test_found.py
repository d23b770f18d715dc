"""What fuzzing has found, once each, so that it stays mended."""

from __future__ import annotations

import pytest
from fuzz.targets import all_targets
from structlog.testing import capture_logs

_FOUND = [
    # A nested text in the place of a pairing that was under way: recursion without end.
    ("crypto.claiming", b"homing-code:" + b"[" * 100_000),
    ("crypto.claiming", b"homing-code:" + b'{"a":' * 100_000),
    # The same in each column of the databases of devices and of nodes.
    *(
        (store, bytes([column]) + b"[" * 5000)
        for store in ("crypto.trust_store", "crypto.node_book")
        for column in range(24)
    ),
    # A time zone whose name is too long for a file's.
    (
        "file.calendar",
        b"BEGIN:VCALENDAR\r\nBEGIN:VTODO\r\nDUE;TZID=Europe/B"
        + b"9" * 400
        + b":20260304T090000\r\nEND:VTODO\r\nEND:VCALENDAR\r\n",
    ),
    # A count that no floating-point number holds.
    ("upstream.counts", b'{"prompt_tokens": ' + b"9" * 400 + b"}"),
    ("upstream.counts", b'{"usage": {"prompt_tokens": ' + b"9" * 400 + b"}}"),
    ("node.recovery", b"[" * 2000),
    ("node.recovery", b'{"salt":"","argon2id":"","iterations":1e999}'),
    # A place, a state or a verdict that there is not, in a row of the journal.
    *(("journal.rows", bytes([column]) + b"\x00") for column in range(40)),
]


@pytest.mark.parametrize(("name", "data"), _FOUND)
def test_it_is_refused_in_our_words(name: str, data: bytes) -> None:
    with capture_logs():
        all_targets()[name].attempt(data)


def test_a_wheel_that_names_a_place_before_its_beginning() -> None:
    target = all_targets()["model.wheel"]
    for wheel in target.seeds():
        for missing in range(1, 8):
            target.attempt(wheel[missing:])
