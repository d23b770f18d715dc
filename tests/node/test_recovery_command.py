"""`homing-node recovery`, and the secret that `homing-node pair` shows first."""

from __future__ import annotations

import contextlib
import json
import signal
from typing import TYPE_CHECKING

import pytest
from homing_core.clock import SystemClock
from homing_core.errors import UnavailableError
from homing_crypto.recovery_secret import read_recovery_secret
from homing_crypto.testing import MemoryAudit
from homing_crypto.truststore import SqliteTrustStore
from homing_node.devices.recovery import RECOVERY_FILE, Recovery
from homing_node.rpc.control_client import ControlClient
from support.node_process import environment, finished, started
from support.node_rig import NodeRig, node_rig

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from homing_core.ids import DeviceId


@pytest.fixture
async def rig(tmp_path: Path) -> AsyncIterator[NodeRig]:
    async with node_rig(tmp_path) as running:
        yield running


def words(rig: NodeRig, *more: str) -> tuple[str | Path, ...]:
    return (*more, "--data-dir", rig.paths.data_dir)


async def accepted(rig: NodeRig, secret: str) -> bool:
    """Whether the node takes it."""
    path = rig.paths.data_dir / RECOVERY_FILE
    recovery = Recovery(path, SystemClock(), MemoryAudit())
    device: DeviceId = rig.running.facts.id
    try:
        await recovery.check(secret, device, device)
    except Exception:  # noqa: BLE001  # whatever the reason
        return False
    return True


async def test_it_is_shown_once_before_the_first_pairing(rig: NodeRig, tmp_path: Path) -> None:
    env = environment(tmp_path)
    pair = words(rig, "pair", "--json")
    async with started(*pair, env=env) as first:
        secret = (await first.event("recovery_secret"))["secret"]
        await first.event("opened")
        await first.end(signal.SIGINT)
    assert await accepted(rig, secret)
    async with started(*pair, env=env) as second:
        await second.event("opened")
        assert [event["event"] for event in second.seen] == ["opened"]
        await second.end(signal.SIGINT)


async def test_status_and_new(rig: NodeRig, tmp_path: Path) -> None:
    env = environment(tmp_path)
    none = await finished(*words(rig, "recovery"), env=env)
    assert (none.status, "homing-node recovery new" in none.out) == (0, True)
    assert (
        json.loads((await finished(*words(rig, "recovery", "status", "--json"), env=env)).out)[
            "made_at"
        ]
        is None
    )
    shown = await finished(*words(rig, "recovery", "new"), env=env)
    assert "Write this down" in shown.out
    (line,) = [line.strip() for line in shown.out.splitlines() if line.count("-") == 7]
    assert read_recovery_secret(line) == line
    assert await accepted(rig, line)
    status = json.loads((await finished(*words(rig, "recovery", "--json"), env=env)).out)
    assert (status["event"], status["shown"], status["made_at"] > 0) == ("recovery", True, True)
    assert "was made" in (await finished(*words(rig, "recovery"), env=env)).out

    again = json.loads(
        (await finished(*words(rig, "recovery", "new", "--yes", "--json"), env=env)).out
    )
    assert await accepted(rig, again["secret"])
    assert not await accepted(rig, line)


async def test_a_damaged_file_keeps_nobody_from_pairing(rig: NodeRig, tmp_path: Path) -> None:
    path = rig.paths.data_dir / RECOVERY_FILE
    path.write_text("{")
    path.chmod(0o600)
    async with started(*words(rig, "pair", "--json"), env=environment(tmp_path)) as shown:
        await shown.event("opened")
        await shown.end(signal.SIGINT)
        assert "recovery new" in await shown.rest()
    status = await finished(*words(rig, "recovery"), env=environment(tmp_path))
    assert (status.status, "damaged" in status.err) == (1, True)


async def test_what_the_daemon_says_is_not_taken_for_its_end(rig: NodeRig) -> None:
    """And its end is not taken for something that it said."""
    phone = await rig.phone()
    control = await rig.control()
    store = rig.running.store
    assert isinstance(store, SqliteTrustStore)
    store.close()  # the store is not usable any more
    with pytest.raises(Exception, match="could not be stored") as caught:
        await control.revoke(phone.identity.device_id)
    assert "ended" not in str(caught.value)


async def test_the_daemons_end_is_told_as_such(tmp_path: Path) -> None:
    async with contextlib.AsyncExitStack() as stack:
        async with node_rig(tmp_path) as rig:
            control = await stack.enter_async_context(ControlClient.connect(rig.paths))
            await control.daemon()
        with pytest.raises(UnavailableError, match="ended during the call"):
            await control.daemon()
