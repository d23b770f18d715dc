"""What an attempt needs before it can begin: the job's words, whose it is, and the tool."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Protocol

from homing_core.errors import HomingError, NotFoundError, RefusedError
from homing_core.ids import DeviceId
from homing_crypto.approvals import verify_signer
from homing_crypto.audit.records import CONSOLE
from homing_crypto.certificates import check_certificate

from homing_node.jobs import rules
from homing_node.jobs.forms import decode_payload
from homing_node.jobs.sealed import JobCipher

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from homing_agent.tool import Tool
    from homing_core.approvals import ApprovalStatement
    from homing_core.clock import Clock
    from homing_crypto.devices import PairedDevice
    from homing_crypto.trust import TrustStore

    from homing_node.devices.limits import Standing
    from homing_node.jobs.forms import Payload
    from homing_node.jobs.records import Records
    from homing_node.jobs.store import JobRow, Question
    from homing_node.tools import HomeTools

TOOL_WAIT_S: Final = 60.0
"""How long a job waits for its tool's server to come up, in seconds."""
_LOOK_S: Final = 0.25


class Access(Protocol):
    """What holds for a device; see `homing_node.devices.admission.Admission`."""

    def standing(self, device: PairedDevice) -> Standing:
        """What holds for it now; raises `HomingError` if nobody vouches for it."""
        ...

    def over(self, device: PairedDevice) -> None:
        """Raises `HomingError` if nothing of it may begin now."""
        ...

    def refused(self, device: PairedDevice) -> None:
        """Count a call that was refused."""
        ...


@dataclass(frozen=True, slots=True)
class Opened:
    """A job that can begin.

    Attributes:
        cipher: opens and seals what is the job's own.
        payload: call and consent.
        device: whose it is, by the key that is in use now.
        standing: what holds for that.
        tool: what runs.
    """

    cipher: JobCipher = field(repr=False)
    payload: Payload = field(repr=False)
    device: PairedDevice
    standing: Standing
    tool: Tool


class Opener:
    """Looks everything up anew at each attempt: much may have changed since the last.

    Args:
        records: where jobs are kept.
        tools: what this node can run.
        trust: whom it knows.
        access: what holds for a device.
        clock: for leases and ends.
        wait_s: how long to wait for a tool.
    """

    def __init__(  # noqa: PLR0913  # each is a boundary of its own
        self,
        records: Records,
        tools: HomeTools,
        trust: TrustStore,
        access: Access,
        clock: Clock,
        *,
        wait_s: float = TOOL_WAIT_S,
    ) -> None:
        """Keep where to look."""
        self._records = records
        self._tools = tools
        self._trust = trust
        self._access = access
        self._clock = clock
        self._wait_s = wait_s

    async def cipher(self, row: JobRow) -> tuple[JobCipher, bytes]:
        """What opens the job's words, and these; raises `HomingError`."""
        data_key, payload = await self._records.call(self._records.store.secrets, row.key)
        return JobCipher(row.key, data_key), payload

    async def holder(self, row: JobRow) -> PairedDevice:
        """Whose job it is: the key that brought it, or what that device uses instead by now.

        Raises:
            RefusedError: this node does not know the device, or does not let it in.
            HomingError: the store cannot be read.
        """
        keys = await asyncio.to_thread(self._trust.keys, row.key.account)
        now = self._clock.now()
        live = [key for key in keys if key.live(now)]
        if not live:
            msg = "this device is not let in here any more"
            raise RefusedError(msg, "Ask the node's owner.")
        # A key in its overlap is about to go, and with it whatever was sealed for it.
        return min(live, key=lambda key: (key.retires_at > 0, key.id != row.device))

    async def standing(self, row: JobRow) -> Standing:
        """What holds for that device now; raises as `holder`, or if nobody vouches for it."""
        device = await self.holder(row)
        return await asyncio.to_thread(self._access.standing, device)

    async def no_owners(self, questions: Iterable[Question]) -> frozenset[str]:
        """Who answered as an owner and is none any more; a device not known here may still be."""
        said = {one.answered_by for one in questions if one.owners_only and one.verdict}

        def look() -> frozenset[str]:
            known = [self._trust.lookup(DeviceId(by)) for by in said - {CONSOLE}]
            return frozenset(
                device.id
                for device in known
                if device is not None and (device.revoked_at or not rules.is_owner(device))
            )

        return await asyncio.to_thread(look)

    async def open(self, row: JobRow, waits: Callable[[], bool]) -> Opened:
        """Everything that an attempt needs.

        Args:
            row: the job.
            waits: whether the attempt is still wanted, while its tool is waited for.

        Raises:
            HomingError: it cannot run: its device may not, or its tool has gone or changed.
        """
        cipher, sealed = await self.cipher(row)
        payload = decode_payload(cipher.open("payload", sealed))
        standing = await self.standing(row)
        device = standing.device
        tool = await self._tool(row, waits)
        rules.check_use(device, standing.limits, tool.spec)
        if tool.spec.schema_hash != row.tool.schema_hash:
            msg = f"the tool {row.tool.name} has changed since the job was handed in"
            raise NotFoundError(msg, "Look at this node's tools again, and hand it in anew.")
        if rules.needs_person(tool.spec):
            said = await asyncio.to_thread(self._consented, row, payload)
            rules.check_consent(said, payload.spec, tool.spec)
        return Opened(cipher, payload, device, standing, tool)

    def offered(self, opened: Opened) -> tuple[Tool, ...]:
        """Further tools that the device may use, for a tool that calls others."""
        found: list[Tool] = []
        for spec in self._tools.specs():
            try:
                rules.check_use(opened.device, opened.standing.limits, spec)
            except HomingError:
                continue
            tool = self._tools.find(spec.server, spec.name)
            if tool is not None and spec.id != opened.tool.spec.id:
                found.append(tool)
        return tuple(found)

    def _consented(self, row: JobRow, payload: Payload) -> ApprovalStatement | None:
        """What a key of the job's account has signed: whoever writes to the store has no such key.

        Raises:
            HomingError: nobody did whom this node knows, or it was altered.
        """
        consent = payload.approval
        if consent is None:
            return None
        for key in self._trust.keys(row.key.account):
            if key.id == consent.statement.device and not key.revoked_at:
                return verify_signer(consent, check_certificate(key.certificate_der))
        msg = "the key that signed the consent is not known here as this device's"
        raise RefusedError(msg, "Hand the job in again.")

    async def _tool(self, row: JobRow, waits: Callable[[], bool]) -> Tool:
        """The tool; after a start, its server may take a while to come up."""
        until = self._clock.monotonic() + self._wait_s
        while True:
            tool = self._tools.find(row.tool.server, row.tool.name)
            why = None if tool is None else tool.unavailable()
            if tool is not None and why is None:
                return tool
            if self._clock.monotonic() >= until or not waits():
                break
            await asyncio.sleep(_LOOK_S)
        if why is not None:
            msg = f"the tool {row.tool.name} cannot work now: {why}"
            raise RefusedError(msg, "Ask the node's owner.")
        msg = f"this node has no tool {row.tool.name} any more"
        raise NotFoundError(msg, "Look at this node's tools again.")
