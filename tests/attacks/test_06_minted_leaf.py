"""A paired device signs a certificate for another key, or in another's name, and calls with it.

Expected: refused by TLS, because device certificates may sign nothing; and, where TLS is made to
let it in, refused by the check on every call alone, which reads the caller's certificate strictly.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

import grpc
import pytest
from cryptography.hazmat.primitives import serialization
from homing_core.access import AccessRule, DeviceRole
from homing_core.errors import RefusedError, UnpairedError
from homing_core.testing import FakeClock
from homing_crypto.guard import HYBRID_GROUP, TLS_VERSION, Guard
from homing_crypto.keys import new_device_key
from homing_crypto.rpc_errors import error_from_rpc
from homing_crypto.rpc_guard import RpcGuard
from homing_crypto.testing import MemoryTrustStore, paired_device, throwaway_identity
from homing_crypto.transport import CLIENT_OPTIONS
from support.certs import Recipe, key_pem
from support.guarded import DEADLINE_S, SERVICE, Echo, guarded_server, read, same

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from cryptography.hazmat.primitives.asymmetric import ec
    from homing_crypto.identity import DeviceIdentity

MINTER, OWNER = throwaway_identity(), throwaway_identity()
LEAF_KEY = new_device_key()
METHOD = f"/{SERVICE}/Unary"


def minted(name: str, *, by: DeviceIdentity = MINTER, authority: bool = False) -> bytes:
    """A certificate for `LEAF_KEY` under this name, signed by a paired device's key; PEM."""
    recipe = Recipe(
        LEAF_KEY, name, issuer_name=by.device_id, signer=by.private_key, authority=authority
    )
    return recipe.make().public_bytes(serialization.Encoding.PEM)


def copied() -> bytes:
    """The owner's own certificate but for the key: signed by the leaf's key itself; PEM."""
    return Recipe(LEAF_KEY, OWNER.device_id).make().public_bytes(serialization.Encoding.PEM)


LEAVES = {
    "for another device's id": minted(OWNER.device_id),
    "for its own id": minted(MINTER.device_id),
    "as an authority": minted(OWNER.device_id, authority=True),
    "self-signed under another's name": copied(),
}
leaves = pytest.mark.parametrize("leaf", LEAVES.values(), ids=LEAVES.keys())


def known() -> MemoryTrustStore:
    store = MemoryTrustStore()
    store.add(paired_device(MINTER, DeviceRole.GUEST))
    store.add(paired_device(OWNER, DeviceRole.OWNER))
    return store


@pytest.mark.attack(6)
@leaves
async def test_tls_does_not_let_a_minted_certificate_in(leaf: bytes) -> None:
    async with guarded_server() as running:
        running.store.add(paired_device(MINTER, DeviceRole.GUEST))
        running.store.add(paired_device(OWNER, DeviceRole.OWNER))
        for chain in (leaf, leaf + MINTER.certificate.pem):
            node = running.identity.certificate.pem
            with pytest.raises(grpc.aio.AioRpcError) as caught:
                await call(running.target, node, chain, running.identity.device_id)
            assert caught.value.code() is grpc.StatusCode.UNAVAILABLE
        assert running.echo.parsed == []


@pytest.mark.attack(6)
@leaves
def test_the_check_on_every_call_refuses_it_by_itself(leaf: bytes) -> None:
    """As if TLS had let it in: the check is called with what gRPC would hand over."""
    guard = Guard({METHOD: AccessRule()}, known(), FakeClock())
    context = {
        "ssl_tls_version": [TLS_VERSION],
        "ssl_negotiated_key_exchange_group": [HYBRID_GROUP],
        "x509_common_name": [OWNER.device_id.encode()],
    }
    for certificates in ([leaf], [leaf, OWNER.certificate.pem], [OWNER.certificate.pem, leaf]):
        with pytest.raises(UnpairedError):
            guard.authorize(METHOD, context | {"x509_pem_cert": certificates})
    right = context | {"x509_pem_cert": [OWNER.certificate.pem]}
    assert guard.authorize(METHOD, right).id == OWNER.device_id


@pytest.mark.attack(6)
@leaves
async def test_a_server_whose_tls_lets_everyone_in_still_refuses_it(leaf: bytes) -> None:
    async with open_server() as (target, node, echo):
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await call(target, node.certificate.pem, leaf, node.device_id)
        assert caught.value.code() in {
            grpc.StatusCode.PERMISSION_DENIED,
            grpc.StatusCode.UNAUTHENTICATED,
        }
        assert isinstance(error_from_rpc(caught.value), RefusedError)
        assert echo.parsed == []
        right = await call(
            target, node.certificate.pem, OWNER.certificate.pem, node.device_id, OWNER.private_key
        )
        assert right == "phone: hi"


@contextlib.asynccontextmanager
async def open_server() -> AsyncGenerator[tuple[str, DeviceIdentity, Echo]]:
    """A server whose TLS asks for a certificate and believes any: the layer is disabled."""
    node, echo = throwaway_identity(), Echo()
    guard = Guard(echo.rules(), known(), FakeClock())
    server = grpc.aio.server(handlers=[echo.handlers()], interceptors=[RpcGuard(guard.authorize)])
    credentials = grpc.ssl_server_credentials(
        [(node.private_key_pem, node.certificate.pem)],
        root_certificates=b"".join(LEAVES.values()) + known().roots_pem(),
        require_client_auth=True,
    )
    port = server.add_secure_port("127.0.0.1:0", credentials)
    await server.start()
    try:
        yield f"127.0.0.1:{port}", node, echo
    finally:
        await server.stop(0)


async def call(
    target: str,
    node: bytes,
    certificate: bytes,
    name: str,
    key: ec.EllipticCurvePrivateKey = LEAF_KEY,
) -> str:
    credentials = grpc.ssl_channel_credentials(node, key_pem(key), certificate)
    options = [*CLIENT_OPTIONS, ("grpc.ssl_target_name_override", name)]
    async with grpc.aio.secure_channel(target, credentials, options=options) as channel:
        method = channel.unary_unary(METHOD, same, read)
        return await method(b"hi", timeout=DEADLINE_S)
