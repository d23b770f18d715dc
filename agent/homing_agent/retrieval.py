"""Which of many tools a request is likely about.

A model chooses worse, and reads longer, the more tools it is shown. Where there are more than fit a
budget, the likely ones are found by BM25 (Robertson and Zaragoza, 2009; the package `bm25s`) over
names, descriptions and parameters. Tools of the core are always offered; see `Offer`.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol

from homing_agent.conversation import estimate_tool_tokens

if TYPE_CHECKING:
    from collections.abc import Iterator

    from homing_core.canonical import JsonValue
    from homing_core.tools import ToolSpec

_WORDS: Final = re.compile(r"[A-Z]?[a-z]+|[A-Z]+|\d+|[^\W\d_A-Za-z]+")
_STEM: Final = 5
"""Words count as the same if they share this many leading letters ("emission", "emissions")."""
_NOTHING: Final = "-"
_DEPTH: Final = 4
"""How far into nested parameters it is read."""


class ToolRetriever(Protocol):
    """Orders tools by how likely a request is about them."""

    def ordered(self, request: str, tools: Sequence[ToolSpec]) -> tuple[ToolSpec, ...]:
        """All of them, the likeliest first; those that say nothing of it in their own order."""
        ...


class _Index(Protocol):
    """What is used of `bm25s.BM25`, which says nothing of its types."""

    def index(self, corpus: list[list[str]], *, show_progress: bool) -> None: ...

    def get_scores(self, query_tokens_single: list[str]) -> Sequence[float]: ...


class Bm25Retriever:
    """`ToolRetriever` by the words that request and tools have in common.

    An index is made when a set of tools is first seen, and the last one is kept.
    """

    def __init__(self) -> None:
        """Nothing is indexed yet."""
        self._tools: tuple[str, ...] = ()
        self._index: _Index | None = None

    def ordered(self, request: str, tools: Sequence[ToolSpec]) -> tuple[ToolSpec, ...]:
        """As in `ToolRetriever`."""
        words = _words(request)
        if not words or not tools:
            return tuple(tools)
        scores = self._indexed(tools).get_scores(words)
        order = sorted(range(len(tools)), key=lambda number: -float(scores[number]))
        return tuple(tools[number] for number in order)

    def _indexed(self, tools: Sequence[ToolSpec]) -> _Index:
        key = tuple(tool.schema_hash for tool in tools)
        if self._index is None or key != self._tools:
            # Loaded here, for most phones never need it.
            index: _Index = importlib.import_module("bm25s").BM25()
            said_anyway = frozenset(importlib.import_module("bm25s.stopwords").STOPWORDS_EN)
            texts = [
                [word for word in _words(_text(tool)) if word not in said_anyway] or [_NOTHING]
                for tool in tools
            ]
            index.index(texts, show_progress=False)
            self._tools, self._index = key, index
        return self._index


@dataclass(frozen=True, slots=True)
class Offer:
    """What of a set of tools is offered to a model for one request.

    Attributes:
        tools: the core, then the likeliest of the rest, in the order of the whole set.
        of: how many there are in all.
    """

    tools: tuple[ToolSpec, ...]
    of: int

    @property
    def words(self) -> str:
        """That not all are offered, for a person; empty if all are."""
        if len(self.tools) == self.of:
            return ""
        return f"{len(self.tools)} of {self.of} tools are offered: those that the request is about"


def offer(
    request: str,
    core: Sequence[ToolSpec],
    more: Sequence[ToolSpec],
    tokens: int,
    retriever: ToolRetriever,
) -> Offer:
    """The core and as many further tools as fit. Pure but for the retriever's index.

    Args:
        request: what the person says.
        core: always offered, and not counted.
        more: the others.
        tokens: how many their descriptions may take, by estimate.
        retriever: orders them.
    """
    if estimate_tool_tokens(more) <= tokens:
        return Offer((*core, *more), len(core) + len(more))
    left, chosen = tokens, set[str]()
    for tool in retriever.ordered(request, more):
        size = estimate_tool_tokens([tool])
        if size <= left:
            left -= size
            chosen.add(tool.name)
    kept = tuple(tool for tool in more if tool.name in chosen)
    return Offer((*core, *kept), len(core) + len(more))


def _words(text: str) -> list[str]:
    """Words in lower case; names in camel case and with underscores count as several."""
    return [word.casefold()[:_STEM] for word in _WORDS.findall(text)]


def _text(tool: ToolSpec) -> str:
    return " ".join((tool.name, tool.name, tool.description, *_said(tool.parameters, _DEPTH)))


def _said(schema: JsonValue, depth: int) -> Iterator[str]:
    """Names, descriptions and listed values of parameters."""
    if not isinstance(schema, Mapping) or not depth:
        return
    properties = schema.get("properties")
    for name, value in properties.items() if isinstance(properties, Mapping) else ():
        yield name
        yield from _said(value, depth - 1)
    listed = schema.get("enum")
    for one in (schema.get("description"), *(listed if isinstance(listed, Sequence) else ())):
        if isinstance(one, str):
            yield one
