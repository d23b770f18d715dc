"""Asking before what cannot be undone, in one way for every command."""

from __future__ import annotations

import sys

import typer
from homing_core.errors import UsageError


def agree(question: str, *, yes: bool, as_json: bool) -> None:
    """Have a person agree, or stop. Call it outside an event loop: it waits for the answer.

    Args:
        question: what will be, without the question mark.
        yes: it was agreed to on the command line.
        as_json: a script reads the output, which no question may be mixed into.

    Raises:
        UsageError: nobody can be asked.
        typer.Exit: the answer is no.
    """
    if yes:
        return
    streams = (sys.stdin, sys.stderr)
    if as_json or not all(stream is not None and stream.isatty() for stream in streams):
        msg = "this cannot be undone, and nobody can be asked"
        raise UsageError(msg, "Use --yes to do it without a question.")
    if not typer.confirm(question, err=True):
        typer.echo("Nothing was changed.", err=True)
        raise typer.Exit(1)
