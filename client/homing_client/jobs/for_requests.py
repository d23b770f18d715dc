"""Home tools in the agent's loop; implements `homing_agent.ports.HomeJobs`."""

from __future__ import annotations

from contextlib import aclosing
from typing import TYPE_CHECKING, Final

from homing_agent.ports import HomeJob
from homing_agent.runtime.logs import get_logger
from homing_core.errors import HomingError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from homing_agent.ports import JobAsked, Remote
    from homing_core.ids import JobId, RequestId
    from homing_core.jobs import JobEvent, JobResult
    from homing_core.tools import ToolSpec

    from homing_client.jobs.book import JobBook
    from homing_client.jobs.following import Following
    from homing_client.jobs.node import JobNodes
    from homing_client.jobs.offers import Offers
    from homing_client.jobs.starting import Starter

_OFFER_S: Final = 2.0
"""An answer does not wait longer for a node's list of tools."""
_log = get_logger(__name__)


class RequestJobs:
    """Jobs, as far as requests need them.

    Args:
        book: the jobs.
        nodes: the way to the nodes.
        offers: their tools.
        starter: begins jobs.
        following: watches them.
    """

    def __init__(  # each is another collaborator
        self,
        book: JobBook,
        nodes: JobNodes,
        offers: Offers,
        starter: Starter,
        following: Following,
    ) -> None:
        """Keep them."""
        self._book = book
        self._nodes = nodes
        self._offers = offers
        self._starter = starter
        self._following = following

    async def tools(self, remote: Remote) -> tuple[ToolSpec, ...]:
        """See `HomeJobs.tools`."""
        try:
            for node in await self._nodes.known():
                if node.id == remote.node:
                    return await self._offers.of(node, _OFFER_S)
        except (HomingError, TimeoutError) as error:
            _log.info("jobs.no_tools", node=remote.node, kind=type(error).__name__)
        return ()

    async def names(self) -> frozenset[str]:
        """See `HomeJobs.names`."""
        try:
            said = await self._offers.of_all(await self._nodes.known())
        except HomingError:
            return frozenset()
        return frozenset(
            tool.name for _, tools in said if not isinstance(tools, HomingError) for tool in tools
        )

    def changed(self, tool: ToolSpec) -> bool:
        """See `HomeJobs.changed`."""
        return self._book.nodes.allowed(tool) not in {"", tool.schema_hash}

    async def start(self, asked: JobAsked) -> JobId:
        """See `HomeJobs.start`."""
        return (await self._starter.begin(asked)).id

    async def follow(self, job: JobId) -> AsyncGenerator[JobEvent, None]:
        """See `HomeJobs.follow`."""
        # The newest event once more: whoever comes back sees at once how far it is.
        last = max(self._book.get(job).last_seq - 1, 0)
        async with aclosing(self._following.watch(job, last)) as events:
            async for event in events:
                yield event

    async def result(self, job: JobId) -> JobResult:
        """See `HomeJobs.result`."""
        return await self._following.result(job, patient=True)

    def of_request(self, request_id: RequestId) -> tuple[HomeJob, ...]:
        """See `HomeJobs.of_request`."""
        entries = self._book.of_request(request_id)
        return tuple(HomeJob(entry.id, entry.asked, entry.node_name) for entry in entries)
