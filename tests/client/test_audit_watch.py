"""The phone and a home's record: whatever the home shows, what was kept decides."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import pytest
from homing_client.audit_book import AuditBook, KeptRecord
from homing_client.audit_watch import EVERY_S, RecordWatch
from homing_client.link import Verified
from homing_core.access import DeviceRole, Scope
from homing_core.audit import Entry, Head, SignedHead
from homing_core.errors import HomingError, IntegrityError, UnavailableError
from homing_core.nodes import NodeInfo, NodeLoad
from homing_core.testing import FakeClock
from homing_core.tools import Place
from homing_crypto.audit.chain import GENESIS, Draft
from homing_crypto.audit.head import sign_head
from homing_crypto.nodes import KnownNode
from homing_crypto.testing import throwaway_identity

if TYPE_CHECKING:
    from collections.abc import Coroutine, Iterator
    from pathlib import Path

    from homing_client.audit_watch import RecordSource
    from homing_client.link import NodeLink
    from homing_crypto.identity import DeviceIdentity

NODE, OTHER = throwaway_identity(), throwaway_identity()
DAY = 1_780_000_000.0


def record(count: int, word: str = "true", after: tuple[Entry, ...] = ()) -> tuple[Entry, ...]:
    found = list(after)
    for n in range(len(found), count):
        seq, digest = (found[-1].seq, found[-1].hash) if found else (0, GENESIS)
        found.append(Draft.of(DAY + n, "paired", word, f"{n:064x}").after(seq, digest))
    return tuple(found)


class Home:
    """A home that shows whatever record a test gives it."""

    def __init__(self) -> None:
        self.entries: tuple[Entry, ...] = ()
        self.signer: DeviceIdentity = NODE
        self.claimed: Head | None = None
        self.removed = 0
        self.page = 3
        self.error: HomingError | None = None
        self.asked = 0

    async def head(self) -> tuple[SignedHead | None, int]:
        self.asked += 1
        if self.error is not None:
            raise self.error
        last = self.entries[-1] if self.entries else None
        head = self.claimed or (Head(last.seq, last.hash, last.at_ms) if last else None)
        return (sign_head(self.signer, head) if head else None), self.removed

    async def entries_after(self, after: int) -> tuple[Entry, ...]:
        return tuple(entry for entry in self.entries if entry.seq > after)[: self.page]


class Source:
    def __init__(self, home: Home) -> None:
        self._home = home

    async def head(self) -> tuple[SignedHead | None, int]:
        return await self._home.head()

    async def entries(self, after: int) -> tuple[tuple[Entry, ...], dict[str, str]]:
        return await self._home.entries_after(after), {}


class Link:
    """As much of a link as the watch looks at."""

    def __init__(self, place: Place = Place.HOME) -> None:
        self.node = KnownNode(
            NODE.device_id,
            NODE.certificate.der,
            b"",
            "Attic",
            place,
            DeviceRole.OWNER,
            frozenset[Scope](),
        )


class Watched:
    """A phone that looks at a home's record."""

    def __init__(self, folder: Path) -> None:
        self.clock = FakeClock()
        self.book = AuditBook(folder / "audit_heads.db")
        self.home = Home()
        self.begun: list[Coroutine[object, object, None]] = []
        self.watch = RecordWatch(self.book, self.clock, self.begun.append, self._source)
        self.link = cast("NodeLink", Link())

    async def _source(self, link: NodeLink) -> RecordSource:
        assert link.node.id == NODE.device_id
        return Source(self.home)

    async def check(self) -> KeptRecord:
        return await self.watch.check(self.link)

    def answered(self, role: DeviceRole = DeviceRole.OWNER, place: Place = Place.HOME) -> None:
        """The home answered just now."""
        info = NodeInfo(NODE.device_id, "Attic", "1", (), "", NodeLoad(), role, frozenset(), place)
        link = cast("NodeLink", Link(place))
        self.watch.seen(link, Verified(info, "127.0.0.1:1", self.clock.now(), 1.0))


@pytest.fixture
def watched(tmp_path: Path) -> Iterator[Watched]:
    made = Watched(tmp_path)
    yield made
    for work in made.begun:
        work.close()
    made.book.close()


async def test_a_record_that_grows_is_followed_page_by_page(watched: Watched) -> None:
    assert (await watched.check()).kept is None
    for count in (1, 4, 5, 30):
        watched.home.entries = record(count, after=watched.home.entries)
        kept = await watched.check()
        assert kept.kept is not None
        assert (kept.kept.seq, kept.kept.hash) == (count, watched.home.entries[-1].hash)
        assert (kept.trouble, kept.checked_at) == ("", watched.clock.now())


@pytest.mark.attack
@pytest.mark.parametrize(
    ("shown", "words"),
    [
        (record(8), "the record at Attic was cut: it had 12 entries on"),
        ((), "was cut: it had 12 entries on"),
        (record(12, "false"), "was altered: entry 12 is another one than on"),
        (record(20, "false"), "is not the one of"),
        (record(20, "false", record(11)), "is not the one of"),
    ],
)
async def test_what_does_not_go_on_from_the_kept_head_is_said_and_the_head_stays(
    watched: Watched, shown: tuple[Entry, ...], words: str
) -> None:
    watched.home.entries = record(12)
    before = (await watched.check()).kept
    watched.home.entries = shown
    watched.clock.advance(60)
    found = await watched.check()
    assert words in found.trouble
    assert found.kept == before
    assert found.trouble_at == watched.clock.now()
    watched.clock.advance(60)
    again = await watched.check()
    assert (again.trouble_at, again.kept) == (found.trouble_at, before)


@pytest.mark.attack
async def test_an_entry_that_is_altered_after_the_kept_head_is_said(watched: Watched) -> None:
    watched.home.entries = record(3)
    await watched.check()
    grown = list(record(9, after=watched.home.entries))
    forged = Draft.of(DAY, "granted", "nobody").after(grown[5].seq - 1, grown[4].hash)
    watched.home.entries = (*grown[:5], forged, *grown[6:])
    found = await watched.check()
    assert "entry 7 does not follow entry 6" in found.trouble


@pytest.mark.attack
async def test_a_head_that_promises_more_than_there_is_is_said(watched: Watched) -> None:
    watched.home.entries = record(3)
    await watched.check()
    watched.home.claimed = Head(1 << 60, "0a" * 32, 0)
    assert "its entries end at 3" in (await watched.check()).trouble
    watched.home.entries = record(5, after=watched.home.entries)
    watched.home.claimed = Head(5, "0a" * 32, 0)
    assert "its head does not name entry 5" in (await watched.check()).trouble


@pytest.mark.attack
async def test_a_head_of_another_key_is_no_head(watched: Watched) -> None:
    watched.home.entries = record(3)
    watched.home.signer = OTHER
    with pytest.raises(IntegrityError):
        await watched.check()
    assert watched.book.get(NODE.device_id) == KeptRecord(NODE.device_id)


async def test_entries_that_were_removed_before_they_were_seen_cannot_be_compared(
    watched: Watched,
) -> None:
    whole = record(20)
    watched.home.entries = whole[:5]
    await watched.check()
    watched.home.entries, watched.home.removed = whole[9:], 9
    assert "entries 6 to 9 were removed as too old" in (await watched.check()).trouble
    watched.home.entries, watched.home.removed = whole[4:], 4
    assert (await watched.check()).trouble == ""  # nothing that it had not seen is missing


async def test_a_person_takes_it_as_it_is_now(watched: Watched) -> None:
    watched.home.entries = record(12)
    await watched.check()
    watched.home.entries = record(4, "false")
    assert (await watched.check()).trouble
    accepted = watched.book.accept(NODE.device_id, watched.clock.now())
    assert accepted.kept is not None
    assert (accepted.kept.seq, accepted.trouble) == (4, "")
    watched.home.entries = record(6, "false")
    assert (await watched.check()).trouble == ""
    assert watched.book.accept(NODE.device_id, 0.0).kept == watched.book.get(NODE.device_id).kept


async def test_the_whole_record_back_again_ends_the_trouble(watched: Watched) -> None:
    whole = record(12)
    watched.home.entries = whole
    await watched.check()
    watched.home.entries = whole[:4]
    assert (await watched.check()).trouble
    watched.home.entries = record(15, after=whole)
    found = await watched.check()
    assert (found.trouble, found.kept and found.kept.seq) == ("", 15)


async def test_only_an_owners_phone_looks_and_only_now_and_then(watched: Watched) -> None:
    watched.answered(DeviceRole.MEMBER)
    watched.answered(place=Place.PEER)
    assert watched.begun == []
    watched.home.entries = record(2)
    watched.answered()
    watched.answered()
    assert len(watched.begun) == 1
    await watched.begun.pop()
    assert watched.book.get(NODE.device_id).kept is not None
    watched.clock.advance(EVERY_S)
    watched.home.error = UnavailableError("it went away")
    watched.answered()
    await watched.begun.pop()  # nothing is raised: nobody waits for it
    assert watched.home.asked == 2


def test_what_is_kept_survives_and_follows_a_new_key(tmp_path: Path) -> None:
    book = AuditBook(tmp_path / "heads.db")
    head = Head(7, "0a" * 32, 1)
    book.keep(NODE.device_id, head, 5.0)
    book.close()
    book = AuditBook(tmp_path / "heads.db")
    book.succeed(NODE.device_id, OTHER.device_id)
    book.succeed(NODE.device_id, OTHER.device_id)
    assert book.get(OTHER.device_id).kept == head
    assert book.get(NODE.device_id).kept is None
    noted = book.note_trouble(OTHER.device_id, "words", None, 9.0)
    assert book.get(OTHER.device_id) == noted
    book.close()
