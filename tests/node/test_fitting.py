"""Lists that are too long for one answer."""

from __future__ import annotations

import pytest
from homing_node.rpc.fitting import ANSWER_BYTES, fairly, fitting
from homing_proto.v1 import job_pb2 as wire

BIG = ANSWER_BYTES // 8


def question(name: str, device: str, size: int = 10) -> wire.PendingApproval:
    return wire.PendingApproval(id=name, device=device, preview="x" * size)


def shown(questions: list[wire.PendingApproval], most: int = 1000) -> list[str]:
    return [one.id for one in fairly(questions, lambda one: one.device, most)]


@pytest.mark.attack
def test_guests_with_long_questions_keep_nobody_elses_from_an_owner() -> None:
    """Ten guests with two long ones each, all of them older than the household's."""
    flood = [question(f"g{n}", f"guest{n % 10}", BIG) for n in range(20)]
    mine = [question("m1", "member"), question("m2", "member", BIG)]
    found = shown([*flood, *mine])
    assert "m1" in found
    assert sum(one.startswith("g") for one in found) >= 6
    assert {"m1", "m2"} <= set(shown([*flood[0:1], *flood[10:11], *mine]))


@pytest.mark.attack
def test_one_guest_with_many_questions_has_one_turn_like_everybody() -> None:
    flood = [question(f"g{n}", "guest", BIG) for n in range(20)]
    assert "m1" in shown([*flood, question("m1", "member", BIG)])
    assert shown([*flood, question("m1", "member")], most=2) == ["g0", "m1"]


def test_the_order_stays_and_one_is_shown_whatever_its_size() -> None:
    some = [question("a", "x"), question("b", "y", 5), question("c", "x")]
    assert shown(some) == ["a", "b", "c"]
    assert shown([]) == []
    huge = [question("a", "x", ANSWER_BYTES + 1), question("b", "y", ANSWER_BYTES + 2)]
    assert shown(huge) == ["a"]
    assert [one.id for one in fitting(huge)] == ["a"]
