"""Lists that must fit into one answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterable

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
