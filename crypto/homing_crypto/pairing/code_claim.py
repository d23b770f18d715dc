"""A pairing by code at the phone once it has the node's reply: a value that can be written down.

It is written before the confirmation is sent and again once the node has confirmed, so that another
process goes on where this one was killed. It holds the keys of this one exchange, not the code.
"""

from __future__ import annotations

import base64
import json
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from homing_core.errors import HomingError, InvalidDataError
from homing_core.labels import clean_label

from homing_crypto.certificates import check_certificate
from homing_crypto.pairing.code_keys import CodeKeys
from homing_crypto.pairing.code_proof import phone_confirmation
from homing_crypto.pairing.proof import MAX_NAME

if TYPE_CHECKING:
    from collections.abc import Mapping

_PREFIX = "homing-code:"
"""How a written attempt begins; a link begins with `homing://`."""


@dataclass(frozen=True, slots=True)
class Claiming:
    """An attempt after the reply, to be written down before its confirmation is sent.

    Attributes:
        attempt_id: the phone's own.
        known_as: device id of the phone's key.
        at: address of the pairing server, `host:port`.
        certificate_der: the node's.
        hpke_public_key: the node's; its signature was checked.
        name: the node's, cleaned.
        said: the transcript.
        keys: of the three confirmations.
        addresses: of the node's main port, once the node has confirmed; None until then.
    """

    attempt_id: str
    known_as: str
    at: str
    certificate_der: bytes = field(repr=False)
    hpke_public_key: bytes = field(repr=False)
    name: str
    said: bytes = field(repr=False)
    keys: CodeKeys = field(repr=False)
    addresses: tuple[str, ...] | None = None

    @property
    def confirmation(self) -> bytes:
        """What to send, as often as needed."""
        return phone_confirmation(self.keys, self.said)

    def to_text(self) -> str:
        """To be kept in private until the pairing ends; holds the keys."""
        fields: dict[str, Any] = asdict(self)
        keys: dict[str, bytes] = fields.pop("keys")
        fields |= {f"key_{name}": key for name, key in keys.items()}
        return _PREFIX + json.dumps(
            {
                name: base64.b64encode(value).decode("ascii") if isinstance(value, bytes) else value
                for name, value in fields.items()
            }
        )


def is_claiming(text: str) -> bool:
    """Whether a pending pairing is one by code."""
    return text.startswith(_PREFIX)


def read_claiming(text: str) -> Claiming:
    """What `Claiming.to_text` wrote.

    Raises:
        InvalidDataError: it is damaged.
    """
    try:
        fields: Mapping[str, Any] = json.loads(text.removeprefix(_PREFIX))
        addresses = fields["addresses"]
        return Claiming(
            attempt_id=str(fields["attempt_id"]),
            known_as=str(fields["known_as"]),
            at=str(fields["at"]),
            certificate_der=check_certificate(_raw(fields["certificate_der"])).der,
            hpke_public_key=_raw(fields["hpke_public_key"]),
            name=clean_label(str(fields["name"]), MAX_NAME),
            said=_raw(fields["said"]),
            keys=CodeKeys(*(_raw(fields[f"key_{name}"]) for name in ("phone", "node", "entry"))),
            addresses=None if addresses is None else tuple(map(str, addresses)),
        )
    except (
        ValueError,
        LookupError,
        TypeError,
        AttributeError,
        RecursionError,
        HomingError,
    ) as error:
        msg = "the pairing that was under way is damaged"
        raise InvalidDataError(msg, "Pair again.") from error


def _raw(text: str) -> bytes:
    return base64.b64decode(text, validate=True)
