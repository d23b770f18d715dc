"""Who stays, who goes, and whose handshake is next: a fold over what happens, without I/O.

A connection is, one after the other:

1. outside: it was accepted; its ClientHello may still be coming. It costs a descriptor and its
   bytes; nothing was asked of gRPC.
2. inside: its ClientHello is good, it had its turn, and gRPC does a handshake with it.
3. proven: the node allowed a call on it, so a paired device is behind it.

A newcomer is never refused: where there is no room, the oldest of whoever has the most goes. Nobody
in an earlier stage can push out somebody in a later one.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Final

from homing_node.door.events import (
    Answered,
    Arrived,
    Dial,
    Dismissed,
    Drop,
    Expelled,
    Greeted,
    Left,
    Proved,
    TimePassed,
)
from homing_node.door.floor import Reason
from homing_node.door.pool import Pool
from homing_node.door.turns import Turns

if TYPE_CHECKING:
    from collections.abc import Iterator

    from homing_node.door.events import Action, Caps, Event


_MOST_FRIENDLY: Final = 1024


class Policy:
    """The state of the door. Not thread-safe.

    Args:
        caps: its limits.
    """

    def __init__(self, caps: Caps) -> None:
        """Nobody is here."""
        self._caps = caps
        self._household: dict[int, bytes] = {}
        self._outside: Pool[bytes] = Pool(caps.outside, caps.outside_each)
        self._inside: Pool[bytes] = Pool(caps.inside, caps.inside_each)
        self._proven: Pool[str] = Pool(caps.proven, caps.proven_each)
        self._turns = Turns()
        self._computing: OrderedDict[int, float] = OrderedDict()  # until when
        self._friendly: OrderedDict[bytes, None] = OrderedDict()
        # Deadlines by stage: each has one length, so each is in order of time.
        self._greeting: OrderedDict[int, float] = OrderedDict()
        self._waiting: OrderedDict[int, float] = OrderedDict()
        self._proving: OrderedDict[int, float] = OrderedDict()

    def take(self, event: Event, now: float) -> list[Action]:
        """What follows from an event; repeated and late ones are harmless.

        Args:
            event: what happened.
            now: monotonic seconds; never less than before.
        """
        actions = list(self._take(event, now))
        actions += self._admit(now)
        return actions

    def next_deadline(self) -> float | None:
        """When `TimePassed` is due; None for never."""
        firsts = [
            next(iter(deadlines.values()))
            for deadlines in (self._greeting, self._waiting, self._proving, self._computing)
            if deadlines
        ]
        return min(firsts, default=None)

    @property
    def counts(self) -> tuple[int, int, int]:
        """How many are outside, inside and proven."""
        return len(self._outside), len(self._inside), len(self._proven)

    @property
    def computing(self) -> int:
        """For how many gRPC computes its first answer."""
        return len(self._computing)

    def is_proven(self, number: int) -> bool:
        """Whether a paired device is behind it."""
        return number in self._proven

    def oldest_outside(self) -> int | None:
        """Who can go where the system has no descriptor left; None if nobody can."""
        return next(iter(self._greeting), next(iter(self._waiting), None))

    def _take(self, event: Event, now: float) -> Iterator[Action]:
        match event:
            case Arrived():
                yield from self._room(self._outside, event.household)
                self._household[event.number] = event.household
                self._outside.add(event.household, event.number)
                self._greeting[event.number] = now + self._caps.hello_s
            case Greeted():
                if self._greeting.pop(event.number, None) is not None:
                    household = self._household[event.number]
                    self._waiting[event.number] = now + self._caps.turn_s
                    self._turns.add(household, event.number)
            case Answered():
                self._computing.pop(event.number, None)
            case Proved():
                yield from self._prove(event)
            case Left():
                self._forget(event.number)
            case Expelled() | Dismissed():
                yield from self._turn_out(event)
            case TimePassed():
                yield from self._expire(now)

    def _prove(self, event: Proved) -> Iterator[Action]:
        if not self._inside.remove(event.number):
            return
        self._proving.pop(event.number, None)
        self._computing.pop(event.number, None)
        victim = self._proven.victim(event.device)
        if victim is not None:
            yield self._drop(victim, Reason.TOO_MANY)
        self._proven.add(event.device, event.number)
        household = self._household[event.number]
        self._friendly[household] = None
        self._friendly.move_to_end(household)
        if len(self._friendly) > _MOST_FRIENDLY:
            self._friendly.popitem(last=False)

    def _turn_out(self, event: Expelled | Dismissed) -> Iterator[Action]:
        if isinstance(event, Expelled):
            for number in self._proven.of(event.device):
                yield self._drop(number, Reason.EXPELLED)
        elif event.number in self._household:
            yield self._drop(event.number, Reason.EXPELLED)

    def _admit(self, now: float) -> Iterator[Action]:
        """Give turns while gRPC has hands free."""
        while len(self._computing) < self._caps.handshakes:
            number = self._turns.next(self._friendly)
            if number is None:
                return
            household = self._household[number]
            yield from self._room(self._inside, household)
            self._waiting.pop(number, None)
            self._outside.remove(number)
            self._inside.add(household, number)
            self._computing[number] = now + self._caps.answer_s
            self._proving[number] = now + self._caps.proof_s
            yield Dial(number)

    def _room(self, pool: Pool[bytes], household: bytes) -> Iterator[Action]:
        victim = pool.victim(household)
        if victim is not None:
            yield self._drop(victim, Reason.CROWDED_OUT)

    def _expire(self, now: float) -> Iterator[Action]:
        while self._computing and next(iter(self._computing.values())) <= now:
            self._computing.popitem(last=False)
        for deadlines, reason in (
            (self._greeting, Reason.NO_HELLO),
            (self._waiting, Reason.NO_TURN),
            (self._proving, Reason.NO_PROOF),
        ):
            while deadlines and next(iter(deadlines.values())) <= now:
                yield self._drop(next(iter(deadlines)), reason)

    def _drop(self, number: int, reason: Reason) -> Drop:
        self._forget(number)
        return Drop(number, reason)

    def _forget(self, number: int) -> None:
        household = self._household.pop(number, None)
        if household is None:
            return
        for pool in (self._outside, self._inside, self._proven):
            pool.remove(number)
        for deadlines in (self._greeting, self._waiting, self._proving):
            deadlines.pop(number, None)
        self._turns.remove(household, number)
        self._computing.pop(number, None)
