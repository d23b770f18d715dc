"""Telling a person how far a fetch is, without knowing how it is shown."""

from __future__ import annotations

from typing import Protocol


class Progress(Protocol):
    """Is told from the event loop's thread, often; it must return at once."""

    def __call__(self, done: int, total: int, label: str, /) -> None:
        """Take the newest state.

        Args:
            done: bytes (or, for a conversion, tensors) finished in this stage.
            total: of the stage; 0 if unknown.
            label: the stage in a few words; a new label starts a new stage.
        """
        ...


def silent(done: int, total: int, label: str, /) -> None:
    """Show nothing."""
