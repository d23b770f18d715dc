"""What cannot be undone is asked about on a terminal, and needs --yes anywhere else."""

from __future__ import annotations

import io
import sys

import pytest
import typer
from homing_agent.runtime.agreeing import agree
from homing_core.errors import UsageError


class Terminal(io.StringIO):
    """A stream that somebody sits at."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("as_json", [False, True])
def test_without_a_terminal_it_needs_yes(as_json: bool) -> None:  # noqa: FBT001  # a case
    with pytest.raises(UsageError, match="--yes"):
        agree("Do it?", yes=False, as_json=as_json)
    agree("Do it?", yes=True, as_json=as_json)


def test_a_script_at_a_terminal_is_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", Terminal())
    monkeypatch.setattr(sys, "stderr", Terminal())
    with pytest.raises(UsageError, match="--yes"):
        agree("Do it?", yes=False, as_json=True)


@pytest.mark.parametrize("answer", [True, False])
def test_a_person_decides(monkeypatch: pytest.MonkeyPatch, answer: bool) -> None:  # noqa: FBT001  # a case
    asked: list[str] = []

    def confirm(question: str, *, err: bool) -> bool:
        asked.append(question)
        return answer and err

    monkeypatch.setattr(sys, "stdin", Terminal())
    monkeypatch.setattr(sys, "stderr", Terminal())
    monkeypatch.setattr(typer, "confirm", confirm)
    if answer:
        agree("Do it?", yes=False, as_json=False)
    else:
        with pytest.raises(typer.Exit) as stopped:
            agree("Do it?", yes=False, as_json=False)
        assert stopped.value.exit_code == 1
    assert asked == ["Do it?"]
