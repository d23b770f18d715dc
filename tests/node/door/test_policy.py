"""What holds at the door whatever strangers do."""

from __future__ import annotations

from collections import Counter

import pytest
from homing_node.door.events import (
    Answered,
    Arrived,
    Caps,
    Dial,
    Drop,
    Event,
    Expelled,
    Greeted,
    Left,
    Proved,
    TimePassed,
)
from homing_node.door.floor import Reason
from homing_node.door.policy import Policy
from hypothesis import given, settings
from hypothesis import strategies as st

SMALL = Caps(
    outside=6,
    outside_each=3,
    inside=4,
    inside_each=2,
    proven=4,
    proven_each=2,
    handshakes=2,
    hello_s=3,
    turn_s=10,
    proof_s=10,
)
HOUSES = (b"\x0a\x00\x00\x01", b"\x0a\x00\x00\x02", b"\x0a\x00\x00\x03", b"\x20\x01" * 4)
PHONE, STRANGER = HOUSES[0], HOUSES[1]


class Door:
    """The policy, and what a gate would know of its connections."""

    def __init__(self, caps: Caps = SMALL) -> None:
        self.policy = Policy(caps)
        self.caps = caps
        self.now = 0.0
        self.houses: dict[int, bytes] = {}
        self.stages: dict[int, str] = {}
        self.devices: dict[int, str] = {}
        self.dropped: dict[int, Reason] = {}
        self._next = 0

    def take(self, event: Event) -> list[Drop | Dial]:
        actions = self.policy.take(event, self.now)
        if isinstance(event, Left):
            self.stages.pop(event.number, None)
        for action in actions:
            assert action.number in self.stages, "only who is there is spoken of"
            if isinstance(action, Dial):
                assert self.stages[action.number] == "greeted"
                self.stages[action.number] = "inside"
            else:
                del self.stages[action.number]
                self.dropped[action.number] = action.reason
        self.check()
        return actions

    def arrive(self, house: bytes) -> int:
        number, self._next = self._next, self._next + 1
        self.houses[number], self.stages[number] = house, "arrived"
        actions = self.take(Arrived(number, house))
        assert Drop not in {type(a) for a in actions if a.number == number}, "never the newcomer"
        return number

    def greet(self, number: int) -> list[Drop | Dial]:
        if self.stages.get(number) == "arrived":
            self.stages[number] = "greeted"
        return self.take(Greeted(number))

    def prove(self, number: int, device: str) -> list[Drop | Dial]:
        if self.stages.get(number) == "inside":
            self.stages[number], self.devices[number] = "proven", device
        return self.take(Proved(number, device))

    def of(self, *stages: str) -> list[int]:
        return [number for number, stage in self.stages.items() if stage in stages]

    def check(self) -> None:
        outside, inside, proven = self.policy.counts
        assert outside == len(self.of("arrived", "greeted")) <= self.caps.outside
        assert inside == len(self.of("inside")) <= self.caps.inside
        assert proven == len(self.of("proven")) <= self.caps.proven
        assert self.policy.computing <= self.caps.handshakes
        for stages, most in (
            (("arrived", "greeted"), self.caps.outside_each),
            (("inside",), self.caps.inside_each),
        ):
            each = Counter(self.houses[number] for number in self.of(*stages))
            assert max(each.values(), default=0) <= most
        devices = Counter(self.devices[number] for number in self.of("proven"))
        assert max(devices.values(), default=0) <= self.caps.proven_each


STEPS = st.tuples(
    st.sampled_from(["arrive", "greet", "answer", "prove", "leave", "wait", "expel", "again"]),
    st.integers(0, 30),
    st.sampled_from(HOUSES),
    st.sampled_from(["phone", "tablet", "laptop"]),
)


def play(door: Door, step: tuple[str, int, bytes, str]) -> None:
    what, number, house, device = step
    match what:
        case "arrive":
            door.arrive(house)
        case "greet" | "again":
            door.greet(number)
        case "answer":
            door.take(Answered(number))
        case "prove":
            door.prove(number, device)
        case "leave":
            door.take(Left(number))
        case "wait":
            door.now += number / 3
            door.take(TimePassed())
        case _:
            door.take(Expelled(device))


@given(st.lists(STEPS, max_size=120))
@settings(max_examples=300)
def test_no_limit_is_ever_exceeded_and_no_newcomer_refused(
    steps: list[tuple[str, int, bytes, str]],
) -> None:
    """Both are checked after every step, by `Door`."""
    door = Door()
    for step in steps:
        play(door, step)
    if door.stages:
        assert door.policy.next_deadline() is not None or door.of("proven") == list(door.stages)


@given(st.lists(STEPS, max_size=120))
@settings(max_examples=200)
def test_strangers_push_out_nobody_who_is_proven(
    steps: list[tuple[str, int, bytes, str]],
) -> None:
    door = Door()
    first = door.arrive(PHONE)
    door.greet(first)
    door.prove(first, "owner")
    for step in steps:
        if step[0] not in {"prove", "expel"} and (step[0], step[1]) != ("leave", first):
            play(door, step)
    assert door.stages[first] == "proven"


@given(st.lists(STEPS, max_size=80))
def test_when_time_has_passed_only_the_proven_are_left(
    steps: list[tuple[str, int, bytes, str]],
) -> None:
    door = Door()
    for step in steps:
        play(door, step)
    door.now += SMALL.turn_s + 1
    door.take(TimePassed())  # who waited longest for a turn goes; others may get theirs
    door.now += SMALL.proof_s + 1
    door.take(TimePassed())
    assert not door.of("arrived", "greeted", "inside")


def test_a_newcomer_makes_the_oldest_of_the_greediest_go() -> None:
    door = Door()
    others = [door.arrive(HOUSES[2]) for _ in range(2)]  # first here, and not the greediest
    theirs = [door.arrive(STRANGER) for _ in range(3)]
    door.arrive(HOUSES[3])
    mine = door.arrive(PHONE)  # the sixth place is taken: full
    assert door.dropped == {theirs[0]: Reason.CROWDED_OUT}
    assert {mine, *others} <= set(door.stages)


def test_at_its_own_limit_an_address_loses_its_own_oldest() -> None:
    door = Door()
    alone = door.arrive(PHONE)
    theirs = [door.arrive(STRANGER) for _ in range(4)]
    assert door.dropped == {theirs[0]: Reason.CROWDED_OUT}
    assert alone in door.stages


def test_a_newer_attempt_from_the_same_address_has_a_chance() -> None:
    """Among as many as the address may have, the newest is the last to go."""
    door = Door()
    for _ in range(20):
        door.arrive(PHONE)
    mine = door.arrive(PHONE)
    for _ in range(SMALL.outside_each - 1):
        door.arrive(PHONE)
    assert mine in door.stages


def test_who_says_nothing_goes_after_its_time_and_is_never_dialled() -> None:
    door = Door()
    silent = door.arrive(STRANGER)
    door.now = SMALL.hello_s - 0.01
    assert door.take(TimePassed()) == []
    assert door.policy.next_deadline() == SMALL.hello_s
    door.now = SMALL.hello_s
    assert door.take(TimePassed()) == [Drop(silent, Reason.NO_HELLO)]


def test_a_handshake_that_is_never_answered_holds_up_the_others_for_a_moment_only() -> None:
    door = Door(Caps(handshakes=1, answer_s=1))
    stuck, mine = door.arrive(STRANGER), door.arrive(PHONE)
    door.greet(stuck)
    assert door.greet(mine) == []
    assert door.policy.next_deadline() == 1
    door.now = 1
    assert door.take(TimePassed()) == [Dial(mine)]


def test_after_the_handshake_a_call_must_be_allowed_in_time() -> None:
    door = Door()
    idle = door.arrive(STRANGER)
    assert door.greet(idle) == [Dial(idle)]
    door.take(Answered(idle))
    door.now = SMALL.proof_s
    assert door.take(TimePassed()) == [Drop(idle, Reason.NO_PROOF)]


def test_proven_connections_have_no_deadline() -> None:
    door = Door()
    mine = door.arrive(PHONE)
    door.greet(mine)
    door.prove(mine, "phone")
    assert door.policy.next_deadline() is None
    door.now = 1e6
    assert door.take(TimePassed()) == []


def test_unless_said_otherwise_one_handshake_is_computed_at_a_time() -> None:
    door = Door(Caps())
    crowd = [door.arrive(house) for house in HOUSES for _ in range(8)]
    dialled = [action for number in crowd for action in door.greet(number)]
    assert dialled == [Dial(crowd[0])]


def test_handshakes_take_turns_over_addresses() -> None:
    door = Door(Caps(handshakes=1, inside=100, inside_each=100))
    first = door.arrive(STRANGER)
    door.greet(first)
    crowd = [door.arrive(STRANGER) for _ in range(5)]
    mine = door.arrive(PHONE)
    for number in (*crowd, mine):
        assert door.greet(number) == []  # gRPC is at work on the first
    order = [door.take(Answered(first))[0].number]
    order += [door.take(Answered(number))[0].number for number in (order[0], crowd[0])[:1]]
    assert mine in order


def test_an_address_of_a_friend_comes_first_but_not_for_ever() -> None:
    door = Door(Caps(handshakes=1, inside=100, inside_each=100))
    before = door.arrive(PHONE)
    door.greet(before)
    door.prove(before, "phone")
    busy = door.arrive(HOUSES[2])
    door.greet(busy)
    strangers = [door.arrive(STRANGER) for _ in range(2)]
    friends = [door.arrive(PHONE) for _ in range(6)]
    for number in (*strangers, *friends):
        door.greet(number)
    order: list[int] = []
    last = busy
    while actions := door.take(Answered(last)):
        last = actions[0].number
        order.append(last)
    assert order[:4] == [*friends[:3], strangers[0]]
    assert sorted(order) == sorted([*friends, *strangers])


def test_a_device_with_too_many_connections_loses_its_oldest_and_nobody_elses() -> None:
    door = Door()
    numbers: list[int] = []
    for device in ("tablet", "phone", "phone", "phone"):
        number = door.arrive(PHONE)
        door.greet(number)
        door.prove(number, device)
        numbers.append(number)
    assert door.dropped == {numbers[1]: Reason.TOO_MANY}


def test_a_device_that_is_shut_out_loses_all_its_connections() -> None:
    door = Door()
    numbers: list[int] = []
    for device in ("phone", "tablet", "phone"):
        number = door.arrive(PHONE)
        door.greet(number)
        door.prove(number, device)
        numbers.append(number)
    door.take(Expelled("phone"))
    assert door.dropped == {numbers[0]: Reason.EXPELLED, numbers[2]: Reason.EXPELLED}


@pytest.mark.parametrize("number", [3, 99])
def test_nobody_is_proven_who_has_not_had_a_handshake(number: int) -> None:
    door = Door()
    for _ in range(3):
        door.arrive(STRANGER)
    early = door.arrive(PHONE)
    assert early == 3
    door.policy.take(Proved(number, "phone"), door.now)
    assert not door.policy.is_proven(number)
