from __future__ import annotations

import json
import os
import socket
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from homing_core.access import DeviceRole
from homing_core.errors import RefusedError
from homing_crypto.pairing.link import parse_link
from homing_crypto.testing import paired_device, throwaway_identity
from homing_node.cli import run
from homing_node.cli.pair_screen import qr_lines
from support.node_pairing import pair
from support.node_process import environment, finished, started
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
    return await finished(*words, "--data-dir", folder, env=environment(folder.parent))


def objects(done: Finished) -> list[dict[str, object]]:
    return [json.loads(line) for line in done.out.splitlines()]


def test_help_names_every_command_with_an_example(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--help"]) == 0
    listing = capsys.readouterr().out
    for words in (
        ["run"],
        ["pair"],
        ["devices"],
        ["devices", "revoke"],
        ["models", "fetch"],
        ["audit", "show"],
        ["audit", "verify"],
    ):
        assert words[0] in listing
        assert run([*words, "--help"]) == 0
        page = capsys.readouterr().out
        assert f"homing-node {' '.join(words)}" in page
        assert "Example" in page
        assert "--data-dir" in page
        assert "--json" in page


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--version"]) == 0
    assert capsys.readouterr().out.startswith("homing-node ")


@pytest.mark.parametrize(
    "words", [["run", "--port", "70000"], ["pair", "--role", "king"], ["devices", "revoke"], ["x"]]
)
def test_wrong_usage_is_2(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(words) == 2
    said = capsys.readouterr().err
    assert len(said.splitlines()) == 1
    assert "--help" in said


def test_a_qr_code_has_even_lines_of_half_blocks() -> None:
    lines = qr_lines("homing://pair?v=1&" + "x" * 150)
    assert len({len(line) for line in lines}) == 1
    assert len(lines[0]) < 70
    assert set("".join(lines)) <= set("█▀▄ ")


async def test_devices_before_and_after(rig: NodeRig) -> None:
    none = await command(rig, "devices")
    assert none.status == 0
    assert "homing-node pair --data-dir" in none.out
    assert objects(await command(rig, "devices", "list", "--json")) == []

    identity = throwaway_identity()
    rig.running.store.add(paired_device(identity, DeviceRole.GUEST, name="[red]Eve"))
    listed = await command(rig, "devices", "list")
    assert identity.device_id[:12] in listed.out
    assert "[red]Eve" in listed.out
    assert "never" in listed.out
    (device,) = objects(await command(rig, "devices", "--json"))
    assert device["id"] == identity.device_id
    assert device["role"] == "guest"
    assert device["scopes"] == ["inference"]
    assert device["last_seen_at"] is None

    gone = await command(rig, "devices", "revoke", identity.device_id[:6])
    assert gone.status == 0
    assert gone.out == f"Shut out: [red]Eve, {identity.device_id[:12]}.\n"
    again = await command(rig, "devices", "revoke", "beef00", "--json")
    assert again.status == 1
    assert objects(again)[0]["code"] == "not_found"
    assert objects(await command(rig, "devices", "--json")) == []


async def test_options_may_stand_before_the_second_word(rig: NodeRig) -> None:
    folder = rig.paths.data_dir
    done = await finished("devices", "--data-dir", folder, "list", env=environment(folder.parent))
    assert done.status == 0
    assert "No device yet" in done.out


@pytest.mark.parametrize("words", [["devices"], ["pair"], ["devices", "revoke", "abcdef"]])
async def test_without_a_daemon(tmp_path: Path, words: list[str]) -> None:
    done = await finished(*words, "--data-dir", tmp_path / "d", env=environment(tmp_path))
    assert done.status == 1
    assert done.out == ""
    assert done.err == (
        f"homing-node does not run on {tmp_path}/d. "
        f"Start it with: homing-node run --data-dir {tmp_path}/d\n"
    )


async def test_after_kill_9_the_socket_is_stale_and_that_is_said(tmp_path: Path) -> None:
    folder = tmp_path / "d" / "run"
    folder.mkdir(parents=True, mode=0o700)
    (tmp_path / "d").chmod(0o700)
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(folder / "control.sock"))
    done = await finished("devices", "--data-dir", tmp_path / "d", env=environment(tmp_path))
    assert done.status == 1
    assert "does not run" in done.err
    async with node_rig(tmp_path) as fresh:
        stale = fresh.paths.run_dir / "control.sock"
        assert stale.is_socket()


async def test_pairing_for_scripts(rig: NodeRig) -> None:
    env = environment(rig.paths.data_dir.parent)
    for expected in ("owner", "member"):
        identity = throwaway_identity()
        async with started("pair", "--json", "--data-dir", rig.paths.data_dir, env=env) as shown:
            opened = await shown.event("opened")
            assert opened["role"] == expected
            link = parse_link(opened["link"])
            with pytest.raises(RefusedError):
                await pair(replace(link, secret=bytes(16)), throwaway_identity())
            assert (await shown.event("wrong_guess"))["left"] == 2
            await pair(link, identity)
            device = (await shown.event("paired"))["device"]
            assert (device["id"], device["role"]) == (identity.device_id, expected)
            assert await shown.end() == 0


async def test_pairing_without_a_terminal_shows_the_link_alone(rig: NodeRig) -> None:
    env = environment(rig.paths.data_dir.parent)
    folder = rig.paths.data_dir
    async with started("pair", "--role", "guest", "--data-dir", folder, env=env) as shown:
        assert "█" not in await shown.line_with("phone")
        line = await shown.line_with("homing pair '")
        await pair(parse_link(line.removeprefix("homing pair '").rstrip("'")), throwaway_identity())
        assert "guest" in await shown.line_with("this node's")
        assert "Paired Anna's phone as guest" in await shown.line_with("Paired")
        assert await shown.end() == 0


async def test_pairing_that_nobody_uses_is_a_failure(rig: NodeRig) -> None:
    done = await command(rig, "pair", "--seconds", "1", "--json")
    assert done.status == 1
    events = [item["event"] for item in objects(done)]
    assert events == ["recovery_secret", "opened", "closed", "error"]  # the first pairing ever
    assert "nobody came in time" in done.err
    assert "homing-node pair --data-dir" in done.err


async def test_models(tmp_path: Path) -> None:
    env = environment(tmp_path)
    listed = await finished("models", env=env)
    assert listed.status == 0
    assert "botpsy-0.8b:bf16" in listed.out
    assert str(tmp_path / "models") in listed.out
    found = {item["name"]: item for item in objects(await finished("models", "--json", env=env))}
    assert found["stand-in-0.5b:q4_k_m"]["stand_in"] is True
    assert found["botpsy-0.8b:bf16"]["here"] is False

    for words, status, says in (
        (["fetch", "no-such"], 1, "no model called"),
        (["fetch", "stand-in-0.5b:q4_k_m"], 2, "--stand-in"),
        (["fetch", "./none.gguf"], 1, "none.gguf"),
        (["remove", "no-such"], 1, "no model called"),
    ):
        done = await finished("models", *words, env=env)
        assert (done.status, says in done.err) == (status, True), done.err
        assert len(done.err.splitlines()) == 1
    removed = await finished("models", "remove", "botpsy-0.8b:bf16", "--json", env=env)
    assert objects(removed)[0]["freed_bytes"] == 0


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("[listen\n", "not valid TOML"),
        ("[listen]\nport = 'high'\n", "port"),
        ("[listen]\nspeed = 3\n", "speed"),
        ("[node]\nlog_level = 'loud'\n", "log_level"),
        ("[listen]\nadvertise = ['not an address']\n", "advertise"),
    ],
)
async def test_a_corrupt_configuration(tmp_path: Path, content: str, says: str) -> None:
    (tmp_path / "d").mkdir(mode=0o700)
    (tmp_path / "d" / "node.toml").write_text(content)
    done = await finished("run", "--data-dir", tmp_path / "d", env=environment(tmp_path))
    assert done.status == 2
    assert says in _last(done)
    assert "Traceback" not in done.err


async def test_a_configuration_that_is_not_there(tmp_path: Path) -> None:
    done = await finished("run", "--config", tmp_path / "x.toml", env=environment(tmp_path))
    assert done.status == 2
    assert "does not exist" in _last(done)


async def test_an_open_data_directory(tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "something").touch()
    (tmp_path / "d").chmod(0o755)
    done = await finished("run", "--data-dir", tmp_path / "d", env=environment(tmp_path))
    assert done.status == 2
    assert "chmod 700" in _last(done)


async def test_a_second_daemon(rig: NodeRig) -> None:
    done = await command(rig, "run", "--json")
    assert done.status == 1
    assert f"another homing-node runs (pid {os.getpid()})" in _last(done)
    assert objects(done)[-1]["code"] == "conflict"


async def test_a_port_in_use(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        done = await finished(
            "run",
            "--data-dir",
            tmp_path / "d",
            "--host",
            "127.0.0.1",
            "--port",
            str(port),
            env=environment(tmp_path),
        )
    assert done.status == 1
    assert f"port {port} is in use" in _last(done)
    assert "--port" in _last(done)


async def test_an_address_of_another_machine(tmp_path: Path) -> None:
    env = environment(tmp_path)
    done = await finished("run", "--data-dir", tmp_path / "d", "--host", "192.0.2.77", env=env)
    assert done.status == 2
    assert "no address 192.0.2.77" in _last(done)


@pytest.mark.parametrize("file", ["trust.db", "identity.json"])
async def test_damaged_keys_and_trust_are_never_replaced(tmp_path: Path, file: str) -> None:
    async with node_rig(tmp_path) as rig:
        folder = rig.paths.data_dir
    (folder / file).write_bytes(b"not what it was" * 100)
    done = await finished("run", "--data-dir", folder, "--port", "0", env=environment(tmp_path))
    assert done.status == 1
    assert "damaged" in _last(done)
    assert (folder / file).read_bytes() == b"not what it was" * 100


@pytest.mark.parametrize(
    ("model", "status", "says"),
    [
        ("no-such-model", 1, "no model called"),
        ("./none.gguf", 1, "none.gguf"),
        ("stand-in-0.5b", 2, "--stand-in"),
    ],
)
async def test_a_model_that_cannot_be_had_ends_the_daemon(
    tmp_path: Path, model: str, status: int, says: str
) -> None:
    words = ["run", "--port", "0", "--host", "127.0.0.1", "--no-mdns", "--json", "--model", model]
    done = await finished(*words, "--data-dir", tmp_path / "d", env=environment(tmp_path))
    assert done.status == status
    assert says in _last(done)
    assert [item["event"] for item in objects(done) if item["event"] != "model"] == ["up", "error"]


async def test_a_truncated_model(tmp_path: Path) -> None:
    (tmp_path / "cut.gguf").write_bytes(b"GGUF\x03\x00\x00\x00" + bytes(8))
    words = ["run", "--port", "0", "--host", "127.0.0.1", "--no-mdns"]
    model = ["--model", str(tmp_path / "cut.gguf")]
    done = await finished(*words, *model, "--data-dir", tmp_path / "d", env=environment(tmp_path))
    assert done.status == 1
    assert "cut.gguf is truncated" in _last(done)


def _last(done: Finished) -> str:
    """The line for a person; before it is the log."""
    lines = done.err.splitlines()
    assert all(line.startswith("{") for line in lines[:-1]), done.err
    assert lines[-1].startswith("homing-node: "), done.err
    return lines[-1]
