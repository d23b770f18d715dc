"""Bad input, between real processes: one line that says what to try, and nothing is lost."""

from __future__ import annotations

import asyncio
import shutil
import socket
from typing import TYPE_CHECKING

import grpc
import pytest
from homing_agent.runtime.localsocket import open_local_channel
from homing_agent.runtime.paths import program_paths
from support.household import LOOPBACK, Node
from support.node_rig import send_raw
from support.programs import objects, one_line

if TYPE_CHECKING:
    from pathlib import Path

    from support.household import Household, Phone

STAND_IN = "stand-in-0.5b:q4_k_m"
FILE = "stand-in-0.5b-Q4_K_M.gguf"
PHONE_METHODS = ("Ask", "GetStatus", "PairNode", "ListNodes", "ListPhoneTools", "Stop")
NODE_METHODS = ("GetDaemon", "ListPairedDevices", "RevokePairedDevice", "OpenPairing", "StopDaemon")
GARBAGE = (
    b"GET / HTTP/1.1\r\n\r\n",
    b"\x16\x03\x01\xff\xff",
    b"PRI * HTTP/2.0\r\n",
    bytes(4096),
)


@pytest.mark.attack
@pytest.mark.parametrize("who", ["phone", "node"])
def test_a_model_with_the_wrong_hash(
    stranger: Phone, tiny_model: Path, tmp_path: Path, who: str
) -> None:
    """A whole GGUF file under the name of another is never run, and never deleted."""
    folder = tmp_path / "models"
    folder.mkdir()
    shutil.copy(tiny_model, folder / FILE)
    if who == "phone":
        stranger.env = {**stranger.env, "HOMING_MODELS_DIR": str(folder)}
        done = stranger("ask", "--quiet", "--stand-in", "--model", STAND_IN, "hello")
    else:
        node = Node.make(tmp_path / "node", {}, folder)
        done = node("run", "--stand-in", "--model", STAND_IN, "--port", "0")
    assert done.status == 1
    said = one_line(done)
    assert f"{FILE} has SHA-256" in said
    assert "Run the command again to fetch a fresh copy" in said
    assert (folder / f"{FILE}.damaged").read_bytes() == tiny_model.read_bytes()


@pytest.mark.parametrize("route", ["phone", "home"])
def test_a_prompt_longer_than_the_context(tiny: Household, route: str) -> None:
    done = tiny.phone("ask", "--json", "--route", route, "a" * 9000)
    assert done.status == 1
    answer = objects(done)[-1]
    assert answer["error"]["code"] == "too_long"
    assert "tokens are more than" in one_line(done)
    assert "Shorten it" in one_line(done)
    if route == "home":  # the node said so too, before the phone had to
        said = "".join(event["text"] for event in objects(done) if event["event"] == "note")
        assert "tokens, but the model holds" in said


@pytest.mark.attack
def test_malformed_messages_to_the_local_sockets(tiny: Household) -> None:
    phone, node = tiny.phone, tiny.node
    sockets = (
        (program_paths("homing", "phone", phone.folder), "PhoneService", PHONE_METHODS),
        (program_paths("homing-node", "node", node.folder), "NodeControlService", NODE_METHODS),
    )

    async def attack() -> None:
        for paths, service, methods in sockets:
            async with open_local_channel(paths, "") as channel:
                for method in methods:
                    with pytest.raises(grpc.aio.AioRpcError) as caught:
                        await send_raw(
                            channel,
                            f"/homing_proto.v1.{service}/{method}",
                            b"\xff\xff\xff",
                            stream=method in {"Ask", "OpenPairing"},
                        )
                    assert caught.value.code() is grpc.StatusCode.INVALID_ARGUMENT, method
                    assert "Traceback" not in (caught.value.details() or "")

    resident = phone.pid()
    asyncio.run(attack())
    assert phone.pid() == resident
    assert tiny.node("devices").status == 0


@pytest.mark.attack
def test_bytes_that_are_no_tls(tiny: Household) -> None:
    for garbage in GARBAGE:
        with socket.create_connection((LOOPBACK, tiny.node.port), timeout=30) as raw:
            raw.sendall(garbage)
            raw.shutdown(socket.SHUT_WR)
            assert ended(raw)
    assert tiny.phone.nodes()[0]["reachable"]


def ended(raw: socket.socket) -> bool:
    """Whether the other side closes the connection, whatever it says before."""
    try:
        while raw.recv(4096):
            pass
    except ConnectionError:
        pass
    return True
