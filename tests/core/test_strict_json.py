"""Fields of JSON from outside: what fits is given, anything else is refused with what to try."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from homing_core.errors import InvalidDataError
from homing_core.strict_json import Fields

if TYPE_CHECKING:
    from collections.abc import Callable

    from homing_core.canonical import JsonValue


def fields(value: JsonValue) -> Fields:
    return Fields({"it": value}, ("it",), "the thing", "Make it anew.")


def test_what_fits_is_given() -> None:
    assert fields(3).number("it") == 3.0
    assert fields(0.5).number("it", 0, 1) == 0.5
    assert fields({"a": 1, "b": 2.5}).numbers("it", 2) == {"a": 1.0, "b": 2.5}
    assert fields(["a", "bc"]).texts("it", 2, 2) == ("a", "bc")
    assert fields({"in": 1}).within({"in": 1}, ("in",)).number("in") == 1.0


@pytest.mark.parametrize(
    "read",
    [
        lambda: fields("3").number("it"),
        lambda: fields(True).number("it"),  # noqa: FBT003  # a value
        lambda: fields(None).number("it"),
        lambda: fields(float("nan")).number("it"),
        lambda: fields(float("inf")).number("it"),
        lambda: fields(10**400).number("it"),
        lambda: fields(1.5).number("it", 0, 1),
        lambda: fields({"a": 1, "b": 2}).numbers("it", 1),
        lambda: fields({"a": "1"}).numbers("it", 2),
        lambda: fields([1]).numbers("it", 2),
        lambda: fields(["a", 1]).texts("it", 2, 2),
        lambda: fields(["abc"]).texts("it", 2, 2),
        lambda: fields(["a", "b"]).texts("it", 1, 2),
        lambda: fields({}).within({}, ("in",)),
        lambda: fields({}).within({"in": 1, "out": 2}, ("in",)),
    ],
)
def test_what_does_not_fit_is_refused(read: Callable[[], object]) -> None:
    with pytest.raises(InvalidDataError, match="the thing is malformed") as caught:
        read()
    assert caught.value.hint == "Make it anew."
