"""A real node that also serves the echo service, for kinds of call that it has none of yet."""

from __future__ import annotations

import contextlib
from dataclasses import replace
from typing import TYPE_CHECKING

from homing_node.door_section import SecuritySection
from homing_node.rpc.rules import MAIN_RULES
from homing_node.rpc.servers import main_server
from support.guarded import Echo
from support.node_rig import LOOPBACK, NodeRig, node_rig

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable
    from pathlib import Path

    import grpc.aio
    import pytest
    from homing_node.config import NodeConfig

CLASSIC = replace(LOOPBACK, security=SecuritySection(post_quantum="preferred"))
"""For TLS clients other than gRPC, which may not know the hybrid group."""


@contextlib.asynccontextmanager
async def echo_node(
    folder: Path, patch: pytest.MonkeyPatch, config: NodeConfig = LOOPBACK
) -> AsyncGenerator[tuple[NodeRig, Echo]]:
    echo = Echo()
    for method, rule in echo.rules().items():
        patch.setitem(MAIN_RULES, method, rule)
    make: Callable[..., grpc.aio.Server] = main_server

    def with_echo(*args: object, **kwargs: object) -> grpc.aio.Server:
        server = make(*args, **kwargs)
        server.add_generic_rpc_handlers((echo.handlers(),))
        return server

    patch.setattr("homing_node.assembly.main_server", with_echo)
    async with node_rig(folder, config) as rig:
        yield rig, echo
