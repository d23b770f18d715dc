"""The procedures of docs/lost.md, with the real commands."""

from __future__ import annotations

import shutil
import signal
import subprocess
from typing import TYPE_CHECKING

import pytest
from support.household import Node, Phone
from support.programs import WAIT_S, command, objects, one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from support.programs import Event


@pytest.fixture(scope="module")
def attic(tmp_path_factory: pytest.TempPathFactory, tiny_model: Path) -> Iterator[Node]:
    """A node of one's own."""
    node = Node.make(tmp_path_factory.mktemp("lost") / "attic", {"name": str(tiny_model)})
    node.start(ready=False)
    yield node
    node.close()


@pytest.fixture(scope="module")
def ada(attic: Node, tmp_path_factory: pytest.TempPathFactory, tiny_model: Path) -> Iterator[Phone]:
    """An owner's phone that is nowhere lost."""
    model = {"name": str(tiny_model), "context_tokens": 8192}
    phone = Phone.make(tmp_path_factory.mktemp("lost") / "ada", model)
    phone.pair(attic, "--role", "owner")
    yield phone
    phone.close()


@pytest.fixture
def buy(tmp_path: Path, tiny_model: Path) -> Iterator[Callable[[str], Phone]]:
    """A way to get phones."""
    bought: list[Phone] = []

    def get(name: str) -> Phone:
        model = {"name": str(tiny_model), "context_tokens": 8192}
        bought.append(Phone.make(tmp_path / name, model))
        return bought[-1]

    yield get
    for phone in bought:
        phone.close()


def known_to(node: Node) -> dict[str, Event]:
    """The node's devices by name."""
    return {device["name"]: device for device in objects(node("devices", "--json"))}


def only(phone: Phone) -> Event:
    (node,) = phone.nodes()
    return node


def is_out(phone: Phone) -> bool:
    error = only(phone)["error"]
    return error is not None and error["code"] == "unpaired"


def typed(phone: Phone, *words: str, line: str) -> int:
    """A command to which something is typed; its exit status."""
    done = subprocess.run(  # noqa: S603  # the tests' own program, no shell
        command("homing", *words, "--data-dir", phone.folder),
        env=dict(phone.env),
        input=f"{line}\n",
        capture_output=True,
        text=True,
        timeout=WAIT_S,
        check=False,
    )
    return done.returncode


def test_a_members_lost_phone_is_shut_out_from_an_owners(
    attic: Node, ada: Phone, buy: Callable[[str], Phone]
) -> None:
    member = buy("ben")
    member.pair(attic, "--role", "member")
    assert only(member)["reachable"]
    (found,) = [one for one in objects(ada("devices", "--json")) if one["name"] == "ben"]
    assert ada("devices", "revoke", found["id"]).status == 0
    assert is_out(member)
    assert only(ada)["reachable"]
    assert "ben" not in known_to(attic)


def test_an_owners_lost_phone_is_shut_out_at_the_node_or_with_the_recovery_secret(
    attic: Node, ada: Phone, buy: Callable[[str], Phone]
) -> None:
    lost = buy("lost")
    lost.pair(attic, "--role", "owner")
    made = objects(attic("recovery", "new", "--yes", "--json"))[-1]
    ids = {name: device["id"] for name, device in known_to(attic).items()}
    # The thief cannot lock the owner out.
    assert lost("devices", "revoke", ids["ada"]).status == 3
    assert only(ada)["reachable"]
    # From another owner's phone.
    assert ada("devices", "revoke", ids["lost"]).status == 3
    words = ("devices", "revoke", ids["lost"], "--recovery", "-")
    assert typed(ada, *words, line=made["secret"]) == 0
    assert is_out(lost)
    assert only(ada)["reachable"]
    # At the console, also where it came back.
    lost.pair(attic, "--role", "owner")
    assert only(lost)["reachable"]
    assert attic("devices", "revoke", ids["lost"]).status == 0
    assert is_out(lost)


def test_a_phone_that_came_back_gets_a_new_key(attic: Node, buy: Callable[[str], Phone]) -> None:
    phone = buy("returned")
    phone.pair(attic)
    before = known_to(attic)["returned"]
    copy = buy("copy")
    phone.close()
    shutil.copytree(phone.folder, copy.folder, dirs_exist_ok=True, ignore=_sockets)
    (rotated,) = objects(phone("keys", "rotate", "--json"))
    assert [key["id"] for key in rotated["keys"]] != [before["id"]]
    assert rotated["nodes"][0]["known_as"] == rotated["keys"][0]["id"]
    assert only(phone)["reachable"]
    assert is_out(copy)
    after = known_to(attic)["returned"]
    assert (after["id"], after["role"]) == (rotated["keys"][0]["id"], before["role"])
    assert "knows the key in use" in phone("keys").out
    # Whoever has any of its keys is out with it.
    assert attic("devices", "revoke", before["id"]).status == 0
    assert is_out(phone)


def test_a_new_phone_takes_the_place_of_the_old_one(
    attic: Node, ada: Phone, buy: Callable[[str], Phone]
) -> None:
    old = buy("old")
    old.pair(attic, "--role", "owner")
    (itself,) = [one for one in objects(old("devices", "--json")) if one["this_phone"]]
    assert old("devices", "revoke", itself["id"]).status == 0
    assert old.nodes() == []
    assert "old" not in known_to(attic)
    assert only(ada)["reachable"]


def test_a_node_that_came_back_gets_a_new_key_and_phones_follow(
    attic: Node, ada: Phone, buy: Callable[[str], Phone]
) -> None:
    phone = ada
    before = only(phone)["node_id"]
    (rotated,) = objects(attic("keys", "rotate", "--yes", "--json"))
    new, old = rotated["keys"][0]["id"], rotated["keys"][1]["id"]
    assert old == before != new
    assert only(phone)["reachable"]
    assert only(phone)["node_id"] == new
    assert attic("keys").out.count("replaced; goes on until") >= 1
    attic.end(signal.SIGKILL)
    attic.start(ready=False)
    assert only(phone)["node_id"] == new
    assert only(phone)["reachable"]
    later = buy("later")
    assert later.pair(attic)["node_id"] == new


def test_an_old_backup_brings_revoked_devices_back_but_not_silently(
    attic: Node, ada: Phone, tmp_path: Path, buy: Callable[[str], Phone]
) -> None:
    owner, member = ada, buy("gone")
    member.pair(attic, "--role", "member")
    attic.end(signal.SIGTERM)
    backup = tmp_path / "backup"
    shutil.copytree(attic.folder, backup, ignore=_sockets)
    attic.start(ready=False)
    revoked = known_to(attic)["gone"]["id"]
    assert attic("devices", "revoke", revoked).status == 0
    assert is_out(member)
    (record,) = objects(owner("audit", "verify", "--json"))
    assert record["trouble"] is None
    # The disk breaks, and the old backup is put back.
    attic.end(signal.SIGKILL)
    shutil.rmtree(attic.folder)
    shutil.copytree(backup, attic.folder)
    attic.start(ready=False)
    assert only(member)["reachable"]
    (record,) = objects(owner("audit", "verify", "--json"))
    assert "was cut" in record["trouble"] or "is not the one" in record["trouble"]
    # What is to be done then.
    assert attic("devices", "revoke", revoked).status == 0
    assert is_out(member)
    assert owner("audit", "accept", "attic", "--yes").status == 0
    assert only(owner)["reachable"]


def test_a_stolen_node_is_forgotten_by_phones_and_shut_out_at_its_peer(
    attic: Node, ada: Phone, other_node: Node
) -> None:
    phone = ada
    other_node.start(ready=False)
    shown, link = other_node.opened("--role", "peer")
    with shown:
        assert attic("peers", "add", link).status == 0
        assert shown.end() == 0
    assert known_to(other_node)["attic"]["role"] == "peer"
    (forgotten,) = objects(phone("nodes", "forget", "attic", "--yes", "--json"))
    assert forgotten["name"] == "attic"
    assert all(node["name"] != "attic" for node in phone.nodes())
    missing = phone("nodes", "forget", forgotten["node_id"], "--yes")
    assert missing.status == 1
    assert "no node" in one_line(missing)
    assert other_node("devices", "revoke", known_to(other_node)["attic"]["id"]).status == 0
    assert known_to(other_node) == {}
    assert attic("peers", "remove", other_node.folder.name).status == 0


def _sockets(folder: str, names: list[str]) -> set[str]:
    """A copy holds no sockets, and no lock of the process that runs."""
    del folder
    return {name for name in names if name in {"run", "lock"} or name.endswith(".sock")}
