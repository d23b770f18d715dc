"""What a device has under way on this node, and how all of it ends."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from homing_core.errors import HomingError
    from homing_core.ids import DeviceId
    from homing_crypto.live_calls import LiveCalls

    from homing_node.generations.runner import Generations
    from homing_node.models.pool import ModelPool


class JobsWork(Protocol):
    """Jobs of devices that change; see `homing_node.jobs.rights.JobRights`."""

    async def forget(self, named: DeviceId) -> None:
        """An account, or one key of it, was shut out: its tools stop, and all of it goes."""
        ...

    async def look(self) -> None:
        """Stop what the store of devices does not allow any more."""
        ...


class NodeWork:
    """Calls, generations and what they left in models' memory; a `homing_node.devices.desk.Work`.

    Args:
        calls: calls under way.
        generations: generations, waiting ones too.
        models: whose engines keep conversations' states.
        jobs: jobs, ended ones too; None where there are none.
    """

    def __init__(
        self,
        calls: LiveCalls,
        generations: Generations,
        models: ModelPool,
        jobs: JobsWork | None = None,
    ) -> None:
        """Keep where to look."""
        self._calls = calls
        self._generations = generations
        self._models = models
        self._jobs = jobs

    async def end(self, account: DeviceId, error: HomingError | None = None) -> int:
        """See `Work.end`.

        If `account` names one key only, because the store could not be asked, the account that
        calls with it is the one that is meant.
        """
        named = {owner for owner, keys in self._calls.keys().items() if account in keys}
        ended = 0
        for owner in sorted({account, *named}):
            # Calls first, so that their clients are told why, and not that an answer was cut off.
            ended += await (
                self._calls.end_calls(owner)
                if error is None
                else self._calls.end_calls(owner, error)
            )
            await self._generations.drop_device(owner)
            self._models.forget(owner)  # the engines have been told to stop by now
            if self._jobs is not None and error is None:
                await self._jobs.forget(owner)
        if self._jobs is not None and error is not None:
            # Outside its hours a device only cannot call; what became of its rights is looked up.
            await self._jobs.look()
        return ended
