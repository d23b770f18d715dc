"""One contract for both lists of known nodes, and what only the one on disk can go through."""

from __future__ import annotations

import dataclasses
import sqlite3
from typing import TYPE_CHECKING

import pytest
from homing_core.access import DeviceRole, Scope
from homing_core.errors import (
    ConflictError,
    HomingError,
    IntegrityError,
    NotFoundError,
)
from homing_core.ids import DeviceId
from homing_core.tools import Place
from homing_crypto.node_book import SqliteNodeBook
from homing_crypto.nodes import KnownNode, NodeBook, PendingPairing
from homing_crypto.rotation import NewKey
from homing_crypto.testing import MemoryNodeBook, throwaway_identity

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from homing_crypto.identity import DeviceIdentity

HOME, PEER, THIRD = (throwaway_identity() for _ in range(3))
UNKNOWN = DeviceId("0" * 64)


def known(identity: DeviceIdentity, name: str = "home", place: Place = Place.HOME) -> KnownNode:
    return KnownNode(
        id=identity.device_id,
        certificate_der=identity.certificate.der,
        hpke_public_key=identity.hpke.public_bytes,
        name=name,
        place=place,
        role=DeviceRole.OWNER,
        scopes=frozenset({Scope.INFERENCE, Scope.JOBS}),
        addresses=("192.168.1.20:7443", "[fd00::1]:7443"),
        paired_at=100.0,
    )


@pytest.fixture(params=["memory", "sqlite"])
def book(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[NodeBook]:
    if request.param == "memory":
        yield MemoryNodeBook()
        return
    on_disk = SqliteNodeBook(tmp_path / "nodes.db")
    yield on_disk
    on_disk.close()


def test_what_is_added_is_found_as_it_was(book: NodeBook) -> None:
    assert book.add(known(HOME)) == known(HOME)
    assert book.get(HOME.device_id) == known(HOME)
    assert book.nodes() == (known(HOME),)


def test_home_comes_before_peers(book: NodeBook) -> None:
    book.add(dataclasses.replace(known(PEER, "friend", Place.PEER), paired_at=1.0))
    book.add(known(HOME))
    assert [node.name for node in book.nodes()] == ["home", "friend"]


def test_a_node_is_found_by_name_or_id_prefix(book: NodeBook) -> None:
    book.add(known(HOME, "attic"))
    book.add(known(PEER, "cellar"))
    book.add(known(THIRD, "cellar"))
    assert book.find("attic").id == HOME.device_id
    assert book.find(HOME.device_id[:12]).name == "attic"
    for text, kind in (("cellar", ConflictError), ("0000", NotFoundError), ("x", NotFoundError)):
        with pytest.raises(kind):
            book.find(text)


def test_pairing_again_keeps_where_the_node_was_last_reached(book: NodeBook) -> None:
    book.add(known(HOME))
    book.note_verified(HOME.device_id, "10.0.0.7:7443", 150.0)
    renamed = dataclasses.replace(known(HOME, "new name"), paired_at=200.0)
    stored = book.add(renamed)
    assert stored.name == "new name"
    assert stored.last_good_address == "10.0.0.7:7443"
    assert (stored.last_verified_at, stored.paired_at) == (150.0, 100.0)
    assert book.get(HOME.device_id) == stored


def test_forgetting_a_node_is_harmless_twice(book: NodeBook) -> None:
    book.add(known(HOME))
    book.remove(HOME.device_id)
    book.remove(HOME.device_id)
    book.note_verified(HOME.device_id, "10.0.0.7:7443", 1.0)
    assert book.nodes() == ()
    with pytest.raises(NotFoundError):
        book.get(HOME.device_id)


def test_it_is_noted_which_key_a_node_knows(book: NodeBook) -> None:
    first, second = DeviceId("1" * 64), DeviceId("2" * 64)
    book.add(known(HOME))
    book.add(dataclasses.replace(known(PEER), known_as=first))
    book.note_known_as(second)
    assert book.get(HOME.device_id).known_as == second
    assert book.get(PEER.device_id).known_as == first
    book.note_known_as(second, PEER.device_id)
    assert book.get(PEER.device_id).known_as == second
    book.note_known_as(second, UNKNOWN)


def test_a_node_with_a_new_key_keeps_all_but_its_id(book: NodeBook) -> None:
    book.add(dataclasses.replace(known(HOME, "attic"), known_as="1" * 64))
    book.note_verified(HOME.device_id, "10.0.0.7:7443", 150.0)
    before = book.get(HOME.device_id)
    key = NewKey(THIRD.certificate, THIRD.hpke.public_bytes, THIRD.hpke_signature)
    after = dataclasses.replace(
        before,
        id=THIRD.device_id,
        certificate_der=THIRD.certificate.der,
        hpke_public_key=THIRD.hpke.public_bytes,
    )
    assert book.succeed(HOME.device_id, key) == after
    assert book.succeed(HOME.device_id, key) == after
    assert book.nodes() == (after,)
    with pytest.raises(NotFoundError):
        book.succeed(UNKNOWN, NewKey(PEER.certificate, PEER.hpke.public_bytes, b""))


def test_a_home_offers_peers_and_takes_them_back(book: NodeBook) -> None:
    book.add(known(HOME))
    peer = dataclasses.replace(
        known(PEER, "friend", Place.PEER), introduced_by=HOME.device_id, lease_expires_at=500
    )
    book.offer(HOME.device_id, [peer])
    assert book.get(PEER.device_id) == peer
    book.note_verified(PEER.device_id, "10.0.0.7:7443", 150.0)
    book.offer(HOME.device_id, [dataclasses.replace(peer, lease_expires_at=900, paired_at=200.0)])
    renewed = book.get(PEER.device_id)
    assert (renewed.lease_expires_at, renewed.last_good_address) == (900, "10.0.0.7:7443")
    assert renewed.paired_at == 100.0
    book.offer(HOME.device_id, [])
    assert [node.id for node in book.nodes()] == [HOME.device_id]


def test_an_offer_touches_no_node_that_was_paired_directly_or_by_another_home(
    book: NodeBook,
) -> None:
    book.add(known(HOME))
    book.add(known(THIRD, "other home"))
    direct = book.add(known(PEER, "friend", Place.PEER))
    by_home = dataclasses.replace(direct, name="liar", introduced_by=HOME.device_id)
    book.offer(HOME.device_id, [by_home])
    assert book.get(PEER.device_id) == direct
    book.offer(
        HOME.device_id,
        [dataclasses.replace(by_home, id=THIRD.device_id, certificate_der=THIRD.certificate.der)],
    )
    assert book.get(THIRD.device_id).name == "other home"
    book.remove(PEER.device_id)
    book.offer(HOME.device_id, [by_home])
    book.offer(THIRD.device_id, [dataclasses.replace(by_home, introduced_by=THIRD.device_id)])
    assert book.get(PEER.device_id).introduced_by == HOME.device_id
    book.add(direct)
    book.offer(HOME.device_id, [])
    assert book.get(PEER.device_id).introduced_by == ""


def test_peers_go_with_the_home_that_vouches_for_them(book: NodeBook) -> None:
    book.add(known(HOME))
    peer = dataclasses.replace(known(PEER, "friend", Place.PEER), introduced_by=HOME.device_id)
    book.offer(HOME.device_id, [peer])
    key = NewKey(THIRD.certificate, THIRD.hpke.public_bytes, THIRD.hpke_signature)
    book.succeed(HOME.device_id, key)
    assert book.get(PEER.device_id).introduced_by == THIRD.device_id
    book.remove(THIRD.device_id)
    assert book.nodes() == ()
    with pytest.raises(NotFoundError):
        book.offer(THIRD.device_id, [peer])


def test_a_certificate_of_another_node_is_refused(book: NodeBook) -> None:
    with pytest.raises(IntegrityError):
        book.add(dataclasses.replace(known(HOME), certificate_der=PEER.certificate.der))
    assert book.nodes() == ()


def test_a_pairing_is_remembered_until_it_ends(book: NodeBook) -> None:
    later = PendingPairing("id2", "homing://pair?2", "phone", 20.0)
    first = PendingPairing("id1", "homing://pair?1", "phone", 10.0)
    book.begin_pairing(later)
    book.begin_pairing(first)
    book.begin_pairing(first)
    assert book.pending_pairings() == (first, later)
    assert "homing://" not in repr(first)
    book.finish_pairing("id1", known(HOME))
    assert book.pending_pairings() == (later,)
    assert book.nodes() == (known(HOME),)
    book.finish_pairing("id2", None)
    book.finish_pairing("id2", None)
    assert book.pending_pairings() == ()


def test_a_pairing_that_cannot_be_stored_stays_pending(book: NodeBook) -> None:
    pending = PendingPairing("id1", "homing://pair?1", "phone", 10.0)
    book.begin_pairing(pending)
    wrong = dataclasses.replace(known(HOME), certificate_der=PEER.certificate.der)
    with pytest.raises(IntegrityError):
        book.finish_pairing("id1", wrong)
    assert book.pending_pairings() == (pending,)
    assert book.nodes() == ()


# Only on disk.


def test_it_survives_closing(tmp_path: Path) -> None:
    on_disk = SqliteNodeBook(tmp_path / "nodes.db")
    on_disk.add(known(HOME))
    on_disk.begin_pairing(PendingPairing("id", "link", "phone", 1.0))
    on_disk.close()
    again = SqliteNodeBook(tmp_path / "nodes.db")
    assert again.nodes() == (known(HOME),)
    assert len(again.pending_pairings()) == 1
    again.close()


@pytest.mark.parametrize(
    ("column", "value"),
    [("certificate", b"x"), ("place", "moon"), ("addresses", "{"), ("scopes", "3"), ("role", "")],
)
def test_one_garbled_entry_does_not_drop_the_others(
    tmp_path: Path, column: str, value: str | bytes
) -> None:
    path = tmp_path / "nodes.db"
    on_disk = SqliteNodeBook(path)
    on_disk.add(known(HOME))
    on_disk.add(known(PEER, "friend", Place.PEER))
    with sqlite3.connect(path) as other:
        sql = f"UPDATE nodes SET {column} = ? WHERE id = ?"  # noqa: S608  # our own names
        other.execute(sql, (value, HOME.device_id))
    other.close()
    assert [node.name for node in on_disk.nodes()] == ["friend"]
    with pytest.raises(IntegrityError):
        on_disk.get(HOME.device_id)
    on_disk.add(known(HOME))
    assert on_disk.get(HOME.device_id) == known(HOME)
    on_disk.close()


def test_a_trust_store_is_not_taken_for_a_list_of_nodes(tmp_path: Path) -> None:
    path = tmp_path / "nodes.db"
    SqliteNodeBook(path).close()
    with sqlite3.connect(path) as other:
        other.execute("PRAGMA application_id = 7")
    other.close()
    with pytest.raises(HomingError, match="is not the list of known nodes"):
        SqliteNodeBook(path)
