"""The kept head of a node's record follows its new key, wherever the phone is killed."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

import pytest
from homing_client.audit_book import AUDIT_BOOK_FILE, AuditBook
from homing_core.audit import Head
from homing_core.errors import UnavailableError
from homing_crypto.testing import throwaway_identity
from support.key_world import introduce, key_node, key_phone

KILLER = Path(__file__).parents[1] / "support" / "head_killer.py"
OLD, NEW = (throwaway_identity().device_id for _ in range(2))
KEPT, FORGED = Head(5000, "aa" * 32, 1), Head(3, "bb" * 32, 2)
LIMIT_S = 100


@pytest.mark.attack
async def test_a_kill_at_any_line_of_following_a_new_key_keeps_the_head(tmp_path: Path) -> None:
    child = await asyncio.create_subprocess_exec(
        sys.executable, str(KILLER), str(tmp_path), stdout=asyncio.subprocess.PIPE
    )
    async with asyncio.timeout(LIMIT_S):
        out, _ = await child.communicate()
    found = json.loads(out)
    assert found["lost"] == []
    assert found["killed"] > found["followed"] > 0
    assert found["end"] == [True, True]


@pytest.mark.attack
def test_a_beginning_under_the_new_id_does_not_win_over_what_was_kept(tmp_path: Path) -> None:
    book = AuditBook(tmp_path / AUDIT_BOOK_FILE)
    book.keep(OLD, KEPT, 1.0)
    book.keep(NEW, FORGED, 2.0)
    for _ in range(2):
        book.succeed(OLD, NEW)
        assert (book.get(NEW).kept, book.get(OLD).kept) == (KEPT, None)
    book.close()


@pytest.mark.attack
async def test_a_head_that_cannot_be_kept_leaves_the_list_of_nodes_as_it_is(tmp_path: Path) -> None:
    def full(old: str, new: str) -> None:
        msg = f"no room to follow {old} to {new}"
        raise UnavailableError(msg)

    async with key_node(tmp_path / "node") as rig:
        async with key_phone(tmp_path / "phone") as phone:
            introduce(phone, rig)
            await phone.call()
        await rig.running.keys.rotate()
        async with key_phone(tmp_path / "phone") as phone:
            before = phone.node.id
            phone.homes.prepare(full)
            with pytest.raises(UnavailableError, match="no room"):
                await phone.call()
            assert phone.node.id == before != rig.running.keys.current.device_id
        async with key_phone(tmp_path / "phone") as phone:
            followed: list[tuple[str, str]] = []
            phone.homes.prepare(lambda old, new: followed.append((old, new)))
            await phone.call()
            assert followed == [(before, phone.node.id)]
