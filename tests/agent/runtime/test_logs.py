from __future__ import annotations

import io
import json
import logging
from typing import TYPE_CHECKING, Any

import pytest
import structlog
from homing_agent.runtime import logs
from homing_core.errors import UnavailableError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PROMPT = "my bank is Sparkasse"


@pytest.fixture(autouse=True)
def _restore() -> Iterator[None]:
    root = logging.getLogger()
    level = root.level
    yield
    for handler in tuple(root.handlers):
        if getattr(handler, "homing", False):
            root.removeHandler(handler)
            handler.close()
    root.setLevel(level)
    structlog.reset_defaults()


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_entry_is_one_json_line_in_a_private_file(tmp_path: Path) -> None:
    file = tmp_path / "log.jsonl"
    logs.configure_logging(file=file)
    logs.get_logger("homing_node.x").info("device paired", device="ab" * 32, role="owner")
    (entry,) = lines(file)
    assert entry["event"] == "device paired"
    assert entry["device"] == "ab" * 32
    assert entry["level"] == "info"
    assert entry["logger"] == "homing_node.x"
    assert entry["timestamp"].endswith("Z")
    assert file.stat().st_mode & 0o777 == 0o600


def test_prompts_and_secrets_have_no_way_in(tmp_path: Path) -> None:
    file = tmp_path / "log.jsonl"
    logs.configure_logging("debug", file)
    log = logs.get_logger("homing_node.x")
    log.info("asked", prompt=PROMPT, text=PROMPT, link=PROMPT, messages=[PROMPT], count=1)
    try:
        int(PROMPT)
    except ValueError as error:
        log.exception("failed")
        log.warning("failed", exc_info=error)
        logging.getLogger("zeroconf").warning("odd: %s", PROMPT, exc_info=True)
    logging.getLogger("httpx").error(PROMPT)
    text = file.read_text()
    assert PROMPT not in text
    assert "Sparkasse" not in text
    entries = lines(file)
    assert entries[0]["dropped"] == ["link", "messages", "prompt", "text"]
    assert entries[0]["count"] == 1
    assert entries[1]["exception"][-1] == "ValueError"
    assert "test_logs.py" in entries[1]["exception"][0]
    assert entries[2]["exception"] == entries[1]["exception"]
    assert entries[3]["logger"] == "zeroconf"
    assert entries[3]["exception"][-1] == "ValueError"
    assert entries[4]["where"].startswith("test_logs:")


def test_our_own_packages_may_use_the_standard_library(tmp_path: Path) -> None:
    file = tmp_path / "log.jsonl"
    logs.configure_logging(file=file)
    error = UnavailableError("mDNS is off", "Nothing depends on it.")
    logging.getLogger("homing_discovery.follow").warning("%s", error)
    assert lines(file)[0]["event"] == "mDNS is off. Nothing depends on it."


def test_our_own_errors_keep_their_text(tmp_path: Path) -> None:
    file = tmp_path / "log.jsonl"
    logs.configure_logging(file=file)
    cause = OSError(PROMPT)
    error = UnavailableError("the model is loading", "Try again.")
    error.__cause__ = cause
    logs.get_logger("homing_node.x").warning("refused", exc_info=error)
    assert lines(file)[0]["exception"] == [
        "UnavailableError: the model is loading. Try again.",
        "caused by OSError",
    ]


def test_values_are_capped_and_cleaned(tmp_path: Path) -> None:
    file = tmp_path / "log.jsonl"
    logs.configure_logging(file=file)
    logs.get_logger("homing_node.x").info(
        "x", name="\x1b[31m" + "y" * 1000, addresses=[f"a{n}" for n in range(99)]
    )
    entry = lines(file)[0]
    assert "\x1b" not in entry["name"]
    assert len(entry["name"]) <= 300
    assert len(entry["addresses"]) == 12


def test_levels_and_a_second_call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.StringIO()
    monkeypatch.setattr("sys.stderr", stream)
    logs.configure_logging("warning")
    logs.get_logger("homing_node.x").info("quiet")
    logs.get_logger("homing_node.x").warning("loud")
    assert [json.loads(line)["event"] for line in stream.getvalue().splitlines()] == ["loud"]
    file = tmp_path / "log.jsonl"
    logs.configure_logging(file=file)
    logs.get_logger("homing_node.x").info("there")
    assert len(stream.getvalue().splitlines()) == 1
    assert len(lines(file)) == 1
    logs.silence_logging()
    logs.get_logger("homing_node.x").error("nowhere")
    assert len(lines(file)) == 1


def test_debugging_shows_everything(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOMING_DEBUG", "1")
    file = tmp_path / "log.jsonl"
    logs.configure_logging(file=file)
    logging.getLogger("zeroconf").warning("odd: %s", "value")
    assert lines(file)[0]["event"] == "odd: value"
    assert logs.debugging()
    monkeypatch.setenv("HOMING_DEBUG", "0")
    assert not logs.debugging()


def test_unwritable_log_is_said(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be opened"):
        logs.configure_logging(file=tmp_path / "none" / "log.jsonl")
