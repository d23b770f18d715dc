"""Reading pages: what may be asked, what comes of it, and how much of it."""

from __future__ import annotations

import asyncio
import gzip
import ssl
import zlib
from ipaddress import ip_address
from typing import TYPE_CHECKING

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from homing_agent.tool import ToolContext
from homing_agent.tools.home.fetch_page import FetchPage
from homing_agent.web.addresses import Allowed, inner_network
from homing_agent.web.fetch import FetchRules, PageFetcher
from homing_agent.web.urls import parse_page_address, redirected
from homing_core.errors import (
    HomingError,
    InvalidDataError,
    OverloadedError,
    RefusedError,
    UnavailableError,
    UsageError,
)
from homing_core.ids import new_request_id, new_tool_call_id
from homing_core.provenance import Trust
from support.certs import Recipe
from support.web_pages import Names, answer, page, redirect, web

if TYPE_CHECKING:
    from pathlib import Path

    from homing_core.jobs import JobProgress

WORDS = "Bees live in hives and make honey, which they keep for the winter. " * 8


def context(seen: list[JobProgress] | None = None) -> ToolContext:
    report = (seen if seen is not None else []).append
    return ToolContext(new_request_id(), new_tool_call_id(), report=report)


def unheard(done: int, total: int) -> None:
    """Nobody watches."""


@pytest.mark.parametrize(
    "address",
    [
        "0.0.0.0",  # noqa: S104  # an address to refuse
        "0.1.2.3",
        "10.0.0.1",
        "100.64.0.1",
        "100.127.255.254",
        "127.0.0.1",
        "127.9.9.9",
        "168.63.129.16",
        "169.254.169.254",
        "172.16.0.1",
        "172.31.255.255",
        "192.0.0.8",
        "192.168.0.1",
        "198.18.0.1",
        "224.0.0.1",
        "255.255.255.255",
        "::",
        "::1",
        "::ffff:127.0.0.1",
        "::ffff:10.0.0.1",
        "::ffff:0:192.168.0.1",
        "::127.0.0.1",
        "64:ff9b::127.0.0.1",
        "64:ff9b::a9fe:a9fe",
        "64:ff9b:1::1",
        "2001:db8::1",
        "2002:7f00:1::",
        "2002:c0a8:1::1",
        "2001:0:7f00:1::",
        "2001:0:808:808:0:0:f5ff:fffe",
        "fc00::1",
        "fd12:3456::1",
        "fe80::1",
        "fec0::1",
        "ff02::1",
        "4000::1",
    ],
)
def test_addresses_of_the_home_are_not_asked(address: str) -> None:
    assert inner_network(ip_address(address))
    assert Allowed().refusal("page.test", ip_address(address))


@pytest.mark.parametrize(
    "address",
    ["1.1.1.1", "100.63.255.255", "172.32.0.1", "8.8.8.8", "2606:4700::1111", "64:ff9b::808:808"],
)
def test_public_addresses_are_asked(address: str) -> None:
    assert not inner_network(ip_address(address))
    assert not Allowed().refusal("page.test", ip_address(address))


def test_what_the_operator_names_is_asked_and_nothing_beside_it() -> None:
    allowed = Allowed.parse(("NAS.lan", "192.168.1.0/24", "fd00::5"))
    assert not allowed.refusal("nas.lan", ip_address("10.0.0.9"))
    assert not allowed.refusal("x.test", ip_address("192.168.1.20"))
    assert not allowed.refusal("x.test", ip_address("::ffff:192.168.1.20"))
    assert not allowed.refusal("x.test", ip_address("fd00::5"))
    for address in ("192.168.2.20", "127.0.0.1", "fd00::6"):
        assert allowed.refusal("evil.nas.lan", ip_address(address))


@pytest.mark.attack
@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1",
        "::1",
        "::ffff:127.0.0.1",
        "0.0.0.0",  # noqa: S104  # an address to refuse
        "169.254.169.254",
        "::ffff:169.254.169.254",
        "fe80::1",
        "fd00:ec2::254",
        "fd20:ce::254",
        "100.100.100.200",
        "168.63.129.16",
        "192.0.0.192",
        "64:ff9b::a9fe:a9fe",
    ],
)
def test_a_name_of_the_home_opens_neither_this_machine_nor_its_metadata(address: str) -> None:
    by_name = Allowed.parse(("nas.lan",))
    assert "write the address" in by_name.refusal("nas.lan", ip_address(address))
    by_number = Allowed.parse((address,))
    assert not by_number.refusal("nas.lan", ip_address(address))


@pytest.mark.parametrize("entry", ["", "1.2.3", "1.2.3.4/33", "a b", "-x", "http://nas", "*"])
def test_an_entry_that_means_nothing_is_an_error(entry: str) -> None:
    with pytest.raises(UsageError):
        Allowed.parse((entry,))


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("https://example.org", "https://example.org/"),
        (" HTTP://EXAMPLE.org:80/a b".replace(" b", "%20b"), "http://example.org/a%20b"),
        ("https://münchen.de/ä?ö=1#top", "https://xn--mnchen-3ya.de/%C3%A4?%C3%B6=1"),
        ("http://[2606:4700::1111]/", "http://[2606:4700::1111]/"),
        ("https://example.org./x", "https://example.org/x"),
    ],
)
def test_addresses_are_written_one_way(text: str, written: str) -> None:
    assert str(parse_page_address(text)) == written


@pytest.mark.parametrize(
    "text",
    [
        "",
        "example.org",
        "file:///etc/passwd",
        "ftp://example.org/",
        "gopher://example.org/",
        "javascript:alert(1)",
        "http://",
        "http:///x",
        "http://user:secret@example.org/",
        "http://user@example.org/",
        "http://example.org@127.0.0.1/",
        "http://example.org:22/",
        "http://example.org:0/",
        "http://example.org:99999/",
        "http://example.org:http/",
        "http://exam ple.org/",
        "http://example.org/\r\nX: y",
        "http://example.org\\@127.0.0.1/",
        "http://[fe80::1%25eth0]/",
        "http://[::1",
        "http://\u202eexample.org/",
        "http://①②⑦.0.0.1/",
        f"http://example.org/{'x' * 5000}",
    ],
)
def test_what_is_no_page_is_refused_without_asking_anybody(text: str) -> None:
    with pytest.raises((InvalidDataError, RefusedError)):
        parse_page_address(text)


def test_an_encrypted_page_leads_to_no_unencrypted_one() -> None:
    start = parse_page_address("https://example.org/a/b")
    assert str(redirected(start, "../c", frozenset({443}))) == "https://example.org/c"
    with pytest.raises(RefusedError, match="not"):
        redirected(start, "http://example.org/", frozenset({80, 443}))


async def test_a_page_is_text_with_its_address_and_nobodys_instruction() -> None:
    seen: list[JobProgress] = []
    async with web() as site:
        site.answers["/bees"] = answer(page(WORDS, "Bees"))
        tool = FetchPage(site.fetcher())
        assert "pages.test" in tool.preview({"url": site.url("/bees")})
        output = await tool.run({"url": site.url("/bees")}, context(seen))
    assert output.trust is Trust.UNTRUSTED
    assert output.source == "pages.test"
    assert output.content.startswith(site.url("/bees"))
    assert "Bees live in hives" in output.content
    assert "<p>" not in output.content
    assert seen[0].unit == "bytes"
    assert site.asked == [(f"pages.test:{site.port}", "/bees")]
    assert "cookie" not in site.heads[0].lower()


async def test_a_long_page_is_read_in_parts() -> None:
    async with web() as site:
        site.answers["/"] = answer(b"abcdefghij" * 10, "text/plain")
        tool = FetchPage(site.fetcher(), most_chars=40)
        first = await tool.run({"url": site.url()}, context())
        rest = await tool.run({"url": site.url(), "start": 90}, context())
        with pytest.raises(InvalidDataError, match="only 100 characters"):
            await tool.run({"url": site.url(), "start": 100}, context())
    assert "(characters 0 to 40 of 100)" in first.content
    assert "abcdefghij\n\n(characters 90 to 100 of 100)" in rest.content


async def test_the_servers_word_on_the_charset_counts() -> None:
    async with web() as site:
        site.answers["/"] = answer("grüße".encode("latin-1"), "text/plain; charset=latin-1")
        site.answers["/odd"] = answer("grüße".encode(), "text/plain; charset=undefined")
        tool = FetchPage(site.fetcher())
        for path in ("/", "/odd"):
            assert "grüße" in (await tool.run({"url": site.url(path)}, context())).content


@pytest.mark.parametrize("path", ["/picture", "/empty", "/nothing", "/gone", "/secret", "/busy"])
async def test_what_is_no_text_is_said_to_be_none(path: str) -> None:
    async with web() as site:
        site.answers = {
            "/picture": answer(b"\x89PNG", "image/png"),
            "/empty": answer(b"<html><body></body></html>"),
            "/nothing": answer(b"", "text/plain"),
            "/gone": answer(b"gone", status="404 Not Found"),
            "/secret": answer(b"no", status="403 Forbidden"),
            "/busy": answer(b"no", status="503 Busy"),
        }
        with pytest.raises(HomingError) as caught:
            await FetchPage(site.fetcher()).run({"url": site.url(path)}, context())
    assert not isinstance(caught.value, OverloadedError)
    assert "pages.test" in caught.value.what


@pytest.mark.attack
async def test_a_name_that_leads_into_the_home_is_not_asked() -> None:
    async with web() as site:
        site.answers["/"] = answer(page(WORDS))
        fetcher = PageFetcher(site.rules("192.0.2.7"), Names({"*": ["127.0.0.1"]}))
        with pytest.raises(RefusedError, match="leads to this machine"):
            await fetcher.fetch(site.url(), unheard)
        both = PageFetcher(site.rules("192.0.2.7"), Names({"*": ["1.1.1.1 127.0.0.1"]}))
        with pytest.raises(RefusedError, match="leads to this machine"):
            await both.fetch(site.url(), unheard)
    assert site.asked == []


@pytest.mark.attack
async def test_a_name_that_changes_its_mind_is_asked_where_it_was_checked() -> None:
    """DNS rebinding: the second answer would lead elsewhere, and is never asked for."""
    async with web() as site:
        site.answers["/"] = answer(page(WORDS))
        names = Names({"*": ["127.0.0.1", "10.0.0.1"]})
        found = await PageFetcher(site.rules(), names).fetch(site.url(), unheard)
    assert b"Bees" in found.data
    assert names.asked == ["pages.test"]


@pytest.mark.attack
@pytest.mark.parametrize(
    "location",
    [
        "http://10.0.0.1/",
        "http://metadata.test/latest",
        "http://169.254.169.254/",
        "http://[::1]/",
        "file:///etc/passwd",
        "http://a:b@pages.test/",
        "//10.0.0.1/",
    ],
)
async def test_a_redirect_is_checked_like_the_first_address(location: str) -> None:
    async with web() as site:
        site.answers["/"] = redirect(location)
        names = Names({"pages.test": ["127.0.0.1"], "metadata.test": ["169.254.169.254"]})
        with pytest.raises(RefusedError):
            await PageFetcher(site.rules(), names).fetch(site.url(), unheard)
    assert len(site.asked) == 1


async def test_redirects_are_followed_and_come_to_an_end() -> None:
    async with web() as site:
        site.answers = {
            "/": redirect("/next"),
            "/next": answer(page(WORDS)),
            "/loop": redirect("/loop"),
        }
        found = await site.fetcher().fetch(site.url(), unheard)
        assert found.address.target == "/next"
        with pytest.raises(InvalidDataError, match="more than 5 times"):
            await site.fetcher().fetch(site.url("/loop"), unheard)
        site.answers["/void"] = answer(status="302 Found")
        with pytest.raises(InvalidDataError, match="to nowhere"):
            await site.fetcher().fetch(site.url("/void"), unheard)


@pytest.mark.attack
async def test_a_page_that_unpacks_to_gigabytes_takes_no_more_than_it_may() -> None:
    bomb = zlib.compressobj(9, zlib.DEFLATED, 31)
    packed = b"".join(bomb.compress(bytes(1 << 20)) for _ in range(64)) + bomb.flush()
    assert len(packed) < 100_000
    async with web() as site:
        site.answers = {
            "/bomb": answer(packed, content_encoding="gzip"),
            "/fine": answer(gzip.compress(page(WORDS)), content_encoding="gzip"),
            "/odd": answer(b"?", content_encoding="br"),
            "/broken": answer(b"no gzip at all", content_encoding="gzip"),
        }
        fetcher = site.fetcher(most_bytes=200_000)
        with pytest.raises(OverloadedError, match="larger than 200,000"):
            await fetcher.fetch(site.url("/bomb"), unheard)
        for path in ("/odd", "/broken"):
            with pytest.raises(InvalidDataError):
                await fetcher.fetch(site.url(path), unheard)
        assert b"Bees" in (await fetcher.fetch(site.url("/fine"), unheard)).data


@pytest.mark.parametrize("said", [True, False])
async def test_a_page_that_is_too_large_is_not_read_to_its_end(*, said: bool) -> None:
    async with web() as site:
        body = bytes(300_000)
        site.answers["/"] = (
            answer(body) if said else b"HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n" + body
        )
        with pytest.raises(OverloadedError):
            await site.fetcher(most_bytes=100_000).fetch(site.url(), unheard)


async def test_a_server_that_says_nothing_is_given_up() -> None:
    async with web() as site:
        with pytest.raises(UnavailableError, match=r"within 0\.2 s"):
            await site.fetcher(seconds=0.2).fetch(site.url("/silence"), unheard)


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"garbage\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nshort",
        b"HTTP/1.1 200 OK\r\n" + b"x: " + b"y" * 300_000 + b"\r\n\r\n",
    ],
)
async def test_a_server_that_talks_nonsense_is_one_clear_error(raw: bytes) -> None:
    async with web() as site:
        site.answers["/"] = raw
        with pytest.raises((UnavailableError, InvalidDataError)):
            async with asyncio.timeout(10):
                await site.fetcher().fetch(site.url(), unheard)


async def test_a_name_that_nobody_has_is_said_so() -> None:
    fetcher = PageFetcher(FetchRules(), Names({}))
    with pytest.raises(UnavailableError, match=r"no server named nowhere\.test"):
        await fetcher.fetch("http://nowhere.test/", unheard)


async def test_a_certificate_must_be_the_names_although_a_number_is_dialled(
    tmp_path: Path,
) -> None:
    server, trusted = certificates(tmp_path, "pages.test")
    async with web(server) as site:
        site.answers["/"] = answer(page(WORDS))
        fetcher = PageFetcher(site.rules(), Names({"*": ["127.0.0.1"]}), trusted)
        found = await fetcher.fetch(site.url(scheme="https"), unheard)
        assert b"Bees" in found.data
        with pytest.raises(UnavailableError, match=r"does not prove that it is other\.test"):
            await fetcher.fetch(site.url(host="other.test", scheme="https"), unheard)


def certificates(folder: Path, name: str) -> tuple[ssl.SSLContext, ssl.SSLContext]:
    """A server's context for a name, and a client's that trusts it."""
    key = ec.generate_private_key(ec.SECP256R1())
    made = Recipe(key, name, extra=(x509.SubjectAlternativeName([x509.DNSName(name)]),)).make()
    pem = folder / "server.pem"
    pem.write_bytes(
        made.public_bytes(serialization.Encoding.PEM)
        + key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(pem)
    client = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    client.load_verify_locations(pem)
    return server, client
