from __future__ import annotations

import dataclasses

import pytest
from homing_core.addresses import Address, parse_address
from homing_core.errors import InvalidDataError
from homing_crypto.pairing.link import (
    MAX_LINK,
    SECRET_BYTES,
    LinkKind,
    PairingLink,
    link_id,
    new_secret,
    parse_link,
)
from hypothesis import given
from hypothesis import strategies as st

LINK = PairingLink(
    addresses=(Address("192.168.1.20", 50123), Address("fd00::1", 50123)),
    certificate_sha256=bytes(range(32)),
    secret=bytes(range(16)),
    expires_at=1_800_000_180,
    node_addresses=(Address("attic.local", 7443),),
)
TEXT = LINK.to_text()

addresses = st.lists(
    st.builds(
        Address,
        st.sampled_from(["10.0.0.7", "fd00::1", "::1", "node", "a-b.example.org"]),
        st.integers(1, 65535),
    ),
    min_size=1,
    max_size=8,
).map(tuple)
links = st.builds(
    PairingLink,
    addresses=addresses,
    certificate_sha256=st.binary(min_size=32, max_size=32),
    secret=st.binary(min_size=SECRET_BYTES, max_size=SECRET_BYTES),
    expires_at=st.integers(0, 10**11),
    node_addresses=addresses | st.just(()),
    kind=st.sampled_from([None, *LinkKind]),
)


@given(links)
def test_every_link_reads_back_as_it_was(link: PairingLink) -> None:
    text = link.to_text()
    assert parse_link(text) == link
    assert parse_link(f"  {text}\n") == link


def test_a_usual_link_fits_a_small_code() -> None:
    usual = dataclasses.replace(LINK, addresses=LINK.addresses[:1], node_addresses=())
    assert usual.to_text().startswith("homing://pair?v=1&a=192.168.1.20:50123&c=")
    assert len(usual.to_text()) < 154  # version 8 of a QR code, level M, holds 152 bytes


def test_a_secret_is_random_and_not_shown() -> None:
    assert new_secret() != new_secret()
    assert len(new_secret()) * 8 >= 128
    assert repr(LINK.secret) not in repr(LINK)


def test_the_link_id_names_the_link_without_giving_it_away() -> None:
    assert LINK.id == link_id(LINK.secret)
    assert LINK.id != link_id(bytes(16))
    assert LINK.secret.hex() not in LINK.id


def test_unknown_keys_are_passed_over() -> None:
    assert parse_link(TEXT + "&z=1&new=thing") == LINK
    assert parse_link(TEXT + "&k=watch") == LINK


def test_a_link_that_was_broken_over_lines_is_read() -> None:
    lines = [TEXT[at : at + 40] for at in range(0, len(TEXT), 40)]
    assert parse_link("  " + "\r\n  ".join(lines) + "\n") == LINK


def test_percent_escapes_are_read() -> None:
    assert parse_link(TEXT.replace(":50123", "%3A50123").replace("[", "%5B")) == LINK


@pytest.mark.parametrize("version", ["v=2", "v=", "w=1", "v=01"])
def test_another_version_asks_for_an_update(version: str) -> None:
    with pytest.raises(InvalidDataError, match="another version") as caught:
        parse_link(TEXT.replace("v=1", version))
    assert "Update" in caught.value.hint


@pytest.mark.parametrize(
    "text",
    [
        "",
        "homing://",
        "https://example.org/pair?v=1",
        "homing://pair",
        TEXT.replace("homing", "homìng"),
        TEXT + "&z=" + "x" * MAX_LINK,
    ],
)
def test_what_is_no_link_at_all_is_told_so(text: str) -> None:
    with pytest.raises(InvalidDataError, match="not a pairing link"):
        parse_link(text)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("&x=", "&x=1&x="),
        ("&s=", "&s=AAAAAAAAAAAAAAAAAAAAAA&s="),
        ("&s=", "&t="),
        ("&s=AAEC", "&s=AAE"),
        ("&s=AAEC", "&s=AA+C"),
        ("Dw&x", "Dx&x"),  # the same bytes, spelled otherwise
        ("&x=1800000180", "&x=-1"),
        ("&x=1800000180", "&x=1e9"),
        ("&x=1800000180", "&x=" + "9" * 30),
        ("&x=1800000180", "&x=%FF"),
        ("&x=1800000180", "&x"),
        ("192.168.1.20:50123", ""),
        ("192.168.1.20:50123", "192.168.1.256:1"),
        ("192.168.1.20:50123", "192.168.1.20:0"),
        ("192.168.1.20:50123", "192.168.1.20:70000"),
        ("192.168.1.20:50123", "192.168.1.20"),
        ("192.168.1.20:50123", "-x:1"),
        ("192.168.1.20:50123", "[fe80::1%25eth0]:1"),
        ("192.168.1.20:50123", ",".join(["a:1"] * 8)),
    ],
)
def test_a_damaged_link_is_told_so(old: str, new: str) -> None:
    assert old in TEXT
    with pytest.raises(InvalidDataError, match="damaged") as caught:
        parse_link(TEXT.replace(old, new, 1))
    assert "quotes" in caught.value.hint


@given(st.text(max_size=200))
def test_random_text_is_refused_cleanly(text: str) -> None:
    with pytest.raises(InvalidDataError):
        parse_link(text)
    with pytest.raises(InvalidDataError):
        parse_link("homing://pair?v=1&" + text)


@given(st.integers(0, len(TEXT) - 1), st.text(max_size=3))
def test_a_changed_stretch_is_refused_or_gives_a_link(place: int, text: str) -> None:
    try:
        link = parse_link(TEXT[:place] + text + TEXT[place + 1 :])
    except InvalidDataError:
        return
    assert len(link.secret) == SECRET_BYTES
    assert len(link.certificate_sha256) == 32
    assert link.addresses


@given(st.text(max_size=80))
def test_random_addresses_are_refused_cleanly_or_read_back(text: str) -> None:
    try:
        address = parse_address(text, error=InvalidDataError)
    except InvalidDataError:
        return
    assert parse_address(str(address)) == address
