"""How a job ends: its result is sealed for the device, and all that was its own destroyed."""

from __future__ import annotations

import contextlib
import os
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from homing_agent.runtime.logs import get_logger
from homing_core.errors import HomingError, InvalidDataError, UnavailableError
from homing_core.jobs import JobResult, JobState
from homing_core.provenance import Trust
from homing_crypto.audit.actions import note_tool_run
from homing_crypto.certificates import check_certificate
from homing_crypto.keys import verify_hpke_key
from homing_crypto.mailbox import Recipient
from homing_crypto.results import seal_result

from homing_node.jobs.store import Ending, Entry

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path
    from typing import BinaryIO

    from homing_core.clock import Clock
    from homing_crypto.audit.records import Audit
    from homing_crypto.devices import PairedDevice
    from homing_crypto.identity import DeviceIdentity

    from homing_node.jobs.opening import Opener
    from homing_node.jobs.records import Records
    from homing_node.jobs.store import Fence, JobRow

_WORDS: Final = {
    JobState.SUCCEEDED: "done",
    JobState.FAILED: "failed",
    JobState.CANCELLED: "cancelled",
}

_log = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class End:
    """How a job ends.

    Attributes:
        state: a final one.
        summary: one line, with nothing of the result.
        result: what is sealed; None if nothing is to be fetched.
        files: where the result's files lie, by name.
        outcome: for the audit log; empty takes the state's word.
    """

    state: JobState
    summary: str
    result: JobResult | None = None
    files: Mapping[str, Path] | None = None
    outcome: str = ""


def cancelled(row: JobRow) -> End:
    """The end of a job whose end is wanted, and what is to be said of its effect."""
    summary = {
        JobState.RUNNING: "cancelled while it ran",
        JobState.UNKNOWN_EFFECT: "cancelled; nobody knows whether it happened",
    }
    return End(JobState.CANCELLED, summary.get(row.state, "cancelled"))


class Closer:
    """Ends jobs.

    Args:
        records: where they are kept.
        opener: knows whose they are.
        identity: this daemon's, at the moment of sealing.
        audit: where it is noted.
        clock: for events and letters.
    """

    def __init__(
        self,
        records: Records,
        opener: Opener,
        identity: Callable[[], DeviceIdentity],
        audit: Audit,
        clock: Clock,
    ) -> None:
        """Keep where to look."""
        self._records = records
        self._opener = opener
        self._identity = identity
        self._audit = audit
        self._clock = clock

    async def end(self, row: JobRow, end: End) -> JobRow:
        """Store an end; a busy or full disk is waited for.

        Raises:
            LostJobError: another attempt has the job, or it has ended.
            UnavailableError: the store does not let us, for long.
        """
        ended = await self._end(row, end)
        word = end.outcome or _WORDS[end.state]
        note_tool_run(self._audit, row.key.account, row.tool, row.key.id, word)
        return ended

    async def refuse(self, row: JobRow, error: HomingError, summary: str) -> JobRow:
        """End a job that may not go on, with words of our own; raises as `end`."""
        return await self.end(
            row, End(JobState.FAILED, summary, error_result(row, error), outcome="refused")
        )

    async def _end(self, row: JobRow, end: End) -> JobRow:
        recipient = None if end.result is None else await self._recipient(row)
        change = self._records.steadily
        try:
            return await change(row.key, self._finish, row.fence, end, recipient)
        except InvalidDataError as error:  # what the tool gave has no sealed form
            if end.result is None or end.state is JobState.FAILED:
                raise
            again = End(JobState.FAILED, "failed", error_result(row, error))
            return await change(row.key, self._finish, row.fence, again, recipient)

    def _finish(self, fence: Fence, end: End, recipient: Recipient | None) -> JobRow:
        now = self._clock.now()
        ending = Ending(Entry(now, end.state, note=end.summary), end.summary)
        if end.result is None or recipient is None:
            return self._records.store.finish(fence, ending)
        identity = self._identity()
        files = end.files or {}
        with contextlib.ExitStack() as stack:
            opened = [
                (file, stack.enter_context(_opened(files.get(file.name))))
                for file in end.result.files
            ]
            sealed = seal_result(identity, recipient, end.result, opened, now)
            ending = replace(ending, result=sealed, sealed_by=identity.device_id)
            return self._records.store.finish(fence, ending)

    async def _recipient(self, row: JobRow) -> Recipient | None:
        """Whom the result is for; None if nobody could open it."""
        try:
            return recipient_of(await self._opener.holder(row))
        except UnavailableError:
            raise
        except HomingError as error:
            _log.warning("job.nobody_to_seal_for", job=row.key.id, reason=error.what)
            return None


def _opened(path: Path | None) -> BinaryIO:
    try:
        if path is None:
            raise FileNotFoundError
        return os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW), "rb")
    except OSError as error:
        msg = "a file of the result has gone"
        raise InvalidDataError(msg, "Hand the job in again.") from error


def recipient_of(device: PairedDevice) -> Recipient:
    """For whom to seal; raises `HomingError` if its key is missing or not its own."""
    certificate = check_certificate(device.certificate_der)
    if device.hpke_signature:
        verify_hpke_key(certificate.public_key, device.hpke_public_key, device.hpke_signature)
    return Recipient(certificate, device.hpke_public_key)


def error_result(row: JobRow, error: HomingError) -> JobResult:
    """What a device is told of a job that failed."""
    return JobResult(
        row.key.id,
        content=str(error),
        is_error=True,
        trust=Trust.UNTRUSTED,
        sensitivity=row.sensitivity,
        source=row.tool.name,
    )
