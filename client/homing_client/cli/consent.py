"""Asking the person about one exact step."""

from __future__ import annotations

from typing import TYPE_CHECKING

from homing_agent.ports import ConsentAnswer
from homing_core.approvals import Verdict
from homing_core.tools import Place

from homing_client.cli.console import PLACES, aside, err, exact, printable
from homing_client.cli.typed import forget_typed_ahead, read_line

if TYPE_CHECKING:
    from homing_agent.ports import ConsentQuestion

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
    while True:
        forget_typed_ahead()
        err.print(prompt, end="", markup=False)
        word = (await read_line()).strip().lower()
        if word in _NO:
            return ConsentAnswer(question.approval_id, Verdict.DENY)
        if word in _YES:
            return ConsentAnswer(question.approval_id, Verdict.ALLOW)
        if word in _ALWAYS and question.may_remember:
            return ConsentAnswer(question.approval_id, Verdict.ALLOW, remember=True)
        aside("Answer y or n.")


def _show(question: ConsentQuestion) -> None:
    tool = question.tool
    where = "" if tool.place is Place.PHONE else f" at {PLACES[tool.place]}"
    err.print()
    err.print(printable(tool.name) + where, style="bold", markup=False)
    aside(tool.description)
    for name, value in question.call.arguments.items():
        err.print(f"  {exact(name)[1:-1]}: {exact(value)}", markup=False, soft_wrap=True)
    for line in (question.preview, question.reason):
        if line:
            err.print(printable(line), markup=False, soft_wrap=True)
