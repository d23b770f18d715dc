"""Cases of the Berkeley Function-Calling Leaderboard, from the package `bfcl-eval`.

The package (Apache-2.0) holds cases and the rules that judge calls by their syntax tree. Its
checker imports the settings of every vendor's model on the way; none of them is needed to compare a
call with an answer, so they are stood in for while it is loaded.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import re
import sys
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import TYPE_CHECKING, Any, Final, NoReturn

from homing_core.errors import InvalidDataError, NotFoundError
from homing_core.tools import EffectClass, ToolSpec
from homing_proto.codec.json_text import decode_json_object

from homing_agent.evaluation.judge import Asked, Called, Said
from homing_agent.tool import ToolOutput

if TYPE_CHECKING:
    from homing_core.canonical import JsonObject, JsonValue

    from homing_agent.evaluation.judge import Did
    from homing_agent.tool import ToolContext

PACKAGE: Final = "bfcl_eval"
CATEGORIES: Final = ("simple_python", "multiple", "live_simple", "live_multiple", "irrelevance")
"""Categories of which one call, or none, is right."""
_NO_CALL: Final = "irrelevance"
_TYPES: Final = {
    "dict": "object",
    "float": "number",
    "tuple": "array",
    "list": "array",
    "any": "string",
    "bool": "boolean",
}
_KEPT: Final = frozenset({"description", "enum", "required", "minItems", "maxItems"})
_UNSAFE: Final = re.compile(r"[^\w-]")
_MOST_NAME: Final = 64
_SETTINGS: Final = f"{PACKAGE}.constants.model_config"
_CONVERTERS: Final = f"{PACKAGE}.eval_checker.ast_eval.type_convertor"


@dataclass(frozen=True, slots=True)
class BfclCase:
    """One case.

    Attributes:
        id: its name there.
        category: of it.
        request: what a person says; a system message of the case stands before it.
        tools: what is offered.
        functions: the same as they stand in the data, under the tools' names.
        answers: what is right, under the tools' names; empty where no call is.
    """

    id: str
    category: str
    request: str
    tools: tuple[ToolSpec, ...]
    functions: tuple[JsonObject, ...]
    answers: tuple[JsonObject, ...]


class BfclTool:
    """A tool that does nothing and asks nobody."""

    def __init__(self, spec: ToolSpec) -> None:
        """Keep what it is."""
        self.spec = spec

    def unavailable(self) -> str | None:
        """As in `Tool`."""
        return None

    def preview(self, arguments: JsonObject) -> str:
        """As in `Tool`."""
        del arguments
        return ""

    async def run(self, arguments: JsonObject, context: ToolContext) -> ToolOutput:
        """As in `Tool`."""
        del arguments, context
        return ToolOutput("done")


def read_bfcl(category: str) -> tuple[BfclCase, ...]:
    """All cases of a category.

    Raises:
        NotFoundError: the package is not installed, or has no such category.
        InvalidDataError: its data is not what is expected.
    """
    if category not in CATEGORIES:
        msg = f"there is no category {category}"
        raise NotFoundError(msg, f"There are: {', '.join(CATEGORIES)}.")
    folder = _folder() / "data"
    name = f"BFCL_v4_{category}.json"
    answers: dict[str, Sequence[JsonValue]] = {}
    if category != _NO_CALL:
        for line in _lines(folder / "possible_answer" / name):
            made = decode_json_object(line, "answer")
            answers[str(made.get("id"))] = _list(made.get("ground_truth"))
    cases = map(decode_bfcl, _lines(folder / name))
    return tuple(
        replace(case, category=category, answers=_answers(answers.get(case.id, ())))
        for case in cases
    )


def decode_bfcl(line: str) -> BfclCase:
    """Read one case, without its category and what is right.

    Raises:
        InvalidDataError: this is none.
    """
    made = decode_json_object(line, "case")
    functions = [_object(one) for one in _list(made.get("function"))]
    turns = [_object(one) for turn in _list(made.get("question")) for one in _list(turn)]
    return BfclCase(
        _text(made.get("id")),
        "",
        "\n\n".join(_text(turn.get("content")) for turn in turns),
        tuple(map(_spec, functions)),
        tuple({**one, "name": tool_name(_text(one.get("name")))} for one in functions),
        (),
    )


def _answers(wanted: Sequence[JsonValue]) -> tuple[JsonObject, ...]:
    return tuple(
        {tool_name(tool): arguments for tool, arguments in _object(one).items()} for one in wanted
    )


def tool_name(name: str) -> str:
    """A function's name as a tool's: letters, digits, `_` and `-`."""
    return _UNSAFE.sub("_", name)[:_MOST_NAME]


class BfclJudge:
    """Judges first actions by the package's rules.

    Raises:
        NotFoundError: the package is not installed.
    """

    def __init__(self) -> None:
        """Load the checker."""
        _folder()
        self._check, self._python = _checker()

    def right(self, case: BfclCase, did: Did) -> bool:
        """Whether an action is right: the one call that is wanted, or no call at all."""
        if case.category == _NO_CALL:
            return isinstance(did, Asked) or (isinstance(did, Said) and bool(did.text.strip()))
        if not isinstance(did, Called):
            return False
        found = self._check(
            list(case.functions),
            [{did.tool: json.loads(json.dumps(dict(did.arguments)))}],
            list(case.answers),
            self._python,
            case.category,
            "homing",
        )
        return found["valid"] is True


def _checker() -> tuple[Any, Any]:
    """The package's checker, and the name that it has for Python."""
    stood_in: dict[str, dict[str, object]] = {
        _SETTINGS: {"MODEL_CONFIG_MAPPING": defaultdict(lambda: _NO_SETTINGS)},
        f"{_CONVERTERS}.java_type_converter": {"java_type_converter": None},
        f"{_CONVERTERS}.js_type_converter": {"js_type_converter": None},
    }
    before = {name: sys.modules.get(name) for name in stood_in}
    for name, values in stood_in.items():
        instead = ModuleType(name)
        vars(instead).update(values)
        sys.modules[name] = instead
    try:
        checker = importlib.import_module(f"{PACKAGE}.eval_checker.ast_eval.ast_checker")
        enums = importlib.import_module(f"{PACKAGE}.constants.enums")
    finally:
        for name, known in before.items():
            if known is None:
                del sys.modules[name]
            else:
                sys.modules[name] = known
    return checker.ast_checker, enums.Language.PYTHON


_NO_SETTINGS: Final = SimpleNamespace(underscore_to_dot=False)


def _folder() -> Path:
    found = importlib.util.find_spec(PACKAGE)
    if found is None or not found.submodule_search_locations:
        msg = "the package bfcl-eval is not installed"
        raise NotFoundError(msg, "pip install --no-deps bfcl-eval==2026.3.23")
    return Path(next(iter(found.submodule_search_locations)))


def _lines(path: Path) -> list[str]:
    try:
        return [line for line in path.read_text("utf-8").splitlines() if line.strip()]
    except (OSError, UnicodeDecodeError) as error:
        msg = f"{path.name} cannot be read"
        raise InvalidDataError(msg, "Install bfcl-eval==2026.3.23 anew.") from error


def _spec(function: JsonObject) -> ToolSpec:
    return ToolSpec(
        name=tool_name(_text(function.get("name"))),
        description=_text(function.get("description")),
        parameters=_schema(_object(function.get("parameters"))),
        effect=EffectClass.READ,
        idempotent=True,
    )


def _schema(schema: JsonObject) -> JsonObject:
    """The same in JSON Schema's own words; what the phone cannot check is left out."""
    kind = _text(schema.get("type"))
    made: dict[str, JsonValue] = {"type": _TYPES.get(kind, kind)}
    made |= {name: value for name, value in schema.items() if name in _KEPT}
    if made["type"] == "object":
        properties = _object(schema.get("properties", {}))
        made["properties"] = {name: _schema(_object(one)) for name, one in properties.items()}
        if not properties:
            made["additionalProperties"] = True
    if isinstance(schema.get("items"), Mapping):
        made["items"] = _schema(_object(schema["items"]))
    return made


def _object(value: JsonValue) -> JsonObject:
    if not isinstance(value, Mapping):
        _refuse()
    return value


def _list(value: JsonValue) -> Sequence[JsonValue]:
    if isinstance(value, str) or not isinstance(value, Sequence):
        _refuse()
    return value


def _text(value: JsonValue) -> str:
    if not isinstance(value, str):
        _refuse()
    return value


def _refuse() -> NoReturn:
    msg = "a case of bfcl-eval is not what is expected"
    raise InvalidDataError(msg, "Install bfcl-eval==2026.3.23.")
