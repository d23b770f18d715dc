"""What the wire and the console see of jobs, and what jobs need of the rest of the node."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from homing_core.approvals import SignedApproval
    from homing_core.ids import ApprovalId, DeviceId, JobId
    from homing_core.jobs import JobEvent, JobSpec, JobStatus, PendingApproval, Settlement
    from homing_crypto.devices import PairedDevice
    from homing_inference.engine import Engine

    from homing_node.jobs.store import JobKey, JobRow


@dataclass(frozen=True, slots=True)
class Piece:
    """Part of a sealed result.

    Attributes:
        offset_bytes: where it starts.
        data: the bytes.
        total_bytes: length of the whole.
    """

    offset_bytes: int
    data: bytes
    total_bytes: int


class Jobs(Protocol):
    """What a device may do with its own jobs, and an owner with everybody's.

    `device` is the calling key; its account is what counts. Jobs of other accounts do not exist for
    it (`NotFoundError`), whatever it knows of them. Every method raises `HomingError`.
    """

    async def submit(
        self, device: PairedDevice, spec: JobSpec, approval: SignedApproval | None
    ) -> JobStatus:
        """Take a job; repeating it is harmless.

        Raises:
            NotFoundError: there is no such tool, or not for this device, or it has changed.
            InvalidDataError: the arguments do not fit its schema.
            RefusedError: the device, its consent or the data's class does not allow it.
            OverloadedError: it has as many jobs as it may.
            ConflictError: the id was used for something else.
        """
        ...

    async def status(self, device: PairedDevice, job: JobId) -> JobStatus:
        """One job."""
        ...

    async def list(
        self, device: PairedDevice, most: int, before: JobId | None
    ) -> tuple[JobStatus, ...]:
        """The account's jobs, newest first."""
        ...

    def watch(self, device: PairedDevice, job: JobId, after: int) -> AsyncGenerator[JobEvent, None]:
        """Events behind a number, then live ones until the job ends."""
        ...

    async def cancel(self, device: PairedDevice, job: JobId) -> JobStatus:
        """End it; returns when its tool has been told, not when it has stopped.

        One that is not here (`NotFoundError`) is not taken any more if it arrives later.
        """
        ...

    async def pending(self, device: PairedDevice) -> tuple[PendingApproval, ...]:
        """What this device may answer: its own jobs' questions; an owner's also others'."""
        ...

    async def answer(self, device: PairedDevice, approval: SignedApproval) -> JobStatus:
        """A person's signed answer; see `homing_crypto.approvals`."""
        ...

    async def settle(self, device: PairedDevice, job: JobId, said: Settlement) -> JobStatus:
        """What a person says of a job of which nobody knows whether it happened."""
        ...

    def download(
        self, device: PairedDevice, job: JobId, offset: int
    ) -> AsyncGenerator[Piece, None]:
        """The sealed result, from an offset."""
        ...

    async def ack(self, device: PairedDevice, job: JobId, sha256: str) -> None:
        """The result has arrived for good."""
        ...


class ConsoleJobs(Protocol):
    """What the person at the node's own console may do: with everybody's jobs."""

    async def rows(self, most: int) -> tuple[JobRow, ...]:
        """Everybody's, newest first."""
        ...

    async def events_any(self, key: JobKey) -> tuple[JobEvent, ...]:
        """A job's record, oldest first; of a very long one the newest part."""
        ...

    async def cancel_any(self, key: JobKey) -> JobRow:
        """End one."""
        ...

    async def pending_any(self) -> tuple[PendingApproval, ...]:
        """Everything that waits for a person."""
        ...

    async def answer_any(self, approval: ApprovalId, *, allow: bool) -> JobRow:
        """The console's own word, without a signature; noted in the record."""
        ...

    async def settle_any(self, key: JobKey, said: Settlement) -> JobRow:
        """As `Jobs.settle`."""
        ...

    async def end_account(self, account: DeviceId) -> None:
        """An account was revoked: stop its tools and forget everything of it."""
        ...


class Brains(Protocol):
    """The node's models for its own tools, within what a device may use."""

    def engine_for(self, device: PairedDevice) -> Engine:
        """An engine whose generations count as the device's and wait for others' like them."""
        ...
