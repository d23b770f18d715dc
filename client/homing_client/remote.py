"""Streaming one generation from a node, over breaks of the line."""

from __future__ import annotations

import contextlib
from dataclasses import replace
from typing import TYPE_CHECKING

import structlog
from homing_core.errors import HomingError, InvalidDataError, NotFoundError, UnavailableError

from homing_client.rpc.node_calls import BrokenLineError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Coroutine

    from homing_core.generation import GenerateRequest, Numbered
    from homing_core.ids import DeviceId, GenerationId
    from homing_core.tools import Place

    from homing_client.link import NodeLink, Verified

_log = structlog.get_logger(__name__)

RESUME_S = 15.0
"""How long a node may be gone in the middle of an answer before the phone gives up on it."""
_BREAKS = 3
"""Breaks in a row without a single event between them."""
_SETTLE_S = 3.0
"""How long to look for a node that only has to be told that an answer is not wanted any more."""


class HomeRemote:
    """A model on a node that answered just now; implements `homing_agent.ports.Remote`.

    Args:
        link: the way to the node.
        verified: what it said of itself.
        wanted_model: model to ask for; empty takes the node's default.
        in_background: runs what nobody has to wait for.
        resume_s: how long the node may be gone in the middle of an answer, in seconds.
    """

    def __init__(
        self,
        link: NodeLink,
        verified: Verified,
        wanted_model: str,
        in_background: Callable[[Coroutine[object, object, None]], None],
        resume_s: float = RESUME_S,
    ) -> None:
        """Keep what the node said of itself."""
        self._link = link
        self._info = verified.info
        self._wanted = wanted_model
        self._in_background = in_background
        self._resume_s = resume_s

    @property
    def node(self) -> DeviceId:
        """The node's device id."""
        return self._info.id

    @property
    def name(self) -> str:
        """The node's name."""
        return self._info.name

    @property
    def place(self) -> Place:
        """What the phone's own record says, whatever the node claims."""
        return self._link.node.place

    @property
    def model(self) -> str:
        """The model that answers."""
        return self._wanted or self._info.default_model

    @property
    def stand_in(self) -> bool:
        """Whether that model stands in for the product's own."""
        return any(model.stand_in for model in self._info.models if model.name == self.model)

    async def generate(self, request: GenerateRequest) -> AsyncGenerator[Numbered, None]:
        """See `homing_agent.ports.Remote.generate`.

        After a break it dials again and resumes behind the last number. A node that has forgotten
        the generation meanwhile (it was restarted) is `UnavailableError`: what came so far stays.
        """
        asked = replace(request, model=self._wanted) if self._wanted else request
        last, breaks, ended = 0, 0, False
        try:
            while not ended:
                try:
                    async with contextlib.aclosing(self._stream(asked, last)) as events:
                        async for numbered in events:
                            if numbered.seq <= last:
                                continue
                            _check_next(numbered, last)
                            last, breaks, ended = numbered.seq, 0, numbered.final
                            yield numbered
                            if ended:
                                return
                    broke = BrokenLineError("the answer broke off", "Try again.")
                except BrokenLineError as error:
                    broke = error
                breaks += 1
                if breaks >= _BREAKS:
                    raise broke
                _log.info("link.resuming", node=self.node, seq=last)
                await self._reach_again()
        except NotFoundError as error:
            if not last:
                raise
            msg = f"{self.name} was restarted and lost the rest of the answer"
            raise UnavailableError(msg, "Ask again.") from error
        finally:
            if last or not ended:
                self._in_background(self._settle(asked.id, last, ended=ended))

    async def _stream(self, request: GenerateRequest, last: int) -> AsyncGenerator[Numbered, None]:
        calls = await self._link.calls(self._resume_s)
        stream = calls.resume(request.id, last) if last else calls.generate(request)
        async with contextlib.aclosing(stream) as events:
            async for numbered in events:
                yield numbered

    async def _reach_again(self) -> None:
        await self._link.drop()
        try:
            await self._link.reach(self._resume_s)
        except UnavailableError as error:
            msg = f"{self.name} went away in the middle of the answer"
            raise UnavailableError(msg, error.hint) from error

    async def _settle(self, generation: GenerationId, last: int, *, ended: bool) -> None:
        """Tell the node what it may forget; if the answer is unwanted, that it may stop."""
        with contextlib.suppress(HomingError):
            calls = await self._link.calls(_SETTLE_S)
            if not ended:
                await calls.cancel(generation)
            if last:
                await calls.ack(generation, last)


def _check_next(numbered: Numbered, last: int) -> None:
    if numbered.seq != last + 1:
        msg = "the node left out a part of the answer"
        raise InvalidDataError(msg, "Ask again.")
