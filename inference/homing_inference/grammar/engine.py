"""The grammars of one model's vocabulary, compiled once for each offer of tools."""

from __future__ import annotations

import weakref
from collections import OrderedDict
from functools import cached_property
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final

import structlog
from homing_core.canonical import sha256_json

from homing_inference.grammar.calls import CallGrammars, Opened, OpenedBare, Syntax
from homing_inference.grammar.llama_backend import LlamaBackend
from homing_inference.grammar.pieces import Pieces

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from homing_core.tools import ToolSpec

    from homing_inference.grammar.backend import Backend, Compiled, Matcher
    from homing_inference.llama.vocabulary import Vocabulary

_log: structlog.stdlib.BoundLogger = structlog.stdlib.get_logger(__name__)

KEPT_OFFERS: Final = 16
"""Offers of tools whose grammars are kept."""


class GrammarEngine:
    """Makes and keeps grammars. For one thread.

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

    @cached_property
    def pieces(self) -> Pieces:
        """The vocabulary's tokens."""
        return Pieces(self._vocabulary)

    @cached_property
    def backend(self) -> Backend:
        """What runs the grammars."""
        backend = self._make_backend(self.pieces)
        _log.debug("grammar.backend", name=backend.name)
        return backend

    def calls(self, tools: Sequence[ToolSpec], syntax: Syntax) -> CompiledCalls:
        """The grammars of an offer of tools.

        Raises:
            UsageError: a tool's schema cannot be a grammar.
        """
        key = sha256_json([syntax.value, *([tool.name, tool.parameters] for tool in tools)])
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


_engines: weakref.WeakKeyDictionary[Vocabulary, GrammarEngine] = weakref.WeakKeyDictionary()


def engine_of(vocabulary: Vocabulary) -> GrammarEngine:
    """The one engine of a vocabulary."""
    found = _engines.get(vocabulary)
    if found is None:
        found = _engines[vocabulary] = GrammarEngine(vocabulary)
    return found
