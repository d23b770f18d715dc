"""The greeting's parser takes what TLS allows, and for everything else has one clear answer."""

from __future__ import annotations

import pytest
from homing_node.door.client_hello import (
    MAX_BYTES,
    ClientHello,
    MalformedError,
    NotTlsError,
    read_client_hello,
)
from homing_node.door.floor import Reason, alert, judge
from hypothesis import given
from hypothesis import strategies as st
from support.hellos import (
    GOOD,
    P256,
    TLS_1_2,
    TLS_1_3,
    X25519,
    X25519MLKEM768,
    client_hello,
    extension,
    records,
    sized,
)


def test_what_a_caller_offers_is_read() -> None:
    hello = records(client_hello((TLS_1_3, TLS_1_2), (X25519MLKEM768, X25519, P256), (X25519,)))
    assert read_client_hello(hello) == ClientHello(
        (TLS_1_3, TLS_1_2), (X25519MLKEM768, X25519, P256), (X25519,)
    )


def test_without_a_list_of_versions_the_old_field_counts() -> None:
    found = read_client_hello(records(client_hello((), (X25519,))))
    assert found == ClientHello((TLS_1_2,), (X25519,), (X25519,))


@given(st.lists(st.integers(1, len(client_hello()) - 1), max_size=3, unique=True).map(sorted))
def test_it_may_come_in_several_records(cuts: list[int]) -> None:
    whole = records(client_hello(), *cuts)
    assert read_client_hello(whole) == read_client_hello(GOOD)


@given(st.integers(0, len(GOOD) - 1))
def test_a_beginning_of_a_good_greeting_is_waited_for(length: int) -> None:
    assert read_client_hello(GOOD[:length]) is None


def test_what_follows_in_further_records_is_not_looked_at() -> None:
    assert read_client_hello(GOOD + b"\x17anything") == read_client_hello(GOOD)


@pytest.mark.parametrize(
    ("data", "http"),
    [
        (b"GET / HTTP/1.1\r\n\r\n", True),
        (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", True),
        (b"P", True),
        (b"SSH-2.0-OpenSSH_9\r\n", False),
        (b"\x16\x02\x00", False),
        (b"\x16\x03\x09", False),
        (b"\x15\x03\x01\x00\x02\x01\x00", False),
        (b"\x80\x2e\x01\x00\x02", False),  # SSL 2
        (b"\x00", False),
    ],
)
def test_what_is_not_tls_is_told_by_its_first_bytes(data: bytes, *, http: bool) -> None:
    with pytest.raises(NotTlsError) as caught:
        read_client_hello(data)
    assert caught.value.http is http


def message(body: bytes, kind: int = 1) -> bytes:
    return records(bytes([kind]) + sized(3, body))


_HEAD = b"\x03\x03" + b"r" * 32


@pytest.mark.parametrize(
    "data",
    [
        b"\x16\x03\x01\x00\x00",  # an empty record
        b"\x16\x03\x01\x40\x01",  # a record longer than any
        b"\x16\x03\x01\xff\xff",
        message(b"", kind=2),  # a ServerHello
        records(b"\x01\xff\xff\xff"),  # 16 MiB announced
        message(b"\x03\x03short"),
        message(_HEAD + sized(1, b"s" * 33)),
        message(_HEAD + b"\x00" + sized(2, b"\x13") + sized(1, b"\x00")),  # odd list of ciphers
        message(_HEAD + b"\x00" + sized(2, b"") + sized(1, b"\x00")),
        message(_HEAD + b"\x00" + sized(2, b"\x13\x01") + sized(1, b"\x01")),  # only compressed
        message(_HEAD + b"\x00" + sized(2, b"\x13\x01") + sized(1, b"")),
        message(client_hello()[4:] + b"\x00"),  # something after the extensions
        records(client_hello() + b"\x00"),  # something after the message
        records(client_hello(more=extension(43, sized(1, b"\x03\x04")))),  # twice
        records(client_hello((), more=extension(43, b""))),
        records(client_hello((), more=extension(43, b"\x03\x03\x04\x03"))),
        records(client_hello((), more=extension(43, sized(1, b"\x03\x04") + b"\x00"))),
        records(client_hello(groups=(), more=extension(10, sized(2, b"")))),
        records(client_hello(groups=(), more=extension(10, b"\x00\x04\x00\x1d"))),
        records(client_hello(groups=(), more=extension(51, sized(2, b"\x00\x1d\x00\x00")))),
        records(client_hello(groups=(), more=extension(51, sized(2, b"\x00")))),
        GOOD[:9] + b"\x16" + GOOD[9:],
        records(client_hello(), *range(1, 6)),  # cut up without need
        records(client_hello()[:4]) + b"\x16\x03\x01\x00\x00",  # then an empty record
        records(client_hello(more=extension(21, bytes(MAX_BYTES)))),
    ],
    ids=str,
)
def test_what_only_looks_like_a_greeting_is_malformed(data: bytes) -> None:
    with pytest.raises(MalformedError):
        read_client_hello(data[: MAX_BYTES + 1])


@given(st.binary(max_size=600) | st.binary(max_size=600).map(lambda rest: b"\x16\x03\x01" + rest))
def test_no_bytes_have_no_answer(data: bytes) -> None:
    assert judge(data, hybrid=True) in {
        None,
        Reason.NOT_TLS,
        Reason.PLAINTEXT,
        Reason.MALFORMED,
        Reason.OLD_TLS,
        Reason.NOT_HYBRID,
    }


@given(st.data())
def test_a_good_greeting_with_one_byte_changed_has_an_answer(data: st.DataObject) -> None:
    place = data.draw(st.integers(0, len(GOOD) - 1))
    changed = GOOD[:place] + bytes([data.draw(st.integers(0, 255))]) + GOOD[place + 1 :]
    found = judge(changed, hybrid=True)
    assert found is None or isinstance(found, Reason | ClientHello)


@given(st.binary(max_size=300))
def test_nobody_is_waited_for_beyond_the_longest_greeting(rest: bytes) -> None:
    """However it begins: what is full is decided."""
    whole = b"\x16\x03\x01\x3f\xf0\x01\x00\x3f\xec" + rest + bytes(MAX_BYTES)
    assert judge(whole[: MAX_BYTES + 1], hybrid=True) is not None


@pytest.mark.parametrize(
    ("hello", "hybrid", "reason"),
    [
        (client_hello((TLS_1_2,)), False, Reason.OLD_TLS),
        (client_hello(()), False, Reason.OLD_TLS),
        (client_hello(groups=(X25519, P256)), True, Reason.NOT_HYBRID),
        (client_hello(groups=()), True, Reason.NOT_HYBRID),
    ],
)
def test_below_the_floor_the_caller_is_told_why(
    hello: bytes, reason: Reason, *, hybrid: bool
) -> None:
    assert judge(records(hello), hybrid=hybrid) is reason
    assert alert(reason)[:6] == b"\x15\x03\x03\x00\x02\x02"
    assert len(alert(reason)) == 7


def test_classical_groups_pass_where_the_hybrid_is_only_preferred() -> None:
    assert isinstance(judge(records(client_hello(groups=(X25519,))), hybrid=False), ClientHello)


def test_the_hybrid_may_be_offered_without_a_key_for_it() -> None:
    """TLS asks for one then, and goes on (HelloRetryRequest)."""
    hello = records(client_hello(groups=(X25519, X25519MLKEM768), shares=(X25519,)))
    assert isinstance(judge(hello, hybrid=True), ClientHello)
    assert isinstance(judge(records(client_hello(shares=())), hybrid=True), ClientHello)
