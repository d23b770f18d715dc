"""Where in a tool's schema something stands, and the error that names it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NoReturn

from homing_core.errors import UsageError

MAX_SCHEMAS: Final = 4_000
"""Schemas within one tool's schema, counted where they are used."""
MAX_DEPTH: Final = 24
"""Levels of nesting within one definition; a model's arguments never come close."""
HINT: Final = "Turn call_grammar off for this request, or change the tool's schema."
_SHOWN_NAME: Final = 64
_SHOWN_PLACE: Final = 200


@dataclass(frozen=True, slots=True)
class At:
    """A place in the schema, as a JSON pointer, and how deep it is."""

    pointer: str
    depth: int = 0

    def step(self, *names: str | int) -> At:
        """A place further in."""
        steps = (str(name).replace("~", "~0").replace("/", "~1") for name in names)
        return At(f"{self.pointer}/{'/'.join(steps)}", self.depth + 1)

    @property
    def last(self) -> str:
        """The last step, which names what stands here."""
        return self.pointer.rpartition("/")[2] or "type"


class Report:
    """Refuses a tool's schema, and counts how large it is.

    Args:
        tool: the tool's name.
    """

    def __init__(self, tool: str) -> None:
        """Nothing is counted yet."""
        self._tool = tool[:_SHOWN_NAME]
        self._schemas = 0

    def refuse(self, keyword: str, at: At, why: str = "a call cannot be held to it") -> NoReturn:
        """Say what cannot be held to, and where.

        Raises:
            UsageError: always.
        """
        place = at.pointer[:_SHOWN_PLACE] or "its top level"
        msg = f"the schema of the tool {self._tool!r} uses {keyword!r} at {place}: {why}"
        raise UsageError(msg, HINT)

    def count(self, at: At) -> None:
        """One more schema.

        Raises:
            UsageError: these are too many, or it is too deep.
        """
        self._schemas += 1
        deep = at.depth > MAX_DEPTH
        if deep or self._schemas > MAX_SCHEMAS:
            what = "is nested too deeply" if deep else "is too large"
            msg = f"the schema of the tool {self._tool!r} {what} for a call to be held to it"
            raise UsageError(msg, HINT)

    def whole_number(self, value: object, keyword: str, at: At) -> int | None:
        """A count that a keyword gives; None if it is not there.

        Raises:
            UsageError: it is no whole number from 0 up.
        """
        if value is None:
            return None
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if isinstance(value, bool) or not isinstance(value, int) or value < 0:
            self.refuse(keyword, at, "it is no whole number from 0 up")
        return value
