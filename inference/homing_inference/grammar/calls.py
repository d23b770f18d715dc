"""Whole calls as grammars: what may follow the mark that opened one.

| opened by                       | what follows                                        |
|---------------------------------|-----------------------------------------------------|
| `<tool_call>`, hermes-json      | a line with the JSON object, `</tool_call>`         |
| `<tool_call>`, qwen35-xml       | `<function=…>` and its parameters, `</tool_call>`   |
| `<function=`, either            | the name, the parameters, `</function>`             |
| `{"name": "X"` where one begins | the rest of the object                              |
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING

from homing_inference.formats.marks import CALL, CALL_END, FENCE, FUNCTION, FUNCTION_END, THINK
from homing_inference.formats.values import write_key
from homing_inference.grammar.expressions import (
    Form,
    Grammar,
    Lexeme,
    Lit,
    Node,
    Ref,
    Rep,
    alt,
    one_of,
    optional,
    seq,
)
from homing_inference.grammar.json_rules import JsonRules, literal
from homing_inference.grammar.schema import check_tool
from homing_inference.grammar.xml_rules import parameters

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from homing_core.tools import ToolSpec

    from homing_inference.grammar.shapes import ToolShape


class Syntax(Enum):
    """How a format writes a call behind its mark."""

    JSON = "hermes-json"
    XML = "qwen35-xml"


class Opened(Enum):
    """What opened the call."""

    MARK = "<tool_call>"
    FUNCTION = "<function="
    REQUIRED = "a call must come first"
    REQUIRED_OR_THINKING = "a call, or a think block before it"


@dataclass(frozen=True, slots=True)
class OpenedBare:
    """A call without marks has begun with this tool's name."""

    name: str


@dataclass(frozen=True)
class CallGrammars:
    """The grammars of one offer of tools, built when they are first needed.

    Args:
        tools: what is offered; at least one.
        syntax: how the model's format writes calls.

    Raises:
        UsageError: a tool's schema cannot be a grammar.
    """

    tools: Sequence[ToolSpec]
    syntax: Syntax
    _shapes: dict[str, ToolShape] = field(default_factory=dict[str, "ToolShape"], init=False)

    def __post_init__(self) -> None:
        """Check all the tools, so that a request fails before anything is computed."""
        self._shapes.update({tool.name: check_tool(tool) for tool in self.tools})

    def grammar(self, opened: Opened | OpenedBare) -> Grammar:
        """What may follow."""
        if isinstance(opened, OpenedBare):
            return self._rest_of_object(opened.name)
        if opened is Opened.FUNCTION:
            return self._functions(behind=FUNCTION_END)
        behind = self._json() if self.syntax is Syntax.JSON else self._marked()
        if opened is Opened.MARK:
            return behind
        starts: list[Node] = [seq(Lit(CALL), behind.root)]
        if self.syntax is Syntax.JSON:  # the parser reads it without marks as well, so be it
            bare = seq(self._objects(JsonRules(Form.JSON)), Lit("}"))
            starts.append(seq(optional(Lit(f"{FENCE}json\n")), bare))
        if opened is Opened.REQUIRED_OR_THINKING:
            starts.append(Lit(THINK))
        return Grammar(seq(optional(Lexeme(Rep(one_of(" \n"), 1, 4))), alt(starts)), behind.rules)

    def _json(self) -> Grammar:
        rules = JsonRules(Form.JSON)
        root = seq(Lit("\n"), self._objects(rules), Lit(f"}}\n{CALL_END}"))
        return Grammar(root, rules.rules)

    def _objects(self, rules: JsonRules) -> Node:
        """A call's object without its last brace, for any of the tools."""
        options: list[Node] = []
        for place, tool in enumerate(self.tools):
            name = literal(tool.name)[0]
            options.append(seq(Lit(f'{name}, "arguments": '), self._arguments(place, tool, rules)))
        return seq(Lit('{"name": '), alt(options))

    def _rest_of_object(self, name: str) -> Grammar:
        rules = JsonRules(Form.JSON)
        place = [tool.name for tool in self.tools].index(name)
        blank = Ref("blank")
        key = alt([Lexeme(Lit('"arguments"')), Lexeme(Lit('"parameters"'))])
        value = self._arguments(place, self.tools[place], rules)
        root = seq(blank, Lit(","), blank, key, blank, Lit(":"), blank, value, blank, Lit("}"))
        return Grammar(root, rules.rules)

    def _marked(self) -> Grammar:
        functions = self._functions(behind=f"{FUNCTION_END}\n{CALL_END}")
        return Grammar(seq(Lit(f"\n{FUNCTION}"), functions.root), functions.rules)

    def _functions(self, behind: str) -> Grammar:
        rules = JsonRules(Form.JSON_IN_MARKS)
        options: list[Node] = []
        for place, tool in enumerate(self.tools):
            body = parameters(self._shapes[tool.name], tool.parameters, _scope(place), rules)
            options.append(seq(Lit(f"{write_key(tool.name)}>\n"), body))
        return Grammar(seq(alt(options), Lit(behind)), rules.rules)

    def _arguments(self, place: int, tool: ToolSpec, rules: JsonRules) -> Node:
        shape = self._shapes[tool.name]
        return rules.value(shape.parameters, _scope(place), shape.definitions)

    @property
    def names(self) -> Mapping[str, ToolShape]:
        """The offered tools by name."""
        return self._shapes


def _scope(place: int) -> str:
    return f"{place}:"
