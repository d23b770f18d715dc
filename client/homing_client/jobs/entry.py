"""A job as the phone's book holds it, and what is left to do for it. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from homing_core.jobs import JobState

from homing_client.jobs.ports import PhoneJob

if TYPE_CHECKING:
    from homing_agent.ports import JobAsked
    from homing_core.errors import HomingError
    from homing_core.generation import Failed
    from homing_core.ids import DeviceId, JobId
    from homing_core.jobs import JobProgress, JobResult
    from homing_core.tools import Place


@dataclass(frozen=True, slots=True)
class JobEntry:
    """One job. Times are wall time here, seconds since the epoch.

    Attributes:
        id: chosen here, written down before it is sent.
        asked: what was asked.
        node: device id of the node that has it; follows that node's key.
        node_name: for people.
        place: `HOME` or `PEER`, as the phone's own record says.
        certificate: the node's at that time, DER: it may seal the result before it has a new key.
        key: device id of the phone's key at that time; the result may be sealed for it.
        asked_at: when it was written down.
        tried: whether a message that hands it in may have reached the node.
        submitted: whether the node has said that it has it.
        state: as last heard.
        last_seq: number of the newest event that is known.
        progress: the newest.
        note: one line for a person, cleaned.
        ended_at: when its end was heard of; 0 before.
        failure: why there is no result; None if there is one, or nothing is known yet.
        cancel_wanted: whether the person has ended it and its node does not know yet.
        fetched: whether nothing is left to be fetched.
        delivered: whether its result is here.
        result: that, where it was asked for.
        sha256: of the sealed result, hex; empty without one.
        acked: whether the node knows that the result is here.
    """

    id: JobId
    asked: JobAsked
    node: DeviceId
    node_name: str
    place: Place
    certificate: bytes = field(repr=False)
    key: DeviceId
    asked_at: float
    tried: bool = False
    submitted: bool = False
    state: JobState = JobState.QUEUED
    last_seq: int = 0
    progress: JobProgress | None = None
    note: str = ""
    ended_at: float = 0.0
    failure: Failed | None = None
    cancel_wanted: bool = False
    fetched: bool = False
    delivered: bool = False
    result: JobResult | None = field(default=None, repr=False)
    sha256: str = ""
    acked: bool = False

    @property
    def ended(self) -> bool:
        """Whether what came of it is known here for good."""
        return self.state.final and self.fetched

    @property
    def settled(self) -> bool:
        """Whether nothing is left to be done for it."""
        return self.ended and (not self.delivered or self.acked)

    def shown(self, error: HomingError | None = None) -> PhoneJob:
        """The same for people.

        Args:
            error: why it cannot be handed in, followed or fetched just now.
        """
        return PhoneJob(
            id=self.id,
            request_id=self.asked.request_id,
            node=self.node,
            node_name=self.node_name,
            place=self.place,
            tool=self.asked.tool,
            arguments=self.asked.call.arguments,
            submitted=self.submitted,
            state=self.state,
            last_seq=self.last_seq,
            progress=self.progress,
            asked_at=self.asked_at,
            ended_at=self.ended_at,
            delivered=self.delivered,
            note=self.note,
            error=error if self.failure is None else self.failure.to_error(),
        )
