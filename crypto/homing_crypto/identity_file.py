"""The file of a device's keys: who it is, and who it was as long as somebody may know it so.

All of it is one file, `identity.json`, so that a kill at any moment leaves either the old keys or
the new ones, whole. A file that cannot be read is an error, never a reason to become somebody else:
the device would silently lose every pairing.
"""

from __future__ import annotations

import base64
import binascii
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from homing_core.errors import HomingError, IntegrityError, NotFoundError

from homing_crypto.certificates import check_certificate
from homing_crypto.identity import IDENTITY_FILE, DeviceIdentity
from homing_crypto.keys import HpkeKeyPair, device_id_of, verify_hpke_key
from homing_crypto.private_files import (
    ensure_folder,
    locked_folder,
    read_private,
    remove_leftovers,
    write_private,
)
from homing_crypto.vault import FileMode

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from homing_core.clock import Clock

    from homing_crypto.vault import KeyVault

MAX_EARLIER_KEYS = 16
"""Each takes about 1.5 KiB of the file."""
_VERSION = 2
_OLDEST_VERSION = 1
"""Version 1 knew no earlier keys; it is read, and written anew as version 2."""
_MAX_FILE_BYTES = 64 * 1024


@dataclass(frozen=True, slots=True)
class EarlierKey:
    """An identity that a newer one has replaced.

    Attributes:
        identity: the whole of it; its private key still works.
        replaced_at: when that was, wall time here, seconds since the epoch.
    """

    identity: DeviceIdentity
    replaced_at: float


@dataclass(frozen=True, slots=True)
class StoredKeys:
    """What the file holds.

    Attributes:
        current: who this device is.
        earlier: who it was, newest first.
    """

    current: DeviceIdentity
    earlier: tuple[EarlierKey, ...] = ()


def load_keys(folder: Path, clock: Clock, vault: KeyVault | None = None) -> StoredKeys:
    """All keys in `folder`; a first one is made if there is none. Raises as `load_or_create`."""
    vault = vault or FileMode()
    ensure_folder(folder, private=True)
    path = folder / IDENTITY_FILE
    with locked_folder(folder):  # two first starts at once must not make two identities
        stored = read_private(path, _MAX_FILE_BYTES)
        if stored is not None:
            keys, version = _parse(vault.reveal(stored), path)
            if version != _VERSION:
                write_private(path, vault.protect(_render(keys)))
            return keys
        remove_leftovers(path)
        keys = StoredKeys(DeviceIdentity.generate(clock))
        write_private(path, vault.protect(_render(keys)))
        return keys


def change_keys(
    folder: Path, change: Callable[[StoredKeys], StoredKeys], vault: KeyVault | None = None
) -> StoredKeys:
    """Replace the keys that are in `folder`, durably: a kill leaves the old file or the new one.

    Args:
        folder: the data directory; it holds keys.
        change: makes the new keys of those that are there.
        vault: how the file is protected; None is by its mode alone.

    Raises:
        NotFoundError: there are no keys.
        HomingError: as `DeviceIdentity.load_or_create`, or what `change` raises.
    """
    vault = vault or FileMode()
    path = folder / IDENTITY_FILE
    with locked_folder(folder):
        stored = read_private(path, _MAX_FILE_BYTES)
        if stored is None:
            msg = f"there is no identity file {path}"
            raise NotFoundError(msg, "Restore it from a backup.")
        before, _ = _parse(vault.reveal(stored), path)
        keys = change(before)
        if keys != before:
            remove_leftovers(path)
            write_private(path, vault.protect(_render(keys)))
        return keys


def _render(keys: StoredKeys) -> bytes:
    earlier = [_to_fields(key.identity) | {"replaced_at": key.replaced_at} for key in keys.earlier]
    fields = {"version": _VERSION} | _to_fields(keys.current) | {"previous": earlier}
    return json.dumps(fields, indent=1).encode("ascii") + b"\n"


def _to_fields(identity: DeviceIdentity) -> dict[str, Any]:
    return {
        "device_id": identity.device_id,
        "device_key": identity.private_key_pem.decode("ascii"),
        "certificate": _encode(identity.certificate.der),
        "hpke_key": _encode(identity.hpke.secret),
        "hpke_signature": _encode(identity.hpke_signature),
        "created_at": identity.created_at,
    }


def _parse(content: bytes, path: Path) -> tuple[StoredKeys, int]:
    try:
        fields = json.loads(content)
        version = fields["version"]
        newer = version not in {_OLDEST_VERSION, _VERSION}
        keys = None if newer else _keys_from(fields, version)
    except (
        HomingError,
        ValueError,  # includes JSON and Unicode errors
        TypeError,
        KeyError,
        AttributeError,
        RecursionError,
        OverflowError,  # a time that is no number of seconds
        UnsupportedAlgorithm,
    ) as error:
        raise _damaged(path) from error
    if keys is None:
        msg = f"the identity file {path} was written by a newer Homing"
        raise IntegrityError(msg, "Update Homing.")
    return keys, version


def _keys_from(fields: dict[str, Any], version: int) -> StoredKeys:
    current = _from_fields(fields)
    if version == _OLDEST_VERSION:
        return StoredKeys(current)
    previous: list[dict[str, Any]] = fields["previous"]
    if not isinstance(previous, list):  # pyright: ignore[reportUnnecessaryIsInstance]  # from disk
        raise TypeError
    earlier = tuple(EarlierKey(_from_fields(one), float(one["replaced_at"])) for one in previous)
    ids = {current.device_id, *(key.identity.device_id for key in earlier)}
    if len(earlier) > MAX_EARLIER_KEYS or len(ids) != len(earlier) + 1:
        raise ValueError
    return StoredKeys(current, earlier)


def _from_fields(fields: dict[str, Any]) -> DeviceIdentity:
    key = serialization.load_pem_private_key(fields["device_key"].encode("ascii"), None)
    certificate = check_certificate(_decode(fields["certificate"]))
    if not isinstance(key, ec.EllipticCurvePrivateKey):
        raise TypeError
    if device_id_of(key.public_key()) != certificate.device_id:
        raise ValueError
    pair = HpkeKeyPair(_decode(fields["hpke_key"]))
    signature = _decode(fields["hpke_signature"])
    verify_hpke_key(certificate.public_key, pair.public_bytes, signature)
    return DeviceIdentity(key, certificate, pair, signature, float(fields["created_at"]))


def _damaged(path: Path) -> IntegrityError:
    return IntegrityError(
        f"the identity file {path} is damaged",
        "Restore it from a backup. Or move it away to become a new device, and pair again.",
    )


def _encode(raw: bytes) -> str:
    return base64.b64encode(raw).decode("ascii")


def _decode(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except binascii.Error as error:
        raise ValueError from error
