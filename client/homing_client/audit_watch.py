"""Keeping the heads of homes' records, so that a record that is cut or altered shows.

An owner's phone asks its home for the head now and then, when the home answers anyway, and sees
that the entries since the kept head follow on it. It never holds anything up.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final, Protocol

import structlog
from homing_core.access import DeviceRole
from homing_core.audit import Head
from homing_core.errors import HomingError, UnavailableError
from homing_core.tools import Place
from homing_crypto.audit.head import check_head
from homing_crypto.audit.verify import Broken, extends
from homing_crypto.certificates import check_certificate

from homing_client.rpc.audit_calls import AuditCalls

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine

    from homing_core.audit import Entry, SignedHead
    from homing_core.clock import Clock
    from homing_core.ids import DeviceId

    from homing_client.audit_book import AuditBook, KeptRecord
    from homing_client.link import NodeLink, Verified

EVERY_S: Final = 180.0
"""A home's record is looked at this often at most, in seconds."""
_REACH_S: Final = 5.0
_LONGEST_S: Final = 300.0
"""Half a million entries come in less than a minute at home; whoever drips them is left."""

_log = structlog.get_logger(__name__)


class RecordSource(Protocol):
    """A node's record; each method raises `HomingError`."""

    async def head(self) -> tuple[SignedHead | None, int]:
        """The signed head, None if nothing was recorded; and up to where entries were removed."""
        ...

    async def entries(self, after: int) -> tuple[tuple[Entry, ...], dict[str, str]]:
        """A page of what comes after a number, and names of devices by id."""
        ...


async def _from_node(link: NodeLink) -> RecordSource:
    return AuditCalls(await link.channel(_REACH_S))


class RecordWatch:
    """Looks at homes' records. Belongs to one event loop.

    Args:
        book: what was kept.
        clock: wall time, and for how long ago a record was looked at.
        background: begins work that nobody waits for.
        source: gives access to a node's record.
    """

    def __init__(
        self,
        book: AuditBook,
        clock: Clock,
        background: Callable[[Coroutine[object, object, None]], None],
        source: Callable[[NodeLink], Awaitable[RecordSource]] = _from_node,
    ) -> None:
        """Nothing was looked at yet."""
        self._source = source
        self._book = book
        self._clock = clock
        self._background = background
        self._looked: dict[DeviceId, float] = {}
        self._locks: defaultdict[DeviceId, asyncio.Lock] = defaultdict(asyncio.Lock)

    def seen(self, link: NodeLink, verified: Verified) -> None:
        """A node answered: look at its record if this phone may, and if it is time."""
        owner = verified.info.role is DeviceRole.OWNER and link.node.place is Place.HOME
        now, last = self._clock.monotonic(), self._looked.get(link.node.id)
        if owner and (last is None or now - last >= EVERY_S):
            self._looked[link.node.id] = now
            self._background(self._look(link))

    async def check(self, link: NodeLink) -> KeptRecord:
        """Compare a home's record with what was kept, and keep its head or note the trouble.

        Raises:
            HomingError: the home cannot be asked, or its answer cannot be read.
        """
        node = link.node
        async with self._locks[node.id]:
            before = await asyncio.to_thread(self._book.get, node.id)
            signed, trouble = await self._compared(link, before.kept)
            now = self._clock.now()
            if not trouble:
                if signed is None:
                    return before
                return await asyncio.to_thread(self._book.keep, node.id, signed.head, now)
            _log.error("audit.trouble", node=node.id)
            words = f"the record at {node.name} {trouble}"
            shown = signed.head if signed else None
            return await asyncio.to_thread(self._book.note_trouble, node.id, words, shown, now)

    async def _compared(self, link: NodeLink, kept: Head | None) -> tuple[SignedHead | None, str]:
        """The head that the node shows, and what is wrong with it."""
        try:
            async with asyncio.timeout(_LONGEST_S):
                source = await self._source(link)
                signed, removed = await source.head()
                if signed is not None:
                    check_head(signed, check_certificate(link.node.certificate_der))
                return signed, await _compare(kept, signed, removed, source)
        except TimeoutError as error:
            msg = f"comparing the record at {link.node.name} took too long"
            raise UnavailableError(msg, "Try again: homing audit verify.") from error

    async def _look(self, link: NodeLink) -> None:
        try:
            await self.check(link)
        except HomingError as error:
            _log.warning("audit.not_compared", node=link.node.id, what=error.what)


async def _compare(
    kept: Head | None, signed: SignedHead | None, removed: int, source: RecordSource
) -> str:
    """What is wrong with a record, as the end of a sentence; empty if nothing is."""
    if kept is None:
        return ""
    head = signed.head if signed else Head(0, "")
    found = _at_once(kept, head, removed)
    if found is not None:
        return found
    seen = kept
    while seen.seq < head.seq:
        page, _ = await source.entries(seen.seq)
        page = tuple(entry for entry in page if entry.seq <= head.seq)
        trouble, seen = _follow(kept, seen, page)
        if trouble:
            return trouble
    if not head.names(seen.seq, seen.hash):
        return f"was altered: its head does not name entry {head.seq} as it is"
    return ""


def _at_once(kept: Head, head: Head, removed: int) -> str | None:
    """What can be told without reading entries; None if they have to be read."""
    if head.seq < kept.seq:
        count = str(head.seq) if head.seq else "none"
        return f"was cut: it had {kept.seq} entries on {_day(kept)}, now {count}"
    if head.seq == kept.seq:
        same = head.hash == kept.hash
        return "" if same else f"was altered: entry {kept.seq} is another one than on {_day(kept)}"
    if removed > kept.seq:
        return (
            f"cannot be compared: entries {kept.seq + 1} to {removed} were removed as too old "
            "before this phone had seen them"
        )
    return None


def _follow(kept: Head, seen: Head, page: tuple[Entry, ...]) -> tuple[str, Head]:
    """Go on along a page; what is wrong with it, and how far it went."""
    if not page:
        return f"was cut: its entries end at {seen.seq}, though its head says more", seen
    verdict = extends(seen, page)
    if not isinstance(verdict, Broken):
        return "", Head(verdict.seq, verdict.hash)
    if verdict.seq == kept.seq + 1 and page[0].seq == verdict.seq:
        return (
            f"is not the one of {_day(kept)} any more: entry {verdict.seq} does not follow the "
            f"{kept.seq} entries that it had"
        ), seen
    return f"was altered: {verdict.why}", seen


def _day(head: Head) -> str:
    return datetime.fromtimestamp(head.at_ms / 1000, UTC).astimezone().strftime("%Y-%m-%d")
