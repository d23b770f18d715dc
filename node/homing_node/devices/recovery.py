"""The node's recovery secret: lets an owner's phone do what otherwise needs the node's console.

It is shown once, when it is made, and kept as a hash in a small file of its own. Wrong attempts are
noted and counted; after a few within an hour the calling device's further ones are refused unread.
They are counted by account, so that a stolen phone cannot use up the attempts of its owner's other
one, and the console has no use for any: whoever sits there needs no secret.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import json
from collections import deque
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from homing_core.errors import IntegrityError, NotFoundError, OverloadedError, RefusedError
from homing_crypto.audit.records import CONSOLE, AuditKind
from homing_crypto.private_files import read_private, remove_leftovers, write_private
from homing_crypto.recovery_secret import (
    HASH_BYTES,
    SALT_BYTES,
    SecretHash,
    new_recovery_secret,
    read_recovery_secret,
)

if TYPE_CHECKING:
    from pathlib import Path

    from homing_core.clock import Clock
    from homing_core.ids import DeviceId
    from homing_crypto.audit.records import Audit

RECOVERY_FILE: Final = "recovery.json"
ATTEMPTS: Final = 5
"""Wrong secrets of one account within `ATTEMPTS_S`."""
ATTEMPTS_S: Final = 3600.0
_VERSION: Final = 1
_MOST_BYTES: Final = 4096
_MOST_MEMORY_KIB: Final = 1 << 20
_MOST_ROUNDS: Final = 64
_MS: Final = 1000


@dataclass(frozen=True, slots=True)
class RecoveryState:
    """What is known of the secret without knowing it.

    Attributes:
        made_at: when it was made, seconds since the epoch; 0 if there is none.
        shown: whether a person was shown it; if not, nobody has it.
    """

    made_at: int = 0
    shown: bool = False


@dataclass(frozen=True, slots=True)
class _Kept:
    hash: SecretHash
    made_at: int
    shown: bool


class Recovery:
    """Makes and checks the secret. Belongs to one event loop.

    Args:
        path: its file.
        clock: for when it was made, and for the attempts.
        audit: where attempts are noted.
    """

    def __init__(self, path: Path, clock: Clock, audit: Audit) -> None:
        """Touch nothing yet."""
        self._path = path
        self._clock = clock
        self._audit = audit
        self._wrong: dict[DeviceId, deque[float]] = {}
        # One at a time: each takes 64 MiB for a moment.
        self._one = asyncio.Lock()

    async def state(self) -> RecoveryState:
        """Whether there is one.

        Raises:
            HomingError: its file is damaged or cannot be read.
        """
        kept = await asyncio.to_thread(self._read)
        return RecoveryState(kept.made_at, kept.shown) if kept else RecoveryState()

    async def make(self, *, if_missing: bool = False) -> tuple[str, RecoveryState]:
        """Make a new one, which voids the old; empty if there is one and `if_missing`.

        One that nobody was shown, because the command was killed before, counts as missing.

        Raises:
            HomingError: it could not be stored; the old one still counts.
        """
        async with self._one:
            if if_missing:
                state = await self.state()
                if state.shown:
                    return "", state
            secret = new_recovery_secret()
            digest = await asyncio.to_thread(SecretHash.of, secret)
            kept = _Kept(digest, int(self._clock.now()), shown=False)
            await asyncio.to_thread(self._write, kept)
        self._audit.record(AuditKind.RECOVERY_MADE, actor=CONSOLE)
        return secret, RecoveryState(kept.made_at, kept.shown)

    async def confirm(self, made_at: int) -> None:
        """A person was shown the one that was made then; harmless twice.

        Raises:
            NotFoundError: another counts now, or none.
        """
        async with self._one:
            kept = await asyncio.to_thread(self._read)
            if kept is None or kept.made_at != made_at:
                msg = "that recovery secret does not count any more"
                raise NotFoundError(msg, "Make a new one: homing-node recovery new")
            if not kept.shown:
                await asyncio.to_thread(self._write, replace(kept, shown=True))

    async def check(self, text: str, account: DeviceId, device: DeviceId) -> None:
        """Let the right secret pass.

        Args:
            text: what was given.
            account: who gave it: whose attempts are counted.
            device: with which key, for the audit log.

        Raises:
            UsageError: it cannot be one; that is no attempt.
            OverloadedError: this account has tried too often; it was not even compared.
            RefusedError: it is wrong, or there is none on this node.
        """
        secret = read_recovery_secret(text)
        async with self._one:
            wrong = self._wrong.setdefault(account, deque())
            now = self._clock.monotonic()
            while wrong and now - wrong[0] >= ATTEMPTS_S:
                wrong.popleft()
            if len(wrong) >= ATTEMPTS:
                self._refuse(device, "too many attempts")
                wait = ATTEMPTS_S - (now - wrong[0])
                msg = "too many wrong recovery secrets came from this device"
                hint = "Wait an hour, or do it at the node: homing-node devices"
                raise OverloadedError(msg, hint, int(wait * _MS))
            wrong.append(now)  # before it is compared: whoever breaks off has tried all the same
            kept = await asyncio.to_thread(self._read)
            if kept is None:
                wrong.pop()
                msg = "this node has no recovery secret"
                raise RefusedError(msg, "Make one at the node: homing-node recovery new")
            if not await asyncio.to_thread(kept.hash.fits, secret):
                self._refuse(device, "wrong secret")
                msg = "that is not this node's recovery secret"
                hint = f"{ATTEMPTS - len(wrong)} attempts are left this hour."
                raise RefusedError(msg, hint)
            wrong.pop()
        self._audit.record(AuditKind.RECOVERY_USED, actor=device)

    def _refuse(self, device: DeviceId, why: str) -> None:
        self._audit.record(AuditKind.RECOVERY_REFUSED, actor=device, detail={"why": why})

    def _read(self) -> _Kept | None:
        raw = read_private(self._path, _MOST_BYTES)
        return None if raw is None else _from_json(raw)

    def _write(self, kept: _Kept) -> None:
        remove_leftovers(self._path)
        write_private(self._path, _to_json(kept))


def _to_json(kept: _Kept) -> bytes:
    return json.dumps(
        {
            "version": _VERSION,
            "made_at": kept.made_at,
            "shown": kept.shown,
            "salt": base64.b64encode(kept.hash.salt).decode(),
            "argon2id": base64.b64encode(kept.hash.digest).decode(),
            "iterations": kept.hash.iterations,
            "lanes": kept.hash.lanes,
            "memory_kib": kept.hash.memory_kib,
        }
    ).encode()


def _from_json(raw: bytes) -> _Kept:
    try:
        found: dict[str, Any] = json.loads(raw)
        salt = base64.b64decode(found["salt"], validate=True)
        digest = base64.b64decode(found["argon2id"], validate=True)
        costs = tuple(int(found[name]) for name in ("iterations", "lanes", "memory_kib"))
        made_at, shown = int(found["made_at"]), found["shown"] is True
        sound = (
            found["version"] == _VERSION
            and len(salt) == SALT_BYTES
            and len(digest) == HASH_BYTES
            and 0 < costs[0] <= _MOST_ROUNDS
            and 0 < costs[1] <= _MOST_ROUNDS
            and 8 * costs[1] <= costs[2] <= _MOST_MEMORY_KIB
            and made_at >= 0
        )
    except (
        ValueError,
        TypeError,
        LookupError,
        AttributeError,
        OverflowError,  # a number like 1e999
        RecursionError,
        binascii.Error,
    ) as error:
        raise _damaged() from error
    if not sound:
        raise _damaged()
    return _Kept(SecretHash(salt, digest, *costs), made_at, shown)


def _damaged() -> IntegrityError:
    msg = "the file of the recovery secret is damaged"
    return IntegrityError(msg, "Make a new secret: homing-node recovery new")
