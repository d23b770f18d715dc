"""The decision on a call, without a network; and what TLS itself lets through."""

from __future__ import annotations

import dataclasses
import time
from typing import NoReturn

import grpc
import pytest
from homing_core.access import AccessRule, DeviceRole, Scope
from homing_core.errors import HomingError, InvalidDataError, RefusedError, UnpairedError
from homing_core.testing import FakeClock
from homing_crypto.certificates import check_certificate
from homing_crypto.credentials import caller_device_id
from homing_crypto.guard import Guard
from homing_crypto.keys import new_device_key
from homing_crypto.rpc_errors import error_from_rpc
from homing_crypto.rpc_guard import current_caller
from homing_crypto.testing import MemoryTrustStore, paired_device, throwaway_identity
from hypothesis import given
from hypothesis import strategies as st
from support.certs import Recipe, key_pem
from support.guarded import GuardedServer, guarded_server, same

PHONE = throwaway_identity()
VICTIM = throwaway_identity()
METHOD = "/pkg.Service/Method"
RULES = {METHOD: AccessRule(scope=Scope.INFERENCE), "/pkg.Service/Any": AccessRule()}


def seen(pem: bytes, **changes: list[bytes]) -> dict[str, list[bytes]]:
    """An auth context as gRPC gives it."""
    return {
        "transport_security_type": [b"ssl"],
        "x509_pem_cert": [pem],
        "ssl_tls_version": [b"TLSv1.3"],
        "ssl_negotiated_key_exchange_group": [b"X25519MLKEM768"],
    } | changes


@pytest.fixture
def store() -> MemoryTrustStore:
    store = MemoryTrustStore(FakeClock())
    store.add(paired_device(PHONE, DeviceRole.GUEST))
    return store


@pytest.fixture
def guard(store: MemoryTrustStore) -> Guard:
    return Guard(RULES, store, FakeClock())


def test_a_paired_device_is_let_in_as_what_it_is(guard: Guard) -> None:
    caller = guard.authorize(METHOD, seen(PHONE.certificate.pem))
    assert (caller.id, caller.role) == (PHONE.device_id, DeviceRole.GUEST)
    assert Scope.INFERENCE in caller.scopes


@pytest.mark.attack
def test_a_certificate_that_a_paired_device_minted_for_another_is_refused(
    guard: Guard, store: MemoryTrustStore
) -> None:
    store.add(paired_device(VICTIM, DeviceRole.OWNER))
    key = new_device_key()
    minted = [
        Recipe(key, VICTIM.device_id, issuer_name=PHONE.device_id, signer=PHONE.private_key),
        Recipe(key, VICTIM.device_id),
        # The victim's own public key, but the signature is another's.
        Recipe(VICTIM.private_key, VICTIM.device_id, PHONE.device_id, PHONE.private_key),
        Recipe(VICTIM.private_key, VICTIM.device_id, signer=PHONE.private_key),
    ]
    for recipe in minted:
        with pytest.raises(UnpairedError):
            guard.authorize(METHOD, seen(recipe.pem()))


@pytest.mark.parametrize(
    "context",
    [
        {},
        {"x509_pem_cert": []},
        {"x509_pem_cert": [PHONE.certificate.pem, PHONE.certificate.pem]},
        {"x509_pem_cert": [b""]},
        {"x509_pem_cert": [b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"]},
    ],
)
def test_no_certificate_or_no_single_good_one_is_refused(
    guard: Guard, context: dict[str, list[bytes]]
) -> None:
    with pytest.raises(UnpairedError):
        guard.authorize(METHOD, context)


@given(st.dictionaries(st.sampled_from(["x509_pem_cert", "x"]), st.lists(st.binary())))
def test_any_context_is_answered_with_a_clear_refusal(context: dict[str, list[bytes]]) -> None:
    with pytest.raises(UnpairedError):
        caller_device_id(context)


@pytest.mark.attack
def test_old_tls_is_refused_on_every_call(guard: Guard) -> None:
    for versions in ([b"TLSv1.2"], []):
        with pytest.raises(RefusedError, match="too old"):
            guard.authorize(METHOD, seen(PHONE.certificate.pem, ssl_tls_version=versions))


@pytest.mark.attack
def test_the_post_quantum_group_can_be_required(store: MemoryTrustStore) -> None:
    context = seen(PHONE.certificate.pem, ssl_negotiated_key_exchange_group=[b"X25519"])
    assert Guard(RULES, store, FakeClock()).authorize(METHOD, context).id == PHONE.device_id
    strict = Guard(RULES, store, FakeClock(), require_hybrid=True)
    with pytest.raises(RefusedError, match="post-quantum"):
        strict.authorize(METHOD, context)
    assert strict.authorize(METHOD, seen(PHONE.certificate.pem)).id == PHONE.device_id


@pytest.mark.attack
def test_a_method_without_a_rule_is_closed_even_to_the_owner(
    guard: Guard, store: MemoryTrustStore
) -> None:
    store.add(paired_device(VICTIM, DeviceRole.OWNER))
    with pytest.raises(RefusedError):
        guard.authorize("/pkg.Service/Forgotten", seen(VICTIM.certificate.pem))


@pytest.mark.attack
def test_a_lease_that_has_run_out_is_refused(store: MemoryTrustStore) -> None:
    clock = FakeClock()
    leased = dataclasses.replace(
        paired_device(VICTIM),
        introduced_by=PHONE.device_id,
        lease_expires_at=int(clock.now()) + 10,
    )
    store.add(leased)
    guard = Guard(RULES, store, clock)
    assert guard.authorize(METHOD, seen(VICTIM.certificate.pem)).id == VICTIM.device_id
    clock.advance(10)
    with pytest.raises(UnpairedError, match="over"):
        guard.authorize(METHOD, seen(VICTIM.certificate.pem))


def test_any_failure_within_the_node_refuses(store: MemoryTrustStore) -> None:
    class Broken(MemoryTrustStore):
        def lookup(self, device_id: str) -> NoReturn:
            raise ZeroDivisionError(device_id)

    for broken in (Broken(), store):
        store.broken = True
        with pytest.raises(RefusedError, match="cannot check"):
            Guard(RULES, broken, FakeClock()).authorize(METHOD, seen(PHONE.certificate.pem))


def test_a_note_that_cannot_be_written_refuses_nobody() -> None:
    class Full(MemoryTrustStore):
        def touch(self, device_id: str) -> None:
            raise OSError(device_id)

    full = Full()
    full.add(paired_device(PHONE))
    caller = Guard(RULES, full, FakeClock()).authorize(METHOD, seen(PHONE.certificate.pem))
    assert caller.id == PHONE.device_id


def test_outside_a_guarded_call_there_is_no_caller() -> None:
    with pytest.raises(UnpairedError):
        current_caller()


def test_a_decision_takes_well_under_a_millisecond(guard: Guard) -> None:
    context = seen(PHONE.certificate.pem)
    guard.authorize(METHOD, context)
    took: list[float] = []
    for _ in range(50):
        began = time.perf_counter()
        guard.authorize(METHOD, context)
        took.append(time.perf_counter() - began)
    assert min(took) < 0.001


async def call_with(server: GuardedServer, key: bytes, chain: bytes) -> HomingError:
    """What a client with this key and certificate chain is told."""
    credentials = grpc.ssl_channel_credentials(server.identity.certificate.pem, key, chain)
    name = ("grpc.ssl_target_name_override", server.identity.device_id)
    async with grpc.aio.secure_channel(server.target, credentials, options=[name]) as channel:
        call = channel.unary_unary("/test.Echo/Unary", same, same)
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await call(b"hi", timeout=10)
    return error_from_rpc(caught.value)


@pytest.mark.attack
async def test_tls_refuses_a_leaf_that_a_paired_device_signed() -> None:
    async with guarded_server() as server:
        server.store.add(paired_device(PHONE))
        key = new_device_key()
        leaf = Recipe(key, VICTIM.device_id, PHONE.device_id, PHONE.private_key)
        error = await call_with(server, key_pem(key), leaf.pem() + PHONE.certificate.pem)
    assert "closed the connection" in error.what


@pytest.mark.attack
async def test_a_device_cannot_lock_another_out_by_taking_its_name() -> None:
    key = new_device_key()
    impostor = Recipe(key, PHONE.device_id)
    with pytest.raises(InvalidDataError):  # it cannot even be paired
        check_certificate(impostor.der())
    async with guarded_server() as server:
        server.store.add(paired_device(PHONE))
        server.bundle = lambda: impostor.pem() + PHONE.certificate.pem
        async with server.client(PHONE) as client:
            assert await client.unary("Unary", "in") == "phone: in"


@pytest.mark.attack
async def test_a_certificate_that_tls_takes_but_is_no_devices_own_is_refused() -> None:
    key = new_device_key()
    impostor = Recipe(key, PHONE.device_id).pem()
    async with guarded_server() as server:
        server.store.add(paired_device(PHONE))
        server.bundle = lambda: impostor
        assert isinstance(await call_with(server, key_pem(key), impostor), UnpairedError)
