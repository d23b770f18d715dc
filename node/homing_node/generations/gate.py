"""The boundary at which a generation is let in and counted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable

    from homing_core.generation import GenerateRequest, GenerationEvent


class Ticket(Protocol):
    """One generation that was let in.

    Attributes:
        request: what the engine is asked: held to what the device may use.
        yields: whether it makes way for the household when engines are busy.
    """

    @property
    def request(self) -> GenerateRequest:
        """See `Ticket`."""
        ...

    @property
    def yields(self) -> bool:
        """See `Ticket`."""
        ...

    async def begin(self) -> None:
        """Note it durably, before the engine is asked; raises `HomingError` if it must not be."""
        ...

    def count(self, event: GenerationEvent) -> tuple[GenerationEvent, ...]:
        """Count an event; what the reader gets for it. The last may be a `Failed` of the gate's."""
        ...

    def close(self, outcome: str) -> None:
        """It ended, in a word; harmless twice."""
        ...


Admit: TypeAlias = "Callable[[GenerateRequest], Ticket]"
"""Lets a request in, or raises `HomingError`."""


class OpenTicket:
    """A `Ticket` that limits and counts nothing."""

    yields = False

    def __init__(self, request: GenerateRequest) -> None:
        """Keep the request."""
        self._request = request

    @property
    def request(self) -> GenerateRequest:
        """As it was asked."""
        return self._request

    async def begin(self) -> None:
        """Nothing is noted."""

    def count(self, event: GenerationEvent) -> tuple[GenerationEvent, ...]:
        """The event."""
        return (event,)

    def close(self, outcome: str) -> None:
        """Nothing is noted."""
