"""Work that runs side by side, and which calls may."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, TypeVar

from homing_core.tools import EffectClass

if TYPE_CHECKING:
    from collections.abc import Coroutine, Iterable, Iterator, Sequence

    from homing_core.tools import ToolSpec

    from homing_agent.turns import ChosenCall

_T = TypeVar("_T")


async def gathered(work: Iterable[Coroutine[None, None, _T]]) -> list[_T]:
    """Run all of it side by side; results in its order.

    The first failure ends the rest and is raised once the rest has ended; so does cancellation.
    """
    tasks = [asyncio.ensure_future(one) for one in work]
    try:
        return await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def side_by_side(
    calls: Sequence[ChosenCall], tools: Sequence[ToolSpec]
) -> Iterator[list[ChosenCall]]:
    """The calls in groups that run one after the other, each group's calls side by side. Pure.

    Neighbours that only read, and that may be repeated, share a group; whatever acts is alone, for
    the model put it where it is. The same call is not made twice at once.

    Args:
        calls: of one turn, in order.
        tools: that are offered.
    """
    reading = {spec.name for spec in tools if spec.effect is EffectClass.READ and spec.idempotent}
    group: list[ChosenCall] = []
    for chosen in calls:
        joins = chosen.call.name in reading and not any(
            one.call.name not in reading or _same(one, chosen) for one in group
        )
        if group and not joins:
            yield group
            group = []
        group.append(chosen)
    if group:
        yield group


def _same(one: ChosenCall, other: ChosenCall) -> bool:
    return (one.call.name, one.call.argument_hash) == (other.call.name, other.call.argument_hash)
