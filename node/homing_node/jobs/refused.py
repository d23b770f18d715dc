"""What a store of jobs says when it refuses; the words are the same wherever jobs are kept."""

from __future__ import annotations

from homing_core.errors import ConflictError, NotFoundError, OverloadedError

from homing_node.jobs.store import LostJobError


def no_such_job() -> NotFoundError:
    """What is said of a job that is not there, or is another's."""
    return NotFoundError("there is no such job", "`jobs list` shows those that there are.")


def ended_unseen() -> ConflictError:
    """What is said of a job that its device ended before it arrived."""
    return ConflictError("this job was ended before it arrived", "Ask for it under a new id.")


def ended_too_many() -> OverloadedError:
    """What is said of one more job that is ended before it arrives."""
    msg = "this device has ended too many jobs that this node does not know"
    return OverloadedError(msg, "Wait a day.", 60_000)


def no_such_question() -> NotFoundError:
    """What is said of a question that is not there."""
    return NotFoundError("there is no such question", "It may be of a job that was forgotten.")


def no_result() -> NotFoundError:
    """What is said of a job without a result to fetch."""
    return NotFoundError(
        "no result of this job waits here", "It was fetched already, or there never was one."
    )


def has_ended() -> NotFoundError:
    """What is said of the key of a job that has ended."""
    return NotFoundError("the job has ended, and its key was destroyed")


def asked_already() -> ConflictError:
    """What is said of a second question with one id."""
    return ConflictError("a question with this id was asked already")


def begun_already() -> ConflictError:
    """What is said of a step that is recorded."""
    return ConflictError("this step of the job was begun already")


def never_begun() -> NotFoundError:
    """What is said of the outcome of a step that is not recorded."""
    return NotFoundError("this step of the job was never begun")


def lost_job() -> LostJobError:
    """What an attempt is told that does not have the job any more."""
    msg = "another attempt has this job now, or it has ended"
    return LostJobError(msg, "Nothing is to be done here.")
