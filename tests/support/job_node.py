"""`support.job_daemon` from outside: started, killed, and called by a paired phone."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import sys
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from homing_core.access import DeviceRole
from homing_core.approvals import ApprovalStatement, Verdict
from homing_core.clock import SystemClock
from homing_core.ids import new_approval_id, new_job_id, new_request_id, new_tool_call_id
from homing_core.jobs import JobSpec, JobStatus, Settlement
from homing_core.tools import EffectClass, ToolCall, ToolId, ToolSpec
from homing_crypto.approvals import sign_approval
from homing_crypto.credentials import client_channel
from homing_crypto.identity import DeviceIdentity
from homing_crypto.testing import paired_device, throwaway_identity
from homing_crypto.truststore import TRUST_STORE_FILE, SqliteTrustStore
from homing_proto.codec.approvals import encode_signed_approval
from homing_proto.codec.jobs import decode_job_event, decode_job_spec, encode_job_spec
from homing_proto.codec.jobs import decode_job_status as decode
from homing_proto.v1 import job_pb2 as wire
from homing_proto.v1 import job_pb2_grpc
from support.commands import ROOT

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Sequence
    from pathlib import Path

    import grpc.aio
    from homing_core.approvals import SignedApproval
    from homing_core.ids import JobId
    from homing_core.jobs import JobEvent

UP_S = 60.0
CALL_S = 10.0
_SETTLEMENTS = {
    Settlement.HAPPENED: wire.SETTLEMENT_HAPPENED,
    Settlement.RUN_AGAIN: wire.SETTLEMENT_RUN_AGAIN,
    Settlement.GIVE_UP: wire.SETTLEMENT_GIVE_UP,
}


@dataclass
class Asked:
    """A job that a phone has written down: everything that a repeat must bring again."""

    spec: JobSpec
    approval: SignedApproval | None
    token: str
    status: JobStatus | None = None
    unknown: set[int] = field(default_factory=set[int])
    """Numbers of the events with which the node said that nobody knows whether it happened."""

    @property
    def id(self) -> JobId:
        return self.spec.id

    @property
    def ended(self) -> bool:
        return self.status is not None and self.status.state.final


@dataclass
class JobNode:
    """One data directory and the daemon that comes and goes on it.

    Attributes:
        folder: its data directory.
        arguments: further ones of the daemon.
        phone: a paired owner's device.
        ran: what its tools said, over all its lives: token and time.
    """

    folder: Path
    arguments: Sequence[str]
    phone: DeviceIdentity
    ran: list[tuple[str, float]] = field(default_factory=list[tuple[str, float]])
    started_at: float = 0.0
    kills: int = 0
    _process: asyncio.subprocess.Process | None = None
    _reading: asyncio.Task[None] | None = None
    _channel: grpc.aio.Channel | None = None
    _dead: list[grpc.aio.Channel] = field(default_factory=list["grpc.aio.Channel"])

    @classmethod
    def make(cls, folder: Path, phone: DeviceIdentity, arguments: Sequence[str]) -> JobNode:
        """A node that knows the phone."""
        folder.mkdir(mode=0o700)
        clock = SystemClock()
        DeviceIdentity.load_or_create(folder, clock)
        store = SqliteTrustStore(folder / TRUST_STORE_FILE, clock)
        store.add(paired_device(phone, DeviceRole.OWNER))
        store.close()
        return cls(folder, arguments, phone)

    @property
    def up(self) -> bool:
        return self._channel is not None

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    @property
    def jobs(self) -> job_pb2_grpc.JobsServiceAsyncStub:
        """Its service, for the phone; only while it is up."""
        if self._channel is None:
            raise ConnectionError(self.folder.name)
        return job_pb2_grpc.JobsServiceStub(self._channel)

    async def start(self) -> None:
        """Run the daemon, and wait until it answers."""
        paths = f"{ROOT / 'tests'}{os.pathsep}{ROOT / 'bench'}"
        self.started_at = time.time()
        self._process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "support.job_daemon", str(self.folder), *self.arguments),
            env=os.environ | {"PYTHONPATH": paths, "GRPC_VERBOSITY": "NONE"},
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
        )
        stdout = self._process.stdout
        assert stdout is not None
        line = await asyncio.wait_for(stdout.readline(), UP_S)
        while line and json.loads(line)["event"] != "up":
            self._note(json.loads(line))
            line = await asyncio.wait_for(stdout.readline(), UP_S)
        assert line, "the daemon ended before it was up"
        port = json.loads(line)["port"]
        certificate = DeviceIdentity.load_or_create(self.folder, SystemClock()).certificate
        self._channel = client_channel(f"127.0.0.1:{port}", self.phone, certificate)
        self._reading = asyncio.create_task(self._read(stdout))

    async def kill(self) -> None:
        """As a power cut does it to a process."""
        assert self._process is not None
        self._process.kill()
        self.kills += 1
        await self._gone()

    async def close(self) -> None:
        """End it if it runs."""
        if self._process is not None and self._process.returncode is None:
            self._process.kill()
        await self._gone()
        for channel in self._dead:
            await channel.close(None)

    async def _gone(self) -> None:
        # Calls on it break by themselves; closed, they would look cancelled by their caller.
        if self._channel is not None:
            self._dead.append(self._channel)
            self._channel = None
        if self._process is not None:
            await self._process.wait()
        if self._reading is not None:
            await asyncio.gather(self._reading, return_exceptions=True)
            self._reading = None

    async def _read(self, stdout: asyncio.StreamReader) -> None:
        while line := await stdout.readline():
            with contextlib.suppress(ValueError):  # killed in the middle of a line
                self._note(json.loads(line))

    def _note(self, said: dict[str, Any]) -> None:
        if said["event"] == "run":
            self.ran.append((said["token"], said["at"]))

    # As a phone calls it

    async def submit(self, asked: Asked) -> JobStatus:
        request = wire.SubmitJobRequest(job=encode_job_spec(asked.spec))
        if asked.approval is not None:
            request.approval.CopyFrom(encode_signed_approval(asked.approval))
        done = await self.jobs.SubmitJob(request, timeout=CALL_S)
        return decode(done.status)

    async def status(self, job: JobId) -> JobStatus:
        done = await self.jobs.GetJob(wire.GetJobRequest(id=job), timeout=CALL_S)
        return decode(done.status)

    async def settle(self, job: JobId, said: Settlement) -> JobStatus:
        request = wire.SettleJobRequest(id=job, settlement=_SETTLEMENTS[said])
        done = await self.jobs.SettleJob(request, timeout=CALL_S)
        return decode(done.status)

    async def watch(self, job: JobId, after: int = 0) -> AsyncGenerator[JobEvent, None]:
        async for part in self.jobs.WatchJob(wire.WatchJobRequest(id=job, after_seq=after)):
            yield decode_job_event(part.event)


def asked(
    phone: DeviceIdentity, tool: ToolSpec, token: str, *, priority: int = 0, **arguments: int
) -> Asked:
    """A job as a phone writes it down, with its person's consent where the tool needs one."""
    call = ToolCall(new_tool_call_id(), tool.name, {"token": token, **arguments})
    spec = JobSpec(
        id=new_job_id(),
        request_id=new_request_id(),
        tool=ToolId("", tool.server, tool.name, tool.schema_hash),
        call=call,
        priority=priority,
    )
    assert decode_job_spec(encode_job_spec(spec)) == spec
    if tool.effect is EffectClass.READ:
        return Asked(spec, None, token)
    statement = ApprovalStatement(
        id=new_approval_id(),
        request_id=spec.request_id,
        step=1,
        tool_hash=tool.schema_hash,
        argument_hash=call.argument_hash,
        verdict=Verdict.ALLOW,
        device=phone.device_id,
        expires_at=int(time.time()) + 3600,
    )
    return Asked(spec, sign_approval(phone, statement), token)


@contextlib.asynccontextmanager
async def job_nodes(
    folder: Path, count: int = 1, **options: str | float
) -> AsyncGenerator[tuple[list[JobNode], Path]]:
    """Daemons that know one phone, not started yet, and the ledger in which they count.

    Args:
        folder: for everything.
        count: how many; more than one only on one database.
        options: of `support.job_daemon`, such as `at_once`.
    """
    ledger, phone = folder / "ledger", throwaway_identity()
    more = [
        word
        for key, value in options.items()
        for word in (f"--{key.replace('_', '-')}", f"{value}")
    ]
    nodes = [
        JobNode.make(folder / f"node{number}", phone, (str(ledger), *more))
        for number in range(count)
    ]
    try:
        yield nodes, ledger
    finally:
        for node in nodes:
            await node.close()
