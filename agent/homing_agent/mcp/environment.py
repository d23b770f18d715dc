"""What of our environment an MCP server gets to see."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

EVERY_PROGRAM: Final = (
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "LC_ALL",
    "LC_CTYPE",
    "TZ",
    "TMPDIR",
    "PREFIX",
)
"""Without these, programs do not run. HOME is the user's own: launchers such as `npx` and `uvx`
keep what they have downloaded below it. PREFIX is where Termux keeps its programs."""


def server_environment(
    ours: Mapping[str, str], passed: Iterable[str], own: Mapping[str, str]
) -> dict[str, str]:
    """The whole environment of a server.

    Args:
        ours: this process's environment.
        passed: names of variables that the operator lets through.
        own: what the configuration sets for the server; it wins.
    """
    names = (*EVERY_PROGRAM, *passed)
    seen = {
        name: ours[name]
        for name in names
        # Exported shell functions are code (CVE-2014-6271).
        if name in ours
        and not name.upper().startswith("HOMING_")
        and not ours[name].startswith("()")
    }
    return {**seen, **own}
