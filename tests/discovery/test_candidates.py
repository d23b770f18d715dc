from __future__ import annotations

from homing_core.addresses import Address
from homing_discovery.candidates import MAX_HINTED, MAX_LAST_GOOD, MAX_STATIC, AddressBook
from homing_discovery.hints import Hint
from hypothesis import given, settings
from hypothesis import strategies as st

HOME = Address("192.168.1.20", 7433)
AWAY = Address("home.example", 7433)
FORGED = Address("192.168.1.66", 666)


def hint(*addresses: Address, at: float = 1.0) -> Hint:
    return Hint("a" * 16, addresses, "homing", 1, at)


addresses = st.builds(
    Address, st.sampled_from([f"10.0.0.{n}" for n in range(1, 30)]), st.integers(1, 3)
)


def test_what_worked_comes_first_then_what_a_person_said_then_hints() -> None:
    book = AddressBook(static=(AWAY,)).worked(HOME)
    assert book.candidates([hint(FORGED)]) == (HOME, AWAY, FORGED)


def test_the_newest_hint_comes_first_among_hints() -> None:
    old, new = hint(HOME, at=1), hint(AWAY, at=2)
    assert AddressBook().candidates([old, new]) == (AWAY, HOME)


def test_an_address_is_tried_once() -> None:
    book = AddressBook((HOME,), (HOME, AWAY))
    assert book.candidates([hint(AWAY, HOME, FORGED)]) == (HOME, AWAY, FORGED)


def test_what_worked_last_moves_to_the_front_and_the_oldest_is_forgotten() -> None:
    book = AddressBook()
    for last in range(1, MAX_LAST_GOOD + 2):
        book = book.worked(Address(f"10.0.0.{last}", 1))
    book = book.worked(Address("10.0.0.3", 1))
    assert [address.host for address in book.last_good] == [
        "10.0.0.3",
        "10.0.0.5",
        "10.0.0.4",
        "10.0.0.2",
    ]


@settings(deadline=None)
@given(st.lists(addresses, max_size=12), st.lists(addresses, max_size=12), st.lists(addresses))
def test_no_kind_starves_another_and_all_is_bounded(
    good: list[Address], static: list[Address], forged: list[Address]
) -> None:
    book = AddressBook(tuple(good), tuple(static))
    without = book.candidates()
    found = book.candidates([hint(*forged)])
    assert found[: len(without)] == without
    assert len(found) == len(set(found)) <= MAX_LAST_GOOD + MAX_STATIC + MAX_HINTED
    assert book == AddressBook(tuple(good), tuple(static))
