"""What the next batch of prompts holds, as a pure function of those that may go on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from homing_inference.scheduler.view import Phase

if TYPE_CHECKING:
    from homing_inference.scheduler.view import Running, View


@dataclass(frozen=True, slots=True)
class Part:
    """What one request gets of a batch."""

    item: Running
    tokens: int


def next_batch(view: View, able: list[Running]) -> list[Part]:
    """What to compute at once; empty if nothing is there, or no time for any of it."""
    if not able:
        return []
    first = next_of(able)
    if first.phase is Phase.WORK:
        return [Part(first, view.chunk.tokens)] if view.chunk.tokens else []
    together = _in_turn(first, able)
    if view.equal_parts:
        together = _equal(view, together)
    room = view.chunk.of(sum(item.reach for item in together))
    parts: list[Part] = []
    for item in together:
        if room:
            parts.append(Part(item, min(item.reach, room)))
            room -= parts[-1].tokens
    return parts


def _in_turn(first: Running, able: list[Running]) -> list[Running]:
    """The prompts that may share a batch with the first, in the order of their turns."""
    rest = [
        item
        for item in able
        if item.phase is Phase.PREFILL and item.adapter == first.adapter and item is not first
    ]
    found = [first]
    prefixes = {first.prefix} - {""}
    while rest:
        item = next_of(rest)
        rest.remove(item)
        # Each would compute the same; once the first has, the others begin with it.
        if item.prefix not in prefixes:
            found.append(item)
            prefixes |= {item.prefix} - {""}
    return found


def next_of(able: list[Running]) -> Running:
    """The oldest or the one with least left, whichever was served longer ago.

    So a short prompt need not wait for a long one, which goes on at half speed at least.
    """
    oldest = min(able, key=lambda item: item.number)
    shortest = min(able, key=lambda item: (item.left, item.number))
    return min(oldest, shortest, key=lambda item: (item.served, item.number))


def _equal(view: View, together: list[Running]) -> list[Running]:
    """Those with as much left as the first, as many as a chunk holds whole."""
    reach = together[0].reach
    same = [item for item in together if item.reach == reach]
    while len(same) > 1 and view.chunk.of(reach * len(same)) < reach * len(same):
        same.pop()
    return same
