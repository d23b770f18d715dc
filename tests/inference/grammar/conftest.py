"""Both backends, over a vocabulary that spells everything byte by byte and over a real one."""

from __future__ import annotations

import ctypes
import os
from typing import TYPE_CHECKING

import pytest
from homing_inference.grammar.engine import GrammarEngine
from homing_inference.grammar.llama_backend import LlamaBackend
from homing_inference.grammar.llguidance_backend import LlguidanceBackend
from homing_inference.llama.library import load_library
from homing_inference.llama.vocabulary import Vocabulary

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager
    from pathlib import Path

_BACKENDS: dict[str, type[LlguidanceBackend | LlamaBackend]] = {
    "llguidance": LlguidanceBackend,
    "llama.cpp": LlamaBackend,
}


class _VocabularyOnly:
    """A model file without its weights."""

    def __init__(self, path: Path) -> None:
        self._library = load_library()
        parameters = self._library.llama_model_default_params()
        parameters.vocab_only = True
        self._handle = self._library.llama_model_load_from_file(os.fsencode(path), parameters)
        assert self._handle, ctypes.get_errno()

    def __enter__(self) -> Vocabulary:
        return Vocabulary(self._library, self._library.llama_model_get_vocab(self._handle))

    def __exit__(self, *_exc: object) -> None:
        self._library.llama_model_free(self._handle)


def _vocabulary_of(path: Path) -> AbstractContextManager[Vocabulary]:
    return _VocabularyOnly(path)


@pytest.fixture(scope="module")
def vocabulary(tiny_qwen35: Path) -> Iterator[Vocabulary]:
    """A token for each byte, and none for `<tool_call>`."""
    with _vocabulary_of(tiny_qwen35) as found:
        yield found


@pytest.fixture(scope="module", params=_BACKENDS)
def engine(request: pytest.FixtureRequest, vocabulary: Vocabulary) -> GrammarEngine:
    """Each backend over the vocabulary of bytes."""
    return GrammarEngine(vocabulary, _BACKENDS[request.param])


@pytest.fixture(scope="module")
def real_vocabulary(stand_in_phone: Path) -> Iterator[Vocabulary]:
    """Qwen's 151,936 tokens, of which one is `<tool_call>`."""
    with _vocabulary_of(stand_in_phone) as found:
        yield found


@pytest.fixture(scope="module", params=_BACKENDS)
def real_engine(request: pytest.FixtureRequest, real_vocabulary: Vocabulary) -> GrammarEngine:
    """Each backend over Qwen's vocabulary."""
    return GrammarEngine(real_vocabulary, _BACKENDS[request.param])
