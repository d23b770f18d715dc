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

from homing_node.jobs.outputs import without
from homing_node.jobs.store import Ending, Entry

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path
    from typing import BinaryIO

    from homing_core.clock import Clock
    from homing_core.jobs import ResultFile
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
        for tried in self._forms(row, end):
            try:
                return await self._records.steadily(
                    row.key, self._finish, row.fence, tried, recipient
                )
            except InvalidDataError as error:  # what the tool gave has no sealed form
                _log.warning("job.result_has_no_form", job=row.key.id, reason=error.what)
        msg = "what came of the job has no form"
        raise InvalidDataError(msg, "Ask the node's owner to look at its log.")

    def _forms(self, row: JobRow, end: End) -> Iterator[End]:
        """The end, and what is left of it where it cannot be sealed: a file costs no text."""
        yield end
        if end.result is None:
            return
        if end.result.files:
            words = [f"{file.name}: it could not be sealed" for file in end.result.files]
            yield replace(end, result=without(replace(end.result, files=()), words), files=None)
        msg = f"what {row.tool.name} gave back cannot be sent"
        error = InvalidDataError(msg, "It may have done its work; tell whoever made it.")
        yield End(JobState.FAILED, "failed", error_result(row, error))

    def _finish(self, fence: Fence, end: End, recipient: Recipient | None) -> JobRow:
        now = self._clock.now()
        ending = Ending(Entry(now, end.state, note=end.summary), end.summary)
        if end.result is None or recipient is None:
            return self._records.store.finish(fence, ending)
        identity = self._identity()
        with contextlib.ExitStack() as stack:
            opened: list[tuple[ResultFile, BinaryIO]] = []
            gone: list[str] = []
            for file in end.result.files:
                found = _opened(file, (end.files or {}).get(file.name))
                if found is None:
                    gone.append(f"{file.name}: it is not on this node any more")
                else:
                    opened.append((file, stack.enter_context(found)))
            kept = replace(end.result, files=tuple(file for file, _ in opened))
            sealed = seal_result(identity, recipient, without(kept, gone), opened, now)
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


def _opened(file: ResultFile, path: Path | None) -> BinaryIO | None:
    """A file of a result; None if it is gone, or not what it was."""
    if path is None:
        return None
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
    except OSError:
        return None
    opened = os.fdopen(descriptor, "rb")
    if os.fstat(descriptor).st_size == file.size_bytes:
        return opened
    opened.close()
    return None


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
