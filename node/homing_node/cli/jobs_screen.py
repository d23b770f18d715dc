"""Jobs as a person or a script reads them at the node. Nothing of a phone's is trusted here."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from homing_agent.runtime.job_words import (
    STATE_WORDS,
    count_text,
    duration_text,
    percent,
    plain_number,
    short_job,
    short_question,
)
from homing_core.jobs import JobState
from rich.markup import escape
from rich.table import Table

from homing_node.cli.console import SHORT_ID, moment, out, safe

if TYPE_CHECKING:
    from collections.abc import Iterable

    from homing_core.jobs import JobEvent, JobProgress, PendingApproval
    from rich.console import Console

    from homing_node.jobs.console import JobView

_NARROW: Final = 96
"""Columns below which a table would be unreadable."""
_BAR: Final = 10
_COLORS: Final = {
    JobState.WAITING_APPROVAL: "yellow",
    JobState.UNKNOWN_EFFECT: "red",
    JobState.SUCCEEDED: "green",
    JobState.FAILED: "red",
}


def progress_words(progress: JobProgress | None) -> str:
    """A bar and its numbers in plain text; empty if nothing is known."""
    if progress is None:
        return ""
    part = percent(progress)
    counted = count_text(progress)
    if part is None:
        return counted or progress.note
    full = part * _BAR // 100
    return f"{'█' * full}{'░' * (_BAR - full)} {part}%, {counted}"


def state_words(job: JobView) -> str:
    """Where it stands, colored."""
    if job.ending:
        return "is being ended"
    color = _COLORS.get(job.state)
    words = STATE_WORDS[job.state]
    return f"[{color}]{words}[/{color}]" if color else words


def show_jobs(jobs: Iterable[JobView], now: float) -> None:
    """All of them: a table, or two lines each where the screen is narrow."""
    if out.width < _NARROW:
        for job in jobs:
            out.print(f"{short_job(job.id)}  {safe(job.tool_name)}: {state_words(job)}")
            far = safe(progress_words(job.progress))
            out.print(
                f"  {_who(job)}, {duration_text(now - job.submitted_at)}{', ' if far else ''}{far}"
            )
        return
    table = Table(box=None, pad_edge=False)
    for title in ("Job", "Device", "Tool", "State", "Progress", "Age"):
        table.add_column(title, overflow="fold", no_wrap=title in {"Job", "Age"})
    for job in jobs:
        table.add_row(
            short_job(job.id),
            _who(job),
            safe(job.tool_name),
            state_words(job),
            safe(progress_words(job.progress)),
            duration_text(now - job.submitted_at),
        )
    out.print(table)


def show_job(job: JobView, events: Iterable[JobEvent]) -> None:
    """One with its record."""
    server = f"{job.tool_server}." if job.tool_server else ""
    what = safe(server + job.tool_name)
    out.print(f"[bold]{short_job(job.id)}[/bold]  {what}: {state_words(job)}")
    lines = [
        ("id", job.id),
        ("device", f"{_who(job)}, {job.account[:SHORT_ID]}"),
        ("handed in", moment(job.submitted_at)),
        ("progress", safe(progress_words(job.progress))),
        ("runs on", safe(job.runner)),
        ("attempts", str(job.attempt) if job.attempt else ""),
        ("ended", moment(job.ended_at) if job.ended_at else ""),
        ("outcome", safe(job.summary)),
        ("result", _result_words(job)),
    ]
    for title, text in lines:
        if text:
            out.print(f"  {title:<10}{text}")
    out.print("  record")
    for event in events:
        said = ", ".join(
            part for part in (safe(progress_words(event.progress)), safe(event.note)) if part
        )
        words = STATE_WORDS[event.state]
        out.print(f"  {event.seq:>6}  {moment(event.at)}  {words}{': ' if said else ''}{said}")


def _result_words(job: JobView) -> str:
    if job.result_bytes:
        return f"{job.result_bytes:,} bytes, sealed for its device, not fetched yet"
    return f"fetched {moment(job.delivered_at)}" if job.delivered_at else ""


def _who(job: JobView) -> str:
    return safe(job.device_name) or f"({job.account[:SHORT_ID]}, not known any more)"


def show_approvals(found: Iterable[PendingApproval], approve: str, deny: str) -> None:
    """What waits, and how to answer.

    Args:
        found: the questions.
        approve: the command that says yes, without the id.
        deny: the one that says no.
    """
    for one in found:
        show_approval(one, out)
        out.print(f"  Yes: {safe(approve)} {short_question(one.id)}")
        out.print(f"  No:  {safe(deny)} {short_question(one.id)}\n")


def show_approval(one: PendingApproval, console: Console) -> None:
    """Everything that a person has to know to answer.

    Args:
        one: the question.
        console: where to.
    """
    who = safe(one.device_name) or "a device"
    server = f"{one.tool.server}." if one.tool.server else ""
    title = f"{safe(server + one.tool.name)} for {who}, {one.device[:SHORT_ID]}"
    console.print(f"[bold]{short_question(one.id)}[/bold]  {title}")
    for name, text in (
        ("what", one.tool.description),
        ("would", one.preview),
        ("because", one.reason),
        ("may do", one.tool.effect.value),
    ):
        if text:
            console.print(f"  {name:<8}{safe(text)}")
    console.print(f"  {'until':<8}{moment(one.expires_at)}")
    console.print(f"  {'job':<8}{short_job(one.job_id)}, step {one.step}")
    console.print("  with")
    whole = json.dumps(dict(one.call.arguments), indent=2, ensure_ascii=False)
    for line in whole.splitlines():
        console.print(f"    {escape(visible(line))}")


def visible(text: str) -> str:
    r"""The whole text, with what would hide or move on a terminal written as `\uXXXX`."""
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape").decode("ascii")
        for char in text
    )


def job_object(job: JobView) -> dict[str, Any]:
    """The job as `--json` prints it."""
    return {
        "event": "job",
        "job": job.id,
        "device": {"id": job.account, "name": job.device_name or None},
        "introduced_by": job.peer or None,
        "tool": {"server": job.tool_server, "name": job.tool_name},
        "state": job.state.value,
        "ending": job.ending,
        "submitted_at": job.submitted_at,
        "ended_at": job.ended_at or None,
        "last_seq": job.last_seq,
        "progress": progress_object(job.progress),
        "summary": job.summary or None,
        "priority": job.priority,
        "attempts": job.attempt,
        "runner": job.runner or None,
        "result_bytes": job.result_bytes or None,
        "delivered_at": job.delivered_at or None,
    }


def progress_object(progress: JobProgress | None) -> dict[str, Any] | None:
    """Progress as `--json` prints it."""
    if progress is None:
        return None
    return {
        "done": plain_number(progress.done),
        "total": plain_number(progress.total) or None,
        "unit": progress.unit or None,
        "note": progress.note or None,
    }


def event_object(event: JobEvent) -> dict[str, Any]:
    """An entry of a record as `--json` prints it."""
    return {
        "seq": event.seq,
        "at": event.at,
        "state": event.state.value,
        "progress": progress_object(event.progress),
        "approval": event.approval_id,
        "note": event.note or None,
    }


def approval_object(one: PendingApproval) -> dict[str, Any]:
    """A question as `--json` prints it."""
    return {
        "event": "approval",
        "approval_id": one.id,
        "job": one.job_id,
        "request_id": one.request_id,
        "step": one.step,
        "device": {"id": one.device or None, "name": one.device_name or None},
        "tool": {
            "server": one.tool.server,
            "name": one.tool.name,
            "description": one.tool.description,
            "effect": one.tool.effect.value,
            "schema_hash": one.tool.schema_hash,
        },
        "arguments": dict(one.call.arguments),
        "reason": one.reason or None,
        "preview": one.preview or None,
        "expires_at": one.expires_at,
    }
