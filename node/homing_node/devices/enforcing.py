"""What goes on by itself so that limits hold for what runs: ending it, and noting what it uses."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Final

from homing_agent.runtime.logs import get_logger
from homing_core.errors import HomingError, NotFoundError
from homing_core.ids import GenerationId

if TYPE_CHECKING:
    from homing_crypto.trust import TrustStore

    from homing_node.devices.admission import Admission
    from homing_node.devices.desk import Work
    from homing_node.devices.ledger import UsageLedger
    from homing_node.generations.runner import Generations

TICK_S: Final = 2.0
"""How late a generation may end, and how much counting kill -9 may forget, in seconds."""
_PRUNE_S: Final = 6 * 3600.0

_log = get_logger(__name__)


class Enforcement:
    """Looks after generations that run.

    Args:
        admission: knows what holds.
        ledger: where use is noted.
        store: whom the node knows.
        generations: what runs.
        work: how everything of an account ends.
    """

    def __init__(
        self,
        admission: Admission,
        ledger: UsageLedger,
        store: TrustStore,
        generations: Generations,
        work: Work,
    ) -> None:
        """Keep where to look."""
        self._admission = admission
        self._ledger = ledger
        self._store = store
        self._generations = generations
        self._work = work

    async def run(self) -> None:
        """Look every `TICK_S` seconds, for ever."""
        loop = asyncio.get_running_loop()
        prune_at = loop.time()
        while True:
            try:
                await self.look()
                await self._admission.flush()
                if loop.time() >= prune_at:
                    prune_at = loop.time() + _PRUNE_S
                    await self._ledger.prune()
            except Exception as error:  # noqa: BLE001  # the next look may do better
                _log.error("limits.look_failed", error_type=type(error).__name__)
            await asyncio.sleep(TICK_S)

    async def look(self) -> None:
        """End what must not go on; call it also after a device was changed."""
        if not self._generations.running():
            return
        try:
            known = await asyncio.to_thread(self._store.devices)
        except HomingError:
            return  # new calls are refused by then; a busy disk must not cut off everyone
        for reason in self._admission.reasons(known):
            _log.info("generation.not_allowed", device=reason.account, code=reason.error.code.value)
            if reason.id:
                with contextlib.suppress(NotFoundError):  # a job's own: its ticket ends it
                    self._generations.fail(reason.account, GenerationId(reason.id), reason.error)
            else:
                await self._work.end(reason.account, reason.error)
