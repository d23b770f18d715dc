"""Numbers within bounds, as expressions over their decimal digits.

A range of integers is split at its digits: 17 to 342 is 1[7-9] | [2-9][0-9] | [1-2][0-9]{2} |
3[0-3][0-9] | 34[0-2]. A range of decimals is one of integers in units of the bounds' last place,
followed by further digits wherever the next unit is still within.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Final

from homing_inference.grammar.expressions import (
    DIGIT,
    Chars,
    Lit,
    Node,
    Rep,
    alt,
    chars,
    one_of,
    optional,
    seq,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from homing_inference.grammar.shapes import Numbers

MAX_DIGITS: Final = 20
"""Of a bound's integer part."""
MAX_PLACES: Final = 9
"""Of a bound's fraction."""
_FREE_DIGITS: Final = 18
_FREE_PLACES: Final = 15
"""More digits than a double holds would be rounded, perhaps onto a bound."""
_MAX_MULTIPLES: Final = 1000
_NONZERO: Final = chars((0x31, 0x39))
_ZERO: Final = Lit("0")
_MINUS: Final = optional(Lit("-"))


def number(shape: Numbers) -> Node | None:
    """All texts of the numbers that the shape allows; None if there are none, or too many kinds."""
    if shape.multiple is not None:
        return _multiples(shape)
    if shape.integer:
        return _integers(shape)
    if shape.least is None and shape.most is None:
        return _free()
    return _decimals(shape)


def places_of(value: Fraction) -> int | None:
    """Digits behind the point that the value needs; None if it needs more than `MAX_PLACES`."""
    for places in range(MAX_PLACES + 1):
        if (value * 10**places).denominator == 1:
            return places
    return None


def _free() -> Node:
    whole = alt([_ZERO, seq(_NONZERO, Rep(DIGIT, 0, _FREE_DIGITS - 1))])
    fraction = seq(Lit("."), Rep(DIGIT, 1, MAX_DIGITS))
    sign = optional(one_of("+-"))
    small = seq(whole, optional(fraction), optional(seq(one_of("eE"), sign, Rep(DIGIT, 1, 2))))
    large_exponent = seq(one_of("eE"), sign, one_of("12"), Rep(DIGIT, 2, 2))
    large = seq(_NONZERO, optional(fraction), large_exponent)
    return seq(_MINUS, alt([small, large]))


def _integer_bounds(shape: Numbers) -> tuple[int | None, int | None]:
    least = None if shape.least is None else math.ceil(shape.least)
    if least is not None and shape.least_excluded and least == shape.least:
        least += 1
    most = None if shape.most is None else math.floor(shape.most)
    if most is not None and shape.most_excluded and most == shape.most:
        most -= 1
    return least, most


def _integers(shape: Numbers) -> Node | None:
    least, most = _integer_bounds(shape)
    if least is None and most is None:
        return seq(_MINUS, alt([_ZERO, seq(_NONZERO, Rep(DIGIT, 0, _FREE_DIGITS - 1))]))
    limit = 10 ** max(_FREE_DIGITS, len(str(abs(least or 0))), len(str(abs(most or 0)))) - 1
    low = -limit if least is None else least
    high = limit if most is None else most
    options = list(_signed(low, high))
    return alt(options) if options else None


def _signed(low: int, high: int) -> Iterator[Node]:
    if low > high:
        return
    if high >= 0:
        yield from _natural(max(low, 0), high)
    if low < 0:
        yield seq(Lit("-"), alt(_natural(max(-high, 1), -low)))


def _natural(low: int, high: int) -> Iterator[Node]:
    """Texts without leading zeros of low ≤ n ≤ high, both at least 0."""
    while low <= high:
        width = len(str(low))
        full = len(str(high + 1)) - 1  # every text of fewer digits than this, and of as many, is
        if low == 10 ** (width - 1) and full > width:
            yield seq(_NONZERO, Rep(DIGIT, width - 1, full - 1))
            low = 10**full
            continue
        end = min(high, 10**width - 1)
        yield _same_width(str(low), str(end))
        low = end + 1


def _same_width(low: str, high: str) -> Node:
    """Digits of one width between two texts."""
    if low == high:
        return Lit(low)
    if len(low) == 1:
        return _digits(low, high)
    rest = len(low) - 1
    if set(low[1:]) == {"0"} and set(high[1:]) == {"9"}:
        return seq(_digits(low[0], high[0]), Rep(DIGIT, rest, rest))
    if low[0] == high[0]:
        return seq(Lit(low[0]), _same_width(low[1:], high[1:]))
    options = [seq(Lit(low[0]), _same_width(low[1:], "9" * rest))]
    if int(high[0]) - int(low[0]) > 1:
        middle = _digits(str(int(low[0]) + 1), str(int(high[0]) - 1))
        options.append(seq(middle, Rep(DIGIT, rest, rest)))
    options.append(seq(Lit(high[0]), _same_width("0" * rest, high[1:])))
    return alt(options)


def _digits(low: str, high: str) -> Chars:
    return chars((ord(low), ord(high)))


def _decimals(shape: Numbers) -> Node | None:
    limit = Fraction(10**_FREE_DIGITS)
    low = -limit if shape.least is None else shape.least
    high = limit if shape.most is None else shape.most
    options: list[Node] = []
    if high >= 0:
        starts_at_zero = low < 0
        options += _magnitudes(
            Fraction(0) if starts_at_zero else low,
            high,
            low_excluded=not starts_at_zero and shape.least_excluded,
            high_excluded=shape.most_excluded,
        )
    if low < 0:
        ends_at_zero = high >= 0
        below = _magnitudes(
            Fraction(0) if ends_at_zero else -high,
            -low,
            low_excluded=ends_at_zero or shape.most_excluded,
            high_excluded=shape.least_excluded,
        )
        options += [seq(Lit("-"), alt(below))] if below else []
    return alt(options) if options else None


def _magnitudes(
    low: Fraction, high: Fraction, *, low_excluded: bool, high_excluded: bool
) -> list[Node]:
    """Texts of low ≤ x ≤ high, both at least 0, without exponents."""
    places = max(places_of(low) or 0, places_of(high) or 0)
    options: list[Node] = []
    for used in range(places + 1):
        first, last = math.ceil(low * 10**used), math.floor(high * 10**used)
        first += low_excluded and first == low * 10**used
        last -= high_excluded and last == high * 10**used
        options += _scaled(first, last, used)
    unit = 10**places
    further = max(1, _FREE_PLACES - len(str(int(high))) - places)
    first, last = int(low * unit), int(high * unit)
    tail: Node = Rep(DIGIT, 1, further)
    point = Lit("") if places else Lit(".")
    if low_excluded and first < last:
        more = alt(
            seq(Lit("0" * zeros), _NONZERO, Rep(DIGIT, 0, further - 1 - zeros))
            for zeros in range(further)
        )
        options += [seq(head, point, more) for head in _scaled(first, first, places)]
        first += 1
    options += [seq(head, point, tail) for head in _scaled(first, last - 1, places)]
    if not high_excluded and (low < high or not low_excluded):
        zeros = Rep(_ZERO, 1, further)
        options += [seq(head, point, zeros) for head in _scaled(last, last, places)]
    return options


def _scaled(low: int, high: int, places: int) -> list[Node]:
    """Texts of n / 10^places for low ≤ n ≤ high, with exactly that many digits behind the point."""
    if low > high:
        return []
    if places == 0:
        return list(_natural(low, high))
    unit = 10**places
    first, last = low // unit, high // unit
    low_rest, high_rest = (f"{value % unit:0{places}d}" for value in (low, high))
    if first == last:
        return [seq(Lit(f"{first}."), _same_width(low_rest, high_rest))]
    options: list[Node] = [seq(Lit(f"{first}."), _same_width(low_rest, "9" * places))]
    options += [
        seq(head, Lit("."), Rep(DIGIT, places, places)) for head in _natural(first + 1, last - 1)
    ]
    options.append(seq(Lit(f"{last}."), _same_width("0" * places, high_rest)))
    return options


def _multiples(shape: Numbers) -> Node | None:
    """Integers that a whole number divides: listed if few, else by their last digits."""
    step = shape.multiple
    if step is None or step.denominator != 1 or step <= 0 or not shape.integer:
        return None
    size = int(step)
    least, most = _integer_bounds(shape)
    if least is not None and most is not None and (most - least) // size < _MAX_MULTIPLES:
        first = -(-least // size) * size
        values = range(first, most + 1, size)
        return alt(Lit(str(value)) for value in values) if values else None
    if least is not None or most is not None:
        return None
    zeros = len(str(size)) - 1
    leading = {1: "", 2: "02468", 5: "05"}.get(size // 10**zeros)
    if leading is None or size % 10**zeros:
        return None
    last = Lit("0" * zeros)
    if not leading:
        body = seq(_NONZERO, Rep(DIGIT, 0, _FREE_DIGITS - 1 - zeros), last)
        return seq(_MINUS, alt([_ZERO, body]))
    stem = seq(_NONZERO, Rep(DIGIT, 0, _FREE_DIGITS - 2 - zeros))
    single = one_of(leading.replace("0", ""))
    body = alt([seq(single, last), seq(stem, one_of(leading), last)])
    return seq(_MINUS, alt([_ZERO, body]))
