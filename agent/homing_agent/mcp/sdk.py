"""The SDK, imported only where there are servers: it takes most of a second."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

from homing_agent.runtime.logs import debugging

if TYPE_CHECKING:
    from homing_agent.mcp.server import McpServer

_LOGGERS: Final = ("mcp", "client", "httpx2")


def load_servers() -> type[McpServer]:
    """Import all that runs servers and calls. Blocks.

    Raises:
        ImportError: the SDK is not installed.
    """
    from homing_agent.mcp import calls, server  # noqa: PLC0415  # see above

    del calls
    if not debugging():
        # They write a stack trace for each malformed message, which a server can send by thousands;
        # what matters of it is in a server's state.
        for name in _LOGGERS:
            logging.getLogger(name).setLevel(logging.CRITICAL)
    return server.McpServer
