"""The grammars of one model's vocabulary, compiled once for each offer of tools."""

from __future__ import annotations

import threading
from collections import OrderedDict
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final

import structlog
from homing_core.canonical import sha256_json
from homing_core.errors import UsageError

from homing_inference.grammar.calls import CallGrammars, Opened, OpenedBare, Syntax
from homing_inference.grammar.llama_backend import LlamaBackend
from homing_inference.grammar.pieces import Pieces
from homing_inference.grammar.report import HINT

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from homing_core.tools import ToolSpec

    from homing_inference.grammar.backend import Backend, Compiled, Matcher
    from homing_inference.llama.vocabulary import Vocabulary

_log: structlog.stdlib.BoundLogger = structlog.stdlib.get_logger(__name__)

KEPT_OFFERS: Final = 16
"""Offers of tools whose grammars are kept."""


class GrammarEngine:
    """Makes and keeps grammars. For one thread, which `prepare` may run beside.

    Args:
        vocabulary: the model's tokens; read when first needed.
        backend: makes the backend; the best that is installed if left out.
    """

    def __init__(
        self, vocabulary: Vocabulary, backend: Callable[[Pieces], Backend] | None = None
    ) -> None:
        """Nothing is read or compiled yet."""
        self._vocabulary = vocabulary
        self._make_backend = backend or best_backend
        self._offers: OrderedDict[str, CompiledCalls] = OrderedDict()
        self._lock = threading.Lock()
        self._ready: tuple[Pieces, Backend] | None = None

    def prepare(self) -> tuple[Pieces, Backend]:
        """Read the vocabulary now, if it is not; takes 0.7 s for 150,000 tokens."""
        with self._lock:
            if self._ready is None:
                pieces = Pieces(self._vocabulary)
                self._ready = pieces, self._make_backend(pieces)
                _log.debug("grammar.ready", backend=self._ready[1].name)
            return self._ready

    @property
    def pieces(self) -> Pieces:
        """The vocabulary's tokens."""
        return self.prepare()[0]

    @property
    def backend(self) -> Backend:
        """What runs the grammars."""
        return self.prepare()[1]

    def calls(self, tools: Sequence[ToolSpec], syntax: Syntax) -> CompiledCalls:
        """The grammars of an offer of tools.

        Raises:
            UsageError: a tool's schema cannot be a grammar.
        """
        try:
            key = sha256_json([syntax.value, *([tool.name, tool.parameters] for tool in tools)])
        except (ValueError, RecursionError) as error:  # no JSON: the check says more
            CallGrammars(tuple(tools), syntax)
            msg = "the schema of an offered tool is no JSON"
            raise UsageError(msg, HINT) from error
        known = self._offers.get(key)
        if known is None:
            known = CompiledCalls(CallGrammars(tuple(tools), syntax), self.backend)
            self._offers[key] = known
            if len(self._offers) > KEPT_OFFERS:
                self._offers.popitem(last=False)
        self._offers.move_to_end(key)
        return known


class CompiledCalls:
    """An offer's grammars, compiled when they are first needed."""

    def __init__(self, grammars: CallGrammars, backend: Backend) -> None:
        """Nothing is compiled yet."""
        self._grammars = grammars
        self._backend = backend
        self._compiled: dict[Opened | OpenedBare, Compiled] = {}
        self.syntax: Final = grammars.syntax
        self.names: Final = tuple(grammars.names)

    def start(self, opened: Opened | OpenedBare) -> Matcher:
        """See `CallSource.start`."""
        known = self._compiled.get(opened)
        if known is None:
            known = self._backend.compile(self._grammars.grammar(opened))
            self._compiled[opened] = known
        return known.start()


def best_backend(pieces: Pieces) -> Backend:
    """The backend llguidance where it is installed, otherwise llama.cpp's own grammars."""
    if find_spec("llguidance") is None:
        return LlamaBackend(pieces)
    from homing_inference.grammar.llguidance_backend import LlguidanceBackend  # noqa: PLC0415  # an extra

    return LlguidanceBackend(pieces)
