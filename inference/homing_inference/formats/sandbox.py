"""Jinja2 for templates that came with a model file: data from outside, so sandboxed and bounded.

Jinja2's own sandbox keeps a template away from Python's internals but lets it compute for ever or
fill the memory. Here every render has a budget, which loops, calls, filters and string operations
draw on, and operations whose result could be far larger than their operands are checked first or
left out. This stops every template that is merely wrong and all the usual bombs; the hard limit is
the process in which an engine runs.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence, Sized
from typing import TYPE_CHECKING, Any, TypeGuard, cast

import jinja2
from jinja2 import nodes
from jinja2.ext import Extension
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.visitor import NodeTransformer

if TYPE_CHECKING:
    from collections.abc import Callable

    from jinja2.parser import Parser
    from jinja2.runtime import Context

BUDGET = 2_000_000
"""Units one render may spend: eight for a loop's round, one for a call or 16 characters made."""
MAX_RESULT = 4 * 1024 * 1024
"""Characters (or items) that one operation may produce."""

_TICK = 8
_CHARACTERS_PER_UNIT = 16
_MAX_INDENT = 256
_MAX_EXPONENT = 64
_FILTERS = frozenset(  # a list of words reads better than forty literals
    """abs bool capitalize count d default dictsort e escape first float groupby indent int items
    join last length list lower map max min reject rejectattr replace reverse round safe select
    selectattr sort string title tojson trim unique upper""".split()  # noqa: SIM905
)
_STRING_METHODS = frozenset(
    """capitalize casefold count endswith find index isalnum isalpha isdigit islower isnumeric
    isspace istitle isupper join lower lstrip partition removeprefix removesuffix replace rfind
    rindex rpartition rsplit rstrip split splitlines startswith strip title upper""".split()  # noqa: SIM905
)


class OverBudgetError(Exception):
    """The template wants more work or memory than any honest one needs."""


class TemplateRefusalError(jinja2.TemplateError):
    """The template itself refuses the conversation (`raise_exception`)."""


class TemplateSandbox(ImmutableSandboxedEnvironment):
    """The environment in which one model's template runs; one render at a time."""

    intercepted_binops = frozenset({"+", "*", "**", "%"})

    def __init__(self) -> None:
        """With the helpers that templates of chat models expect."""
        super().__init__(
            trim_blocks=True,
            lstrip_blocks=True,
            extensions=["jinja2.ext.loopcontrols", _GenerationTag],
            finalize=self._weighed,
        )
        self._left = BUDGET
        self.filters.update(tojson=to_json, safe=str)
        self.filters = {
            name: self._paid(name, function)
            for name, function in self.filters.items()
            if name in _FILTERS
        }
        self.globals.pop("lipsum", None)

    def refill(self) -> None:
        """Give the next render its whole budget."""
        self._left = BUDGET

    def tick(self) -> None:
        """The toll at the head of every round of a loop and every macro."""
        self._spend(_TICK)

    def join_bounded(self, *parts: object) -> str:
        """What `~` does."""
        return "".join([str(self._weighed(part)) for part in parts])

    def _parse(self, source: str, name: str | None, filename: str | None) -> nodes.Template:
        tree = super()._parse(source, name, filename)
        loops: tuple[type[Any], ...] = (nodes.For, nodes.Macro, nodes.CallBlock)
        for node in tree.find_all(loops):
            node.body.insert(0, nodes.ExprStmt(_call_own("tick", []), lineno=node.lineno))
        _BoundJoins().visit(tree)
        tree.set_environment(self)
        return tree

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:  # noqa: ANN401  # jinja2's signature
        """`+`, `*`, `**` and `%` within the bounds."""
        if operator == "%" and isinstance(left, str):  # a format string: its width may be huge
            raise OverBudgetError
        if operator == "**" and abs(right) > _MAX_EXPONENT:
            raise OverBudgetError
        if operator == "*":
            for one, other in ((left, right), (right, left)):
                if isinstance(one, Sized) and isinstance(other, int):
                    _check_size(len(one) * other)
        return self._checked(super().call_binop(context, operator, left, right))

    def is_safe_attribute(self, obj: Any, attr: str, value: Any) -> bool:  # noqa: ANN401  # jinja2's signature
        """Of a string's methods, only those whose result is bounded by what goes in."""
        if isinstance(obj, str):
            return attr in _STRING_METHODS
        return super().is_safe_attribute(obj, attr, value)

    def call(self, context: Context, obj: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401  # jinja2's signature
        """A call draws on the budget; `replace` and `join` of strings are checked first."""
        owner = getattr(obj, "__self__", None)
        if isinstance(owner, str) and args:
            name = getattr(obj, "__name__", "")
            if name == "replace":
                _check_replace(owner, args)
            elif name == "join":
                _check_join(args[0], owner)
        return self._checked(super().call(context, obj, *args, **kwargs))

    def _paid(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """A filter that draws on the budget by the size of what it is given and what it gives."""
        passed = getattr(function, "jinja_pass_arg", None)
        lead = 0 if passed is None else 1

        def paid(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401  # any filter
            value, *rest = args[lead:]
            given = (*rest, *kwargs.values())
            self._weighed(value)
            if name == "replace":
                _check_replace(str(value), given)
            elif name == "join":
                _check_join(value, "".join(one for one in given if isinstance(one, str)))
            elif name == "indent" and any(_width(one) > _MAX_INDENT for one in given):
                raise OverBudgetError
            return self._checked(function(*args, **kwargs))

        if passed is not None:
            paid.jinja_pass_arg = passed  # type: ignore[attr-defined]
        return paid

    def _spend(self, units: int) -> None:
        self._left -= units
        if self._left < 0:
            raise OverBudgetError

    def _weighed(self, value: Any) -> Any:  # noqa: ANN401  # any value of a template
        """The value, paid for by all that it holds: writing it out costs as much."""
        self._spend(1)
        if isinstance(value, str):
            self._spend(len(value) // _CHARACTERS_PER_UNIT)
        elif _is_mapping(value):
            self._weighed(list(value.keys()))
            self._weighed(list(value.values()))
        elif _is_sequence(value):
            for item in value:
                self._weighed(item)
        return value

    def _checked(self, result: Any) -> Any:  # noqa: ANN401  # any value of a template
        self._spend(1)
        if isinstance(result, str | list | tuple | dict):
            size = len(cast("Sized", result))
            _check_size(size)
            self._spend(size // _CHARACTERS_PER_UNIT)
        return cast("Any", result)


class _GenerationTag(Extension):
    """`{% generation %}…{% endgeneration %}`, which marks text for training: read and ignored."""

    tags = {"generation"}  # noqa: RUF012  # jinja2 declares it so

    def parse(self, parser: Parser) -> nodes.Node | list[nodes.Node]:
        """Give what stands between the tags."""
        next(parser.stream)
        return parser.parse_statements(("name:endgeneration",), drop_needle=True)


class _BoundJoins(NodeTransformer):
    """Turns every `~` into a call of `join_bounded`."""

    def visit_Concat(self, node: nodes.Concat) -> nodes.Node:  # noqa: N802  # jinja2's naming
        """Rewrite the operands first, then the operator."""
        self.generic_visit(node)
        return _call_own("join_bounded", node.nodes, lineno=node.lineno)


def to_json(value: object, indent: int | None = None, **options: Any) -> str:  # noqa: ANN401  # json's options
    """`tojson` as chat templates mean it: no HTML escapes, no ASCII escapes, order kept."""
    allowed = {key: options[key] for key in ("separators", "sort_keys") if key in options}
    width = None if indent is None else max(0, min(int(indent), 8))
    return json.dumps(value, ensure_ascii=False, indent=width, **allowed)


def _call_own(name: str, args: list[nodes.Expr], lineno: int = 0) -> nodes.Call:
    own = nodes.EnvironmentAttribute(name, lineno=lineno)
    return nodes.Call(own, args, [], None, None, lineno=lineno)


def refuse(message: object = "") -> None:
    """What templates know as `raise_exception`; raises `TemplateRefusalError`."""
    raise TemplateRefusalError(str(message))


def _check_size(size: int) -> None:
    if size > MAX_RESULT:
        raise OverBudgetError


def _check_replace(text: str, args: Sequence[object]) -> None:
    """`replace(old, new)`: the worst case is an old of one character, or of none."""
    new = args[1] if len(args) > 1 else ""
    longer = max(0, len(str(new)) - 1)
    hits = text.count(str(args[0])) if args else 0
    _check_size(len(text) + hits * longer + hits)


def _check_join(items: object, gap: str) -> None:
    if isinstance(items, Sized):
        _check_size(len(gap) * len(items))


def _is_mapping(value: object) -> TypeGuard[Mapping[Any, Any]]:
    return isinstance(value, Mapping)


def _is_sequence(value: object) -> TypeGuard[Sequence[Any]]:
    return isinstance(value, Sequence)


def _width(value: object) -> int:
    return len(value) if isinstance(value, str) else value if isinstance(value, int) else 0
