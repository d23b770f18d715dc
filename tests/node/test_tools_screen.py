"""A node's tools on wide and narrow screens."""

from __future__ import annotations

from typing import TYPE_CHECKING

from homing_core.tools import EffectClass
from homing_node.cli.console import out
from homing_node.cli.devices_grant import without_effect
from homing_node.cli.tools_screen import show_tools
from homing_node.tools_views import Offer, ServerView, ToolsOverview, ToolView

if TYPE_CHECKING:
    import pytest

FOUND = ToolsOverview(
    tools=(
        ToolView(
            "documents",
            "summarise_folder",
            "Reads.",
            EffectClass.READ,
            idempotent=True,
            offer=Offer.OFFERED,
        ),
        ToolView(
            "recipe", "resize", "Writes.", EffectClass.SETTINGS, idempotent=False, offer=Offer.OFF
        ),
    ),
    servers=(ServerView("files", "stdio", "starting", 0, 0, 0, "", ""),),
)


def shown(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, width: int) -> str:
    monkeypatch.setattr(out, "width", width)
    show_tools(FOUND, "homing-node tools allow")
    return capsys.readouterr().out


def test_a_narrow_screen_keeps_names_whole(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = shown(capsys, monkeypatch, 40).splitlines()
    assert lines[:2] == ["summarise_folder from documents", "  read; offered"]
    assert max(map(len, lines[:4])) <= 40


def test_a_server_that_starts_is_said_to(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    text = shown(capsys, monkeypatch, 120)
    assert "files is starting" in text
    assert "summarise_folder" in text


def test_a_pattern_that_fits_no_tool_is_found() -> None:
    patterns = ("documents.*", "recipes.*", "none", "resize")
    assert without_effect(patterns, FOUND) == ("recipes.*", "resize")
