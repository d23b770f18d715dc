"""Lets generations in within the limits that hold, counts what they use, and notes it.

Whatever a request says, the device's entry, the operator's ceilings and what was used decide; see
`limits` and `budgets`. An answer is promised what it may write when it is let in; it is stopped as
soon as its budget is used up all the same, such as when a grant was lowered while it ran.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from homing_agent.runtime.logs import get_logger
from homing_core.access import Scope
from homing_core.errors import (
    HomingError,
    NotFoundError,
    OverloadedError,
    RefusedError,
    UnpairedError,
)
from homing_core.generation import Priority
from homing_core.nodes import OwnLimits
from homing_crypto.guard import check_live

from homing_node.devices.budgets import Budgets, check_streams, room_to_write
from homing_node.devices.ledger_rows import Use
from homing_node.devices.limits import (
    Standing,
    check_expiry,
    check_hours,
    seconds_until_open,
    standing_of,
)
from homing_node.devices.model_access import check_model
from homing_node.devices.ticket import CountedTicket
from homing_node.generations.counting import prompt_tokens

if TYPE_CHECKING:
    from collections.abc import Iterable

    from homing_core.clock import Clock
    from homing_core.generation import GenerateRequest
    from homing_core.ids import DeviceId
    from homing_crypto.devices import PairedDevice
    from homing_crypto.trust import TrustStore

    from homing_node.devices.ledger import UsageLedger
    from homing_node.devices.model_access import ModelNames
    from homing_node.limit_sections import LimitsSection

_log = get_logger(__name__)
_MOST_REFUSALS: Final = 4096
"""Accounts whose refusals are counted between two writes."""


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a generation must not go on.

    Attributes:
        account: whose it is.
        id: of the generation; empty if it concerns everything of the account.
        error: what is said.
    """

    account: DeviceId
    id: str
    error: HomingError


class Admission:
    """Lets generations in. Belongs to one event loop.

    Args:
        store: whom the node knows.
        section: the operator's ceilings.
        per_device: generations at once of any one device.
        models: what is served.
        ledger: where use is noted; open.
        clock: for hours and ends.
    """

    def __init__(  # noqa: PLR0913  # each is a boundary of its own
        self,
        *,
        store: TrustStore,
        section: LimitsSection,
        per_device: int,
        models: ModelNames,
        ledger: UsageLedger,
        clock: Clock,
    ) -> None:
        """Count again what earlier runs of the daemon counted."""
        self._store = store
        self._section = section
        self._per_device = per_device
        self._models = models
        self._ledger = ledger
        self._clock = clock
        self._budgets = Budgets()
        self._tickets: set[CountedTicket] = set()
        self._ended: list[Use] = []
        self._refusals: dict[tuple[DeviceId, str], int] = {}
        for one in ledger.recent:
            self._budgets.count(one.account, one.introduced_by, one.at, one.tokens)

    def standing(self, device: PairedDevice) -> Standing:
        """What holds for a device now.

        Raises:
            RefusedError: the node that should vouch for it is not known.
            HomingError: the store cannot be read.
        """
        return standing_of(device, self._introducer(device), self._section)

    def over(self, device: PairedDevice) -> None:
        """Raises `HomingError` if nothing of this device may go on now."""
        standing, now = self.standing(device), self._clock.now()
        check_expiry(standing.limits, now)
        check_hours(standing.limits, now)

    def admit(self, device: PairedDevice, request: GenerateRequest) -> CountedTicket:
        """Let a generation in.

        Raises:
            NotFoundError: the device may not use this model.
            RefusedError: its time is over, or this is none of its hours.
            OverloadedError: a limit is reached; it says when to try again.
        """
        try:
            ticket = self._admit(device, request)
        except (RefusedError, OverloadedError, NotFoundError):
            self.refused(device)
            raise
        self._tickets.add(ticket)
        return ticket

    def refused(self, device: PairedDevice) -> None:
        """Count a call that was refused for a limit."""
        key = (device.owner, device.introduced_by)
        if key in self._refusals or len(self._refusals) < _MOST_REFUSALS:
            self._refusals[key] = self._refusals.get(key, 0) + 1

    def own_limits(self, device: PairedDevice) -> OwnLimits:
        """What the device itself is told."""
        standing, at = self.standing(device), self._ledger.time.now()
        limits = standing.limits
        lefts = [
            max(one.tokens - one.budget.window.total(at), 0)
            for one in self._budgets.held(standing, self._per_device)
            if one.tokens
        ]
        return OwnLimits(
            replace(limits, concurrent_streams=limits.concurrent_streams or self._per_device),
            min(lefts, default=0),
            seconds_until_open(limits, self._clock.now()),
        )

    def used(self, account: str) -> tuple[int, int]:
        """Tokens of the last 24 hours of an account, and its generations that run."""
        return self._budgets.used(account, self._ledger.time.now())

    def reasons(self, known: Iterable[PairedDevice]) -> list[Reason]:
        """What runs and must not go on.

        Args:
            known: every device of the node.
        """
        everyone = tuple(known)
        found: dict[tuple[str, str], Reason] = {}
        for ticket in tuple(self._tickets):
            reason = self._reason(ticket, everyone)
            if reason is not None:
                found[reason.account, reason.id] = reason
        return list(found.values())

    async def flush(self) -> None:
        """Bring the ledger up to date; what cannot be written is tried again the next time."""
        ended, self._ended = self._ended, []
        refusals, self._refusals = self._refusals, {}
        running = [ticket.use for ticket in self._tickets if ticket.changed()]
        try:
            await self._ledger.update([*running, *ended], refusals)
        except HomingError as error:
            _log.warning("usage.not_written", what=error.what)
            self._ended = [use for use in ended if use.number] + self._ended
            for key, count in refusals.items():
                self._refusals[key] = self._refusals.get(key, 0) + count
        self._budgets.tidy(self._ledger.time.now())

    def _admit(self, device: PairedDevice, request: GenerateRequest) -> CountedTicket:
        standing, now = self.standing(device), self._clock.now()
        check_expiry(standing.limits, now)
        check_hours(standing.limits, now)
        check_model(standing.limits, request, self._models)
        held = self._budgets.held(standing, self._per_device)
        check_streams(held)
        at, prompt = self._ledger.time.now(), prompt_tokens(request)
        each = self._share(request, room_to_write(held, prompt, at))
        wanted = request.sampling.max_tokens or self._models.context_tokens(request.model)
        cut = each is not None and not 0 < wanted <= each
        sampling = request.sampling
        if cut and each is not None:
            sampling = replace(sampling, max_tokens=each)
        household = standing.household
        let_in = replace(
            request,
            owner=device.owner,
            # Within an engine nobody of the household waits for others.
            priority=request.priority if household else Priority.JOB,
            sampling=sampling,
        )
        return CountedTicket(
            request=let_in,
            use=Use(request.id, device.owner, standing.peer, request.model, now, prompt),
            held=held,
            may_write=(sampling.max_tokens or wanted) * max(request.samples, 1),
            time=self._ledger.time,
            ledger=self._ledger,
            yields=not household,
            cut=cut,
            on_close=self._closed,
        )

    @staticmethod
    def _share(request: GenerateRequest, room: int | None) -> int | None:
        """Tokens for each answer, so that all together stay within the room; None for no limit."""
        if room is None:
            return None
        each = room // max(request.samples, 1)
        if not each:
            msg = "too few of the tokens a day are left for so many answers"
            raise OverloadedError(msg, "Ask for fewer answers, or try again later.")
        return each

    def _reason(self, ticket: CountedTicket, known: tuple[PairedDevice, ...]) -> Reason | None:
        """Why it must end: none of its device's keys lets it go on."""
        account, now = ticket.use.account, self._clock.now()
        msg = "this device is not paired with the node any more"
        error: HomingError = UnpairedError(msg, "Ask the node's owner to pair it again.")
        whole = True
        for device in known:
            if device.owner != account:
                continue
            try:
                check_live(device, now)
                self.over(device)
                if Scope.INFERENCE not in device.scopes:
                    msg = "this device may not use models on this node any more"
                    error = RefusedError(msg, "Ask the node's owner.")
                    continue
                whole = False
                standing = self.standing(device)
                check_model(standing.limits, ticket.request, self._models)
                ticket.hold(self._budgets.held(standing, self._per_device))
            except HomingError as refusal:
                error = refusal
                continue
            return None
        return Reason(account, "" if whole else ticket.use.id, error)

    def _closed(self, ticket: CountedTicket) -> None:
        self._tickets.discard(ticket)
        if ticket.noted:
            self._ended.append(ticket.use)

    def _introducer(self, device: PairedDevice) -> PairedDevice | None:
        """The node that vouches for a device, by its account or one of its keys."""
        if not device.introduced_by:
            return None
        now, keys = self._clock.now(), self._store.keys(device.introduced_by)
        return next((key for key in keys if key.live(now)), None)
