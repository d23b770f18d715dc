"""Fakes for this package's boundaries. They ship with it."""

from __future__ import annotations

import contextlib
import threading
from dataclasses import replace
from typing import TYPE_CHECKING

from homing_core.errors import NotFoundError

from homing_node.peers.ledger import PeerAccount, Told, ToldState

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterable, Mapping

    from homing_agent.tool import Tool
    from homing_core.ids import DeviceId
    from homing_core.tools import ToolSpec
    from homing_inference.engine import Engine


class OneEngine:
    """`Engines` with a single one, for requests that name no model, or its own.

    Args:
        engine: what runs everything.

    Attributes:
        leased: how many use it now.
    """

    def __init__(self, engine: Engine) -> None:
        """Hold the engine."""
        self._engine = engine
        self.leased = 0

    def check(self, model: str) -> None:
        """Raises `NotFoundError` for another model."""
        if model not in {"", self._engine.info.model}:
            msg = "that model is not served here"
            raise NotFoundError(msg)

    @contextlib.asynccontextmanager
    async def lease(self, model: str, *, yields: bool = False) -> AsyncGenerator[Engine]:
        """The engine, at once."""
        del yields
        self.check(model)
        self.leased += 1
        try:
            yield self._engine
        finally:
            self.leased -= 1


class FixedTools:
    """`HomeTools` that never change.

    Args:
        specs: what there is to be listed.
        tools: what there is to be run.
    """

    def __init__(self, *specs: ToolSpec, tools: Iterable[Tool] = ()) -> None:
        """Keep them."""
        self._tools = tuple(tools)
        self._specs = (*specs, *(tool.spec for tool in self._tools))

    def specs(self) -> tuple[ToolSpec, ...]:
        """All of them."""
        return self._specs

    def find(self, server: str, name: str) -> Tool | None:
        """One of those that can run."""
        for tool in self._tools:
            if (tool.spec.server, tool.spec.name) == (server, name):
                return tool
        return None

    async def start(self) -> None:
        """Nothing is to be brought up."""

    async def close(self) -> None:
        """Nothing is to be ended."""


class MemoryPeerLedger:
    """A `PeerLedger` that forgets."""

    def __init__(self) -> None:
        """Start empty."""
        self._lock = threading.RLock()
        self._accounts: dict[DeviceId, PeerAccount] = {}

    def account(self, peer_id: DeviceId) -> PeerAccount:
        """See `PeerLedger.account`."""
        with self._lock:
            return self._accounts.get(peer_id, PeerAccount(peer_id))

    def choose(
        self, peer_id: DeviceId, *, guests: bool | None, choices: Mapping[DeviceId, bool]
    ) -> None:
        """See `PeerLedger.choose`."""
        with self._lock:
            before = self.account(peer_id)
            self._accounts[peer_id] = replace(
                before,
                guests=before.guests if guests is None else guests,
                choices={**before.choices, **choices},
            )

    def leave(self, peer_id: DeviceId, *, leaving: bool) -> None:
        """See `PeerLedger.leave`."""
        with self._lock:
            self._accounts[peer_id] = replace(self.account(peer_id), leaving=leaving)

    def begin_push(self, peer_id: DeviceId, told: Iterable[Told], serial: int) -> None:
        """See `PeerLedger.begin_push`."""
        with self._lock:
            self.begin_withdrawal(peer_id, serial)
            before = self.account(peer_id)
            news = {one.device_id: one for one in told}
            self._accounts[peer_id] = replace(before, told={**before.told, **news})

    def end_push(
        self,
        peer_id: DeviceId,
        taken: Iterable[DeviceId],
        refused: Mapping[DeviceId, str],
        at: float,
    ) -> None:
        """See `PeerLedger.end_push`."""
        with self._lock:
            before = self.account(peer_id)
            told = dict(before.told)
            outcomes = dict.fromkeys(taken, (ToldState.TAKEN, ""))
            outcomes |= {one: (ToldState.REFUSED, why) for one, why in refused.items()}
            for device_id, (state, reason) in outcomes.items():
                if device_id in told:
                    told[device_id] = replace(told[device_id], state=state, reason=reason)
            self._accounts[peer_id] = replace(before, told=told, pushed_at=at)

    def begin_withdrawal(self, peer_id: DeviceId, serial: int) -> None:
        """See `PeerLedger.begin_withdrawal`."""
        with self._lock:
            before = self.account(peer_id)
            self._accounts[peer_id] = replace(before, serial=max(before.serial, serial))

    def end_withdrawal(self, peer_id: DeviceId, gone: Iterable[DeviceId]) -> None:
        """See `PeerLedger.end_withdrawal`."""
        with self._lock:
            before, out = self.account(peer_id), set(gone)
            told = {key: one for key, one in before.told.items() if key not in out}
            self._accounts[peer_id] = replace(before, told=told)

    def forget(self, peer_id: DeviceId) -> None:
        """See `PeerLedger.forget`."""
        with self._lock:
            self._accounts.pop(peer_id, None)

    def rename(self, old: DeviceId, new: DeviceId) -> None:
        """See `PeerLedger.rename`."""
        with self._lock:
            if old in self._accounts and new not in self._accounts:
                self._accounts[new] = replace(self._accounts.pop(old), peer_id=new)
