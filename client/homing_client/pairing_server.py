"""Finding the pairing server: by its addresses, or on the local network."""

from __future__ import annotations

from typing import TYPE_CHECKING

from homing_core.errors import ConflictError, UnavailableError

if TYPE_CHECKING:
    from homing_core.addresses import Address
    from homing_discovery.hints import Hint

_LISTED = 4
"""Addresses that an error names."""
_SAY_WHERE = "Give the address that the node shows beside its code: homing pair CODE --at HOST:PORT"


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
