from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated

import pytest
import typer
from homing_agent.runtime import cli
from homing_core.errors import ConfigError, HomingError, RefusedError, UnavailableError

if TYPE_CHECKING:
    from pathlib import Path


def app_raising(error: BaseException | None) -> typer.Typer:
    app = typer.Typer(add_completion=False)

    @app.command()
    def work(count: int = 1, *, as_json: Annotated[bool, typer.Option("--json")] = False) -> None:
        """Works."""
        typer.echo(f"worked {count} {as_json}")
        if error is not None:
            raise error

    @app.command()
    def other() -> None:
        """Does something else."""

    assert callable(work)
    assert callable(other)
    return app


def test_success(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run_app(app_raising(None), "prog", ["work", "--count", "3"]) == 0
    assert capsys.readouterr().out == "worked 3 False\n"


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (UnavailableError("home is away", "Try later."), 1),
        (ConfigError("bad line", "Fix it."), 2),
        (RefusedError("not allowed", "Ask the owner."), 3),
    ],
)
def test_errors_are_one_line_and_a_status(
    error: HomingError, status: int, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.run_app(app_raising(error), "prog", ["work"]) == status
    said = capsys.readouterr()
    assert said.err == f"prog: {error.what}. {error.hint}\n"
    assert said.out == "worked 1 False\n"


def test_json_errors_are_objects_too(capsys: pytest.CaptureFixture[str]) -> None:
    error = UnavailableError("home is away", "Try later.")
    assert cli.run_app(app_raising(error), "prog", ["work", "--json"]) == 1
    said = capsys.readouterr()
    assert json.loads(said.out.splitlines()[-1]) == {
        "event": "error",
        "code": "unavailable",
        "what": "home is away",
        "hint": "Try later.",
        "retryable": True,
        "exit_status": 1,
    }
    assert len(said.err.splitlines()) == 1


def test_a_hostile_text_stays_one_harmless_line(capsys: pytest.CaptureFixture[str]) -> None:
    error = UnavailableError("odd\n\x1b[2Jname\r\nx")
    assert cli.run_app(app_raising(error), "prog", ["work"]) == 1
    assert capsys.readouterr().err == "prog: odd [2Jname x\n"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["work", "--count", "many"], "--count"),
        (["work", "--none"], "No such option: --none"),
        (["nothing"], "nothing"),
        (["work", "too", "much"], "too much"),
    ],
)
def test_wrong_usage_is_2_and_one_line(
    arguments: list[str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.run_app(app_raising(None), "prog", arguments) == 2
    said = capsys.readouterr()
    assert says in said.err
    assert len(said.err.splitlines()) == 1
    assert "--help" in said.err
    assert said.out == ""


def test_a_slip_of_the_hand_gets_the_word_that_was_meant(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert cli.run_app(app_raising(None), "prog", ["wrk"]) == 2
    said = "No such command 'wrk'. Did you mean 'work'? See: prog --help\n"
    assert capsys.readouterr().err.endswith(said)


def test_wrong_usage_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run_app(app_raising(None), "prog", ["work", "--json", "--none"]) == 2
    assert json.loads(capsys.readouterr().out)["code"] == "usage"


def test_json_behind_the_double_dash_is_text() -> None:
    assert not cli.wants_json(["ask", "--", "--json"])
    assert cli.wants_json(["ask", "--json", "--", "x"])


def test_help_is_0(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run_app(app_raising(None), "prog", ["--help"]) == 0
    assert "Does something else" in capsys.readouterr().out


@pytest.mark.parametrize("error", [KeyboardInterrupt(), typer.Abort()])
def test_interrupt_is_130(error: BaseException) -> None:
    assert cli.run_app(app_raising(error), "prog", ["work"]) == 130


def test_exit_status_of_a_command_passes() -> None:
    assert cli.run_app(app_raising(typer.Exit(3)), "prog", ["work"]) == 3


def test_a_bug_is_one_neutral_line_and_its_details_are_in_the_log(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cli, "_log_file", [])
    log = tmp_path / "log.jsonl"
    cli.name_log_file(log)
    assert cli.run_app(app_raising(ZeroDivisionError("secret text")), "prog", ["work"]) == 1
    said = capsys.readouterr()
    assert "secret text" not in said.err + said.out
    assert "Traceback" not in said.err
    assert said.err == f"prog: something went wrong inside Homing. The details are in {log}\n"
    entry = json.loads(log.read_text())
    assert entry["exception"][-1] == "ZeroDivisionError"


def test_debugging_shows_the_trace(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cli, "_log_file", [])
    monkeypatch.setenv("HOMING_DEBUG", "1")
    assert cli.run_app(app_raising(ZeroDivisionError("x")), "prog", ["work"]) == 1
    assert "Traceback" in capsys.readouterr().err
    monkeypatch.delenv("HOMING_DEBUG")
    assert cli.run_app(app_raising(ZeroDivisionError("x")), "prog", ["work"]) == 1
    assert "HOMING_DEBUG=1" in capsys.readouterr().err
