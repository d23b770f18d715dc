"""The decision on every call: who is it, and may it? Closed on any doubt."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import structlog
from homing_core.access import AccessRule, DeviceRole, Scope, allowed
from homing_core.errors import RefusedError, UnpairedError

from homing_crypto.credentials import caller_device_id

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from homing_core.clock import Clock
    from homing_core.ids import DeviceId

    from homing_crypto.devices import PairedDevice
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
    """

    device: PairedDevice

    @property
    def id(self) -> DeviceId:
        """Its id."""
        return self.device.id

    @property
    def role(self) -> DeviceRole:
        """What it is."""
        return self.device.role

    @property
    def scopes(self) -> frozenset[Scope]:
        """What it may do."""
        return self.device.scopes


class Guard:
    """Decides on every call to a node's main port.

    Args:
        rules: what each method needs, by its full name (`/package.Service/Method`); a method that
            is not in it is closed to everyone.
        store: whom the node knows.
        clock: for leases and time limits.
        require_hybrid: refuse callers without the post-quantum key exchange.
    """

    def __init__(
        self,
        rules: Mapping[str, AccessRule],
        store: TrustStore,
        clock: Clock,
        *,
        require_hybrid: bool = False,
    ) -> None:
        """Keep the table and where to look."""
        self._rules = dict(rules)
        self._store = store
        self._clock = clock
        self._require_hybrid = require_hybrid

    def authorize(self, method: str, auth_context: Mapping[str, Iterable[bytes]]) -> Caller:
        """Let a call in, or say why not. Takes well under a millisecond; call it on the loop.

        Args:
            method: the method's full name.
            auth_context: `grpc.aio.ServicerContext.auth_context()`.

        Raises:
            UnpairedError: the caller is not, or no longer, paired.
            RefusedError: it may not do this, or the node cannot tell.
        """
        try:
            caller = self._decide(method, auth_context)
        except RefusedError:
            raise
        except Exception as error:
            _log.error("guard.closed", method=method, error_type=type(error).__name__)
            msg = "the node cannot check this device at the moment"
            raise RefusedError(msg, "Look at the node's log.") from error
        self._note(caller)
        return caller

    def _decide(self, method: str, auth_context: Mapping[str, Iterable[bytes]]) -> Caller:
        device_id = caller_device_id(auth_context)
        if TLS_VERSION not in auth_context.get("ssl_tls_version", ()):
            msg = "the connection's encryption is too old"
            raise RefusedError(msg, "Update Homing on this device.")
        groups = auth_context.get("ssl_negotiated_key_exchange_group", ())
        if self._require_hybrid and HYBRID_GROUP not in groups:
            msg = "this node wants post-quantum key exchange"
            raise RefusedError(msg, "Update Homing on this device.")
        device = self._store.lookup(device_id)
        if device is None:
            msg = "this device is not paired with the node"
            raise UnpairedError(msg, "Pair it: homing-node pair, on the node.")
        _check_live(device, self._clock.now())
        if not allowed(self._rules.get(method), device.role, device.scopes):
            msg = "this device may not do that on this node"
            raise RefusedError(msg, "Ask the node's owner to allow it.")
        return Caller(device)

    def _note(self, caller: Caller) -> None:
        try:
            self._store.touch(caller.id)
        except Exception as error:  # noqa: BLE001  # a missing note refuses nobody
            _log.warning("guard.not_noted", error_type=type(error).__name__)


def _check_live(device: PairedDevice, now: float) -> None:
    if device.revoked_at:
        msg = "this device's pairing was revoked"
        raise UnpairedError(msg, "Ask the node's owner to pair it again.")
    if not device.live(now):
        msg = "this device's time on this node is over"
        raise UnpairedError(msg, "Ask the node's owner to extend it.")
