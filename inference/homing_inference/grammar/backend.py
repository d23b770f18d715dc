"""What runs a grammar: the boundary behind which llguidance or llama.cpp's own grammar stands."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from homing_inference.grammar.expressions import Grammar


class Matcher(Protocol):
    """Follows one text through a grammar, token by token."""

    @property
    def complete(self) -> bool:
        """Whether all that the grammar describes has been read; any text may follow then."""
        ...

    def accepts(self, token: int) -> bool:
        """Whether the token may come next."""
        ...

    def advance(self, token: int) -> bool:
        """Read a token; False if it may not come next, and then nothing was read."""
        ...

    def allowed(self) -> NDArray[np.bool_]:
        """Which tokens may come next, shape (vocabulary,).

        Raises:
            UsageError: the grammar is too complex to say.
        """
        ...


class Compiled(Protocol):
    """A grammar that is ready for use."""

    def start(self) -> Matcher:
        """A matcher at the grammar's beginning."""
        ...


class Backend(Protocol):
    """Compiles grammars for one vocabulary."""

    @property
    def name(self) -> str:
        """Such as `llguidance`."""
        ...

    def compile(self, grammar: Grammar) -> Compiled:
        """Make a grammar ready.

        Raises:
            UsageError: it is too large, or uses what this backend cannot do; it says what.
        """
        ...
