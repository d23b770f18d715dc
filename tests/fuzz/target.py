"""What is fuzzed: a name, a function from bytes, and what it may raise."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from homing_core.errors import HomingError
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

Seeds: TypeAlias = "Callable[[], Iterable[bytes]]"


def _nothing() -> tuple[bytes, ...]:
    return ()


@dataclass(frozen=True)
class Target:
    """One reader of outside data.

    Attributes:
        name: of the target, and of its corpus.
        run: reads one input; what it returns is dropped.
        covers: the functions that it tries, as `module.function`.
        seeds: valid inputs, from which others are made.
        allowed: what it may raise; anything else is a finding.
        structured: inputs of the right form with any content, for hypothesis; None takes none.
        quick: inputs in `make test`; fewer for what is slow by nature.
    """

    name: str
    run: Callable[[bytes], object] = field(repr=False)
    covers: tuple[str, ...] = ()
    seeds: Seeds = field(default=_nothing, repr=False)
    allowed: tuple[type[Exception], ...] = (HomingError,)
    structured: st.SearchStrategy[bytes] | None = field(default=None, repr=False)
    quick: int = 300

    def attempt(self, data: bytes) -> None:
        """Try one input; what comes out of it is a finding."""
        try:
            self.run(data)
        except self.allowed:
            return


def text(data: bytes) -> str:
    """Any bytes as a text, as an argument of the command line would be."""
    return data.decode("utf-8", "surrogateescape")


def of_text(
    name: str,
    run: Callable[[str], object],
    *seeds: str,
    covers: tuple[str, ...] = (),
    allowed: tuple[type[Exception], ...] = (HomingError,),
    quick: int = 300,
) -> Target:
    """A target that reads text."""
    return Target(
        name,
        lambda data: run(text(data)),
        covers,
        lambda: [seed.encode() for seed in seeds],
        allowed,
        st.text(max_size=200).map(lambda found: found.encode("utf-8", "surrogatepass")),
        quick,
    )


def pieces(data: bytes) -> list[bytes]:
    """The input cut into several, each after one byte of length; the last takes the rest."""
    found: list[bytes] = []
    at = 0
    while at < len(data) and len(found) < 64:
        size = data[at]
        found.append(data[at + 1 : at + 1 + size])
        at += 1 + size
    return found


def joined(parts: Sequence[bytes]) -> bytes:
    """What `pieces` cuts; parts of more than 255 bytes are left out."""
    return b"".join(bytes([len(part)]) + part for part in parts if len(part) < 256)


def examples(strategy: st.SearchStrategy[bytes], count: int = 12) -> list[bytes]:
    """The same few examples each time."""
    found: list[bytes] = []

    @settings(
        max_examples=count,
        derandomize=True,
        database=None,
        phases=[Phase.generate],
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    )
    @given(strategy)
    def collect(data: bytes) -> None:
        found.append(data)

    collect()
    return found
