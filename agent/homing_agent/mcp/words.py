"""What the operator says of an MCP server.

What a server says of its own tools (`readOnlyHint` and the like) is a claim by whoever wrote it, so
it is not read at all: a tool that nobody here has spoken for may do the worst.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Final

from homing_core.config import HERE
from homing_core.tools import EffectClass

if TYPE_CHECKING:
    from collections.abc import Mapping

_EFFECTS: Final = {effect.value: effect for effect in EffectClass}
_MOST_SECONDS: Final = 7 * 24 * 3600.0
_MOST_KIB: Final = 1 << 20


def _none() -> dict[str, str]:
    return {}


@dataclass(frozen=True, slots=True)
class ServerWords:
    """The operator's word about one server. Patterns are the shell's (`*`, `?`, `[ab]`).

    Attributes:
        effects: what tools may do, by pattern of the server's own names for them; the first that
            fits counts, and one that none fits changes settings, the strictest class.
        idempotent: patterns of tools that may be called twice with the same arguments.
        allow: patterns of tools that are offered at all; empty is all.
        deny: patterns of tools that are not, whatever `allow` says.
        environment: variables of the node's own environment that the server gets besides the few
            that every program needs.
        timeout_seconds: how long a call may go without an answer or word of progress.
        start_seconds: how long the server may take to come up, downloads of its launcher included.
        output_kib: KiB of text kept of one answer.
        files_kib: KiB of images, audio and other files kept of one answer.
        end_on_cancel: end the server's process when a call is cancelled and no other is under way,
            for servers that go on with what nobody wants any more.
    """

    effects: dict[str, str] = field(default_factory=_none)
    idempotent: tuple[str, ...] = ()
    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    environment: tuple[str, ...] = ()
    timeout_seconds: float = 300.0
    start_seconds: float = 60.0
    output_kib: int = 256
    files_kib: int = 12 << 10
    end_on_cancel: bool = False

    def __post_init__(self) -> None:
        """Raises `ValueError`, in words for whoever wrote the configuration."""
        for pattern, effect in self.effects.items():
            if effect not in _EFFECTS:
                msg = f"{HERE}.effects: {pattern!r} is none of {', '.join(_EFFECTS)}"
                raise ValueError(msg)
        for seconds in (self.timeout_seconds, self.start_seconds):
            if not 0 < seconds <= _MOST_SECONDS:
                msg = f"{HERE}: a time is not between 0 and {_MOST_SECONDS:.0f} seconds"
                raise ValueError(msg)
        for size in (self.output_kib, self.files_kib):
            if not 0 < size <= _MOST_KIB:
                msg = f"{HERE}: a size is not between 1 and {_MOST_KIB} KiB"
                raise ValueError(msg)
        for name in self.environment:
            if name.upper().startswith("HOMING_"):
                msg = f"{HERE}.environment: {name} is Homing's own and goes to no server"
                raise ValueError(msg)

    def offers(self, name: str) -> bool:
        """Whether the operator wants a tool at all."""
        if any(fnmatchcase(name, pattern) for pattern in self.deny):
            return False
        return not self.allow or any(fnmatchcase(name, pattern) for pattern in self.allow)

    def effect_of(self, name: str) -> EffectClass:
        """What a tool may do."""
        return next(
            (
                _EFFECTS[effect]
                for pattern, effect in self.effects.items()
                if fnmatchcase(name, pattern)
            ),
            EffectClass.SETTINGS,
        )

    def is_idempotent(self, name: str) -> bool:
        """Whether calling a tool twice equals once."""
        return any(fnmatchcase(name, pattern) for pattern in self.idempotent)


DEFAULT_WORDS: Final = ServerWords()


def words_for(words: Mapping[str, ServerWords], server: str) -> ServerWords:
    """What was said of a server; the strictest if nothing was."""
    return words.get(server, DEFAULT_WORDS)
