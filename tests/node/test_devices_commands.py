"""`homing-node devices grant` and `devices usage`, against a node that runs."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from homing_core.access import DeviceRole, Limits, Scope
from homing_core.generation import Done, FinishReason, Usage
from homing_node.cli import run
from support.limited import described, limited_phone, question, rest, started
from support.node_process import environment, finished
from support.node_rig import NodeRig, node_rig

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from support.commands import Finished


@pytest.fixture
async def rig(tmp_path: Path) -> AsyncIterator[NodeRig]:
    async with node_rig(tmp_path) as running:
        yield running


async def command(rig: NodeRig, *words: str) -> Finished:
    folder = rig.paths.data_dir
    return await finished("devices", *words, "--data-dir", folder, env=environment(folder.parent))


async def test_a_grant_changes_what_it_names_and_says_what_holds(rig: NodeRig) -> None:
    phone = await limited_phone(rig, Limits(jobs=3), DeviceRole.GUEST)
    own = phone.identity.device_id
    words = ("grant", own[:8], "--tokens-per-day", "80,000", "--tools", "notes.*", "--until", "+7d")
    done = await command(rig, *words)
    assert done.status == 0, done.err
    assert "is guest, and may use: inference" in done.out
    assert "50,000 tokens a day  (from limits.guest)" in done.out
    assert "2 jobs  (from limits.guest)" in done.out
    stored = rig.running.store.get(own)
    assert (stored.limits.tokens_per_day, stored.limits.jobs) == (80_000, 3)
    assert stored.limits.tools == ("notes.*",)
    assert stored.limits.expires_at > 0
    assert (await described(phone)).own.limits.tokens_per_day == 50_000
    listed = await command(rig, "list")
    assert f"({own[:12]}) is limited: 80,000 tokens a day; 3 jobs; tools notes.*" in listed.out


async def test_a_role_and_a_reset_as_json(rig: NodeRig) -> None:
    phone = await limited_phone(rig, Limits(jobs=3))
    own = phone.identity.device_id
    done = await command(rig, "grant", own, "--role", "owner", "--hours", "none", "--json")
    (granted,) = [json.loads(line) for line in done.out.splitlines()]
    assert granted["device"]["role"] == "owner"
    assert "devices" in granted["device"]["scopes"]
    assert granted["effective"]["hours"] == "none"
    assert granted["tighter"] == {}
    done = await command(rig, "grant", own, "--reset", "--scopes", "tools", "--json")
    (granted,) = [json.loads(line) for line in done.out.splitlines()]
    assert granted["device"]["scopes"] == ["tools"]
    assert set(granted["device"]["limits"].values()) == {None}
    assert rig.running.store.get(own).scopes == {Scope.TOOLS}


async def test_usage_says_what_was_used_and_refused(rig: NodeRig) -> None:
    phone = await limited_phone(rig, Limits(tokens_per_day=1000))
    request = question()
    call = await started(rig, phone, request)
    rig.engine.feed(request.id, Usage(100, 40, 7, 1, 1), Done(FinishReason.STOP))
    await rest(call)
    done = await command(rig, "usage", "--days", "7", "--json")
    (found,) = [json.loads(line) for line in done.out.splitlines()]
    assert (found["tokens_24h"], found["tokens_per_day"], found["running"]) == (67, 1000, 0)
    (day,) = found["days"]
    assert (day["generations"], day["prompt_tokens"], day["cached_tokens"]) == (1, 100, 40)
    assert (day["completion_tokens"], day["refusals"]) == (7, 0)
    table = await command(rig, "usage", phone.identity.device_id[:6])
    assert "67 of 1,000" in table.out
    missing = await command(rig, "usage", "beef00")
    assert missing.status == 1


@pytest.mark.parametrize(
    "words",
    [
        ["--tokens-per-day", "0"],
        ["--streams", "few"],
        ["--hours", "25:00-26:00"],
        ["--until", "yesterday"],
        ["--scopes", "everything"],
        ["--role", "king"],
    ],
)
def test_wrong_words_are_wrong_usage(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["devices", "grant", "abcdef", *words]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1


def test_help_has_examples(capsys: pytest.CaptureFixture[str]) -> None:
    for word in ("grant", "usage"):
        assert run(["devices", word, "--help"]) == 0
        page = capsys.readouterr().out
        assert f"homing-node devices {word}" in page
        assert "Example" in page
