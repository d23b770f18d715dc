"""The recovery secret: made, kept as a hash, checked; and what guesses and damage come to."""

from __future__ import annotations

import asyncio
import functools
import json
from typing import TYPE_CHECKING, Any

import pytest
from homing_core.errors import (
    HomingError,
    IntegrityError,
    NotFoundError,
    OverloadedError,
    RefusedError,
    UsageError,
)
from homing_core.testing import FakeClock
from homing_crypto import recovery_secret
from homing_crypto.audit.records import CONSOLE, AuditKind
from homing_crypto.recovery_secret import ALPHABET, new_recovery_secret, read_recovery_secret
from homing_crypto.testing import MemoryAudit, throwaway_identity
from homing_node.devices.recovery import ATTEMPTS, ATTEMPTS_S, RECOVERY_FILE, Recovery
from hypothesis import given
from hypothesis import strategies as st

if TYPE_CHECKING:
    from pathlib import Path

PHONE, OTHER = (throwaway_identity().device_id for _ in range(2))


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Argon2id at its cheapest: what it costs is not tried here."""
    of = recovery_secret.SecretHash.of
    cheap = functools.partial(of, iterations=1, lanes=1, memory_kib=8)
    monkeypatch.setattr(recovery_secret.SecretHash, "of", cheap)


class Rig:
    def __init__(self, folder: Path) -> None:
        self.path = folder / RECOVERY_FILE
        self.clock, self.audit = FakeClock(), MemoryAudit()
        self.recovery = Recovery(self.path, self.clock, self.audit)

    async def made(self) -> str:
        secret, state = await self.recovery.make()
        await self.recovery.confirm(state.made_at)
        return secret


@pytest.fixture
def rig(tmp_path: Path) -> Rig:
    return Rig(tmp_path)


def test_a_secret_is_read_however_it_was_written_down() -> None:
    secret = new_recovery_secret()
    assert [len(group) for group in secret.split("-")] == [4] * 8
    for typed in (secret.lower(), secret.replace("-", ""), f" {secret.replace('-', '  ')}\n"):
        assert read_recovery_secret(typed) == secret
    misread = secret.replace("0", "O").replace("1", "l")
    assert read_recovery_secret(misread) == secret


@given(st.integers(0, 31), st.sampled_from(ALPHABET))
def test_a_slip_of_the_pen_is_told(place: int, char: str) -> None:
    plain = list(new_recovery_secret().replace("-", ""))
    if plain[place] == char:
        return
    plain[place] = char
    with pytest.raises(UsageError, match="wrong"):
        read_recovery_secret("".join(plain))


@given(st.text(max_size=300))
def test_anything_else_is_no_secret(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        read_recovery_secret(text)
    assert len(text) < 8 or text not in str(caught.value)


async def test_it_is_kept_as_a_hash_in_a_private_file(rig: Rig) -> None:
    secret = await rig.made()
    raw = rig.path.read_text()
    assert rig.path.stat().st_mode & 0o777 == 0o600
    for group in secret.split("-"):
        assert group not in raw
    again = Recovery(rig.path, rig.clock, rig.audit)  # after a restart
    await again.check(secret, PHONE, PHONE)
    with pytest.raises(RefusedError):
        await again.check(new_recovery_secret(), PHONE, PHONE)
    assert rig.audit.kinds() == [
        AuditKind.RECOVERY_MADE,
        AuditKind.RECOVERY_USED,
        AuditKind.RECOVERY_REFUSED,
    ]
    assert secret not in str(rig.audit.entries)
    assert rig.audit.entries[0][1] == CONSOLE
    assert rig.audit.entries[1][1] == PHONE


async def test_without_one_nothing_fits_and_no_attempt_is_used_up(rig: Rig) -> None:
    for _ in range(ATTEMPTS + 1):
        with pytest.raises(RefusedError, match="has no recovery secret"):
            await rig.recovery.check(new_recovery_secret(), PHONE, PHONE)


async def test_one_that_nobody_was_shown_counts_as_missing(rig: Rig) -> None:
    assert await rig.recovery.state() == type(await rig.recovery.state())()
    lost, _ = await rig.recovery.make(if_missing=True)  # the command is killed here
    assert not (await rig.recovery.state()).shown
    rig.clock.advance(1)
    secret, state = await rig.recovery.make(if_missing=True)
    assert secret not in {"", lost}
    await rig.recovery.confirm(state.made_at)
    await rig.recovery.confirm(state.made_at)
    assert (await rig.recovery.make(if_missing=True))[0] == ""
    await rig.recovery.check(secret, PHONE, PHONE)
    with pytest.raises(RefusedError):
        await rig.recovery.check(lost, PHONE, PHONE)
    with pytest.raises(NotFoundError):
        await rig.recovery.confirm(state.made_at - 1)


async def test_a_new_one_voids_the_old(rig: Rig) -> None:
    old, new = await rig.made(), await rig.made()
    await rig.recovery.check(new, PHONE, PHONE)
    with pytest.raises(RefusedError):
        await rig.recovery.check(old, PHONE, PHONE)


@pytest.mark.attack
async def test_guesses_are_counted_for_each_account_and_for_an_hour(rig: Rig) -> None:
    secret = await rig.made()
    key = throwaway_identity().device_id  # a guesser's further key shares its attempts
    for guess in range(ATTEMPTS):
        with pytest.raises(RefusedError) as caught:
            await rig.recovery.check(new_recovery_secret(), PHONE, key)
        assert f"{ATTEMPTS - 1 - guess} attempts" in caught.value.hint
    with pytest.raises(OverloadedError) as refused:
        await rig.recovery.check(secret, PHONE, PHONE)
    assert 0 < refused.value.retry_after_ms <= ATTEMPTS_S * 1000
    with pytest.raises(UsageError):  # a slip is no attempt
        await rig.recovery.check("nonsense", OTHER, OTHER)
    for _ in range(ATTEMPTS + 1):  # nor is the right one
        await rig.recovery.check(secret, OTHER, OTHER)
    rig.clock.advance(ATTEMPTS_S)
    await rig.recovery.check(secret, PHONE, PHONE)


@pytest.mark.attack
async def test_guesses_at_the_same_time_are_counted_one_by_one(rig: Rig) -> None:
    await rig.made()
    guesses = [rig.recovery.check(new_recovery_secret(), PHONE, PHONE) for _ in range(3 * ATTEMPTS)]
    outcomes = await asyncio.gather(*guesses, return_exceptions=True)
    kinds = [type(outcome) for outcome in outcomes]
    assert kinds.count(RefusedError) == ATTEMPTS
    assert kinds.count(OverloadedError) == 2 * ATTEMPTS


@pytest.mark.parametrize(
    "change",
    [
        {"version": 2},
        {"salt": "AAAA"},
        {"salt": "no base64!"},
        {"salt": 7},
        {"argon2id": ""},
        {"iterations": 0},
        {"iterations": 10**9},
        {"lanes": -1},
        {"memory_kib": 1 << 40},
        {"memory_kib": "much"},
        {"memory_kib": 1},
        {"made_at": -5},
        {"made_at": None},
    ],
)
async def test_a_damaged_file_is_said_and_can_be_replaced(rig: Rig, change: dict[str, Any]) -> None:
    secret = await rig.made()
    rig.path.write_text(json.dumps(json.loads(rig.path.read_text()) | change))
    with pytest.raises(IntegrityError, match="damaged"):
        await rig.recovery.check(secret, PHONE, PHONE)
    with pytest.raises(IntegrityError):
        await rig.recovery.state()
    fresh = await rig.made()
    await rig.recovery.check(fresh, OTHER, OTHER)


@pytest.mark.parametrize("raw", [b"", b"[]", b"null", b"{", b"\xff\xfe", b"{}" + b" " * 5000])
async def test_a_file_that_is_none(rig: Rig, raw: bytes) -> None:
    rig.path.write_bytes(raw)
    rig.path.chmod(0o600)
    with pytest.raises(HomingError):
        await rig.recovery.state()
    with pytest.raises(HomingError):
        await rig.recovery.check(new_recovery_secret(), PHONE, PHONE)
