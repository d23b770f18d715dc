"""What is checked on every call of the main port beside who calls: rate, end, hours."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from homing_core.access import Scope
from homing_core.errors import HomingError, OverloadedError

from homing_node.devices.limits import check_expiry, check_hours
from homing_node.devices.rate import CallRates

if TYPE_CHECKING:
    from collections.abc import Mapping

    from homing_core.access import AccessRule
    from homing_core.clock import Clock
    from homing_core.ids import DeviceId
    from homing_crypto.guard import Caller
    from homing_crypto.live_calls import LiveCalls

    from homing_node.devices.admission import Admission
    from homing_node.limit_sections import LimitsSection

USES: Final = frozenset({Scope.INFERENCE, Scope.TOOLS, Scope.JOBS, Scope.RELAY})
"""Scopes that use the node, for which hours are set. Looking after devices and keys, and asking
what may be used, is possible at any time."""
_SLOWLY: Final = "Wait a moment, then go on more slowly."
_SOON_MS: Final = 1_000
_FLOOD_MS: Final = 10_000
_MS: Final = 1_000


class FloodError(OverloadedError):
    """A device goes on calling whatever it is told.

    Args:
        account: whose calls they are.
    """

    def __init__(self, account: DeviceId) -> None:
        """In the words that all see who call too often."""
        super().__init__("this device makes far too many calls", _SLOWLY, _FLOOD_MS)
        self.account = account


class CallChecks:
    """A `homing_crypto.guard.Check`.

    Args:
        admission: knows what holds for a device.
        calls: calls under way.
        rules: what each method needs.
        section: how many calls a device may make.
        clock: the machine's.
    """

    def __init__(
        self,
        admission: Admission,
        calls: LiveCalls,
        rules: Mapping[str, AccessRule],
        section: LimitsSection,
        clock: Clock,
    ) -> None:
        """Nobody has called."""
        self._admission = admission
        self._calls = calls
        self._clock = clock
        self._at_once = section.calls_at_once
        self._rates = CallRates(section.calls_per_second, section.calls_burst)
        self._hourly = frozenset(name for name, rule in rules.items() if rule.scope in USES)

    def __call__(self, caller: Caller, method: str) -> None:
        """Raises `HomingError` if the call may not be made, or not now."""
        try:
            self._check(caller, method)
        except HomingError:
            self._admission.refused(caller.device)
            raise

    def _check(self, caller: Caller, method: str) -> None:
        wait = self._rates.take(caller.account, self._clock.monotonic())
        if wait:
            msg = "this device makes too many calls"
            if self._rates.floods(caller.account):
                raise FloodError(caller.account)
            raise OverloadedError(msg, _SLOWLY, max(int(wait * _MS), 1))
        if self._calls.count(caller.account) >= self._at_once:
            msg = f"this device has {self._at_once} calls open, which is the most"
            raise OverloadedError(msg, "Try again when some have ended.", _SOON_MS)
        standing, now = self._admission.standing(caller.device), self._clock.now()
        check_expiry(standing.limits, now)
        if method in self._hourly:
            check_hours(standing.limits, now)
