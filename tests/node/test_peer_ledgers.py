"""One contract for both ledgers of peers, and what only the one on disk can go through."""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING

import pytest
from homing_core.errors import IntegrityError
from homing_core.ids import DeviceId
from homing_node.peers.ledger import PeerAccount, PeerLedger, Told, ToldState
from homing_node.peers.sqlite_ledger import SqlitePeerLedger
from homing_node.testing import MemoryPeerLedger

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

BO, CY, ADA, EVE = (DeviceId(digit * 64) for digit in "abcd")


@pytest.fixture(params=["memory", "sqlite"])
def ledger(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[PeerLedger]:
    if request.param == "memory":
        yield MemoryPeerLedger()
        return
    on_disk = SqlitePeerLedger(tmp_path / "peers.db")
    yield on_disk
    on_disk.close()


def test_nothing_was_told_to_a_peer_of_which_nothing_is_written(ledger: PeerLedger) -> None:
    assert ledger.account(BO) == PeerAccount(BO)
    ledger.forget(BO)
    ledger.end_withdrawal(BO, [ADA])
    assert not ledger.account(BO).told


def test_what_is_sent_is_known_before_and_after_the_answer(ledger: PeerLedger) -> None:
    told = (Told(ADA, "said", 900), Told(EVE, "said", 900))
    ledger.begin_push(BO, told, 7)
    account = ledger.account(BO)
    assert (account.serial, dict(account.told)) == (7, {ADA: told[0], EVE: told[1]})
    assert account.pushed_at == 0
    ledger.end_push(BO, [ADA], {EVE: "no room", CY: "never sent"}, 55.0)
    account = ledger.account(BO)
    assert account.pushed_at == 55.0
    assert account.told[ADA].state is ToldState.TAKEN
    assert account.told[EVE] == Told(EVE, "said", 900, ToldState.REFUSED, "no room")
    assert CY not in account.told
    ledger.begin_push(BO, [Told(ADA, "renewed", 1900)], 8)
    assert ledger.account(BO).told[ADA] == Told(ADA, "renewed", 1900)
    assert ledger.account(CY) == PeerAccount(CY)


def test_a_serial_never_goes_back(ledger: PeerLedger) -> None:
    ledger.begin_withdrawal(BO, 9)
    ledger.begin_push(BO, (), 4)
    assert ledger.account(BO).serial == 9


def test_whoever_was_withdrawn_is_not_there_any_more(ledger: PeerLedger) -> None:
    ledger.begin_push(BO, (Told(ADA, "said", 900), Told(EVE, "said", 900)), 7)
    ledger.begin_withdrawal(BO, 8)
    assert set(ledger.account(BO).told) == {ADA, EVE}
    ledger.end_withdrawal(BO, [EVE])
    assert set(ledger.account(BO).told) == {ADA}


def test_choices_are_kept_one_by_one(ledger: PeerLedger) -> None:
    ledger.choose(BO, guests=True, choices={ADA: False})
    ledger.choose(BO, guests=None, choices={EVE: True})
    account = ledger.account(BO)
    assert (account.guests, dict(account.choices)) == (True, {ADA: False, EVE: True})
    ledger.choose(BO, guests=False, choices={ADA: True})
    account = ledger.account(BO)
    assert (account.guests, dict(account.choices)) == (False, {ADA: True, EVE: True})


def test_leaving_can_be_thought_better_of(ledger: PeerLedger) -> None:
    ledger.leave(BO, leaving=True)
    assert ledger.account(BO).leaving
    ledger.leave(BO, leaving=False)
    assert not ledger.account(BO).leaving


def test_a_peer_is_forgotten_whole(ledger: PeerLedger) -> None:
    ledger.begin_push(BO, (Told(ADA, "said", 900),), 7)
    ledger.choose(BO, guests=True, choices={ADA: True})
    ledger.begin_push(CY, (Told(ADA, "said", 900),), 3)
    ledger.forget(BO)
    assert ledger.account(BO) == PeerAccount(BO)
    assert set(ledger.account(CY).told) == {ADA}


def test_a_peer_with_a_new_key_keeps_its_account(ledger: PeerLedger) -> None:
    ledger.begin_push(BO, (Told(ADA, "said", 900),), 7)
    ledger.choose(BO, guests=True, choices={ADA: True})
    for _ in range(2):
        ledger.rename(BO, CY)
    moved = ledger.account(CY)
    assert (moved.peer_id, moved.serial, moved.guests) == (CY, 7, True)
    assert (set(moved.told), dict(moved.choices)) == ({ADA}, {ADA: True})
    assert ledger.account(BO) == PeerAccount(BO)


def test_it_survives_closing_and_says_when_it_is_damaged(tmp_path: Path) -> None:
    path = tmp_path / "peers.db"
    first = SqlitePeerLedger(path)
    first.begin_push(BO, (Told(ADA, "said", 900),), 7)
    first.close()
    again = SqlitePeerLedger(path)
    assert again.account(BO).told[ADA].lease_expires_at == 900
    again.close()
    with sqlite3.connect(path) as raw:
        raw.execute("UPDATE told SET state = 'odd'")
    raw.close()
    damaged = SqlitePeerLedger(path)
    with pytest.raises(IntegrityError, match="damaged"):
        damaged.account(BO)
    damaged.close()
