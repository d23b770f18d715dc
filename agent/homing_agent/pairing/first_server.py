"""Finding a pairing server among the addresses that it may have."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from homing_core.errors import HomingError, UnavailableError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable

    from homing_core.addresses import Address
    from homing_crypto.certificates import CheckedCertificate


async def first_server(
    addresses: Iterable[Address], fetch: Callable[[Address], Awaitable[CheckedCertificate]]
) -> tuple[str, CheckedCertificate]:
    """The address at which an acceptable certificate is shown first; all are tried at once.

    Args:
        addresses: at least one.
        fetch: gives the certificate at an address, or raises `HomingError`.

    Raises:
        HomingError: the failure that says most.
    """
    failures: list[HomingError] = []

    async def attempt(address: Address) -> tuple[str, CheckedCertificate] | None:
        try:
            return str(address), await fetch(address)
        except HomingError as error:
            failures.append(error)
            return None

    tasks = [asyncio.ensure_future(attempt(address)) for address in addresses]
    try:
        for finished in asyncio.as_completed(tasks):
            if (found := await finished) is not None:
                return found
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    # Whoever answered with something wrong says more than an address where nobody is.
    telling = [one for one in failures if not isinstance(one, UnavailableError)]
    raise (telling or failures)[0]
