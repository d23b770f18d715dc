"""What the phone asks of a node about jobs, without the wire."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable

    from homing_core.approvals import SignedApproval
    from homing_core.ids import DeviceId, JobId
    from homing_core.jobs import JobEvent, JobSpec, JobStatus, PendingApproval, Settlement
    from homing_core.tools import ToolSpec
    from homing_crypto.nodes import KnownNode


@dataclass(frozen=True, slots=True)
class Told:
    """What a node says of a job.

    Attributes:
        status: the job.
        sealer_certificate: of the daemon that sealed its result, DER, where that is another one
            than the node itself; nothing of it is verified yet.
    """

    status: JobStatus
    sealer_certificate: bytes = field(default=b"", repr=False)


@dataclass(frozen=True, slots=True)
class SealedPiece:
    """Part of a sealed result.

    Attributes:
        offset: where it starts, in bytes.
        data: the bytes.
        total: length of the whole, in bytes.
    """

    offset: int
    data: bytes = field(repr=False)
    total: int


class JobNode(Protocol):
    """A node's jobs, over a connection that has proven its key.

    Every method raises `HomingError`: `UnavailableError` where trying again may help.
    """

    async def tools(self) -> tuple[ToolSpec, ...]:
        """Tools that this phone may use there, as the node describes them."""
        ...

    async def submit(self, spec: JobSpec, approval: SignedApproval | None) -> Told:
        """Hand a job in; repeating it is harmless."""
        ...

    async def status(self, job: JobId) -> Told:
        """One job."""
        ...

    def watch(self, job: JobId, after: int) -> AsyncGenerator[JobEvent, None]:
        """Events behind a number, then live ones until the job ends."""
        ...

    async def cancel(self, job: JobId) -> Told:
        """End it."""
        ...

    async def pending(self) -> tuple[PendingApproval, ...]:
        """What waits for this phone's person."""
        ...

    async def answer(self, approval: SignedApproval) -> Told:
        """A person's signed answer."""
        ...

    async def settle(self, job: JobId, said: Settlement) -> Told:
        """What a person says of a job of which nobody knows whether it happened."""
        ...

    def download(self, job: JobId, offset: int) -> AsyncGenerator[SealedPiece, None]:
        """The sealed result, from an offset."""
        ...

    async def ack(self, job: JobId, sha256: str) -> None:
        """The result has arrived for good."""
        ...


class JobNodes(Protocol):
    """The nodes that this phone is paired with, as far as jobs go."""

    async def known(self) -> tuple[KnownNode, ...]:
        """All of them, home before peers."""
        ...

    async def open(self, node: DeviceId, timeout_s: float) -> JobNode:
        """A node that has proven its key.

        Raises:
            NotFoundError: this phone is not paired with it any more.
            HomingError: it does not answer, or does not know this phone.
        """
        ...

    def own_key(self) -> DeviceId:
        """Device id of this phone's present key."""
        ...

    def subscribe(self, listener: Callable[[DeviceId], None]) -> None:
        """Call this with a node's id whenever it has proven itself; it must return at once."""
        ...
