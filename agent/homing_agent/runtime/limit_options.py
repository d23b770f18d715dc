"""Options that limit a device, alike on the node and on an owner's phone."""

from __future__ import annotations

import time
from typing import Annotated, TypeAlias

import typer
from homing_core.limit_words import LimitChange, read_hours, read_names, read_number, read_until

Models: TypeAlias = Annotated[
    str | None,
    typer.Option(metavar="A,B", help="Models and adapters, * and ? as in a shell; any; none."),
]
Tools: TypeAlias = Annotated[
    str | None,
    typer.Option(metavar="A,B", help="Home tools as server.name, such as 'notes.*'; any; none."),
]
TokensPerDay: TypeAlias = Annotated[
    str | None, typer.Option(metavar="N", help="Tokens in 24 hours, or unlimited.")
]
Streams: TypeAlias = Annotated[
    str | None, typer.Option(metavar="N", help="Answers at once, or unlimited.")
]
Jobs: TypeAlias = Annotated[
    str | None, typer.Option(metavar="N", help="Jobs that have not ended, or unlimited.")
]
Hours: TypeAlias = Annotated[
    str | None,
    typer.Option(
        metavar="HOURS",
        help="Hours of use in the node's time, such as 08:00-12:00,14:00-22:00; any; none.",
    ),
]
Until: TypeAlias = Annotated[
    str | None, typer.Option(metavar="WHEN", help="Its last moment: 2026-12-24, +7d, or never.")
]


def limit_change(  # noqa: PLR0913  # one for each option
    *,
    tokens_per_day: str | None,
    streams: str | None,
    jobs: str | None,
    models: str | None,
    tools: str | None,
    hours: str | None,
    until: str | None,
) -> LimitChange:
    """What the options say; None is an option that was not given.

    Raises:
        UsageError: one of them cannot be read.
    """
    return LimitChange(
        tokens_per_day=_number(tokens_per_day, "--tokens-per-day"),
        concurrent_streams=_number(streams, "--streams"),
        jobs=_number(jobs, "--jobs"),
        models=None if models is None else read_names(models),
        tools=None if tools is None else read_names(tools),
        expires_at=None if until is None else read_until(until, time.time()),
        hours=None if hours is None else read_hours(hours),
    )


def _number(text: str | None, option: str) -> int | None:
    return None if text is None else read_number(text, option)
