"""The trust store cannot be read, or what gives TLS its roots fails.

Expected: gRPC may go on with the bundle it had, but every call is checked against the store, and
where that cannot be asked, nobody may do anything: on open connections and on new ones. Once the
store can be read again, everything is as it was.
"""

from __future__ import annotations

import contextlib
import sqlite3
import stat
from typing import TYPE_CHECKING, NoReturn

import grpc
import pytest
from homing_core.errors import RefusedError, UnavailableError, UnpairedError
from homing_crypto import database
from homing_crypto.audit.records import CONSOLE
from homing_crypto.rpc_errors import error_from_rpc
from homing_crypto.truststore import TRUST_STORE_FILE
from homing_node.devices import watch
from homing_proto.v1 import node_pb2
from support.node_rig import DEADLINE_S, node_rig

if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from pathlib import Path

    from homing_core.errors import HomingError
    from support.node_rig import NodeRig, Phone

GARBAGE = b"this is no database at all. " * 4096


async def answered(phone: Phone) -> bool:
    """Whether the node answers; False if it refuses."""
    return await told(phone) is None


async def told(phone: Phone) -> HomingError | None:
    """With which error a call ends, if any."""
    try:
        await phone.node.GetNode(node_pb2.GetNodeRequest(), timeout=DEADLINE_S)
    except grpc.aio.AioRpcError as error:
        return error_from_rpc(error)
    return None


@contextlib.contextmanager
def overwritten(path: Path) -> Generator[None]:
    """Garbage in the file itself."""
    before = path.read_bytes()
    path.write_bytes(GARBAGE)
    try:
        yield
    finally:
        path.write_bytes(before)


@contextlib.contextmanager
def replaced(path: Path) -> Generator[None]:
    """Another file in its place, such as a backup from before a revocation."""
    kept = path.with_name("kept")
    path.rename(kept)
    path.write_bytes(kept.read_bytes())
    path.chmod(0o600)
    try:
        yield
    finally:
        kept.rename(path)


@contextlib.contextmanager
def deleted(path: Path) -> Generator[None]:
    kept = path.with_name("kept")
    path.rename(kept)
    try:
        yield
    finally:
        kept.rename(path)


@contextlib.contextmanager
def closed_to_all(path: Path) -> Generator[None]:
    path.chmod(0)
    try:
        yield
    finally:
        path.chmod(stat.S_IRUSR | stat.S_IWUSR)


@contextlib.contextmanager
def locked(path: Path) -> Generator[None]:
    """Another program holds it, and does not let go."""
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        yield
        other.execute("ROLLBACK")


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A lock is not waited for, and nothing is stored again behind a test's back."""
    monkeypatch.setattr(database, "_BUSY_MS", 20)
    monkeypatch.setattr(watch, "WATCH_S", 3600.0)


@pytest.mark.attack(10)
@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("spoilt", [overwritten, replaced, deleted, closed_to_all, locked])
async def test_a_store_that_cannot_be_read_lets_nobody_do_anything(
    tmp_path: Path, spoilt: Callable[[Path], contextlib.AbstractContextManager[None]]
) -> None:
    async with node_rig(tmp_path) as rig:
        phone, unpaired = await rig.phone(), await rig.phone(paired=False)
        assert await answered(phone)
        with spoilt(store_file(rig)):
            error = await told(phone)  # its connection was open before
            assert type(error) is RefusedError
            assert "cannot check" in error.what
            for identity in (phone.identity, unpaired.identity):
                assert not await answered(await rig.dial(identity))
        assert await answered(phone)
        assert not await answered(unpaired)


@pytest.mark.attack(10)
async def test_a_fetcher_that_fails_leaves_the_old_bundle_but_no_revoked_device_gets_through(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with node_rig(tmp_path) as rig:
        stolen, honest = await rig.phone(), await rig.phone()
        for phone in (stolen, honest):
            assert await answered(phone)

        def fails(*_: object, **__: object) -> NoReturn:
            raise OSError

        monkeypatch.setattr(grpc, "ssl_server_certificate_configuration", fails)
        await rig.running.desk.revoke(stolen.identity.device_id, CONSOLE)
        assert await answered(await rig.dial(honest.identity))  # so gRPC has the old bundle
        error = await told(await rig.dial(stolen.identity))
        assert isinstance(error, UnpairedError)  # TLS let it in; the check on its call did not
        assert "revoked" in error.what


@pytest.mark.attack(10)
@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("spoilt", [overwritten, replaced, deleted, closed_to_all, locked])
async def test_a_revocation_that_cannot_be_stored_holds_all_the_same_and_says_what_it_is_worth(
    tmp_path: Path, spoilt: Callable[[Path], contextlib.AbstractContextManager[None]]
) -> None:
    async with node_rig(tmp_path) as rig:
        stolen, honest = await rig.phone(), await rig.phone()
        control = await rig.control()
        for phone in (stolen, honest):
            assert await answered(phone)
        with spoilt(store_file(rig)):
            with pytest.raises(Exception, match="shut out until the node restarts") as caught:
                await control.revoke(stolen.identity.device_id)
            assert isinstance(caught.value, UnavailableError) or spoilt is overwritten
            assert "could not be stored" in str(caught.value)
        # The store is well again, and knows nothing of it: the node's memory does.
        assert not rig.running.store.get(stolen.identity.device_id).revoked_at
        assert not await answered(stolen)
        assert not await answered(await rig.dial(stolen.identity))
        assert await answered(honest)
        await rig.running.desk.store_again()  # as the node does every few seconds
        assert rig.running.store.get(stolen.identity.device_id).revoked_at


def store_file(rig: NodeRig) -> Path:
    return rig.paths.data_dir / TRUST_STORE_FILE
