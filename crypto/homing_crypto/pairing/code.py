"""The short pairing code: eight decimal digits, shown as `4821-7736` and typed in many ways.

It is worth 10^8 guesses, which is nothing for a key and enough for a password that SPAKE2 protects:
each guess needs the node's answer, and there are three in three minutes.
"""

from __future__ import annotations

import secrets
import unicodedata

from homing_core.errors import InvalidDataError

CODE_DIGITS = 8
"""10^8 codes: three guesses succeed once in 33 million windows."""
MAX_TYPED = 64
"""Longest text that is looked at, in characters."""

_GROUP = 4
_MINUS = "\N{MINUS SIGN}"
_EXAMPLE = "It is shown by homing-node pair, such as 4821-7736."


def new_code() -> str:
    """A fresh code, `CODE_DIGITS` digits, each equally likely."""
    return f"{secrets.randbelow(10**CODE_DIGITS):0{CODE_DIGITS}}"


def show_code(code: str) -> str:
    """The code as a person reads it: `4821-7736`."""
    return f"{code[:_GROUP]}-{code[_GROUP:]}"


def looks_like_code(text: str) -> bool:
    """Whether somebody who typed this meant a code: digits, spaces and dashes alone."""
    typed = text.strip()
    return 0 < len(typed) <= MAX_TYPED and _digits(typed) not in {None, ""}


def parse_code(text: str) -> str:
    """The digits of what a person typed. Spaces and dashes of any kind do not matter.

    Raises:
        InvalidDataError: it holds something else, or too few or too many digits.
    """
    typed = text.strip()
    digits = _digits(typed) if len(typed) <= MAX_TYPED else None
    if digits is None:
        msg = "that is not a pairing code"
        raise InvalidDataError(msg, _EXAMPLE)
    if len(digits) != CODE_DIGITS:
        msg = f"a pairing code has {CODE_DIGITS} digits, and this has {len(digits)}"
        raise InvalidDataError(msg, _EXAMPLE)
    return digits


def _digits(text: str) -> str | None:
    """The digits, in ASCII whatever the script; None if there is anything but separators besides.

    A keyboard may give another dash or the digits of another script for what the person reads.
    """
    found: list[str] = []
    for char in text:
        if char.isdecimal():
            found.append(str(unicodedata.decimal(char)))
        elif not (char.isspace() or char == _MINUS or unicodedata.category(char) == "Pd"):
            return None
    return "".join(found)
