"""The agent: requests in, events out."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from dataclasses import replace
from typing import TYPE_CHECKING

from homing_core.errors import ConflictError, HomingError, TooLongError, UsageError
from homing_core.generation import Thinking
from homing_core.ids import new_conversation_id
from homing_core.labels import clean_label
from homing_core.messages import user
from homing_core.scoring import CONTENT_FREE, ScoreRequest

from homing_agent.calibration.file import Ties
from homing_agent.conversation import system_message
from homing_agent.events import Note
from homing_agent.interrupted import interrupted_answer, unknown_calls
from homing_agent.journal.base import RequestRecord
from homing_agent.retrieval import Offer, offer
from homing_agent.routing.decide import Rules
from homing_agent.routing.leaning import NO_LEANING, Leaning, PhonePrefix
from homing_agent.routing.learned import LearnedRule
from homing_agent.session import Session

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from homing_core.ids import RequestId
    from homing_core.messages import Message
    from homing_core.tools import ToolSpec
    from homing_inference.engine import WarmedPrefix

    from homing_agent.events import AgentEvent
    from homing_agent.parts import Parts
    from homing_agent.ports import Consent
    from homing_agent.prompts import Prompts
    from homing_agent.request import AskInput, FinalAnswer

_MOST_CHARS = 1_000_000
_MOST_PREFIX = 0.6
"""Of the context, how much the system message and tools may fill with examples."""
_MOST_TOOLS = 0.75
"""The same without examples."""


class Agent:
    """Answers requests, several at once if need be. Belongs to one event loop.

    Args:
        parts: its collaborators.
    """

    def __init__(self, parts: Parts) -> None:
        """Keep them."""
        self._parts = parts
        self._uncalibrated = parts.rules
        self._prefix = PhonePrefix()
        self._core: frozenset[str] | None = None
        self._live: set[RequestId] = set()

    @property
    def busy(self) -> bool:
        """Whether any request is being worked on."""
        return bool(self._live)

    async def warm(self) -> WarmedPrefix:
        """Have the engine compute and pin the prefix that every request begins with.

        Raises:
            HomingError: as `Engine.warm`.
        """
        tools = self._parts.registry.offered()
        engine, prompts = self._parts.engine, self._parts.prompts
        self._core = None
        system, warmed = await self._warmed(prompts, tools)
        room = engine.info.context_tokens * _MOST_PREFIX
        if prompts.examples and (warmed is None or warmed.tokens > room > 0):
            # Better a phone without examples than one that cannot hold a conversation.
            prompts = replace(prompts, examples=())
            self._parts = replace(self._parts, prompts=prompts)
            system, warmed = await self._warmed(prompts, tools)
        most = engine.info.context_tokens * _MOST_TOOLS
        while len(tools) > 1 and (warmed is None or warmed.tokens > most > 0):
            # The first of them are the phone's own; the rest is found by what is asked.
            tools = tools[: len(tools) // 2]
            self._core = frozenset(tool.name for tool in tools)
            system, warmed = await self._warmed(prompts, tools)
        if warmed is None:
            msg = "the tools alone are more than the phone's model can hold"
            raise TooLongError(msg, "Give it a larger model.context_tokens.")
        self._prefix = PhonePrefix(warmed.tokens, await self._leaning(system, tools))
        self._parts = replace(self._parts, rules=self._rules(warmed))
        return warmed

    def _offered(self, request: str) -> tuple[Offer, Parts]:
        """What the phone's model may call for a request, and what the agent is made of for it.

        No calibration holds where tools are offered beside those that it was made with.
        """
        parts, tools = self._parts, self._parts.registry.offered()
        pinned = self._core
        if pinned is None:
            return Offer(tools, len(tools)), parts
        core = [tool for tool in tools if tool.name in pinned]
        more = [tool for tool in tools if tool.name not in pinned]
        tokens = int(parts.engine.info.context_tokens * parts.limits.more_tools)
        offered = offer(request, core, more, tokens, parts.retriever)
        alone = len(offered.tools) == len(core)
        return offered, parts if alone else replace(parts, rules=self._uncalibrated)

    def _rules(self, warmed: WarmedPrefix) -> Rules:
        """The learned rule for this model, prompt and set of tools; as they were if none is."""
        rules, book = self._uncalibrated, self._parts.calibrations
        info = self._parts.engine.info
        ties = Ties(info.model, warmed.sha256, info.sha256)
        found = None if book is None else book.find(ties)
        if found is None:
            return rules
        return Rules(rules.thresholds, LearnedRule(found.calibrated.learned, rules.thresholds))

    async def _warmed(
        self, prompts: Prompts, tools: tuple[ToolSpec, ...]
    ) -> tuple[tuple[Message, ...], WarmedPrefix | None]:
        """The system message, and what was pinned; None if it does not fit."""
        engine = self._parts.engine
        system = (system_message(prompts.for_phone(tools, engine.info.chat_format)),)
        try:
            return system, await engine.warm(system, tools, Thinking.OFF)
        except TooLongError:
            return system, None

    async def _leaning(self, system: tuple[Message, ...], tools: tuple[ToolSpec, ...]) -> Leaning:
        """How the model leans behind the prefix; nothing where its engine cannot tell."""
        nothing_asked = (*system, user(CONTENT_FREE))
        try:
            return Leaning.of(await self._parts.engine.score(ScoreRequest(nothing_asked, tools)))
        except HomingError:
            return NO_LEANING

    def recover(self) -> tuple[FinalAnswer, ...]:
        """End what a killed process left half done; to be called once, before anything is asked.

        A request that may have changed something gets its honest end and is never run again. One
        that changed nothing, or that has a job on a node, is left to be asked again under its id.

        Returns:
            The ends, for whoever wants to tell the person.
        """
        ends: list[FinalAnswer] = []
        for record in self._parts.journal.unfinished_requests():
            end = self._end_interrupted(record)
            if end is not None:
                ends.append(end)
        return tuple(ends)

    async def ask(self, asked: AskInput, consent: Consent) -> AsyncGenerator[AgentEvent, None]:
        """Work on a request. The last event is its `FinalAnswer`, whether it went well or not.

        A request id that was answered gets that answer again, and nothing is done twice; one whose
        process was killed while a job ran goes on with that job. Closing the generator cancels the
        work; a tool that is running ends first, and is recorded, but a job goes on at its node.

        Args:
            asked: the request.
            consent: the way to the person.

        Raises:
            UsageError: nothing is asked, or an allowed tool does not exist.
            TooLongError: it is longer than a million characters.
            ConflictError: the id is being worked on, or was used for something else.
            InternalError: the journal cannot be written.
        """
        await self._check(asked)
        if asked.request_id in self._live:
            msg = "this request is being worked on"
            raise ConflictError(msg, "Wait for its answer.")
        record = self._parts.journal.begin_request(
            RequestRecord(
                id=asked.request_id,
                conversation_id=asked.conversation_id or new_conversation_id(),
                content_hash=asked.content_hash,
                started_at=self._parts.clock.now(),
            )
        )
        known = record.answer or self._end_interrupted(record)
        if known is not None:
            yield known
            return
        self._live.add(asked.request_id)
        try:
            async with aclosing(self._events(asked, record, consent)) as events:
                async for event in events:
                    yield event
        finally:
            self._live.discard(asked.request_id)

    async def _events(
        self, asked: AskInput, record: RequestRecord, consent: Consent
    ) -> AsyncGenerator[AgentEvent, None]:
        queue: asyncio.Queue[AgentEvent | None] = asyncio.Queue()
        offered, parts = self._offered(asked.text)
        if offered.words:
            queue.put_nowait(Note(offered.words))
        session = Session(
            parts,
            asked,
            record.conversation_id,
            prefix=self._prefix,
            tools=offered.tools,
            consent=consent,
            emit=queue.put_nowait,
        )
        task = asyncio.create_task(session.run())
        task.add_done_callback(lambda _: queue.put_nowait(None))
        try:
            while (event := await queue.get()) is not None:
                yield event
            yield await task
        finally:
            if not task.done():
                task.cancel()
                await asyncio.wait({task})

    async def _check(self, asked: AskInput) -> None:
        if not asked.text.strip():
            msg = "nothing was asked"
            raise UsageError(msg, "Write what you want, in quotes.")
        if len(asked.text) > _MOST_CHARS:
            msg = f"the request is longer than {_MOST_CHARS} characters"
            raise TooLongError(msg, "Shorten it.")
        for tool in self._parts.registry.unavailable():
            if tool.name in asked.allowed_tools:
                msg = f"{tool.name} cannot act on this device: {tool.reason}"
                raise UsageError(msg, "homing tools lists what can.")
        unknown = sorted(asked.allowed_tools - self._parts.registry.names)
        if unknown and self._parts.jobs is not None:
            unknown = sorted(set(unknown) - await self._parts.jobs.names())
        if unknown:
            msg = f"there is no tool named {clean_label(unknown[0])}"
            raise UsageError(msg, "homing tools lists them; --allow takes the exact name.")

    def _end_interrupted(self, record: RequestRecord) -> FinalAnswer | None:
        journal = self._parts.journal
        effects = journal.effects(record.id)
        answer = interrupted_answer(record, effects)
        if answer is not None:
            journal.finish_request(record.id, answer, ())
            for call_id in unknown_calls(effects):
                journal.settle_effect(call_id)
        return answer
