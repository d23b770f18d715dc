"""A file that is still arriving: its bytes, and what they are a part of, so that it can go on."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any, BinaryIO

from homing_inference.catalog.files import write_atomically

if TYPE_CHECKING:
    from pathlib import Path

_MAX_STATE = 4 << 10


class Partial:
    """One `.part` file and its state. Used under the model's lock only.

    Args:
        path: the `.part` file; the state lies beside it.
    """

    def __init__(self, path: Path) -> None:
        """Touch nothing yet."""
        self.path = path
        self._state_path = path.with_name(path.name + ".json")
        self._identity = ""
        self.steps = 0

    @property
    def size(self) -> int:
        """Bytes that have arrived."""
        try:
            return self.path.stat().st_size
        except FileNotFoundError:
            return 0

    def resume(self, identity: str, *, by_steps: bool = False) -> int:
        """Keep what belongs to `identity`, drop anything else.

        Args:
            identity: names the exact whole; a part of another whole is worthless.
            by_steps: keep only bytes that `mark` has confirmed, since a step is all or nothing.

        Returns:
            Bytes kept. `steps` says how many steps they are.
        """
        state = self._read_state()
        if state is None or state[0] != identity or state[2] > self.size:
            self.discard()
            state = (identity, 0, 0)
        self._identity, self.steps, confirmed = state
        self.path.parent.mkdir(parents=True, exist_ok=True)
        if by_steps and self.path.exists():
            os.truncate(self.path, confirmed)
        self._write_state(confirmed)
        return self.size

    def append(self) -> BinaryIO:
        """Open behind the last byte."""
        return self.path.open("ab")

    def restart(self) -> None:
        """Drop the bytes but go on with the same whole."""
        self.path.unlink(missing_ok=True)
        self.steps = 0
        self._write_state(0)

    def mark(self, steps: int) -> None:
        """Confirm that the bytes so far, which the caller has synced, are `steps` whole steps."""
        self.steps = steps
        self._write_state(self.size)

    def discard(self) -> None:
        """Remove the bytes and the state."""
        self.path.unlink(missing_ok=True)
        self._state_path.unlink(missing_ok=True)
        self.steps = 0

    def _write_state(self, confirmed: int) -> None:
        state = {"of": self._identity, "steps": self.steps, "bytes": confirmed}
        write_atomically(self._state_path, json.dumps(state).encode())

    def _read_state(self) -> tuple[str, int, int] | None:
        try:
            with self._state_path.open("rb") as stream:
                raw: Any = json.loads(stream.read(_MAX_STATE))
            identity, steps, confirmed = raw["of"], raw["steps"], raw["bytes"]
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            return None
        if type(identity) is not str or type(steps) is not int or type(confirmed) is not int:
            return None
        return (identity, steps, confirmed) if steps >= 0 and confirmed >= 0 else None
