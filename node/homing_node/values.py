"""What the daemon tells its own command line, as values."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from homing_core.access import DeviceRole, Limits
    from homing_core.devices import DeviceView
    from homing_core.nodes import NodeLoad, ServedModel


@dataclass(frozen=True, slots=True)
class ChangedView:
    """A device after a change.

    Attributes:
        device: with what was granted.
        effective: limits that hold, ceilings included.
        tighter: kinds of limit that come from elsewhere, and from where.
    """

    device: DeviceView
    effective: Limits
    tighter: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class DayView:
    """What a device used on one day of the node's calendar; tokens."""

    day: str
    generations: int
    prompt_tokens: int
    cached_tokens: int
    completion_tokens: int
    refusals: int


@dataclass(frozen=True, slots=True)
class UseView:
    """What a device used.

    Attributes:
        account: device id of its first key.
        name: for people; cleaned. Empty if the device is not known any more.
        role: what it is; None if it is not known any more.
        tokens_24h: tokens in the last 24 hours of the node's running time.
        tokens_per_day: limit on these; 0 for none.
        running: generations that run now.
        days: on which it used anything, newest first.
        introduced_by: device id of the node that vouches for it; empty if paired here.
        jobs: its jobs that have not ended.
    """

    account: str
    name: str
    role: DeviceRole | None
    tokens_24h: int
    tokens_per_day: int
    running: int
    days: tuple[DayView, ...]
    introduced_by: str = ""
    jobs: int = 0


@dataclass(frozen=True, slots=True)
class DaemonView:
    """How a daemon is.

    Attributes:
        version: Homing's.
        pid: process id.
        node_id: device id of the node.
        name: for people.
        addresses: of the main port, `host:port`, best first.
        models: what it serves.
        load: how busy it is.
    """

    version: str
    pid: int
    node_id: str
    name: str
    addresses: tuple[str, ...]
    models: tuple[ServedModel, ...]
    load: NodeLoad


class CodeOffer(Enum):
    """Whether a pairing offers a short code, and what to do with a device that knows it."""

    NONE = "none"
    ASK = "ask"
    ACCEPT = "accept"


@dataclass(frozen=True, slots=True)
class Opened:
    """The pairing server is open.

    Attributes:
        link: to show; a secret until it is used.
        expires_at: when it closes, seconds since the epoch.
        code: the short code's digits, a secret as well; empty if none is offered.
    """

    link: str
    expires_at: int
    code: str = ""


@dataclass(frozen=True, slots=True)
class WrongGuess:
    """Somebody did not know the secret.

    Attributes:
        left: guesses left.
    """

    left: int


@dataclass(frozen=True, slots=True)
class WrongCodeTyped:
    """Somebody typed another code.

    Attributes:
        left: tries left; with 0 the code is void, and the link goes on.
    """

    left: int


@dataclass(frozen=True, slots=True)
class Asks:
    """A device knows the code; a person has to say whether it may come in.

    Attributes:
        attempt_id: for the answer.
        name: what the device calls itself; cleaned.
        device_id: its id, which it shows as well.
        expires_at: when the question is void, seconds since the epoch.
    """

    attempt_id: str
    name: str
    device_id: str
    expires_at: int


@dataclass(frozen=True, slots=True)
class Paired:
    """A device was paired; the pairing server is closed.

    Attributes:
        device: the device.
    """

    device: DeviceView


@dataclass(frozen=True, slots=True)
class Closed:
    """The pairing server closed without a device.

    Attributes:
        reason: why, for people.
    """

    reason: str


PairingEvent: TypeAlias = Opened | WrongGuess | WrongCodeTyped | Asks | Paired | Closed
