"""Finding the device or node that a person means: by its name, or by the start of its id. Pure."""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING, TypeVar

from homing_core.errors import ConflictError, NotFoundError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from homing_core.ids import DeviceId

    from homing_crypto.devices import PairedDevice

MIN_PREFIX = 4
"""Fewer hex digits than this never name a device."""
_SHORT_ID = 12
_MOST_LISTED = 8
_Id = TypeVar("_Id", bound=str)


def match_named(names: Mapping[_Id, str], text: str, what: str = "device") -> _Id:
    """The one whose name is `text`, or whose id starts like it.

    A whole id means its owner, whatever others call themselves. Everything else must fit one
    alone: a device that took part of another's id for its name is not found instead of it.

    Args:
        names: each id, and its name; an empty name stands for one that is found by its id only.
        text: the name, or at least `MIN_PREFIX` hex digits; case and surrounding space do not
            matter.
        what: what is looked for, for errors.

    Raises:
        UsageError: it starts an id, but is too short to name it.
        NotFoundError: nothing fits.
        ConflictError: several do.
    """
    wanted = _folded(text)
    starts = wanted.lower()
    if starts in names:
        return next(known for known in names if known == starts)
    begun = {known for known in names if starts and known.startswith(starts)}
    named = {known for known, name in names.items() if name and _folded(name) == wanted}
    found = named | begun if len(starts) >= MIN_PREFIX else named
    if len(found) == 1:
        return found.pop()
    if found:
        msg = f"{len(found)} {what}s have this name, or an id that starts like this"
        listed = _listed({known: names[known] for known in sorted(found)}, whole=True)
        raise ConflictError(msg, f"Give the id instead: {listed}")
    if begun:
        msg = f"that is too short for a {what}'s id"
        raise UsageError(msg, f"Give at least {MIN_PREFIX} digits.")
    msg = f"no {what} has this name or id"
    there = {known: name for known, name in names.items() if name}
    raise NotFoundError(msg, f"There is: {_listed(there)}" if there else f"There is no {what}.")


def device_names(devices: Iterable[PairedDevice]) -> dict[DeviceId, str]:
    """What `match_named` looks among; what people do not see is found by its id only."""
    return {device.id: device.name if device.listed else "" for device in devices}


def _folded(text: str) -> str:
    return unicodedata.normalize("NFC", text.strip()).casefold()


def _listed(names: Mapping[_Id, str], *, whole: bool = False) -> str:
    """Some of these for a person; ids to their first different digit and a few more."""
    digits = _SHORT_ID
    while whole and len({known[:digits] for known in names}) < len(names):
        digits += 4
    some = [
        f"{name} ({known[:digits]})" if name else known[:digits]
        for known, name in list(names.items())[:_MOST_LISTED]
    ]
    more = len(names) - len(some)
    return ", ".join(some) + (f", and {more} more" if more > 0 else "")
