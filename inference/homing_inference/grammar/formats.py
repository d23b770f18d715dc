"""The `format`s of JSON Schema that a grammar can hold a string to, as patterns.

They are narrower than their standards where those allow what nobody writes: no leap seconds, no
comments in addresses, no literals in host names. Each text that they allow is valid.
"""

from __future__ import annotations

from typing import Final

_MONTH_DAY: Final = (
    "(?:(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])|(?:0[469]|11)-(?:0[1-9]|[12][0-9]|30)"
    "|02-(?:0[1-9]|1[0-9]|2[0-8]))"
)
_LEAP_DAY: Final = "(?:0[48]|[2468][048]|[13579][26])-02-29"
_DATE: Final = f"(?:[12][0-9]{{3}}-{_MONTH_DAY}|[12][0-9]{_LEAP_DAY})"
_CLOCK: Final = "(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:[.][0-9]{1,6})?"
_ZONE: Final = "(?:Z|[+-](?:[01][0-9]|2[0-3]):[0-5][0-9])"
_LABEL: Final = "[A-Za-z0-9](?:[A-Za-z0-9-]{0,30}[A-Za-z0-9])?"
_HOST: Final = f"{_LABEL}(?:[.]{_LABEL}){{0,3}}"
_BYTE: Final = "(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])"
_PATH: Final = "(?:[A-Za-z0-9._~!$&'()*+,;=:@/-]|%[0-9A-Fa-f]{2})*"
_DURATION_TIME: Final = (
    "T(?:[0-9]{1,6}H(?:[0-9]{1,6}M)?(?:[0-9]{1,6}S)?|[0-9]{1,6}M(?:[0-9]{1,6}S)?|[0-9]{1,6}S)"
)
_WORD: Final = "[A-Za-z0-9_+-]{1,32}"

STRING_FORMATS: Final = {
    "date": f"^{_DATE}$",
    "time": f"^{_CLOCK}{_ZONE}$",
    "date-time": f"^{_DATE}T{_CLOCK}{_ZONE}$",
    "duration": (
        f"^P(?:[0-9]{{1,6}}W|{_DURATION_TIME}|[0-9]{{1,6}}D(?:{_DURATION_TIME})?"
        f"|[0-9]{{1,6}}M(?:[0-9]{{1,6}}D)?(?:{_DURATION_TIME})?"
        f"|[0-9]{{1,6}}Y(?:[0-9]{{1,6}}M(?:[0-9]{{1,6}}D)?)?(?:{_DURATION_TIME})?)$"
    ),
    "email": f"^{_WORD}(?:[.]{_WORD}){{0,3}}@{_LABEL}(?:[.]{_LABEL}){{1,3}}$",
    "hostname": f"^{_HOST}$",
    "ipv4": f"^{_BYTE}(?:[.]{_BYTE}){{3}}$",
    "uuid": "^[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$",
    "uri": (
        f"^[A-Za-z][A-Za-z0-9+.-]{{0,15}}://{_HOST}(?::[0-9]{{1,4}})?(?:/{_PATH})?"
        f"(?:[?]{_PATH})?(?:#{_PATH})?$"
    ),
}
"""By name, for strings."""

INTEGER_FORMATS: Final = {"int32": (-(2**31), 2**31 - 1), "int64": (-(2**63), 2**63 - 1)}
"""OpenAPI's ranges of integers, both ends included."""

NUMBER_FORMATS: Final = frozenset({"float", "double"})
"""OpenAPI's widths of numbers, which every number that is written here has."""
