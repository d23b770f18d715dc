"""Devices and their limits, in words and for scripts, alike on the node and on an owner's phone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from homing_agent.runtime.moments import moment

if TYPE_CHECKING:
    from homing_core.access import Limits
    from homing_core.devices import DeviceView
    from homing_core.keys import OwnKey

SHORT_ID = 12
"""Digits of a device id that are shown; enough to name it."""


def limit_lines(limits: Limits) -> list[tuple[str, str]]:
    """What is limited, in words, each with the field of `Limits` that says so."""
    lines = [
        ("tokens_per_day", f"{limits.tokens_per_day:,} tokens a day"),
        ("concurrent_streams", f"{limits.concurrent_streams} at once"),
        ("jobs", f"{limits.jobs} jobs"),
        ("models", f"models {', '.join(limits.models)}"),
        ("tools", f"tools {', '.join(limits.tools)}"),
        ("hours", f"hours {limits.hours}"),
        ("expires_at", f"until {moment(limits.expires_at)}"),
    ]
    return [(kind, words) for kind, words in lines if getattr(limits, kind)]


def limits_text(limits: Limits) -> str:
    """The limits in one line; empty if there are none."""
    return "; ".join(words for _, words in limit_lines(limits))


def limit_object(limits: Limits) -> dict[str, Any]:
    """Limits as `--json` prints them; null is no limit."""
    return {
        "tokens_per_day": limits.tokens_per_day or None,
        "concurrent_streams": limits.concurrent_streams or None,
        "jobs": limits.jobs or None,
        "models": list(limits.models) or None,
        "tools": list(limits.tools) or None,
        "expires_at": limits.expires_at or None,
        "hours": limits.hours or None,
    }


def device_object(device: DeviceView) -> dict[str, Any]:
    """The device as `--json` prints it; its limits are those that it was granted."""
    return {
        "id": device.id,
        "name": device.name,
        "role": device.role.value,
        "scopes": sorted(scope.value for scope in device.scopes),
        "paired_at": device.paired_at,
        "last_seen_at": device.last_seen_at or None,
        "introduced_by": device.introduced_by or None,
        "limits": limit_object(device.limits),
        "state": device.state.value,
    }


def key_object(key: OwnKey) -> dict[str, Any]:
    """A key of one's own as `--json` prints it."""
    return {
        "id": key.id,
        "created_at": key.created_at,
        "replaced_at": key.replaced_at or None,
        "ends_at": key.ends_at or None,
    }
