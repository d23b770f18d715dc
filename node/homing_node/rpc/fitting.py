"""Lists that must fit into one answer."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from google.protobuf.message import Message

MessageT = TypeVar("MessageT", bound="Message")

ANSWER_BYTES: Final = 3 << 20
"""The most of a list in one answer; the transport takes 4 MiB."""


def fitting(messages: Iterable[MessageT]) -> list[MessageT]:
    """The first ones that fit into an answer; one at least, if there is any."""
    found: list[MessageT] = []
    room = ANSWER_BYTES
    for message in messages:
        room -= message.ByteSize()
        if found and room < 0:
            break
        found.append(message)
    return found


def fairly(
    messages: Sequence[MessageT], whose: Callable[[MessageT], str], most: int
) -> list[MessageT]:
    """As many as fit into an answer, in their own order, and of everybody some.

    Everybody's first comes before anybody's second, and among those a short one before a long one:
    so whoever fills the answer with long ones keeps only long ones out of it.

    Args:
        messages: all of them.
        whose: who one is of.
        most: how many at most.
    """
    before: Counter[str] = Counter()
    turns: list[tuple[int, int, int]] = []
    for number, message in enumerate(messages):
        turns.append((before[whose(message)], message.ByteSize(), number))
        before[whose(message)] += 1
    found: list[int] = []
    room = ANSWER_BYTES
    for _, size, number in sorted(turns)[:most]:
        if found and size > room:
            continue
        found.append(number)
        room -= size
    return [messages[number] for number in sorted(found)]
