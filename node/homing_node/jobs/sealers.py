"""Certificates of other daemons that have sealed results, for the phones that fetch them here.

Daemons that share a queue of jobs seal with their own keys. A node vouches only for its own earlier
keys, and for nodes with which it was paired as a peer: whoever can write to the shared database
cannot bring in a key of their own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from homing_core.access import DeviceRole
from homing_core.errors import HomingError
from homing_core.ids import parse_device_id

if TYPE_CHECKING:
    from collections.abc import Callable

    from homing_core.clock import Clock
    from homing_crypto.identity import DeviceIdentity
    from homing_crypto.trust import TrustStore


class Sealers:
    """Looks up whose key has sealed a result.

    Args:
        trust: whom the node knows.
        identities: its own keys, the present one first.
        clock: for leases.
    """

    def __init__(
        self, trust: TrustStore, identities: Callable[[], tuple[DeviceIdentity, ...]], clock: Clock
    ) -> None:
        """Keep where to look."""
        self._trust = trust
        self._identities = identities
        self._clock = clock

    def certificate_of(self, device_id: str) -> bytes:
        """A certificate (DER); empty for this node's present key, and for whom it does not know."""
        present, *earlier = self._identities()
        if device_id == present.device_id:
            return b""
        for identity in earlier:
            if identity.device_id == device_id:
                return identity.certificate.der
        try:
            device = self._trust.lookup(parse_device_id(device_id))
        except HomingError:
            return b""
        if device is None or device.role is not DeviceRole.PEER or device.introduced_by:
            return b""
        return device.certificate_der if device.live(self._clock.now()) else b""
