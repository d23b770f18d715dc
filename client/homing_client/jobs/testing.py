"""A fake of the boundary to nodes' jobs. It ships with the package.

The node seals real results with a real key, and does what whoever holds it says: it can be away,
forget, repeat, refuse and lie.
"""

from __future__ import annotations

import asyncio
import io
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from homing_core.access import DeviceRole, Scope
from homing_core.errors import ConflictError, HomingError, NotFoundError, UnavailableError
from homing_core.jobs import JobEvent, JobResult, JobSpec, JobState, JobStatus, ResultFile
from homing_core.tools import Place
from homing_crypto.mailbox import Recipient
from homing_crypto.nodes import KnownNode, in_order
from homing_crypto.results import seal_result
from homing_crypto.testing import throwaway_identity

from homing_client.jobs.node import SealedPiece, Told

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Mapping

    from homing_core.approvals import SignedApproval
    from homing_core.ids import ApprovalId, DeviceId, JobId
    from homing_core.jobs import JobProgress, PendingApproval, Settlement
    from homing_core.provenance import Trust
    from homing_core.tools import ToolSpec
    from homing_crypto.identity import DeviceIdentity

PIECE_BYTES = 1 << 10


@dataclass
class FakeJob:
    """A job as a `FakeJobNode` holds it.

    Attributes:
        spec: what was asked.
        approval: with whose consent.
        events: its record.
        sealed: its result, sealed; empty without one.
        sealed_by: who sealed it.
        sealer: certificate that is handed out with it.
        acked: hashes by which it was acknowledged.
    """

    spec: JobSpec
    approval: SignedApproval | None
    events: list[JobEvent]
    sealed: bytes = b""
    sealed_by: str = ""
    sealer: bytes = b""
    acked: list[str] = field(default_factory=list[str])

    @property
    def state(self) -> JobState:
        """As of its newest event."""
        return self.events[-1].state


class FakeJobNode:
    """A node; implements `JobNode`.

    Args:
        phone: whose results are sealed.
        tools: what it offers.
        name: of it.
        place: `HOME` or `PEER`.

    Attributes:
        jobs: those that it has.
        runs: every job that it has taken anew, in order.
        away: raised by whatever is asked of it, where set.
        refuse: raised by every hand-in, where set.
        pieces: changes what is handed out of a result, where set.
        asked: ids of its open questions, with what they ask.
        said: what persons have answered.
        settled: what persons have said of unknown effects.
        ended_unseen: jobs that were ended before they arrived; they are not taken any more.
    """

    def __init__(
        self,
        phone: DeviceIdentity,
        *tools: ToolSpec,
        name: str = "den",
        place: Place = Place.HOME,
    ) -> None:
        """No jobs yet."""
        self.identity = throwaway_identity()
        self.phone = phone
        self.offered = tools
        self.name = name
        self.place = place
        self.jobs: dict[JobId, FakeJob] = {}
        self.runs: list[JobId] = []
        self.away: HomingError | None = None
        self.refuse: HomingError | None = None
        self.pieces: Callable[[SealedPiece], SealedPiece] | None = None
        self.asked: dict[ApprovalId, PendingApproval] = {}
        self.said: list[SignedApproval] = []
        self.settled: list[tuple[JobId, Settlement]] = []
        self.ended_unseen: set[JobId] = set()
        self.offsets: list[int] = []
        self._news = asyncio.Event()

    @property
    def known(self) -> KnownNode:
        """What a phone's book says of it."""
        return KnownNode(
            id=self.identity.device_id,
            certificate_der=self.identity.certificate.der,
            hpke_public_key=self.identity.hpke.public_bytes,
            name=self.name,
            place=self.place,
            role=DeviceRole.OWNER,
            scopes=frozenset({Scope.INFERENCE, Scope.TOOLS, Scope.JOBS}),
            paired_at=float(self.place is Place.PEER),
        )

    # What the node does

    def event(
        self,
        job: JobId,
        state: JobState = JobState.RUNNING,
        progress: JobProgress | None = None,
        note: str = "",
        approval: ApprovalId | None = None,
    ) -> JobEvent:
        """Add to a job's record."""
        events = self.jobs[job].events
        event = JobEvent(len(events) + 1, 1_800_000_000.0, state, progress, approval, note)
        events.append(event)
        self._wake()
        return event

    def succeed(  # noqa: PLR0913  # what a result is made of
        self,
        job: JobId,
        content: str = "done",
        *,
        say: str = "",
        trust: Trust | None = None,
        files: Mapping[str, bytes] | None = None,
        now: float = 1_800_000_000.0,
        of: JobId | None = None,
        is_error: bool = False,
    ) -> None:
        """End a job with a result, sealed with the node's present key.

        Args:
            job: the job.
            content: text of the result.
            say: words for a person.
            trust: of the text; None is the result's default.
            files: names and bytes.
            now: when it is sealed.
            of: seal it as another job's.
            is_error: whether the tool says that it failed.
        """
        made = {name: io.BytesIO(data) for name, data in (files or {}).items()}
        listed = tuple(
            ResultFile(name, "application/octet-stream", len(stream.getvalue()))
            for name, stream in made.items()
        )
        result = JobResult(of or job, content, say, is_error, files=listed)
        if trust is not None:
            result = JobResult(of or job, content, say, is_error, trust, files=listed)
        to = Recipient(self.phone.certificate, self.phone.hpke.public_bytes)
        pairs = list(zip(listed, made.values(), strict=True))
        held = self.jobs[job]
        held.sealed = b"".join(seal_result(self.identity, to, result, pairs, now))
        held.sealed_by = self.identity.device_id
        self.event(job, JobState.SUCCEEDED)

    async def first(self) -> JobId:
        """The first job that it has taken, once it has one."""
        while not self.runs:
            await self._news.wait()
        return self.runs[0]

    def rotate(self) -> None:
        """Take another key; what was sealed stays sealed by the old one."""
        self.identity = throwaway_identity()

    # What it is asked; see `JobNode`

    async def tools(self) -> tuple[ToolSpec, ...]:
        """See `JobNode.tools`."""
        self._check()
        return self.offered

    async def submit(self, spec: JobSpec, approval: SignedApproval | None) -> Told:
        """See `JobNode.submit`."""
        self._check()
        known = self.jobs.get(spec.id)
        if spec.id in self.ended_unseen:
            msg = "this job was ended before it arrived"
            raise ConflictError(msg)
        if known is None and self.refuse is not None:
            raise self.refuse
        if known is not None and known.spec.call != spec.call:
            msg = "this job id was used for something else"
            raise ConflictError(msg)
        if known is None:
            first = JobEvent(1, 1_800_000_000.0, JobState.QUEUED)
            self.jobs[spec.id] = FakeJob(spec, approval, [first])
            self.runs.append(spec.id)
            self._wake()
        return self._told(spec.id)

    async def status(self, job: JobId) -> Told:
        """See `JobNode.status`."""
        self._check()
        return self._told(job)

    async def watch(self, job: JobId, after: int) -> AsyncGenerator[JobEvent, None]:
        """See `JobNode.watch`."""
        last = after
        while True:
            self._check()
            news, held = self._news, self._held(job)
            for event in held.events[last:]:
                last = event.seq
                yield event
            if len(held.events) > last:  # more came while the last one was taken
                continue
            if held.state.final:
                return
            await news.wait()

    async def cancel(self, job: JobId) -> Told:
        """See `JobNode.cancel`."""
        self._check()
        if job not in self.jobs:
            self.ended_unseen.add(job)
        if not self._held(job).state.final:
            self.event(job, JobState.CANCELLED)
        return self._told(job)

    async def pending(self) -> tuple[PendingApproval, ...]:
        """See `JobNode.pending`."""
        self._check()
        return tuple(self.asked.values())

    async def answer(self, approval: SignedApproval) -> Told:
        """See `JobNode.answer`."""
        self._check()
        question = self.asked.pop(approval.statement.id)
        self.said.append(approval)
        self.event(question.job_id, JobState.QUEUED)
        return self._told(question.job_id)

    async def settle(self, job: JobId, said: Settlement) -> Told:
        """See `JobNode.settle`."""
        self._check()
        self.settled.append((job, said))
        self.event(job, JobState.QUEUED)
        return self._told(job)

    async def download(self, job: JobId, offset: int) -> AsyncGenerator[SealedPiece, None]:
        """See `JobNode.download`."""
        self.offsets.append(offset)
        sealed = self._held(job).sealed
        for at in range(offset, len(sealed), PIECE_BYTES):
            self._check()
            piece = SealedPiece(at, sealed[at : at + PIECE_BYTES], len(sealed))
            yield piece if self.pieces is None else self.pieces(piece)

    async def ack(self, job: JobId, sha256: str) -> None:
        """See `JobNode.ack`."""
        self._check()
        self._held(job).acked.append(sha256)

    def _told(self, job: JobId) -> Told:
        held = self._held(job)
        newest = held.events[-1]
        progress = next((e.progress for e in reversed(held.events) if e.progress), None)
        return Told(
            JobStatus(
                job,
                held.spec.tool.name,
                newest.state,
                held.events[0].at,
                newest.seq,
                progress,
                newest.note if newest.state.final else "",
                result_bytes=0 if held.acked else len(held.sealed),
                sealed_by=held.sealed_by,
            ),
            held.sealer,
        )

    def _held(self, job: JobId) -> FakeJob:
        if job not in self.jobs:
            msg = "there is no such job"
            raise NotFoundError(msg)
        return self.jobs[job]

    def _check(self) -> None:
        if self.away is not None:
            raise self.away

    def _wake(self) -> None:
        self._news.set()
        self._news = asyncio.Event()


class FakeJobNodes:
    """The nodes that a phone knows; implements `JobNodes`.

    Args:
        phone: the phone.
        nodes: its nodes.
    """

    def __init__(self, phone: DeviceIdentity, *nodes: FakeJobNode) -> None:
        """Keep them."""
        self.phone = phone
        self.nodes = list(nodes)
        self.opened = 0
        self._listeners: list[Callable[[DeviceId], None]] = []

    async def known(self) -> tuple[KnownNode, ...]:
        """See `JobNodes.known`."""
        return in_order(node.known for node in self.nodes)

    async def open(self, node: DeviceId, timeout_s: float) -> FakeJobNode:
        """See `JobNodes.open`."""
        del timeout_s
        self.opened += 1
        for one in self.nodes:
            if one.identity.device_id == node:
                if one.away is not None:
                    raise one.away
                for listener in self._listeners:
                    listener(node)
                return one
        msg = "this phone is not paired with that node any more"
        raise NotFoundError(msg)

    def own_key(self) -> DeviceId:
        """See `JobNodes.own_key`."""
        return self.phone.device_id

    def subscribe(self, listener: Callable[[DeviceId], None]) -> None:
        """See `JobNodes.subscribe`."""
        self._listeners.append(listener)

    def back(self, node: FakeJobNode) -> None:
        """A node that was away is there again, and has just proven itself."""
        node.away = None
        for listener in self._listeners:
            listener(node.identity.device_id)


def away() -> UnavailableError:
    """The error of a node that is not there."""
    return UnavailableError("the node cannot be reached")
