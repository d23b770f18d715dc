"""What to say when no address led to a node: whatever says most. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from homing_core.errors import HomingError, IntegrityError, UnavailableError, UnpairedError
from homing_crypto.rpc_errors import BelowFloorError

from homing_client.rpc.node_calls import NobodyListensError

if TYPE_CHECKING:
    from collections.abc import Mapping


def explain(
    name: str, failures: Mapping[str, HomingError], last_address: str, *, knows_us_not: bool
) -> HomingError:
    """The one error for a person.

    Args:
        name: the node's.
        failures: what came of each address that was dialled; at least one.
        last_address: where the node was last; empty for nowhere.
        knows_us_not: whether the node itself, proven by its key, closed our connection.
    """
    errors = tuple(failures.values())
    for error in errors:
        if isinstance(error, UnpairedError):
            return UnpairedError(f"{name} does not let this phone in: {error.what}", error.hint)
    if knows_us_not:
        return UnpairedError(
            f"{name} does not know this phone any more",
            "It was shut out there, or the node was set up anew. To pair again, on that computer: "
            "homing-node pair. Then here: homing pair LINK",
        )
    strangers = [error for error in errors if isinstance(error, IntegrityError)]
    if len(strangers) == len(errors):
        return strangers[0]
    for error in errors:
        below = isinstance(error, BelowFloorError)
        if below or not isinstance(error, UnavailableError | IntegrityError):
            named = BelowFloorError(f"{name} was not reached: {error.what}", error.hint)
            return named if below else error
    also = ", and another computer has one of its addresses" if strangers else ""
    what = f"{name} does not answer{also}"
    refused = {at for at, error in failures.items() if isinstance(error, NobodyListensError)}
    if last_address in refused or len(refused) == len(errors):
        return NobodyListensError(what, "Start it on the home computer: homing-node run")
    return UnavailableError(what, "Check that it runs and that its network is yours.")
