"""Holds tool calls to the offered tools and their JSON Schemas while they are written."""

from __future__ import annotations

from typing import TYPE_CHECKING

from homing_core.errors import UsageError
from homing_core.generation import CallGrammar, Thinking, ToolChoice

from homing_inference.grammar.calls import Opened, Syntax
from homing_inference.grammar.engine import GrammarEngine
from homing_inference.grammar.guard import CallGuard
from homing_inference.grammar.no_calls import NoCallGuard
from homing_inference.grammar.opening import FRESH, TEXT, THINKING

if TYPE_CHECKING:
    from homing_core.generation import GenerateRequest

    from homing_inference.formats.base import ChatFormat

__all__ = ["CallGuard", "GrammarEngine", "NoCallGuard", "guard_for"]


def guard_for(
    request: GenerateRequest,
    chat: ChatFormat,
    engine: GrammarEngine,
    *,
    starts_in_thinking: bool = False,
    continues_text: bool = False,
) -> CallGuard | NoCallGuard | None:
    """The guard of one answer; None where everything is free.

    Args:
        request: what was asked.
        chat: the model's format.
        engine: of the model's vocabulary; one for each model, kept as long as it.
        starts_in_thinking: as the prompt says.
        continues_text: as the prompt says.

    Raises:
        UsageError: a tool's schema cannot be a grammar, or a call is required where none can be.
    """
    known = chat.name in {syntax.value for syntax in Syntax}
    reading = THINKING if starts_in_thinking else TEXT if continues_text else FRESH
    choice = request.tool_choice
    if choice is ToolChoice.REQUIRED and not (request.tools and known):
        what = "the model's format knows no calls" if request.tools else "no tool is offered"
        msg = f"a tool call is required, but {what}"
        raise UsageError(msg, "Offer a tool, use another model, or leave the choice open.")
    if not known:
        return None
    if choice is ToolChoice.NONE:
        return NoCallGuard([tool.name for tool in request.tools], engine.pieces, reading)
    if not request.tools or (
        request.call_grammar is CallGrammar.OFF and choice is not ToolChoice.REQUIRED
    ):
        return None
    calls = engine.calls(request.tools, Syntax(chat.name))
    calls.start(Opened.MARK)  # what is too complex fails before anything is computed
    return CallGuard(
        calls,
        engine.pieces,
        required=choice is ToolChoice.REQUIRED,
        may_think=request.thinking is Thinking.ON,
        reading=reading,
    )
