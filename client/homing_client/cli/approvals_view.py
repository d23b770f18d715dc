"""How the questions of jobs look: to a person, and to a script."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from homing_agent.runtime.job_words import question_beginning, short_job, short_question
from homing_agent.runtime.moments import moment
from homing_core.errors import ConflictError, NotFoundError
from homing_core.jobs import Settlement

from homing_client.cli.consent import show_step
from homing_client.cli.console import aside
from homing_client.cli.jobs_view import far_text

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from homing_client.jobs.ports import PhoneJob, Waiting

_SETTLED = {
    Settlement.HAPPENED: "It happened, so the job goes on behind it",
    Settlement.RUN_AGAIN: "It is done once more",
    Settlement.GIVE_UP: "It was given up; the job has failed",
}


def named_waiting(found: Sequence[Waiting], text: str) -> Waiting:
    """The question whose id begins like this.

    Raises:
        UsageError: no id begins so.
        NotFoundError: nothing waits under it.
        ConflictError: several questions do.
    """
    beginning = question_beginning(text)
    fits = [one for one in found if one.approval.id.startswith(beginning)]
    if not fits:
        msg = "nothing waits for your word under this id"
        raise NotFoundError(msg, "See: homing jobs approvals")
    if len(fits) > 1:
        msg = f"{len(fits)} questions begin like this"
        ids = ", ".join(one.approval.id for one in fits[:4])
        raise ConflictError(msg, f"Say which: {ids}")
    return fits[0]


def show_waiting(waiting: Waiting, command: Callable[[str], str] | None = None) -> None:
    """The exact step, who asks and why; with `command` also how to answer."""
    asked = waiting.approval
    who = f"for {asked.device_name}" if asked.device_name else "for a job of this phone"
    why = f"Why: {asked.reason}" if asked.reason else ""
    show_step(
        asked.tool,
        asked.call.arguments,
        f"at {waiting.node_name}, {who}",
        (asked.preview, why, f"Void after {moment(asked.expires_at)}."),
    )
    if command is not None:
        number = short_question(asked.id)
        aside(f"Answer: {command(f'jobs approve {number}')}, or: jobs deny {number}")


def show_unknown(job: PhoneJob, command: Callable[[str], str], *, choices: bool) -> None:
    """What is known of a step that was cut off."""
    far = far_text(job.progress)
    known = (
        f"{job.node_name} was cut off while this was under way, and cannot know whether it "
        "happened. Look for yourself before you answer."
    )
    show_step(
        job.tool,
        job.arguments,
        f"at {job.node_name}",
        (known, f"It was this far: {far}" if far else "", job.note),
    )
    if choices:
        number = short_job(job.id)
        aside(f"It did happen:      {command(f'jobs settle {number} --happened')}")
        aside(f"It did not:         {command(f'jobs settle {number} --run-again')}")
        aside(f"Leave it as it is:  {command(f'jobs settle {number} --give-up')}")


def show_settled(job: PhoneJob, said: Settlement) -> None:
    """What comes of the person's word."""
    aside(f"{_SETTLED[said]}: {job.tool.name} at {job.node_name}.")


def waiting_object(waiting: Waiting) -> dict[str, Any]:
    """A question as `--json` prints it."""
    asked = waiting.approval
    return {
        "event": "approval",
        "approval_id": asked.id,
        "job": asked.job_id,
        "request_id": asked.request_id,
        "step": asked.step,
        "node": waiting.node_name,
        "node_id": waiting.node,
        "tool": asked.tool.name,
        "server": asked.tool.server,
        "effect": asked.tool.effect.value,
        "arguments": asked.call.arguments,
        "reason": asked.reason,
        "preview": asked.preview,
        "device": asked.device or None,
        "device_name": asked.device_name or None,
        "expires_at": asked.expires_at,
    }
