"""The phone's local socket in this process, over fakes; commands reach it from processes."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, cast

import grpc.aio
from homing_agent.runtime.localsocket import add_local_port
from homing_agent.runtime.paths import prepare_data_dir
from homing_client.phone import PhoneStatus
from homing_client.rpc.phone_jobs import add_phone_jobs
from homing_client.rpc.phone_service import add_phone_service
from homing_client.sessions import Sessions
from homing_core.provenance import Sensitivity
from homing_crypto.rpc_guard import RpcGuard

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from homing_agent.runtime.paths import ProgramPaths
    from homing_client.jobs.ports import PhoneJobs
    from homing_client.phone import Phone
    from homing_client.sessions import Asks
    from homing_core.tools import ToolSpec


class FakePhone:
    """As much of a `Phone` as asking and listing tools need.

    Args:
        agent: works on requests; None where nobody asks.
    """

    default_sensitivity = Sensitivity.HOME_ONLY

    def __init__(self, agent: Asks | None) -> None:
        self.sessions = Sessions(cast("Asks", agent), _nothing)

    def status(self) -> PhoneStatus:
        return PhoneStatus(
            version="0",
            pid=0,
            model="fake",
            stand_in=False,
            ready=True,
            activity="",
            error=None,
            device_id="",
            idle_seconds=0,
            running=0,
            wanted_model="",
            stand_in_allowed=False,
        )

    def tools(self) -> tuple[tuple[ToolSpec, ...], tuple[tuple[str, str], ...]]:
        return (), (("vibrate", "no motor"),)


@contextlib.asynccontextmanager
async def phone_desk(
    paths: ProgramPaths, jobs: PhoneJobs, agent: Asks | None = None
) -> AsyncGenerator[FakePhone]:
    """Serve jobs, and requests if there is an agent, on the socket of a data directory."""
    prepare_data_dir(paths)
    phone = FakePhone(agent)
    server = grpc.aio.server(interceptors=[RpcGuard(None)])
    add_phone_jobs(jobs, _nothing)(server)
    add_phone_service(server, cast("Phone", phone))
    path = add_local_port(server, paths)
    await server.start()
    try:
        yield phone
    finally:
        path.unlink(missing_ok=True)
        await phone.sessions.close()
        await server.stop(0)


def _nothing() -> None:
    """Nobody counts."""
