"""Runs grammars with llama.cpp's own sampler: no further package, 0.02 ms a token, slow masks.

`llama_sampler_accept` ends the process on a token that the grammar refuses, so nothing is ever
accepted that was not asked about first.
"""

from __future__ import annotations

import ctypes
import weakref
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from homing_core.errors import UsageError

from homing_inference.grammar.gbnf import write_gbnf
from homing_inference.grammar.pieces import utf8_rest
from homing_inference.grammar.report import HINT

if TYPE_CHECKING:
    from types import ModuleType

    from numpy.typing import NDArray

    from homing_inference.grammar.expressions import Grammar
    from homing_inference.grammar.pieces import Pieces

_MAX_GRAMMAR: Final = 1_000_000
"""Bytes of a grammar's text: compiling takes seconds beyond."""


class LlamaBackend:
    """Compiles grammars with llama.cpp.

    Args:
        pieces: the vocabulary.
    """

    name = "llama.cpp"

    def __init__(self, pieces: Pieces) -> None:
        """Nothing is compiled yet."""
        self._pieces = pieces

    def compile(self, grammar: Grammar) -> _Compiled:
        """See `Backend.compile`."""
        text = write_gbnf(grammar).encode()
        library, vocabulary = self._pieces.vocabulary.native
        sampler = None
        if len(text) <= _MAX_GRAMMAR:
            sampler = library.llama_sampler_init_grammar(vocabulary, text, b"root")
        if not sampler:
            msg = "the schemas of the offered tools are too complex for a call to be held to them"
            raise UsageError(msg, HINT)
        return _Compiled(library, sampler, self._pieces)


class _Compiled:
    def __init__(self, library: ModuleType, sampler: object, pieces: Pieces) -> None:
        self._library = library
        self._sampler = sampler
        self._pieces = pieces
        weakref.finalize(self, library.llama_sampler_free, sampler)

    def start(self) -> _Matcher:
        copy = self._library.llama_sampler_clone(self._sampler)
        return _Matcher(self._library, copy, self._pieces)


class _Matcher:
    def __init__(self, library: ModuleType, sampler: object, pieces: Pieces) -> None:
        self._library = library
        self._sampler = sampler
        self._pieces = pieces
        self._rest = b""
        """Of a character that has begun. The sampler takes bytes for one that are none in UTF-8."""
        weakref.finalize(self, library.llama_sampler_free, sampler)

    @property
    def complete(self) -> bool:
        ends = self._pieces.ends
        return bool(ends) and bool(self._permitted(np.array(ends[:1], dtype=np.int32))[0])

    def accepts(self, token: int) -> bool:
        text = self._pieces.texts[token]
        if self._pieces.control[token] or not text or utf8_rest(self._rest + text) is None:
            return False
        return bool(self._permitted(np.array([token], dtype=np.int32))[0])

    def advance(self, token: int) -> bool:
        if not self.accepts(token):
            return False
        self._library.llama_sampler_accept(self._sampler, token)
        self._rest = utf8_rest(self._rest + self._pieces.texts[token]) or b""
        return True

    def allowed(self) -> NDArray[np.bool_]:
        tokens = np.arange(len(self._pieces.texts), dtype=np.int32)
        permitted = self._permitted(tokens) & ~self._pieces.control
        for token in self._pieces.fragments:
            if permitted[token] and utf8_rest(self._rest + self._pieces.texts[token]) is None:
                permitted[token] = False
        return permitted

    def _permitted(self, tokens: NDArray[np.int32]) -> NDArray[np.bool_]:
        library: Any = self._library
        data = np.zeros(
            tokens.size, dtype=np.dtype([("id", "<i4"), ("logit", "<f4"), ("p", "<f4")])
        )
        data["id"] = tokens
        candidates = library.llama_token_data_array(
            data=data.ctypes.data_as(library.llama_token_data_p),
            size=tokens.size,
            selected=-1,
            sorted=False,
        )
        library.llama_sampler_apply(self._sampler, ctypes.byref(candidates))
        permitted: NDArray[np.bool_] = np.isfinite(data["logit"])
        return permitted
