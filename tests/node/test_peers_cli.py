"""`homing-node pair --role peer` and `homing-node peers`, as people and scripts use them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from homing_core.access import DeviceRole
from homing_node.cli import run
from support.node_process import environment, finished, started
from support.node_rig import NodeRig, node_rig
from support.peer_rig import named, three

if TYPE_CHECKING:
    from pathlib import Path

    import pytest
    from support.commands import Finished


async def command(node: NodeRig, *words: str) -> Finished:
    folder = node.paths.data_dir
    return await finished(*words, "--data-dir", folder, env=environment(folder.parent))


def objects(done: Finished) -> list[dict[str, Any]]:
    assert done.status == 0, done.err
    return [json.loads(line) for line in done.out.splitlines()]


def test_every_command_has_help_with_an_example(capsys: pytest.CaptureFixture[str]) -> None:
    for word in ("", "list", "add", "remove", "share"):
        assert run(["peers", *([word] if word else []), "--help"]) == 0
        page = capsys.readouterr().out
        assert f"homing-node peers {word}".strip() in page
        assert "--json" in page


async def test_a_home_adds_a_peer_shares_and_leaves_it(tmp_path: Path) -> None:
    async with (
        node_rig(tmp_path / "attic", named("Attic")) as attic,
        node_rig(tmp_path / "friend", named("Friend")) as friend,
    ):
        member, guest = await attic.phone(DeviceRole.MEMBER), await attic.phone(DeviceRole.GUEST)
        none = await command(attic, "peers")
        assert "peers add LINK" in none.out
        assert "pair --role peer" in none.out

        folder = friend.paths.data_dir
        words = ("pair", "--role", "peer", "--data-dir", folder)
        async with started(*words, env=environment(folder.parent)) as shown:
            line = await shown.line_with("homing-node peers add '")
            link = line.removeprefix("homing-node peers add '").rstrip("'")
            (added,) = objects(await command(attic, "peers", "add", link, "--name", "Bo", "--json"))
            assert "Paired Attic as peer" in await shown.line_with("Paired")
        assert (added["event"], added["name"], added["id"]) == (
            "added",
            "Bo",
            friend.certificate.device_id,
        )
        assert [(one["id"], one["state"]) for one in added["devices"]] == [
            (member.identity.device_id, "taken")
        ]
        shared = await command(attic, "peers", "share", "Bo", "--guests")
        assert shared.out.count("let in, until ") == 2
        (dropped,) = objects(
            await command(
                attic, "peers", "share", "Bo", "--not", guest.identity.device_id, "--json"
            )
        )
        assert len(dropped["devices"]) == 1
        (home,) = objects(await command(friend, "peers", "list", "--json"))
        assert (home["direction"], home["name"], home["devices"]) == (
            "we take its devices",
            "Attic",
            1,
        )
        assert "1 of 64" in (await command(friend, "peers")).out
        listed = (await command(attic, "peers")).out
        assert "Bo" in listed
        assert "let in, until " in listed
        removed = await command(attic, "peers", "remove", "Bo")
        assert "is forgotten" in removed.out
        assert objects(await command(attic, "peers", "--json")) == []


async def test_a_home_is_let_in_by_link_alone(tmp_path: Path) -> None:
    done = await finished(
        *("pair", "--role", "peer", "--yes", "--data-dir", tmp_path / "node"),
        env=environment(tmp_path),
    )
    assert (done.status, "by link alone" in done.err) == (2, True)


async def test_what_goes_wrong_is_said_in_one_line(tmp_path: Path) -> None:
    async with three(tmp_path) as trio:
        for words, status, says in (
            (["add", "hello"], 2, "pairing link"),
            (["remove", "Nobody"], 1, "no node"),
            (["share", "Friend", "--device", "0000"], 1, "no device"),
        ):
            done = await command(trio.home, "peers", *words)
            assert (done.status, says in done.err) == (status, True), done.err
            assert "Traceback" not in done.err


async def test_a_peer_that_cannot_be_told_is_said_to_be_so(tmp_path: Path) -> None:
    async with node_rig(tmp_path / "attic", named("Attic")) as attic:
        async with node_rig(tmp_path / "friend", named("Friend")) as friend:
            await attic.phone(DeviceRole.MEMBER)
            async with started(
                *("pair", "--role", "peer", "--json", "--data-dir", friend.paths.data_dir),
                env=environment(tmp_path),
            ) as shown:
                link = (await shown.event("opened"))["link"]
                await command(attic, "peers", "add", link)
        left = await command(attic, "peers", "remove", "Friend")
        assert "cannot be reached now" in left.out
        assert "no longer than until 2" in left.out
        (view,) = objects(await command(attic, "peers", "--json"))
        assert view["leaving"] is True
        assert view["error"] is not None
        assert [one["state"] for one in view["devices"]] == ["withdrawing"]
