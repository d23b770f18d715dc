"""What a person says of a call of which nobody knows whether it happened, and where that stands.

A call that must not be made twice has a record of its own. Where a tool that may be run again says
that something within it is in doubt, a record above `UNKNOWN_STEPS` stands for that; the answer is
then given to the tool in its notebook, under `SETTLED_NOTE`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from homing_agent.tools.home.agent_task_tools import SETTLED_NOTE
from homing_core.jobs import JobResult, Settlement
from homing_core.provenance import Trust

from homing_node.jobs.forms import encode_outcome

if TYPE_CHECKING:
    from collections.abc import Iterable

    from homing_node.jobs.notebook import JobNotebook
    from homing_node.jobs.sealed import JobCipher
    from homing_node.jobs.store import Effect, JobRow

UNKNOWN_STEPS: Final = 1_000_000
"""From here on, records stand for something within a tool."""


class Unsettled(Exception):  # noqa: N818  # no error: the job stops and asks
    """Nobody knows whether a step happened.

    Args:
        step: which.
    """

    def __init__(self, step: int) -> None:
        """Name it."""
        super().__init__(f"step {step}")
        self.step = step


def words_for(
    row: JobRow, effects: Iterable[Effect], cipher: JobCipher, said: Settlement
) -> dict[int, bytes | None]:
    """What is to be recorded, by step; None where the record is to go, and the call be made again.

    What is known stays. Of something within a tool, the last word is what the tool is told.
    """
    return {
        effect.step: _word_for(row, effect, cipher, said)
        for effect in effects
        if effect.step >= UNKNOWN_STEPS or not effect.outcome
    }


def _word_for(row: JobRow, effect: Effect, cipher: JobCipher, said: Settlement) -> bytes | None:
    if effect.step >= UNKNOWN_STEPS:
        return cipher.seal("outcome", said.value.encode())
    if said is not Settlement.HAPPENED:
        return None
    result = JobResult(
        row.key.id,
        content=f"{row.tool.name} happened, as a person says; what it gave is not known.",
        trust=Trust.TRUSTED,
        sensitivity=row.sensitivity,
        source=row.tool.name,
    )
    return cipher.seal("outcome", encode_outcome(result))


async def settled(effects: Iterable[Effect], cipher: JobCipher, notebook: JobNotebook) -> None:
    """Give a tool what was said since its last attempt; raises `Unsettled` if nothing was."""
    heard = notebook.own("settled")
    after = heard if isinstance(heard, int) else 0
    for effect in effects:
        if effect.step < UNKNOWN_STEPS or effect.step <= after:
            continue
        if not effect.outcome:
            raise Unsettled(effect.step)
        said = cipher.open("outcome", effect.outcome).decode()
        await notebook.put(SETTLED_NOTE, said)
        await notebook.put_own("settled", effect.step)
