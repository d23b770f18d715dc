"""One generation that was let in: what it uses is counted as it comes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from homing_agent.runtime.logs import get_logger
from homing_core.errors import HomingError
from homing_core.generation import Done, Failed, FinishReason, Sampled, Usage

from homing_node.devices.budgets import used_up
from homing_node.generations.counting import written_tokens

if TYPE_CHECKING:
    from collections.abc import Callable

    from homing_core.generation import GenerateRequest, GenerationEvent

    from homing_node.devices.budgets import Held
    from homing_node.devices.ledger import UsageLedger
    from homing_node.devices.ledger_rows import Use
    from homing_node.devices.ledger_time import LedgerTime

_log = get_logger(__name__)


class CountedTicket:
    """A `homing_node.generations.gate.Ticket` whose tokens count. Belongs to one event loop.

    Its prompt counts from the start, by an estimate, mostly too high, until the engine says how
    much it was; of a generation that is cut off before that, the estimate stays.

    Args:
        request: what the engine is asked.
        use: what is noted.
        held: the budgets that it draws on.
        may_write: tokens that it may write, in all its answers; 0 if that is not known.
        time: the ledger's own.
        ledger: where it is noted.
        yields: whether it makes way for the household.
        cut: whether it may write less than was asked for.
        on_close: told once when it has ended.

    Attributes:
        noted: whether it has, or may have, a row in the ledger.
    """

    def __init__(  # noqa: PLR0913  # each is a part of its own
        self,
        *,
        request: GenerateRequest,
        use: Use,
        held: tuple[Held, ...],
        may_write: int,
        time: LedgerTime,
        ledger: UsageLedger,
        yields: bool,
        cut: bool,
        on_close: Callable[[CountedTicket], None],
    ) -> None:
        """Count the prompt, and promise the answer."""
        self.request = request
        self.use = use
        self.yields = yields
        self._held = held
        self._time = time
        self._ledger = ledger
        self._cut = cut
        self._on_close = on_close
        self._limited = any(one.tokens for one in held)
        self._may_write = may_write
        self._promised = 0
        self._seen = use.tokens
        self._closed = False
        self._begun = False
        self.noted = False
        for one in held:
            one.budget.running += 1
        self._count(use.tokens)
        self._promise()

    async def begin(self) -> None:
        """Note it; see `Ticket.begin`.

        Raises:
            HomingError: it cannot be noted, and its tokens are limited.
        """
        self.noted = True
        try:
            await self._ledger.begin(self.use)
        except HomingError as error:
            if self._limited:
                raise
            _log.warning("usage.not_written", what=error.what)
        self._begun = True

    def count(self, event: GenerationEvent) -> tuple[GenerationEvent, ...]:
        """See `Ticket.count`."""
        before = self.use.tokens
        if isinstance(event, Usage):
            self.use.prompt = event.prompt_tokens
            self.use.cached = min(event.cached_tokens, event.prompt_tokens)
            self.use.completion = event.completion_tokens
        else:
            by_logprobs = self.request.logprobs > 0
            self.use.completion += written_tokens(event, by_logprobs=by_logprobs)
        self._count(self.use.tokens - before)
        self._promise()
        if not self._limited or isinstance(event, Usage | Failed):
            return (event,)
        if isinstance(event, Done):
            cut = self._cut and event.reason is FinishReason.LENGTH
            return (self._stopped(),) if cut else (event,)
        ended = isinstance(event, Sampled) and isinstance(event.event, Done | Failed)
        if not ended and any(one.used_up(self._time.now()) for one in self._held):
            return (event, self._stopped())
        return (event,)

    def changed(self) -> bool:
        """Whether its counts differ from when this was last asked."""
        changed = self.use.tokens != self._seen
        self._seen = self.use.tokens
        return changed

    def hold(self, held: tuple[Held, ...]) -> None:
        """Go by other limits on the same budgets from now on, after a grant."""
        if [one.budget for one in held] == [one.budget for one in self._held]:
            self._held = held
            self._limited = any(one.tokens for one in held)
            self._promise()

    def close(self, outcome: str) -> None:
        """See `Ticket.close`. What no engine was asked for does not count."""
        if self._closed:
            return
        self._closed = True
        self.use.outcome = outcome
        if not self._begun:
            self._count(-self.use.tokens)
            self.use.prompt = self.use.cached = self.use.completion = 0
        for one in self._held:
            one.budget.running -= 1
            one.budget.promised -= self._promised
        self._promised = 0
        self._on_close(self)

    def _count(self, tokens: int) -> None:
        at = self._time.now()
        for one in self._held:
            one.budget.window.add(at, tokens)

    def _promise(self) -> None:
        """Hold back what it may still write, where that is limited."""
        still = max(self._may_write - self.use.completion, 0) if self._limited else 0
        for one in self._held:
            one.budget.promised += still - self._promised
        self._promised = still

    def _stopped(self) -> Failed:
        at = self._time.now()
        out = next((one for one in self._held if one.used_up(at)), None)
        if out is None:
            out = min((one for one in self._held if one.tokens), key=lambda one: one.left(at))
        return Failed.from_error(used_up(out, at))
