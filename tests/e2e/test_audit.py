"""The node's record and the owner's phone that keeps its head, with the installed commands."""

from __future__ import annotations

import json
import signal
import sqlite3
from typing import TYPE_CHECKING, Any

import pytest
from homing_crypto.audit.store import AUDIT_FILE
from support.programs import Program, objects

if TYPE_CHECKING:
    from pathlib import Path

    from support.household import Household, Phone


def entries(home: Household, *words: str) -> list[dict[str, Any]]:
    return objects(home.node("audit", "show", "--json", *words))


def kept(phone: Phone) -> dict[str, Any]:
    (record,) = objects(phone("audit", "--json"))
    return record


def compared(phone: Phone) -> dict[str, Any]:
    (record,) = objects(phone("audit", "verify", "--json"))
    return record


def record_of(home: Household) -> Path:
    return home.node.folder / AUDIT_FILE


def test_what_happens_is_recorded_and_shown_by_name(tiny: Household, stranger: Phone) -> None:
    before = entries(tiny)[-1]["seq"]
    stranger.pair(tiny.node, "--role", "guest")
    (device,) = [
        found
        for found in objects(tiny.node("devices", "--json"))
        if found["name"] == stranger.folder.name
    ]
    assert tiny.node("devices", "revoke", device["id"]).status == 0
    found = [entry for entry in entries(tiny) if entry["seq"] > before]
    mine = [entry for entry in found if entry["device"] == device["id"]]
    assert [entry["kind"] for entry in mine][:1] == ["paired"]
    assert "revoked" in [entry["kind"] for entry in mine]
    assert mine[0]["device_name"] == stranger.folder.name
    assert mine[0]["detail"]["role"] == "guest"
    assert mine[0]["actor"] == "console"
    started = entries(tiny, "--kind", "started")[0]
    assert started["detail"]["version"]
    assert started["device"] == tiny.phone.nodes()[0]["node_id"]
    only = entries(tiny, "--device", device["id"][:12])
    assert {entry["device"] for entry in only} | {entry["actor"] for entry in only} >= {
        device["id"]
    }
    assert entries(tiny, "--since", "2999-01-01") == []
    plain = tiny.node("audit", "show", "--last", "3")
    assert stranger.folder.name in plain.out
    assert tiny.node("audit", "show", "--kind", "party").status == 2


def test_following_shows_what_comes(tiny: Household) -> None:
    folder = tiny.node.folder
    with Program(
        "homing-node",
        *("audit", "show", "--last", "1", "--follow", "--json", "--data-dir", folder),
        env=tiny.node.env,
    ) as following:
        following.event("entry")
        shown, link = tiny.node.opened()
        with shown:
            assert tiny.phone("pair", link).status == 0
            assert following.event("entry", kind="paired")["device_name"] == tiny.phone.folder.name
            assert shown.end() == 0


def test_the_phone_keeps_the_head_and_the_node_can_be_held_to_it(tiny: Household) -> None:
    record = compared(tiny.phone)
    assert record["trouble"] is None
    assert kept(tiny.phone)["head"] == record["head"]
    assert tiny.node("audit", "verify", "--head", record["head"]).status == 0
    (whole,) = objects(tiny.node("audit", "verify", "--json"))
    assert whole["event"] == "whole"
    seq, _, digest = record["head"].partition(":")
    wrong = tiny.node("audit", "verify", "--head", f"{seq}:{'0' * len(digest)}")
    assert wrong.status == 1
    assert "written anew" in wrong.err
    shown = objects(tiny.phone("audit", "show", "--last", "2", "--json"))
    assert [entry["seq"] for entry in shown] == [whole["seq"] - 1, whole["seq"]]


@pytest.mark.attack
def test_a_cut_record_is_said_by_the_phone_until_a_person_accepts_it(tiny: Household) -> None:
    """Somebody at the node puts back an older copy of the record, whole in itself."""
    assert tiny.node.end(signal.SIGTERM) == 0
    older = record_of(tiny).read_bytes()
    tiny.node.start()
    shown, link = tiny.node.opened()
    with shown:
        assert tiny.phone("pair", link).status == 0
        assert shown.end() == 0
    before = compared(tiny.phone)
    assert tiny.node.end(signal.SIGTERM) == 0
    record_of(tiny).write_bytes(older)
    offline = tiny.node("audit", "verify")
    assert offline.status == 0  # whole in itself, says the node alone
    by_head = tiny.node("audit", "verify", "--head", before["head"])
    assert by_head.status == 1
    assert "its tail was cut" in by_head.err
    tiny.node.start()

    verdict = tiny.phone("audit", "verify")
    assert verdict.status == 1
    assert "the record at attic" in verdict.out
    again = kept(tiny.phone)
    assert again["head"] == before["head"]  # what it knew, it keeps
    assert "attic was cut: it had" in again["trouble"] or "attic was altered" in again["trouble"]
    loud = tiny.phone("nodes")
    assert again["trouble"] in loud.err
    (node,) = tiny.phone.nodes()
    assert node["record_trouble"] == again["trouble"]

    assert tiny.phone("audit", "accept", "attic", "--yes").status == 0
    assert compared(tiny.phone)["trouble"] is None
    assert tiny.phone.nodes()[0]["record_trouble"] is None


ALTERATIONS = (
    ("UPDATE entries SET actor = 'node' WHERE seq = 2", "entry 2 was altered"),
    ("DELETE FROM entries WHERE seq = 2", "entry 2 is missing"),
    ("DELETE FROM entries WHERE seq > 2", "its tail was cut"),
)


@pytest.mark.attack
def test_an_altered_record_is_found_on_the_node(tiny: Household) -> None:
    """By the command that reads the file, while the daemon is down; then with it."""
    assert tiny.node.end(signal.SIGTERM) == 0
    good = record_of(tiny).read_bytes()
    for script, words in ALTERATIONS:
        record_of(tiny).write_bytes(good)
        alter(record_of(tiny), script)
        found = tiny.node("audit", "verify")
        assert found.status == 1
        assert words in found.err
    broken = json.loads(tiny.node("audit", "verify", "--json").out)
    assert broken["why"].endswith(ALTERATIONS[-1][1])
    record_of(tiny).write_bytes(good)
    tiny.node.start()
    assert tiny.node("audit", "verify").status == 0
    alter(record_of(tiny), ALTERATIONS[0][0])
    found = tiny.node("audit", "verify")
    assert found.status == 1
    assert ALTERATIONS[0][1] in found.err
    alter(record_of(tiny), "UPDATE entries SET actor = 'console' WHERE seq = 2")
    assert tiny.node("audit", "verify").status == 0


def alter(path: Path, script: str) -> None:
    connection = sqlite3.connect(path)
    connection.executescript(script)
    connection.close()


def test_a_member_sees_no_record(tiny: Household, stranger: Phone) -> None:
    stranger.pair(tiny.node, "--role", "member")
    refused = stranger("audit", "show")
    assert refused.status == 3
    assert "may not do that" in refused.err
    assert kept(stranger)["head"] is None
    (device,) = [
        found
        for found in objects(tiny.node("devices", "--json"))
        if found["name"] == stranger.folder.name
    ]
    assert tiny.node("devices", "revoke", device["id"]).status == 0


@pytest.mark.attack
def test_a_cut_tail_is_told_after_the_next_start_too(tiny: Household) -> None:
    """The node signs a new head over a cut record when it starts: the cut must not be forgotten."""
    assert tiny.node.end(signal.SIGTERM) == 0
    with sqlite3.connect(record_of(tiny)) as opened:
        opened.execute("DELETE FROM entries WHERE seq > (SELECT max(seq) - 1 FROM entries)")
    opened.close()
    assert tiny.node("audit", "verify").status == 1
    tiny.node.start()
    found = tiny.node("audit", "verify")
    assert found.status == 1
    assert "its tail was cut (noted at a start" in found.err
    gap = entries(tiny, "--kind", "gap")[-1]
    assert "its tail was cut" in gap["detail"]["broken"]
    assert tiny.node.end(signal.SIGTERM) == 0
    assert tiny.node("audit", "verify").status == 1


def test_what_cannot_be_undone_needs_yes_without_a_terminal(tiny: Household) -> None:
    for words in (("recovery", "new"), ("keys", "rotate"), ("keys", "rotate", "--json")):
        if words == ("recovery", "new"):
            assert tiny.node(*words, "--yes").status == 0
        asked = tiny.node(*words)
        assert asked.status == 2
        assert "--yes" in asked.err
    for said in (("audit", "accept", "attic"), ("nodes", "forget", "attic", "--json")):
        asked = tiny.phone(*said)
        assert asked.status == 2
        assert "--yes" in asked.err
    assert tiny.phone.nodes()


def test_the_record_is_a_list_and_alone_it_is_shown(tiny: Household) -> None:
    alone = tiny.node("audit")
    assert alone.status == 0
    assert alone.out == tiny.node("audit", "show").out
    assert "homing_proto" not in alone.out
    assert "started; by node" in alone.out
