"""What the rest of Homing sees of discovery. Fakes are in `testing`, real ones beside this file.

All methods belong to one event loop. `start` and `refresh` raise `UnavailableError` where multicast
is not possible; the object stays usable, and a later `refresh` tries again. `close` is for good and
harmless to repeat.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterable

    from homing_discovery.hints import Hint


@dataclass(frozen=True, slots=True)
class NetworkState:
    """The addresses of this machine at one moment.

    Attributes:
        addresses: pairs of interface name and IP address.
    """

    addresses: frozenset[tuple[str, str]] = frozenset()


class OnNetwork(Protocol):
    """Something that lives on the network and must be told when that changes."""

    async def start(self) -> None:
        """Begin; raises `UnavailableError`."""
        ...

    async def refresh(self) -> None:
        """Take up the network as it is now; raises `UnavailableError`."""
        ...

    async def close(self) -> None:
        """End."""
        ...


class Announcer(OnNetwork, Protocol):
    """Says by mDNS that a node is here; `close` says goodbye."""

    @property
    def active(self) -> bool:
        """Whether the node is being announced."""
        ...


class Browser(OnNetwork, Protocol):
    """Listens for nodes. Hints heard stay known until it is closed, also while it cannot listen."""

    def want(self, tokens: Iterable[str]) -> None:
        """Say which nodes matter: they are asked for by name and never forgotten."""
        ...

    def hints(self, token: str | None = None) -> tuple[Hint, ...]:
        """What is known now, newest first; of one node if a token is given."""
        ...

    def watch(self) -> AsyncGenerator[Hint, None]:
        """Everything known, then whatever changes or appears again, until it is closed.

        A slow reader gets the newest state of each node and never a backlog.
        """
        ...

    async def find(self, token: str, timeout_s: float) -> Hint | None:
        """Ask for one node and wait for a hint; None if there is none in `timeout_s` seconds."""
        ...


class NetworkWatcher(Protocol):
    """Notices when this machine's interfaces or addresses change."""

    async def start(self) -> None:
        """Begin; never fails, it polls where the system tells it nothing."""
        ...

    def state(self) -> NetworkState:
        """The addresses as last noticed."""
        ...

    def changes(self) -> AsyncGenerator[NetworkState, None]:
        """The state after each change from now on, until it is closed; a burst is one change."""
        ...

    async def close(self) -> None:
        """End."""
        ...
