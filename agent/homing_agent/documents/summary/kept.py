"""What the model wrote is kept in the job's notebook, under what it was made of."""

from __future__ import annotations

from typing import TYPE_CHECKING

from homing_core.canonical import sha256_json

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from homing_core.canonical import JsonValue

    from homing_agent.tool import Notebook

_VERSION = 1
"""Of the prompts and their use; another one makes nothing of what was kept."""


class Kept:
    """Texts that are not written twice, whenever the job was killed.

    Args:
        notebook: the job's.
    """

    def __init__(self, notebook: Notebook) -> None:
        """Keep it."""
        self._notebook = notebook

    def has(self, key: JsonValue) -> bool:
        """Whether a text is kept."""
        return isinstance(self._notebook.get(_name(key)), str)

    async def text(self, key: JsonValue, write: Callable[[], Awaitable[str]]) -> str:
        """The text that was kept under what it is made of, or a new one, kept from now on."""
        name = _name(key)
        before = self._notebook.get(name)
        if isinstance(before, str):
            return before
        text = await write()
        await self._notebook.put(name, text)
        return text


def _name(key: JsonValue) -> str:
    return f"summary-{sha256_json([_VERSION, key])[:40]}"
