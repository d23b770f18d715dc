"""The decision on every call: who is it, and may it? Closed on any doubt."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import structlog
from homing_core.access import AccessRule, DeviceRole, Scope, allowed
from homing_core.errors import HomingError, OverloadedError, RefusedError, UnpairedError

from homing_crypto.credentials import caller_device_id
from homing_crypto.devices import PairedDevice

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from homing_core.clock import Clock
    from homing_core.ids import DeviceId

    from homing_crypto.trust import TrustStore

TLS_VERSION = b"TLSv1.3"
"""gRPC's server also accepts TLS 1.2 and cannot be told not to, so each call is checked."""
HYBRID_GROUP = b"X25519MLKEM768"
"""The post-quantum key exchange that gRPC chooses by default; only the server can see it."""

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Caller:
    """A paired device in the middle of a call.

    Attributes:
        device: as the trust store knew it when the call began.
        address: where it calls from, as far as the node can see; empty if it cannot.
    """

    device: PairedDevice
    address: str = ""

    @property
    def id(self) -> DeviceId:
        """Its id: which key it is."""
        return self.device.id

    @property
    def account(self) -> DeviceId:
        """Whose work and usage its own are; the same for all keys of a device."""
        return self.device.owner

    @property
    def role(self) -> DeviceRole:
        """What it is."""
        return self.device.role

    @property
    def scopes(self) -> frozenset[Scope]:
        """What it may do."""
        return self.device.scopes


@dataclass(frozen=True, slots=True)
class Refusal:
    """A call that was not let in.

    Attributes:
        method: the method's full name.
        device: the caller's key, as far as its certificate says; empty if it has none.
        address: where it called from; empty if that cannot be seen.
        error: what it was told.
    """

    method: str
    device: str
    address: str
    error: HomingError


Check: TypeAlias = "Callable[[Caller, str], None]"
"""One more condition on a caller and a method's full name; raises `HomingError` to refuse."""


class ShutOut:
    """Devices that are refused at once, whatever the store says or fails to say. Thread-safe.

    A revocation begins here and is then stored, so that a full disk keeps nobody in.
    """

    def __init__(self) -> None:
        """Nobody."""
        self._accounts: frozenset[str] = frozenset()

    def __contains__(self, device: object) -> bool:
        """Whether the device, its account, or whoever vouches for it is shut out."""
        return isinstance(device, PairedDevice) and bool(
            self._accounts & {device.id, device.owner, device.introduced_by}
        )

    def add(self, ids: Iterable[str]) -> None:
        """Shut these keys or accounts out."""
        self._accounts |= frozenset(ids)

    def remove(self, ids: Iterable[str]) -> None:
        """Ask the store about them again: after a new pairing."""
        self._accounts -= frozenset(ids)


def _nobody_listens(refusal: Refusal) -> None:
    del refusal


class Guard:
    """Decides on every call to a node's main port.

    Args:
        rules: what each method needs, by its full name (`/package.Service/Method`); a method that
            is not in it is closed to everyone.
        store: whom the node knows.
        clock: for leases and time limits.
        require_hybrid: refuse callers without the post-quantum key exchange.
        shut_out: who is refused before the store is asked.
        checks: further conditions, in order, after all others.
        on_refused: told of every call that was not let in; it must not raise.
    """

    def __init__(  # noqa: PLR0913  # each is a condition of its own
        self,
        rules: Mapping[str, AccessRule],
        store: TrustStore,
        clock: Clock,
        *,
        require_hybrid: bool = False,
        shut_out: ShutOut | None = None,
        checks: tuple[Check, ...] = (),
        on_refused: Callable[[Refusal], None] = _nobody_listens,
    ) -> None:
        """Keep the table and where to look."""
        self._shut_out = ShutOut() if shut_out is None else shut_out
        self._checks = checks
        self._on_refused = on_refused
        self._rules = dict(rules)
        self._store = store
        self._clock = clock
        self._require_hybrid = require_hybrid

    def authorize(
        self, method: str, auth_context: Mapping[str, Iterable[bytes]], address: str = ""
    ) -> Caller:
        """Let a call in, or say why not. Takes well under a millisecond; call it on the loop.

        Args:
            method: the method's full name.
            auth_context: `grpc.aio.ServicerContext.auth_context()`.
            address: where it comes from, as far as that can be seen.

        Raises:
            UnpairedError: the caller is not, or no longer, paired.
            RefusedError: it may not do this, or the node cannot tell.
            OverloadedError: it may, but not now.
        """
        try:
            caller = self._decide(method, auth_context, address)
        except (RefusedError, OverloadedError) as error:
            self._on_refused(Refusal(method, _said_id(auth_context), address, error))
            raise
        except Exception as error:
            _log.error("guard.closed", method=method, error_type=type(error).__name__)
            msg = "the node cannot check this device at the moment"
            closed = RefusedError(msg, "Look at the node's log.")
            self._on_refused(Refusal(method, _said_id(auth_context), address, closed))
            raise closed from error
        self._note(caller)
        return caller

    def _decide(
        self, method: str, auth_context: Mapping[str, Iterable[bytes]], address: str
    ) -> Caller:
        device_id = caller_device_id(auth_context)
        self._check_floor(auth_context)
        device = self._store.lookup(device_id)
        if device is None:
            msg = "this device is not paired with the node"
            raise UnpairedError(msg, "Pair it: homing-node pair, on the node.")
        if device in self._shut_out:
            raise _revoked()
        check_live(device, self._clock.now())
        if not allowed(self._rules.get(method), device.role, device.scopes):
            msg = "this device may not do that on this node"
            raise RefusedError(msg, "Ask the node's owner to allow it.")
        caller = Caller(device, address)
        for check in self._checks:
            check(caller, method)
        return caller

    def _check_floor(self, auth_context: Mapping[str, Iterable[bytes]]) -> None:
        """TLS 1.3, and the post-quantum key exchange where the node wants it."""
        if TLS_VERSION not in auth_context.get("ssl_tls_version", ()):
            msg = "the connection's encryption is too old"
            raise RefusedError(msg, "Update Homing on this device.")
        groups = auth_context.get("ssl_negotiated_key_exchange_group", ())
        if self._require_hybrid and HYBRID_GROUP not in groups:
            msg = "this node wants post-quantum key exchange"
            raise RefusedError(msg, "Update Homing on this device.")

    def _note(self, caller: Caller) -> None:
        try:
            self._store.touch(caller.id)
        except Exception as error:  # noqa: BLE001  # a missing note refuses nobody
            _log.warning("guard.not_noted", error_type=type(error).__name__)


def check_live(device: PairedDevice, now: float) -> None:
    """Whether the device may connect at all at this moment.

    Raises:
        UnpairedError: it was revoked, or its lease, its time or its old key's overlap is over.
    """
    if device.revoked_at:
        raise _revoked()
    if not device.live(now) and device.retires_at:
        msg = "this key was replaced by a newer one, and its overlap is over"
        raise UnpairedError(msg, "Use the device's newer key, or pair it again.")
    if not device.live(now):
        msg = "this device's time on this node is over"
        raise UnpairedError(msg, "Ask the node's owner to extend it.")


def _revoked() -> UnpairedError:
    msg = "this device's pairing was revoked"
    return UnpairedError(msg, "Ask the node's owner to pair it again.")


def _said_id(auth_context: Mapping[str, Iterable[bytes]]) -> str:
    try:
        return caller_device_id(auth_context)
    except UnpairedError:
        return ""
