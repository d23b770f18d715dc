from __future__ import annotations

import pytest
from homing_core.addresses import Address
from homing_discovery.hints import MAX_ADDRESSES, MAX_ADDRESSES_PER_ANNOUNCEMENT
from homing_discovery.sightings import MAX_UNWANTED, MAX_WANTED, Sighting, Sightings
from hypothesis import given, settings
from hypothesis import strategies as st

MINE = "a" * 16
HOME = Address("192.168.1.20", 7433)
OTHER = Address("192.168.1.21", 7433)


def sighting(
    token: str = MINE,
    *addresses: Address,
    at: float = 1.0,
    appeared: bool = False,
    label: str = "x",
) -> Sighting:
    return Sighting(token, label, addresses or (HOME,), 1, at, appeared)


def token(number: int) -> str:
    return f"{number:016x}"


def test_a_first_sighting_is_news_and_its_repetition_is_not() -> None:
    seen = Sightings()
    assert seen.saw(sighting())
    assert not seen.saw(sighting(at=9))
    assert seen.hints()[0].seen_at == 9


def test_coming_back_is_news_even_at_the_same_address() -> None:
    seen = Sightings()
    seen.saw(sighting())
    assert seen.saw(sighting(appeared=True))


def test_nothing_usable_is_no_sighting() -> None:
    seen = Sightings([MINE])
    assert not seen.saw(Sighting(MINE, "x", (), 1, 1.0, appeared=True))
    assert seen.hints() == ()


def test_another_address_joins_and_does_not_replace() -> None:
    seen = Sightings([MINE])
    seen.saw(sighting(MINE, HOME))
    assert seen.saw(sighting(MINE, OTHER))
    assert seen.hints(MINE)[0].addresses == (OTHER, HOME)


@pytest.mark.attack
def test_a_goodbye_does_not_remove_a_wanted_node_but_another() -> None:
    seen = Sightings([MINE])
    for one in (MINE, token(1)):
        seen.saw(sighting(one))
        seen.lost(one)
    assert [hint.token for hint in seen.hints()] == [MINE]


def test_a_flood_stays_bounded_and_leaves_wanted_nodes_alone() -> None:
    seen = Sightings([MINE])
    seen.saw(sighting())
    for number in range(5000):
        seen.saw(sighting(token(number), at=number))
    assert len(seen.hints()) == MAX_UNWANTED + 1
    assert seen.hints(MINE)
    assert len(seen.since(0)) == MAX_UNWANTED + 1
    assert [hint.token for hint in seen.hints()[:2]] == [token(4999), token(4998)]


def test_addresses_of_one_node_are_bounded() -> None:
    seen = Sightings([MINE])
    many = [Address(f"10.0.{n // 250}.{n % 250 + 1}", 1) for n in range(1000)]
    seen.saw(sighting(MINE, *many))
    assert len(seen.hints()[0].addresses) == MAX_ADDRESSES_PER_ANNOUNCEMENT
    for address in many:
        seen.saw(sighting(MINE, address))
    assert seen.hints()[0].addresses == tuple(reversed(many))[:MAX_ADDRESSES]


def test_wanted_tokens_are_bounded() -> None:
    seen = Sightings(token(number) for number in range(10_000))
    assert len(seen.wanted) == MAX_WANTED


def test_a_node_no_longer_wanted_counts_with_the_others() -> None:
    seen = Sightings([MINE])
    seen.saw(sighting())
    for number in range(MAX_UNWANTED):
        seen.saw(sighting(token(number)))
    seen.want([])
    assert len(seen.hints()) == MAX_UNWANTED
    assert not seen.hints(MINE)


def test_labels_are_cleaned_and_cut() -> None:
    seen = Sightings()
    seen.saw(sighting(label="\x1b[2J\u202eevil\r\n\u200b" + "x" * 255))
    name = seen.hints()[0].name
    assert name.startswith("[2Jevil x")
    assert len(name) <= 64


def test_changes_are_told_oldest_first_and_once() -> None:
    seen = Sightings()
    seen.saw(sighting(token(1)))
    seen.saw(sighting(token(2)))
    seen.saw(sighting(token(1), OTHER))
    assert [hint.token for hint in seen.since(0)] == [token(2), token(1)]
    assert seen.since(seen.changes) == ()


@settings(deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(0, 60), st.integers(1, 30), st.sampled_from(["saw", "lost", "want"])),
        max_size=120,
    )
)
def test_bounds_hold_whatever_happens(events: list[tuple[int, int, str]]) -> None:
    seen = Sightings([MINE])
    seen.saw(sighting())
    for number, host, what in events:
        match what:
            case "saw":
                seen.saw(sighting(token(number), Address(f"10.0.0.{host}", 1)))
            case "lost":
                seen.lost(token(number))
            case _:
                seen.want([MINE, token(number)])
    assert seen.hints(MINE)
    unwanted = [hint for hint in seen.hints() if hint.token not in seen.wanted]
    assert len(unwanted) <= MAX_UNWANTED
    assert all(len(hint.addresses) <= MAX_ADDRESSES for hint in seen.hints())
    assert {hint.token for hint in seen.since(0)} == {hint.token for hint in seen.hints()}
