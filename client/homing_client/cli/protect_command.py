"""`homing keys protect`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from homing_agent.runtime.keys_cli import add_protect_command

from homing_client.cli.options import Setup
from homing_client.key_place import key_place

if TYPE_CHECKING:
    from pathlib import Path

    import typer
    from homing_agent.runtime.paths import ProgramPaths
    from homing_agent.runtime.unlock import KeyPlace


def register(group: typer.Typer) -> None:
    """Add the command to the group `keys`."""
    add_protect_command(group, "homing", _find, _end_resident)


def _find(data_dir: Path | None, config: Path | None) -> tuple[ProgramPaths, KeyPlace]:
    setup = Setup(data_dir, config)
    setup.load()
    paths = setup.paths
    return paths, key_place(paths)


def _end_resident(paths: ProgramPaths) -> None:
    """End the process that the other commands started; the next of them starts it again.

    Raises:
        ConflictError: it is at work.
        UnavailableError: it does not go.
    """
    import asyncio  # noqa: PLC0415  # keep help quick

    from homing_agent.runtime.localsocket import SocketState, probe  # noqa: PLC0415  # as above
    from homing_agent.runtime.paths import socket_path  # noqa: PLC0415  # as above

    from homing_client.cli.console import aside  # noqa: PLC0415  # as above

    if probe(socket_path(paths)) is SocketState.LIVE:
        asyncio.run(_end_if_idle(paths))
        aside("Homing's background process has left for this; the next command starts it again.")


async def _end_if_idle(paths: ProgramPaths) -> None:
    from homing_agent.runtime.localsocket import open_local_channel  # noqa: PLC0415  # keep help quick
    from homing_core.errors import ConflictError  # noqa: PLC0415  # as above

    from homing_client.attach import end_resident  # noqa: PLC0415  # as above
    from homing_client.rpc.phone_calls import PhoneCalls  # noqa: PLC0415  # as above

    async with open_local_channel(paths, "homing serve") as channel:
        status = await PhoneCalls(channel).status()
    if status.running:
        msg = f"Homing's background process (pid {status.pid}) is at work on an answer"
        raise ConflictError(msg, "Wait for it, or end it: homing serve --stop")
    await end_resident(paths)
