"""Budgets of tokens a day and of streams, shared by all that runs for one account or one peer.

Pure; times are the ledger's own. What a generation may still write is promised to it when it is let
in, so that several at once never write more together than is left.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from homing_core.errors import OverloadedError

from homing_node.devices.limits import duration
from homing_node.devices.window import UsageWindow

if TYPE_CHECKING:
    from collections.abc import Iterable

    from homing_node.devices.limits import Standing

_SOON_MS: Final = 2_000
_MS: Final = 1_000


@dataclass(slots=True, eq=False)
class Budget:
    """What one account, or all devices of one peer, have used and been promised.

    Attributes:
        window: tokens of the last 24 hours, those of running generations among them.
        promised: tokens that running generations may still write.
        running: generations that have not ended.
    """

    window: UsageWindow = field(default_factory=UsageWindow)
    promised: int = 0
    running: int = 0


@dataclass(frozen=True, slots=True)
class Held:
    """One budget, and the limits on it that hold for a device.

    Attributes:
        budget: what was used.
        whose: for people.
        tokens: in 24 hours at most; 0 is no limit.
        streams: at once at most; 0 is no limit.
    """

    budget: Budget
    whose: str
    tokens: int
    streams: int

    def used_up(self, at: float) -> bool:
        """Whether nothing is left to write."""
        return bool(self.tokens) and self.budget.window.total(at) >= self.tokens

    def left(self, at: float) -> int:
        """Tokens that are neither used nor promised; only where there is a limit."""
        return max(self.tokens - self.budget.window.total(at) - self.budget.promised, 0)


class Budgets:
    """All budgets of a node."""

    def __init__(self) -> None:
        """Nothing was used."""
        self._accounts: dict[str, Budget] = {}
        self._peers: dict[str, Budget] = {}

    def count(self, account: str, peer: str, at: float, tokens: int) -> None:
        """Count tokens; negative takes back."""
        for budget in self.of(account, peer):
            budget.window.add(at, tokens)

    def of(self, account: str, peer: str) -> tuple[Budget, ...]:
        """The budgets that a device draws on: its own, and that of the peer behind it."""
        own = self._accounts.setdefault(account, Budget())
        return (own, self._peers.setdefault(peer, Budget())) if peer else (own,)

    def held(self, standing: Standing, per_device: int) -> tuple[Held, ...]:
        """The same with the limits that hold.

        Args:
            standing: of the device.
            per_device: generations at once of any one device.
        """
        own, *shared = self.of(standing.device.owner, standing.peer)
        streams = min(standing.limits.concurrent_streams or per_device, per_device)
        found = [Held(own, "this device", standing.limits.tokens_per_day, streams)]
        for budget in shared:
            most = standing.shared
            found.append(
                Held(
                    budget,
                    "the home that vouches for this device",
                    most.tokens_per_day,
                    most.concurrent_streams,
                )
            )
        return tuple(found)

    def used(self, account: str, at: float) -> tuple[int, int]:
        """Tokens of the last 24 hours of an account, and generations that run."""
        budget = self._accounts.get(account)
        return (budget.window.total(at), budget.running) if budget else (0, 0)

    def tidy(self, at: float) -> None:
        """Forget budgets of which nothing counts any more."""
        for table in (self._accounts, self._peers):
            for key, budget in tuple(table.items()):
                if not budget.running and budget.window.empty(at):
                    del table[key]


def check_streams(held: Iterable[Held]) -> None:
    """Raises `OverloadedError` where as many generations run as may."""
    for one in held:
        if one.streams and one.budget.running >= one.streams:
            msg = (
                f"{one.whose} already runs {one.budget.running} answers, which is the most at once"
            )
            raise OverloadedError(msg, "Try again when one has ended.", _SOON_MS)


def room_to_write(held: Iterable[Held], prompt: int, at: float) -> int | None:
    """Tokens that may still be written behind a prompt; None where nothing limits them.

    Args:
        held: the budgets.
        prompt: tokens of the prompt.
        at: ledger time.

    Raises:
        OverloadedError: a budget is used up, or too little of it is left.
    """
    limited = [one for one in held if one.tokens]
    for one in limited:
        if one.used_up(at):
            raise used_up(one, at)
        if one.left(at) > prompt:
            continue
        if one.budget.promised:
            msg = f"what is left of the tokens a day of {one.whose} is promised to what runs"
            raise OverloadedError(msg, "Try again when that has ended.", _SOON_MS)
        msg = f"too few of the tokens a day of {one.whose} are left for this request"
        wait = one.budget.window.below_in(at, max(one.tokens - prompt, 1))
        raise OverloadedError(
            msg, f"Ask for less, or try again in {duration(wait)}.", int(wait * _MS)
        )
    return min((one.left(at) - prompt for one in limited), default=None)


def used_up(one: Held, at: float) -> OverloadedError:
    """What is said when a budget is used up."""
    wait = one.budget.window.below_in(at, one.tokens)
    msg = f"the tokens a day of {one.whose} are used up ({one.tokens:,} in 24 hours)"
    hint = f"Try again in {duration(wait)}, or ask the node's owner for more."
    return OverloadedError(msg, hint, int(wait * _MS))
