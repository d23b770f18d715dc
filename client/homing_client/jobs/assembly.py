"""The phone's jobs, put together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from homing_client.jobs.book import JobBook
from homing_client.jobs.book_file import JOB_BOOK_FILE
from homing_client.jobs.desk import JobDesk
from homing_client.jobs.fetching import Fetcher
from homing_client.jobs.following import Following
from homing_client.jobs.for_requests import RequestJobs
from homing_client.jobs.keeper import JobKeeper
from homing_client.jobs.offers import Offers
from homing_client.jobs.opening import KeyedOpener
from homing_client.jobs.results import RESULTS_FOLDER, ResultFolder
from homing_client.jobs.starting import Starter

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from homing_agent.ports import Signer
    from homing_core.clock import Clock
    from homing_crypto.identity import DeviceIdentity

    from homing_client.jobs.node import JobNodes


@dataclass(frozen=True, slots=True)
class JobParts:
    """What looks after jobs.

    Attributes:
        book: the jobs.
        keeper: looks after them in the background; its `run` goes on as long as the process.
        desk: for the person.
        requests: for the agent's loop.
    """

    book: JobBook
    keeper: JobKeeper
    desk: JobDesk
    requests: RequestJobs

    async def close(self) -> None:
        """Stop looking after jobs, and let go of the book."""
        await self.keeper.close()
        self.book.close()


def assemble_jobs(
    data_dir: Path,
    nodes: JobNodes,
    signer: Signer,
    identities: Callable[[], tuple[DeviceIdentity, ...]],
    clock: Clock,
) -> JobParts:
    """Open the book and put the parts together; nothing runs yet.

    Args:
        data_dir: where book and results lie.
        nodes: the way to the nodes.
        signer: signs consent.
        identities: this phone's keys, the present one first.
        clock: where time comes from.

    Raises:
        HomingError: the book is damaged or cannot be opened.
    """
    book = JobBook(data_dir / JOB_BOOK_FILE)
    folder = ResultFolder(data_dir / RESULTS_FOLDER)
    fetcher = Fetcher(book, nodes, folder, KeyedOpener(identities, clock), clock)
    keeper = JobKeeper(book, nodes, fetcher, folder, clock)
    offers = Offers(nodes, clock)
    starter = Starter(book, nodes, offers, keeper, signer, clock)
    following = Following(book, nodes, keeper)
    desk = JobDesk(book, nodes, offers, starter, following, keeper, folder, signer, clock)
    requests = RequestJobs(book, nodes, offers, starter, following)
    return JobParts(book, keeper, desk, requests)
