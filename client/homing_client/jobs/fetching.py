"""Fetching a result: from where it broke off; then it is opened, kept, and acknowledged."""

from __future__ import annotations

import asyncio
import contextlib
from collections import defaultdict
from typing import TYPE_CHECKING, Final, Protocol

from homing_core.errors import (
    HomingError,
    IntegrityError,
    InvalidDataError,
    NotFoundError,
    TooLongError,
    UnavailableError,
)
from homing_core.generation import Failed
from homing_core.jobs import JobState
from homing_core.labels import clean_label
from homing_crypto.certificates import check_certificate

from homing_client.jobs.watching import of_status

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from homing_core.clock import Clock
    from homing_core.ids import JobId
    from homing_core.jobs import JobResult, JobStatus
    from homing_crypto.certificates import CheckedCertificate

    from homing_client.jobs.book import JobBook
    from homing_client.jobs.entry import JobEntry
    from homing_client.jobs.node import JobNode, JobNodes, Told
    from homing_client.jobs.results import ResultFolder

MAX_RESULT_BYTES: Final = 4 << 30
"""A larger result is not fetched."""
TRIES: Final = 3
"""So often a result that arrives damaged is fetched."""


class Opener(Protocol):
    """Opens sealed results with this phone's keys."""

    def __call__(
        self, entry: JobEntry, sender: CheckedCertificate, sealed: Path, folder: Path
    ) -> tuple[JobResult, str]:
        """What came of the job, its files written into `folder`; and the sealed bytes' SHA-256.

        Raises:
            IntegrityError: it was altered, or is not this job's, this phone's or that node's.
            InvalidDataError: it is malformed.
            HomingError: it cannot be opened now.
        """
        ...


class Fetcher:
    """Fetches results and acknowledges them.

    Args:
        book: where they are kept.
        nodes: knows the nodes' certificates.
        folder: where their bytes are kept.
        opener: opens them.
        clock: wall time.
    """

    def __init__(
        self,
        book: JobBook,
        nodes: JobNodes,
        folder: ResultFolder,
        opener: Opener,
        clock: Clock,
    ) -> None:
        """Nothing was fetched yet."""
        self._book = book
        self._nodes = nodes
        self._folder = folder
        self._opener = opener
        self._clock = clock
        self._damaged: defaultdict[JobId, int] = defaultdict(int)

    async def fetch(self, node: JobNode, entry: JobEntry) -> None:
        """Fetch what came of an ended job, or note that there is nothing.

        Raises:
            HomingError: it could not be fetched now.
        """
        told = await node.status(entry.id)
        status = told.status
        if not status.state.final:
            msg = "the node says of an ended job that it goes on"
            raise InvalidDataError(msg, "The node may be damaged; ask its owner.")
        self._book.note_event(entry.id, of_status(status), self._clock.now())
        if not status.result_bytes:
            self._give_up(entry, without_result(entry, status))
        elif status.result_bytes > MAX_RESULT_BYTES:
            words = f"the result of {entry.asked.tool.name} is too large for this phone"
            self._give_up(entry, TooLongError(words, "Run it again for less at once."))
        else:
            await self._fetch(node, entry, told)

    async def ack(self, node: JobNode, entry: JobEntry) -> None:
        """Tell the node that the result is here for good."""
        with contextlib.suppress(NotFoundError):  # it has forgotten the job: that was the point
            await node.ack(entry.id, entry.sha256)
        await asyncio.to_thread(self._folder.drop_part, entry.id)
        self._book.note_acked(entry.id)

    async def _fetch(self, node: JobNode, entry: JobEntry, told: Told) -> None:
        try:
            await self._download(node, entry, told.status.result_bytes)
            sender = sender_of(told, await self._known_as(entry))

            def opened(sealed: Path, folder: Path) -> tuple[JobResult, str]:
                return self._opener(entry, sender, sealed, folder)

            result, sha256 = await asyncio.to_thread(self._folder.open, entry.id, opened)
        except (IntegrityError, InvalidDataError) as error:
            await asyncio.to_thread(self._folder.drop_part, entry.id)
            self._damaged[entry.id] += 1
            if self._damaged[entry.id] < TRIES:
                msg = "the result arrived damaged"
                raise UnavailableError(msg, "It is fetched again.") from error
            name = clean_label(entry.node_name)
            words = f"the result of {entry.asked.tool.name} from {name} is damaged: {error.what}"
            self._give_up(entry, IntegrityError(words, "Run it again, or ask the node's owner."))
            return
        self._book.store_result(entry.id, result, sha256)

    async def _download(self, node: JobNode, entry: JobEntry, total: int) -> None:
        job = entry.id
        offset = await asyncio.to_thread(self._folder.arrived, job)
        if offset > total:  # of an earlier sealing
            await asyncio.to_thread(self._folder.drop_part, job)
            offset = 0
        if offset < total:
            async with contextlib.aclosing(node.download(job, offset)) as pieces:
                async for piece in pieces:
                    if piece.total != total or not piece.data:
                        msg = "the node's result has another length than it said"
                        raise IntegrityError(msg, "It is fetched again.")
                    await asyncio.to_thread(self._folder.add, job, piece)
                    offset += len(piece.data)
                    if offset >= total:
                        break
        if offset < total:
            msg = "the result broke off"
            raise UnavailableError(msg, "The rest is fetched when the node answers again.")

    async def _known_as(self, entry: JobEntry) -> tuple[CheckedCertificate, ...]:
        """Certificates of the job's node: its present one, and that of when the job was asked."""
        present = [n.certificate_der for n in await self._nodes.known() if n.id == entry.node]
        return tuple(map(check_certificate, (*present, entry.certificate)))

    def _give_up(self, entry: JobEntry, error: HomingError) -> None:
        self._book.note_failed(entry.id, Failed.from_error(error), self._clock.now())


def without_result(entry: JobEntry, status: JobStatus) -> HomingError:
    """What an end without a result means."""
    name, tool = clean_label(entry.node_name), entry.asked.tool.name
    summary = clean_label(status.summary, 300, "")
    if status.state is JobState.CANCELLED:
        return UnavailableError(f"{tool} was ended before it was done", summary)
    if status.state is JobState.FAILED:
        why = f": {summary.rstrip('.')}" if summary else ""
        return UnavailableError(f"{tool} at {name} failed{why}", "")
    msg = f"{name} does not have the result of {tool} any more"
    return NotFoundError(msg, "Results are kept for a while only. Run it again.")


def sender_of(told: Told, node: Sequence[CheckedCertificate]) -> CheckedCertificate:
    """Whose seal is expected on a result.

    It is the node's, by its present key or the one of when the job was asked, or that of another
    daemon for which the node vouches over the connection on which it has proven its key.

    Args:
        told: what the node said.
        node: the node's certificates, as the phone knows them, the present one first.

    Raises:
        IntegrityError: what the node said does not fit together.
        InvalidDataError: the certificate is malformed.
    """
    sealed_by = told.status.sealed_by
    if not sealed_by:
        return node[0]
    for known in node:
        if known.device_id == sealed_by:
            return known
    if told.sealer_certificate:
        other = check_certificate(told.sealer_certificate)
        if other.device_id == sealed_by:
            return other
    msg = "the result was sealed by a computer for which its node does not vouch"
    raise IntegrityError(msg, "Ask the node's owner.")
