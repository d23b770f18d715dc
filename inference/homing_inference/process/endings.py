"""Why an engine answers no more."""

from __future__ import annotations

from homing_core.errors import UnavailableError


def stopped() -> UnavailableError:
    """It stopped by itself."""
    return UnavailableError("the engine stopped; it is being restarted", "Ask again.")


def closed() -> UnavailableError:
    """Somebody closed it."""
    return UnavailableError("the engine was closed", "Start it again.")
