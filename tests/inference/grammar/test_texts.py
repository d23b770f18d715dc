"""Numbers and patterns as expressions: exactly the right texts."""

from __future__ import annotations

import re
from decimal import Decimal  # noqa: TC003  # hypothesis reads it
from fractions import Fraction

import pytest
from homing_inference.grammar.escapes import escaped_json
from homing_inference.grammar.formats import STRING_FORMATS
from homing_inference.grammar.lark import regex
from homing_inference.grammar.measures import length_bounds
from homing_inference.grammar.numbers import number
from homing_inference.grammar.patterns import PatternError, parse_pattern
from homing_inference.grammar.shapes import Numbers
from hypothesis import given
from hypothesis import strategies as st


def _python(expression: str) -> re.Pattern[str]:
    """llguidance's notation of a character as Python's."""
    return re.compile(
        re.sub(r"\\x\{([0-9A-F]+)\}", lambda code: f"\\U{int(code[1], 16):08X}", expression),
        re.DOTALL,
    )


@given(st.integers(-5000, 5000), st.integers(0, 3000), st.integers(-9000, 9000))
def test_integers_within_bounds_and_no_others(low: int, width: int, value: int) -> None:
    node = number(Numbers(integer=True, least=Fraction(low), most=Fraction(low + width)))
    assert node is not None
    texts = _python(regex(node))
    for one in (value, low - 1, low, low + width, low + width + 1):
        assert bool(texts.fullmatch(str(one))) == (low <= one <= low + width)
    assert not texts.fullmatch(f"0{abs(value)}")


@given(
    st.decimals(-50, 50, places=2),
    st.decimals(0, 50, places=1),
    st.tuples(st.booleans(), st.booleans()),
    st.decimals(-120, 120, places=3),
)
def test_decimals_within_bounds_and_no_others(
    low: Decimal, width: Decimal, ends: tuple[bool, bool], value: Decimal
) -> None:
    least = Fraction(low)
    most = least + Fraction(width)
    open_low, open_high = ends
    shape = Numbers(
        integer=False,
        least=least,
        most=most,
        least_excluded=open_low,
        most_excluded=open_high,
    )
    node = number(shape)
    if node is None:
        assert least == most
        return
    texts = _python(regex(node))

    def within(one: Fraction) -> bool:
        above = one > least if open_low else one >= least
        return above and (one < most if open_high else one <= most)

    for text in (str(value), str(float(least)), str(float(most)), f"{float(most):.2f}"):
        negative_zero = text.startswith("-") and Fraction(text) == 0
        if not negative_zero:
            assert bool(texts.fullmatch(text)) == within(Fraction(text)), text


@pytest.mark.parametrize(
    ("shape", "right", "wrong"),
    [
        (Numbers(integer=True), ["0", "-7", "123456789012"], ["01", "+1", "1.0", "1e3", "-", ""]),
        (Numbers(integer=False), ["0", "-0.5", "1e-07", "1.5e+200"], [".5", "1.", "1e999", "NaN"]),
        (Numbers(integer=True, multiple=Fraction(5)), ["0", "5", "-120"], ["3", "51", "05"]),
        (Numbers(integer=True, multiple=Fraction(100)), ["0", "700", "-1200"], ["70", "0100"]),
        (
            Numbers(integer=True, least=Fraction(1), most=Fraction(30), multiple=Fraction(7)),
            ["7", "14", "28"],
            ["0", "35", "8"],
        ),
        (Numbers(integer=True, least=Fraction(0)), ["0", "999999999999"], ["-1"]),
    ],
)
def test_numbers_of_other_kinds(shape: Numbers, right: list[str], wrong: list[str]) -> None:
    node = number(shape)
    assert node is not None
    texts = _python(regex(node))
    assert all(map(texts.fullmatch, right))
    assert not any(map(texts.fullmatch, wrong))


_PATTERNS = [
    r"^\d{3}-\d{4}$",
    r"abc",
    r"^a|b$",
    r"^(?:red|green)(?:-light)?$",
    r"^[^\s@]+@[^\s@]+\.[a-z]{2,}$",
    r"^(?<year>[12]\d{3})$",
    r"[\w.-]+\/\w*?",
    r"^\x41\u00e9[\]\-^]\.$",
    r"",
    r"^$",
]
_TEXTS = ["123-4567", "xabcx", "ab", "red-light", "red", "a@b.org", "a b@c.d", "2026", "a/b",
          "Aé].", "", "b", "xa", "green-", "\n", "abc\n"]  # fmt: skip


@pytest.mark.parametrize("pattern", _PATTERNS)
def test_a_pattern_matches_what_it_matches_elsewhere(pattern: str) -> None:
    texts = _python(regex(parse_pattern(pattern)))
    escaped = _python(regex(escaped_json(parse_pattern(pattern))))
    elsewhere = re.compile(pattern.replace("(?<", "(?P<").replace("$", r"\Z"), re.ASCII)
    for text in _TEXTS:
        expected = bool(elsewhere.search(text))
        assert bool(texts.fullmatch(text)) == expected
        assert bool(escaped.fullmatch(text.replace("\n", "\\n"))) == expected


@pytest.mark.parametrize(
    "pattern",
    ["(", ")", "[a", "a**", "*a", "a{2,1}", "a{99999}", r"\b", r"\p{L}", "(?!a)", "(?<=a)b", "(^a)",
     "a^b", "$a", "[z-a]", r"\u12", "[^\\s\\S]", "a" * 1001, "a{", "\\"],
)  # fmt: skip
def test_what_is_not_regular_or_no_pattern_is_refused(pattern: str) -> None:
    with pytest.raises(PatternError):
        parse_pattern(pattern)


@given(st.text(max_size=40))
def test_any_text_is_a_pattern_or_is_refused(text: str) -> None:
    try:
        node = parse_pattern(text)
    except PatternError:
        node = parse_pattern("")
    assert length_bounds(node)[0] >= 0


@pytest.mark.parametrize(
    ("name", "right", "wrong"),
    [
        ("date", ["2026-12-31", "2024-02-29"], ["2026-02-29", "2026-13-01", "26-1-1"]),
        ("time", ["07:30:00Z", "23:59:59.5+02:00"], ["24:00:00Z", "07:30"]),
        ("date-time", ["2026-01-01T00:00:00Z"], ["2026-01-01 00:00:00"]),
        ("duration", ["P1D", "PT5M", "P1Y2M3DT4H"], ["P", "PT", "1D"]),
        ("email", ["a.b+c@example.org"], ["a@b", "@example.org", "a b@example.org"]),
        ("hostname", ["home.example.org", "a"], ["-a", "a..b"]),
        ("ipv4", ["192.168.0.255"], ["256.1.1.1", "1.2.3"]),
        ("uuid", ["123e4567-e89b-12d3-a456-426614174000"], ["123e4567"]),
        ("uri", ["https://example.org/a?b=c#d", "x://y:80"], ["example.org", "http://"]),
    ],
)
def test_formats(name: str, right: list[str], wrong: list[str]) -> None:
    texts = _python(regex(parse_pattern(STRING_FORMATS[name])))
    assert all(map(texts.fullmatch, right))
    assert not any(map(texts.fullmatch, wrong))
