"""Real packets from a stranger on loopback: nothing said there may cost more than a wrong hint."""

from __future__ import annotations

import asyncio
import random
import secrets
from typing import TYPE_CHECKING

import pytest
from homing_core.addresses import Address
from homing_discovery.announcer import ZeroconfAnnouncer
from homing_discovery.browser import MAX_PENDING, ZeroconfBrowser
from homing_discovery.hints import SERVICE_TYPE, Announcement
from homing_discovery.sightings import MAX_UNWANTED
from support.mdns import Stranger

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

WAIT_S = 10.0
LOOPBACK = ("127.0.0.1",)
HERE = Address("127.0.0.1", 4433)


@pytest.fixture
def stranger() -> Iterator[Stranger]:
    with Stranger() as one:
        yield one


@pytest.fixture
def token() -> str:
    return secrets.token_hex(8)


@pytest.fixture
async def phone(token: str) -> AsyncIterator[ZeroconfBrowser]:
    browser = ZeroconfBrowser(interfaces=LOOPBACK, wanted=[token])
    await browser.start()
    yield browser
    await browser.close()


@pytest.fixture
async def node(token: str) -> AsyncIterator[ZeroconfAnnouncer]:
    announcer = ZeroconfAnnouncer(Announcement(token, 4433), interfaces=LOOPBACK)
    await announcer.start()
    yield announcer
    await announcer.close()


async def heard_after(phone: ZeroconfBrowser, stranger: Stranger) -> None:
    """Return when the browser has heard something sent now."""
    mark = secrets.token_hex(8)
    for _ in range(20):  # after a flood the first ones may be dropped
        stranger.announce(mark)
        if await phone.find(mark, WAIT_S / 20) is not None:
            return
    pytest.fail("nothing is heard any more")


@pytest.mark.attack
async def test_an_address_flushed_by_a_stranger_is_still_known(
    phone: ZeroconfBrowser, node: ZeroconfAnnouncer, stranger: Stranger, token: str
) -> None:
    assert node.active
    assert (await phone.find(token, WAIT_S)) is not None
    stranger.move(token, "10.66.66.66")
    async with asyncio.timeout(WAIT_S):
        async for hint in phone.watch():
            if Address("10.66.66.66", 4433) in hint.addresses:
                break
    assert HERE in phone.hints(token)[0].addresses


@pytest.mark.attack
async def test_a_flood_is_bounded_and_the_wanted_node_is_found_in_it(
    phone: ZeroconfBrowser, stranger: Stranger, token: str
) -> None:
    for _ in range(6 * MAX_PENDING):
        stranger.announce(secrets.token_hex(8), hosts=[f"10.1.{random.randrange(250)}.9"])  # noqa: S311
        await asyncio.sleep(0)
    stranger.announce(token)
    assert (await phone.find(token, WAIT_S)) is not None
    async with asyncio.timeout(WAIT_S):
        async for _ in phone.watch():
            if len(phone.hints()) > MAX_UNWANTED:
                break
    await heard_after(phone, stranger)
    assert len(phone.hints()) == MAX_UNWANTED + 1
    assert phone.hints(token)


@pytest.mark.attack
async def test_garbage_kills_nobody(
    phone: ZeroconfBrowser, node: ZeroconfAnnouncer, stranger: Stranger, token: str
) -> None:
    rng = random.Random(7)  # noqa: S311
    header = b"\x00\x00\x84\x00\x00\x00\xff\xff\x00\x00\x00\x00"
    for length in (0, 1, 11, 12, 13, 40, 500, 1400, 9000):
        stranger.send_raw(rng.randbytes(length))
        stranger.send_raw((header + rng.randbytes(length))[:9000])
        stranger.send_raw(header + b"\xc0\x0c" * (length % 1000))
        await asyncio.sleep(0)
    assert (await phone.find(token, WAIT_S)) is not None
    await heard_after(phone, stranger)
    assert node.active


@pytest.mark.attack
@pytest.mark.parametrize(
    "label",
    [
        "\x1b[31mred",
        "\u202ehoming",
        "\x00\x01\x7f",
        "x" * 63,
        "homing-" + "g" * 16,
        "homing-" + "a" * 17,
        "\N{PILE OF POO}" * 15,
    ],
)
async def test_a_hostile_label_is_nobodys(
    phone: ZeroconfBrowser, stranger: Stranger, token: str, label: str
) -> None:
    before = phone.hints()
    stranger.announce(token, name=f"{label}.{SERVICE_TYPE}")
    await heard_after(phone, stranger)
    assert not phone.hints(token)
    assert all(hint.name == f"homing-{hint.token}" for hint in phone.hints())
    assert before == ()


@pytest.mark.attack
@pytest.mark.parametrize(
    "txt",
    [b"", b"\x00", b"\xff", b"\xffv=1", b"\x05v=\xff\xfe\xfd", b"\x03v=9" * 300, b"\x00" * 900],
)
async def test_garbage_in_a_txt_record_hides_no_node(
    phone: ZeroconfBrowser, stranger: Stranger, token: str, txt: bytes
) -> None:
    stranger.announce(token, txt=txt)
    hint = await phone.find(token, WAIT_S)
    assert hint is not None
    assert hint.addresses == (HERE,)
    assert hint.version in {0, 1, 9}


@pytest.mark.attack
@pytest.mark.parametrize(
    ("hosts", "port"),
    [
        (["0.0.0.0"], 4433),  # noqa: S104  # nothing is bound
        (["224.0.0.251"], 4433),
        (["255.255.255.255"], 4433),
        (["fe80::1"], 4433),
        (["ff02::fb", "::"], 4433),
        (["127.0.0.1"], 0),
    ],
)
async def test_an_address_that_cannot_be_a_nodes_is_dropped(
    phone: ZeroconfBrowser, stranger: Stranger, token: str, hosts: list[str], port: int
) -> None:
    stranger.announce(token, hosts=hosts, port=port)
    await heard_after(phone, stranger)
    assert not phone.hints(token)


@pytest.mark.attack
async def test_very_many_addresses_of_one_node_are_bounded(
    phone: ZeroconfBrowser, stranger: Stranger, token: str
) -> None:
    for page in range(6):
        stranger.announce(token, hosts=[f"10.2.{page}.{n}" for n in range(1, 41)])
    await heard_after(phone, stranger)
    assert 0 < len(phone.hints(token)[0].addresses) <= 16


@pytest.mark.attack
async def test_a_strangers_claim_of_the_name_does_not_silence_the_node(
    phone: ZeroconfBrowser, stranger: Stranger, token: str
) -> None:
    stranger.announce(token, hosts=["10.66.66.66"])
    assert (await phone.find(token, WAIT_S)) is not None
    node = ZeroconfAnnouncer(Announcement(token, 4433), interfaces=LOOPBACK)
    await node.start()
    async with asyncio.timeout(WAIT_S):
        async for hint in phone.watch():
            if HERE in hint.addresses:
                break
    assert HERE in phone.hints(token)[0].addresses
    await node.close()
