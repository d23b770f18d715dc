"""Asking the person about one exact step."""

from __future__ import annotations

from typing import TYPE_CHECKING

from homing_agent.ports import ConsentAnswer
from homing_agent.runtime.parameter_words import parameter_words
from homing_core.approvals import Verdict
from homing_core.tools import Place

from homing_client.cli.console import PLACES, aside, err, exact, printable
from homing_client.cli.typed import forget_typed_ahead, read_line

if TYPE_CHECKING:
    from collections.abc import Iterable

    from homing_agent.ports import ConsentQuestion
    from homing_core.canonical import JsonObject
    from homing_core.tools import ToolSpec

_YES = frozenset({"y", "yes"})
_ALWAYS = frozenset({"a", "always"})
_NO = frozenset({"n", "no", ""})
_ONCE = "Allow it? [y]es, [N]o: "
_OR_ALWAYS = "Allow it? [y]es, [a]lways in this conversation, [N]o: "


async def ask_person(question: ConsentQuestion) -> ConsentAnswer:
    """Show the step and wait for the answer; the end of input is a no.

    Cancelled when the question is not open any more.
    """
    _show(question)
    prompt = _OR_ALWAYS if question.may_remember else _ONCE
    more = _ALWAYS if question.may_remember else frozenset[str]()
    word = await _word(prompt, _YES | _NO | more)
    verdict = Verdict.DENY if word in _NO else Verdict.ALLOW
    return ConsentAnswer(question.approval_id, verdict, remember=word in more)


async def ask_yes() -> bool:
    """Whether the person allows what was just shown; the end of input is a no."""
    return await _word(_ONCE, _YES | _NO) in _YES


async def _word(prompt: str, known: frozenset[str]) -> str:
    while True:
        forget_typed_ahead()
        err.print(prompt, end="", markup=False)
        word = (await read_line()).strip().lower()
        if word in known:
            return word
        aside("Answer y or n.")


def show_step(tool: ToolSpec, arguments: JsonObject, where: str, lines: Iterable[str]) -> None:
    """A step exactly as it would run.

    Args:
        tool: the tool.
        arguments: with what.
        where: where it runs, for a person; empty is here.
        lines: what else is known of it.
    """
    err.print()
    err.print(printable(f"{tool.name} {where}".rstrip()), style="bold", markup=False)
    aside(tool.description)
    for name, value in arguments.items():
        err.print(f"  {exact(name)[1:-1]}: {exact(value)}", markup=False, soft_wrap=True)
    for one in parameter_words(tool.parameters):
        if one.default and one.name not in arguments:
            err.print(f"  {one.name}: {one.default} (not said)", markup=False, soft_wrap=True)
    for line in lines:
        if line:
            err.print(printable(line), markup=False)


def _show(question: ConsentQuestion) -> None:
    tool = question.tool
    where = "" if tool.place is Place.PHONE else f"at {PLACES[tool.place]}"
    show_step(tool, question.call.arguments, where, (question.preview, question.reason))
