"""Finding the pairing server: by its addresses, or on the local network."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from homing_core.errors import ConflictError, HomingError, UnavailableError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable

    from homing_core.addresses import Address
    from homing_crypto.certificates import CheckedCertificate
    from homing_discovery.hints import Hint

_LISTED = 4
"""Addresses that an error names."""
_SAY_WHERE = "Give the address that the node shows beside its code: homing pair CODE --at HOST:PORT"


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


def only_server(hints: tuple[Hint, ...]) -> tuple[Address, ...]:
    """The addresses of the one open pairing that was heard.

    Each try is a guess for whoever answers, so nobody is tried on the off chance.

    Raises:
        UnavailableError: none was heard.
        ConflictError: several were; a person has to say which.
    """
    if not hints:
        msg = "no node on this network says that it shows a code"
        raise UnavailableError(msg, _SAY_WHERE)
    first, *others = hints
    if others:
        where = ", ".join(str(one) for hint in hints[:_LISTED] for one in hint.addresses[:1])
        msg = f"{len(hints)} computers on this network say that they show a code: {where}"
        raise ConflictError(msg, _SAY_WHERE)
    return first.addresses


def nobody_listens() -> UnavailableError:
    """The error where looking for nodes is switched off."""
    return UnavailableError("looking for nodes is switched off ([home] mdns)", _SAY_WHERE)
