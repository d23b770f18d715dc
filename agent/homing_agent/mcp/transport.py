"""What both ways to a server look like from inside."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mcp.client._transport import ReadStream, WriteStream
    from mcp.shared.message import SessionMessage


@dataclass(slots=True)
class Transport:
    """An open way to a server.

    Attributes:
        read: messages from it.
        write: messages to it.
        ended: set once nothing more can come.
        problem: why it ended, for a person; empty if nobody knows.
        forgotten: whether the server has said that it does not know this session.
    """

    read: ReadStream[SessionMessage | Exception]
    write: WriteStream[SessionMessage]
    ended: asyncio.Event = field(default_factory=asyncio.Event)
    problem: str = ""
    forgotten: bool = False

    def end(self, problem: str) -> None:
        """Nothing more shall come; the first reason counts."""
        if not self.ended.is_set():
            self.problem = self.problem or problem
            self.ended.set()
