"""Two certificates carry one common name: an honest device's, and one forged with another key.

Expected: the forged one pairs with nobody and is never among TLS's roots; where TLS lets it in all
the same, the check on each call refuses it. The honest device connects before, beside and after it.
"""

from __future__ import annotations

import contextlib
import sqlite3
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import grpc
import pytest
from cryptography.hazmat.primitives.serialization import Encoding
from homing_core.clock import SystemClock
from homing_core.errors import HomingError, UnavailableError, UnpairedError
from homing_crypto.devices import checked_device
from homing_crypto.keys import new_device_key
from homing_crypto.rpc_errors import error_from_rpc
from homing_crypto.testing import paired_device, throwaway_identity
from homing_crypto.truststore import SqliteTrustStore
from support.certs import Recipe, key_pem
from support.guarded import SERVICE, GuardedServer, guarded_server, read, same
from support.node_rig import DEADLINE_S

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from pathlib import Path

    from homing_core.ids import DeviceId


@dataclass(frozen=True)
class Forged:
    """A certificate in an honest device's name, with a key of the attacker's."""

    pem: bytes
    der: bytes
    key: bytes


def forge(name: DeviceId, *, key_ids: bool = True) -> Forged:
    key = new_device_key()
    made = Recipe(key, name, key_ids=key_ids)
    certificate = made.make()
    pem = certificate.public_bytes(Encoding.PEM)
    return Forged(pem, certificate.public_bytes(Encoding.DER), key_pem(key))


async def unary(server: GuardedServer, chain: bytes, key: bytes) -> str:
    """One call with this certificate."""
    node = server.identity.certificate
    credentials = grpc.ssl_channel_credentials(node.pem, key, chain)
    options = [("grpc.ssl_target_name_override", node.tls_name)]
    async with grpc.aio.secure_channel(server.target, credentials, options) as channel:
        call = channel.unary_unary(f"/{SERVICE}/Unary", same, read)
        try:
            return await call(b"hi", timeout=DEADLINE_S)
        except grpc.aio.AioRpcError as error:
            raise error_from_rpc(error) from error


@contextlib.asynccontextmanager
async def honest_server() -> AsyncGenerator[tuple[GuardedServer, bytes, bytes, DeviceId]]:
    """A server that knows one honest device; its certificate, key and id."""
    honest = throwaway_identity()
    async with guarded_server() as server:
        server.store.add(paired_device(honest, name="honest"))
        yield server, honest.certificate.pem, honest.private_key_pem, honest.device_id


@pytest.mark.attack(7)
async def test_a_forged_certificate_in_a_devices_name_is_not_let_in_by_tls() -> None:
    async with honest_server() as (server, pem, key, device):
        forged = forge(device)
        with pytest.raises(UnavailableError, match="closed the connection"):
            await unary(server, forged.pem, forged.key)
        assert await unary(server, pem, key) == "honest: hi"


@pytest.mark.attack(7)
@pytest.mark.parametrize("forged_first", [True, False])
async def test_where_tls_lets_both_in_each_call_tells_them_apart(*, forged_first: bool) -> None:
    async with honest_server() as (server, pem, key, device):
        forged = forge(device)
        roots = forged.pem + pem if forged_first else pem + forged.pem
        server.bundle = lambda: roots
        assert await unary(server, pem, key) == "honest: hi"
        with pytest.raises(UnpairedError, match="not a device's own"):
            await unary(server, forged.pem, forged.key)
        assert await unary(server, pem, key) == "honest: hi"


@pytest.mark.attack(7)
@pytest.mark.parametrize("key_ids", [True, False])
async def test_a_forged_certificate_cannot_be_paired(*, key_ids: bool) -> None:
    async with honest_server() as (server, pem, key, device):
        attacker = throwaway_identity()
        forged = forge(device, key_ids=key_ids)
        for name in (device, attacker.device_id):
            entry = replace(paired_device(attacker), id=name, certificate_der=forged.der)
            with pytest.raises(HomingError):
                checked_device(entry)
            with pytest.raises(HomingError):
                server.store.add(entry)
        assert await unary(server, pem, key) == "honest: hi"


@pytest.mark.attack(7)
@pytest.mark.parametrize("key_ids", [True, False])
async def test_one_that_was_smuggled_into_the_store_locks_nobody_out(
    tmp_path: Path, *, key_ids: bool
) -> None:
    """Without key ids it would keep the honest one out of TLS, were it among the roots."""
    honest, other = throwaway_identity(), throwaway_identity()
    forged = forge(honest.device_id, key_ids=key_ids)
    path = tmp_path / "trust.db"
    with contextlib.closing(SqliteTrustStore(path, SystemClock())) as store:
        for identity in (other, honest):
            store.add(paired_device(identity, name="honest"))
        with contextlib.closing(sqlite3.connect(path)) as file:
            file.execute(
                "UPDATE devices SET certificate = ?, paired_at = 0 WHERE id = ?",
                (forged.der, other.device_id),
            )
            file.commit()
        assert forged.pem not in store.roots_pem()
        with pytest.raises(HomingError):
            store.get(other.device_id)
        async with guarded_server() as server:
            server.store.add(paired_device(honest, name="honest"))
            server.bundle = store.roots_pem
            answer = await unary(server, honest.certificate.pem, honest.private_key_pem)
            assert answer == "honest: hi"
            with pytest.raises(UnavailableError):
                await unary(server, forged.pem, forged.key)
