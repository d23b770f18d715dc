"""How jobs and what came of them look: to a person, and to a script."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from homing_agent.runtime.job_words import (
    STATE_WORDS,
    count_text,
    percent,
    plain_number,
    short_job,
    short_question,
    size_text,
)
from homing_agent.runtime.moments import moment
from homing_core.jobs import JobState
from homing_core.labels import clean_label

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence
    from pathlib import Path

    from homing_core.canonical import JsonObject
    from homing_core.errors import HomingError
    from homing_core.ids import ApprovalId, JobId
    from homing_core.jobs import JobProgress, JobResult

    from homing_client.jobs.ports import PhoneJob

_ROOMY = 100
"""Columns from which on a table is easier to read than lines."""

_BETWEEN = 5
"""Columns that indent and separator take."""
_YOURS = "waits for your word"
_MOST_ASKED = 40
"""Characters of what a job was asked, in a list."""


def state_text(job: PhoneJob, asked: Collection[JobId] | None = None) -> str:
    """Where it stands, for a person.

    Args:
        job: the job.
        asked: jobs whose questions this person can answer; None if that is not known.
    """
    if not job.submitted and not job.state.final:
        return f"not yet with {job.node_name}"
    silent = asked is None or job.error is not None
    if job.state is JobState.WAITING_APPROVAL and not silent:
        return _YOURS if job.id in (asked or ()) else others_word(job.node_name)
    words = STATE_WORDS[job.state]
    if job.state is JobState.SUCCEEDED and not job.delivered:
        return f"{words}, result still at {job.node_name}"
    return words


def others_word(node_name: str) -> str:
    """What a job waits for whose question only an owner of its node can answer."""
    return f"waits for the word of an owner of {node_name}"


def asked_text(arguments: JsonObject) -> str:
    """What a job was asked to do, in one short line."""
    said = (
        f"{name}={value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)}"
        for name, value in arguments.items()
    )
    return clean_label(", ".join(said), _MOST_ASKED, fallback="")


def far_text(progress: JobProgress | None) -> str:
    """How far, in words."""
    if progress is None:
        return ""
    part = percent(progress)
    return " ".join(filter(None, (count_text(progress), f"({part}%)" if part is not None else "")))


def show_jobs(
    jobs: Sequence[PhoneJob],
    asked: Mapping[JobId, ApprovalId] | None,
    command: Callable[[str], str],
) -> None:
    """A table where there is room for one; on a phone's narrow screen a few lines for each."""
    from rich.padding import Padding  # noqa: PLC0415  # keep help quick
    from rich.table import Table  # noqa: PLC0415  # as above
    from rich.text import Text  # noqa: PLC0415  # as above

    from homing_client.cli.console import aside, out, printable  # noqa: PLC0415  # as above

    rows = [
        (
            short_job(job.id),
            printable(job.tool.name),
            asked_text(job.arguments),
            printable(job.node_name),
            printable(state_text(job, asked)),
            printable(far_text(job.progress) if not job.state.final else ""),
            moment(job.asked_at),
            printable(_why(job)),
        )
        for job in jobs
    ]
    if out.width >= _ROOMY:
        table = Table(box=None, pad_edge=False)
        for title in ("Job", "Tool", "With", "At", "State", "How far", "Asked", "Note"):
            table.add_column(title, overflow="fold")
        for cells in rows:
            table.add_row(*map(Text, cells))
        out.print(table)
    else:
        for number, tool, words, node, state, far, when, why in rows:
            out.print(Text(f"{number} {tool} at {node}", style="bold"))
            if words:
                out.print(Padding.indent(Text(words, no_wrap=True, overflow="ellipsis"), 2))
            now, then = f"{state}, {far}" if far else state, f"asked {when}"
            fits = len(now) + len(then) + _BETWEEN <= out.width
            for line in (f"{now} · {then}", why) if fits else (now, why, then):
                if line:
                    out.print(Padding.indent(Text(line), 2))
    for hint in next_steps(jobs, asked or {}, command):
        aside(hint)


def next_steps(
    jobs: Sequence[PhoneJob], asked: Mapping[JobId, ApprovalId], command: Callable[[str], str]
) -> list[str]:
    """What a person can do for jobs that wait for one."""
    found: list[str] = []
    for job in jobs:
        number = short_job(job.id)
        if job.id in asked:
            question = short_question(asked[job.id])
            found.append(f"{number} waits for your word: {command(f'jobs approve {question}')}")
        elif job.state is JobState.UNKNOWN_EFFECT:
            found.append(f"{number} needs to know: {command(f'jobs settle {number}')}")
    return found


def _why(job: PhoneJob) -> str:
    if job.error is not None:
        return job.error.what
    return job.note or (job.progress.note if job.progress and not job.state.final else "")


def show_result(
    job: PhoneJob, result: JobResult, command: Callable[[str], str], *, hint: bool
) -> None:
    """The text on standard output, everything around it on standard error.

    Args:
        job: the job.
        result: what came of it.
        command: a command that reaches the same phone, from its words.
        hint: whether to name files that the person has not taken.
    """
    from homing_client.cli.console import aside, write_answer  # noqa: PLC0415  # keep help quick

    text = result.say or result.content
    if result.is_error:
        failed = f"{job.tool.name} at {job.node_name} failed"
        aside(f"{failed}: {text.strip()}" if text.strip() else failed, style="")
        return
    if text:
        write_answer(text if text.endswith("\n") else f"{text}\n")
    if result.files and hint:
        aside(f"{_files(len(result.files))} besides:")
        for file in result.files:
            aside(f"  {file.name}  {size_text(file.size_bytes)}")
        aside(f"To have them: {command(f'jobs result {short_job(result.job_id)} --to FOLDER')}")


def show_saved(paths: Sequence[Path]) -> None:
    """Where the files are now."""
    from homing_client.cli.console import aside  # noqa: PLC0415  # keep help quick

    if not paths:
        aside("The job made no files.")
    for path in paths:
        aside(f"{path}  {size_text(path.stat().st_size)}")


def _files(count: int) -> str:
    return "1 file" if count == 1 else f"{count} files"


def job_object(job: PhoneJob, event: str = "job") -> dict[str, Any]:
    """A job as `--json` prints it."""
    far = job.progress
    return {
        "event": event,
        "job": job.id,
        "request_id": job.request_id,
        "tool": job.tool.name,
        "server": job.tool.server,
        "effect": job.tool.effect.value,
        "arguments": job.arguments,
        "node": job.node_name,
        "node_id": job.node,
        "where": job.place.value,
        "submitted": job.submitted,
        "state": job.state.value,
        "seq": job.last_seq,
        "progress": {
            "done": plain_number(far.done),
            "total": plain_number(far.total) or None,
            "unit": far.unit,
            "note": far.note,
        }
        if far
        else None,
        "asked_at": job.asked_at,
        "ended_at": job.ended_at or None,
        "delivered": job.delivered,
        "note": job.note,
        "error": error_object(job.error) if job.error else None,
    }


def result_object(result: JobResult, saved: Sequence[Path] | None) -> dict[str, Any]:
    """A result as `--json` prints it; `saved` are the files' paths, None if none were copied."""
    return {
        "event": "result",
        "job": result.job_id,
        "is_error": result.is_error,
        "text": result.content,
        "say": result.say,
        "trust": result.trust.value,
        "sensitivity": result.sensitivity.value,
        "source": result.source,
        "files": [
            {
                "name": file.name,
                "media_type": file.media_type,
                "size_bytes": file.size_bytes,
            }
            for file in result.files
        ],
        "saved": None if saved is None else [str(path) for path in saved],
    }


def error_object(error: HomingError) -> dict[str, str]:
    """An error inside another object."""
    return {"code": error.code.value, "what": error.what, "hint": error.hint}
