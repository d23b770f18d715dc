"""Handing a job in: until the node says that it has it, or that it never will."""

from __future__ import annotations

from typing import TYPE_CHECKING

from homing_core.errors import (
    HomingError,
    NotFoundError,
    RefusedError,
    UnavailableError,
    UnpairedError,
)
from homing_core.generation import Failed
from homing_core.jobs import JobSpec

from homing_client.jobs.pauses import passing
from homing_client.jobs.watching import of_status

if TYPE_CHECKING:
    from homing_core.clock import Clock

    from homing_client.jobs.book import JobBook
    from homing_client.jobs.entry import JobEntry
    from homing_client.jobs.node import JobNode, Told


def spec_of(entry: JobEntry) -> JobSpec:
    """What goes to the node; the same however often it is sent."""
    asked = entry.asked
    return JobSpec(entry.id, asked.request_id, asked.tool.id, asked.call, asked.sensitivity)


async def hand_in(node: JobNode, entry: JobEntry, book: JobBook, clock: Clock) -> None:
    """Hand a job in; the book then says that the node has it, or why it does not take it.

    Raises:
        HomingError: the node was not reached, is busy, or is not the node.
    """
    book.note_tried(entry.id)
    try:
        told = await node.submit(spec_of(entry), entry.asked.approval)
    except HomingError as error:
        if passing(error):
            raise
        found = await _has_it_all_the_same(node, entry)
        if found is None:
            book.note_failed(entry.id, Failed.from_error(error), clock.now())
            return
        told = found
    book.note_submitted(entry.id)
    book.note_event(entry.id, of_status(told.status), clock.now())


async def _has_it_all_the_same(node: JobNode, entry: JobEntry) -> Told | None:
    """A node that refuses, or fails, now may have taken the job before that.

    Raises:
        UnavailableError: whether it has the job is not known.
    """
    try:
        return await node.status(entry.id)
    except (NotFoundError, RefusedError, UnpairedError):
        return None
    except HomingError as error:
        if passing(error):
            raise
        msg = f"{entry.node_name} does not say whether it has the job"
        raise UnavailableError(msg, "It is asked again.") from error
