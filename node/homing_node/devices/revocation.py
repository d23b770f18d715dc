"""What a revocation is made of, besides its order; that is the desk's."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from homing_agent.runtime.logs import get_logger
from homing_core.errors import HomingError, IntegrityError, UnavailableError, error_from_code
from homing_core.ids import parse_device_id
from homing_crypto.devices import shut_out_with

if TYPE_CHECKING:
    from collections.abc import Iterable

    from homing_core.ids import DeviceId
    from homing_crypto.devices import PairedDevice
    from homing_crypto.trust import TrustStore

    from homing_node.devices.desk import Work

_log = get_logger(__name__)


async def find_device(store: TrustStore, prefix: str) -> DeviceId:
    """The device whose id starts like this; a whole id names one even if the store is broken.

    Raises:
        UsageError: the prefix is too short.
        NotFoundError: nothing starts with it.
        ConflictError: several do.
        HomingError: the store cannot be read, and this is no whole id.
    """
    try:
        return (await asyncio.to_thread(store.find, prefix)).id
    except (UnavailableError, IntegrityError) as error:
        try:
            return parse_device_id(prefix.strip().lower())
        except HomingError:
            hint = "Give the device's whole id: it can be shut out all the same."
            raise type(error)(error.what, hint) from error


def hanging_on(store: TrustStore, device_id: DeviceId) -> tuple[PairedDevice, ...]:
    """Whom a revocation concerns; nobody that we know of if the store cannot be read."""
    try:
        device = store.lookup(device_id)
        return shut_out_with(device, store.devices()) if device else ()
    except HomingError:
        return ()


def names_of(devices: Iterable[PairedDevice]) -> set[str]:
    """Keys and accounts to shut out."""
    return {name for device in devices for name in (device.id, device.owner)}


async def end_work(work: Work, accounts: set[DeviceId]) -> None:
    """End what these have under way, all at once; what goes wrong with one is logged."""
    ended = await asyncio.gather(*map(work.end, accounts), return_exceptions=True)
    for account, outcome in zip(accounts, ended, strict=True):
        if isinstance(outcome, BaseException):
            _log.error("device.work_not_ended", device=account, exc_info=outcome)
        else:
            _log.info("device.revoked", device=account, count=outcome)


def not_stored(error: Exception) -> HomingError:
    """What to say of a revocation that only the node's memory knows."""
    why = error.what if isinstance(error, HomingError) else "something went wrong"
    msg = f"shut out until the node restarts; it could not be stored: {why}"
    hint = "Free space on the disk, or repair the trust store, and repeat."
    code = error.code.value if isinstance(error, HomingError) else "internal"
    return error_from_code(code, msg, hint)
