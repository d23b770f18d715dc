"""Opening and closing zeroconf, with its failures turned into ours."""

from __future__ import annotations

import asyncio
import contextlib
import logging

from homing_core.errors import UnavailableError
from zeroconf import Error as ZeroconfError
from zeroconf import IPVersion
from zeroconf.asyncio import AsyncZeroconf

from homing_discovery.interfaces import Selection, local_interfaces, select

CLOSE_TIMEOUT_S = 3.0
"""Seconds for goodbyes before the sockets are closed anyway."""

_HINT = "Give the node's address as host:port instead; nothing else depends on mDNS."
_log = logging.getLogger(__name__)


def current_selection(chosen: tuple[str, ...]) -> Selection:
    """Where mDNS can be spoken at this moment.

    Raises:
        UnavailableError: nowhere.
    """
    selection = select(local_interfaces(), chosen)
    if not selection.sockets:
        msg = "mDNS is off: this machine has no network interface for it"
        raise UnavailableError(msg, "It is tried again when the network changes.")
    return selection


async def open_mdns(selection: Selection) -> AsyncZeroconf:
    """Open multicast sockets.

    Raises:
        UnavailableError: the system does not allow it, or no interface took part.
    """
    try:
        version = IPVersion.All if selection.ipv6 else IPVersion.V4Only
        mdns = AsyncZeroconf(list(selection.sockets), ip_version=version)
    except (OSError, RuntimeError, ZeroconfError) as error:
        _log.debug("mDNS could not be opened", exc_info=error)
        msg = "mDNS is off: multicast is not possible here"
        raise UnavailableError(msg, _HINT) from error
    try:
        await mdns.zeroconf.async_wait_for_start()
        started = bool(mdns.zeroconf.engine.senders)
    except ZeroconfError:
        started = False
    except BaseException:
        await close_mdns(mdns)
        raise
    if not started:
        await close_mdns(mdns)
        msg = "mDNS is off: no network interface takes multicast"
        raise UnavailableError(msg, _HINT)
    return mdns


async def close_mdns(mdns: AsyncZeroconf) -> None:
    """Say goodbye and close, within `CLOSE_TIMEOUT_S`. Failures are only logged."""
    try:
        async with asyncio.timeout(CLOSE_TIMEOUT_S):
            await mdns.async_close()
    except (OSError, TimeoutError, ZeroconfError) as error:
        _log.debug("mDNS did not close cleanly", exc_info=error)
        _drop(mdns)
    except asyncio.CancelledError:
        _drop(mdns)
        raise


def _drop(mdns: AsyncZeroconf) -> None:
    """Close the sockets without a goodbye."""
    with contextlib.suppress(OSError, ZeroconfError):
        mdns.zeroconf.close()
