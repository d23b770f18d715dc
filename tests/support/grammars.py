"""Walks through grammars, and models that want to write a given text."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from homing_core.generation import Sampling
from homing_core.ids import new_tool_call_id
from homing_core.tools import ToolCall
from homing_inference.answers.choosing import Chooser
from homing_inference.formats.base import CallParsed
from homing_inference.formats.hermes_json import HermesJsonFormat
from homing_inference.formats.qwen35_xml import Qwen35XmlFormat
from homing_inference.formats.template import ChatTemplate
from homing_inference.grammar.calls import Opened, Syntax

if TYPE_CHECKING:
    import random
    from collections.abc import Mapping, Sequence

    from homing_core.canonical import JsonObject
    from homing_core.tools import ToolSpec
    from homing_inference.answers.choosing import Choice
    from homing_inference.answers.run import TokenGuard
    from homing_inference.formats.base import ChatFormat
    from homing_inference.grammar.backend import Matcher
    from homing_inference.grammar.engine import GrammarEngine
    from homing_inference.llama.vocabulary import Vocabulary
    from numpy.typing import NDArray

_TEMPLATE = ChatTemplate("{{ messages }} enable_thinking", "", "", None)
FORMATS: Mapping[Syntax, ChatFormat] = {
    Syntax.JSON: HermesJsonFormat(_TEMPLATE),
    Syntax.XML: Qwen35XmlFormat(_TEMPLATE),
}
MARK = "<tool_call>"
_ENDING = b'"}]><\n/,:'
_LONGEST_WALK = 400
_WANTED = 20.0


def rendered(tool: ToolSpec, arguments: JsonObject, syntax: Syntax) -> str:
    """A call as its format writes it."""
    call = ToolCall(new_tool_call_id(), tool.name, arguments)
    return FORMATS[syntax].render_calls([call], [tool])


def read(text: str, tools: Sequence[ToolSpec], syntax: Syntax) -> list[ToolCall]:
    """The calls that the parser finds in an answer."""
    parser = FORMATS[syntax].parser(tools)
    events = [*parser.feed(text), *parser.finish(end_of_turn=True)]
    return [event.call for event in events if isinstance(event, CallParsed)]


def accepts(engine: GrammarEngine, tool: ToolSpec, syntax: Syntax, text: str) -> bool:
    """Whether a call may be written so."""
    matcher = engine.calls([tool], syntax).start(Opened.MARK)
    tokens = engine.pieces.vocabulary.tokenize(text.removeprefix(MARK))
    return all(map(matcher.advance, tokens)) and matcher.complete


def walk(
    matcher: Matcher, engine: GrammarEngine, random: random.Random, beginning: Sequence[int]
) -> bytes | None:
    """Tokens by chance until the call is complete; None if that takes too long.

    Args:
        matcher: at the beginning.
        engine: whose vocabulary it is.
        random: the chance.
        beginning: written first, as far as it is allowed.
    """
    pieces = engine.pieces
    text = b""
    for token in beginning:
        if not matcher.advance(token):
            break
        text += pieces.texts[token]
    ending = np.fromiter((any(one in _ENDING for one in piece) for piece in pieces.texts), np.bool_)
    for _ in range(_LONGEST_WALK):
        if matcher.complete:
            return text
        allowed = matcher.allowed()
        places = np.flatnonzero(allowed & ending)
        if not places.size or random.random() < 0.3:
            places = np.flatnonzero(allowed)
        token = int(places[random.randrange(places.size)])
        assert matcher.accepts(token)
        assert matcher.advance(token)
        text += pieces.texts[token]
    return None


def write(
    guard: TokenGuard,
    vocabulary: Vocabulary,
    text: str,
    *,
    special: bool = True,
    sampling: Sampling | None = None,
) -> tuple[bytes, list[Choice]]:
    """What a model writes that wants `text` and nothing else, until it has it or cannot.

    Args:
        guard: what holds it.
        vocabulary: its tokens.
        text: what it wants.
        special: whether it writes marks as their own tokens.
        sampling: how it chooses.
    """
    chooser = Chooser(sampling or Sampling())
    written, choices = b"", list["Choice"]()
    wanted = text.encode()
    while wanted.startswith(written) and written != wanted:
        rest = wanted[len(written) :].decode("utf-8", "ignore")
        token = vocabulary.tokenize(rest, parse_special=special)[0]
        choice = guard.choose(chooser, scores_for(vocabulary.size, token))
        choices.append(choice)
        written += vocabulary.piece(choice.token)
    return written, choices


def scores_for(size: int, wanted: int) -> NDArray[np.float32]:
    """Scores of a model that wants one token, and of the others the lower ones more."""
    scores = np.linspace(1.0, 0.0, size, dtype=np.float32)
    scores[wanted] = _WANTED
    return scores
