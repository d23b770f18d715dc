"""Devices and nodes are called by their names, and never mistaken for one another."""

from __future__ import annotations

import pytest
from homing_core.errors import ConflictError, NotFoundError, UsageError
from homing_crypto.naming import match_named
from hypothesis import given
from hypothesis import strategies as st

KID, ATTIC, OTHER = "3f9a" + "0" * 60, "77b1" + "1" * 60, "3f9b" + "2" * 60
NAMES = {KID: "Kid", ATTIC: "Attic", OTHER: "Straße 4"}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("kid", KID),
        (" ATTIC ", ATTIC),
        ("strasse 4", OTHER),
        ("3F9A", KID),
        (KID.upper(), KID),
    ],
)
def test_a_name_in_any_case_or_the_start_of_an_id_will_do(text: str, found: str) -> None:
    assert match_named(NAMES, text) == found


def test_what_is_not_there_is_said_with_what_is() -> None:
    with pytest.raises(NotFoundError, match="no node has this name or id") as told:
        match_named(NAMES, "al", "node")
    assert "Kid (3f9a00000000)" in told.value.hint
    assert "Attic (77b111111111)" in told.value.hint
    with pytest.raises(NotFoundError) as told:
        match_named({}, "al", "node")
    assert told.value.hint == "There is no node."


def test_too_little_of_an_id_is_told_apart_from_nothing() -> None:
    with pytest.raises(UsageError, match="too short for a device's id"):
        match_named(NAMES, "3f9")


def test_two_of_one_name_are_told_apart_by_their_ids() -> None:
    with pytest.raises(ConflictError, match="2 devices") as told:
        match_named({KID: "Kid", OTHER: "kid"}, "KID")
    assert "3f9a00000000" in told.value.hint
    assert "3f9b22222222" in told.value.hint


def test_a_name_like_another_ones_id_never_stands_for_it() -> None:
    names = {KID: "Kid", ATTIC: KID[:12]}
    with pytest.raises(ConflictError):
        match_named(names, KID[:12])
    names[ATTIC] = KID
    assert match_named(names, KID) == KID


def test_what_has_no_name_is_found_by_its_id_only() -> None:
    names = {KID: "", OTHER: "Kid"}
    assert match_named(names, "kid") == OTHER
    assert match_named(names, "3f9a") == KID
    with pytest.raises(NotFoundError):
        match_named(names, "")


@given(st.text(max_size=80))
def test_any_text_gives_an_answer_or_a_clear_error(text: str) -> None:
    try:
        found = match_named(NAMES, text)
    except (UsageError, NotFoundError, ConflictError) as error:
        found = error.hint
    assert found
