"""The short code as people read and type it."""

from __future__ import annotations

import pytest
from homing_core.errors import InvalidDataError
from homing_crypto.pairing.code import (
    CODE_DIGITS,
    looks_like_code,
    new_code,
    parse_code,
    show_code,
)
from hypothesis import given
from hypothesis import strategies as st


def test_codes_are_eight_digits_and_not_always_the_same() -> None:
    codes = {new_code() for _ in range(50)}
    assert all(len(code) == CODE_DIGITS and code.isdigit() for code in codes)
    assert len(codes) > 40


def test_a_code_is_shown_in_two_groups() -> None:
    assert show_code("00120345") == "0012-0345"


@pytest.mark.parametrize(
    "typed",
    [
        "4821-7736",
        "48217736",
        " 4821 7736\n",
        "48 21 77 36",
        "4821\N{EN DASH}7736",
        "4821\N{NON-BREAKING HYPHEN}7736",
        "4821\N{MINUS SIGN}7736",
        "4821\N{NO-BREAK SPACE}7736",
        "-4-8-2-1-7-7-3-6-",
        "\uff14\uff18\uff12\uff11\uff0d\uff17\uff17\uff13\uff16",
        "\u0664\u0668\u0662\u0661-\u0667\u0667\u0663\u0666",
    ],
)
def test_it_may_be_typed_in_many_ways(typed: str) -> None:
    assert parse_code(typed) == "48217736"
    assert looks_like_code(typed)


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        ("4821-773", "this has 7"),
        ("4821-77361", "this has 9"),
        ("1" * 60, "this has 60"),
        ("4821-773x", "not a pairing code"),
        ("4821.7736", "not a pairing code"),
        ("4821-773\N{SUPERSCRIPT TWO}", "not a pairing code"),
        ("4821-7736\x1b[2J", "not a pairing code"),
        ("1" * 65, "not a pairing code"),
        ("", "this has 0"),
    ],
)
def test_what_is_none_is_said(typed: str, words: str) -> None:
    with pytest.raises(InvalidDataError, match=words) as told:
        parse_code(typed)
    assert "homing-node pair" in told.value.hint
    assert typed not in told.value.what or not typed


@pytest.mark.parametrize("text", ["", "   ", "--", "homing://pair?v=1", "den", "4821x", "1" * 65])
def test_what_is_meant_otherwise_does_not_look_like_one(text: str) -> None:
    assert not looks_like_code(text)


@given(st.text(max_size=80))
def test_any_text_is_a_code_or_an_error(text: str) -> None:
    try:
        code = parse_code(text)
    except InvalidDataError:
        return
    assert len(code) == CODE_DIGITS
    assert code.isascii()
    assert parse_code(show_code(code)) == code
