"""What a grammar allows is a valid call, and every valid call is allowed: over both backends."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import TYPE_CHECKING

import pytest
from homing_inference.grammar import gbnf
from homing_inference.grammar.calls import Opened, Syntax
from support.grammars import MARK, accepts, read, rendered, walk
from support.schema_validator import violations
from support.schemas import INVALID, TOOLS, VALID, tool

if TYPE_CHECKING:
    from homing_core.canonical import JsonObject
    from homing_inference.grammar.engine import GrammarEngine

_SYNTAXES = list(Syntax)


def _narrower(engine: GrammarEngine, name: str, arguments: JsonObject) -> bool:
    """Whether this is one of the calls that `gbnf` says it leaves out."""
    if engine.backend.name != "llama.cpp":
        return False
    declared = TOOLS[name].get("properties", {})
    assert isinstance(declared, Mapping)
    further = bool(declared) and not arguments.keys() <= declared.keys()
    return further or len(declared) > gbnf.MAX_UNORDERED


@pytest.mark.parametrize("syntax", _SYNTAXES)
@pytest.mark.parametrize("name", TOOLS)
def test_every_valid_call_is_allowed_as_the_format_writes_it(
    engine: GrammarEngine, name: str, syntax: Syntax
) -> None:
    offered = tool(name, TOOLS[name])
    for arguments in VALID[name]:
        text = rendered(offered, arguments, syntax)
        allowed = accepts(engine, offered, syntax, text)
        assert allowed or _narrower(engine, name, arguments), text


@pytest.mark.parametrize("syntax", _SYNTAXES)
@pytest.mark.parametrize("name", INVALID)
def test_no_invalid_call_is_allowed(engine: GrammarEngine, name: str, syntax: Syntax) -> None:
    offered = tool(name, TOOLS[name])
    for arguments in INVALID[name]:
        text = rendered(offered, arguments, syntax)
        read_as = read(text, [offered], syntax)[0].arguments
        # `5` between marks is a text where the schema says string: a valid call after all.
        reread = not violations(read_as, TOOLS[name], TOOLS[name])
        assert (reread and name != "no_arguments") or not accepts(engine, offered, syntax, text)


@pytest.mark.parametrize("syntax", _SYNTAXES)
@pytest.mark.parametrize("name", TOOLS)
def test_whatever_is_allowed_reads_as_one_call_that_satisfies_the_schema(
    engine: GrammarEngine, name: str, syntax: Syntax
) -> None:
    offered = tool(name, TOOLS[name])
    chance = random.Random(f"{name} {syntax.value}")  # noqa: S311  # reproducible
    compiled = engine.calls([offered], syntax)
    finished = 0
    for number in range(12):
        arguments = VALID[name][number % len(VALID[name])]
        wanted = engine.pieces.vocabulary.tokenize(
            rendered(offered, arguments, syntax).removeprefix(MARK)
        )
        start = wanted[: chance.randrange(len(wanted))]
        written = walk(compiled.start(Opened.MARK), engine, chance, start)
        if written is None:
            continue
        finished += 1
        calls = read(MARK + written.decode(), [offered], syntax)
        assert [call.name for call in calls] == [name], written
        assert violations(calls[0].arguments, TOOLS[name], TOOLS[name]) == [], written
    assert finished > 0


def test_a_matcher_agrees_with_its_own_mask_and_survives_what_it_refuses(
    engine: GrammarEngine,
) -> None:
    offered = tool("simple", TOOLS["simple"])
    matcher = engine.calls([offered], Syntax.JSON).start(Opened.MARK)
    text = rendered(offered, VALID["simple"][1], Syntax.JSON).removeprefix(MARK)
    pieces = engine.pieces
    for token in pieces.vocabulary.tokenize(text):
        allowed = matcher.allowed()
        assert not matcher.complete
        assert [matcher.accepts(one) for one in range(len(pieces.texts))] == allowed.tolist()
        assert not allowed[list(pieces.ends)].any()
        refused = int((~allowed).argmax())
        assert not matcher.advance(refused)
        assert matcher.advance(token)
    assert matcher.complete


def test_each_call_starts_afresh(engine: GrammarEngine) -> None:
    offered = tool("simple", TOOLS["simple"])
    compiled = engine.calls([offered], Syntax.XML)
    first, second = compiled.start(Opened.MARK), compiled.start(Opened.MARK)
    newline = engine.pieces.vocabulary.tokenize("\n")[0]
    assert first.advance(newline)
    assert not first.accepts(newline)
    assert second.accepts(newline)


def test_a_name_that_begins_as_another_does_is_told_apart(engine: GrammarEngine) -> None:
    offered = [tool("get", TOOLS["simple"]), tool("get_all", TOOLS["no_arguments"])]
    for syntax in Syntax:
        compiled = engine.calls(offered, syntax)
        for one, arguments in zip(offered, ({"text": "x"}, {}), strict=True):
            matcher = compiled.start(Opened.MARK)
            text = rendered(one, arguments, syntax).removeprefix(MARK)
            assert all(map(matcher.advance, engine.pieces.vocabulary.tokenize(text)))
            assert matcher.complete


def test_properties_come_in_any_order_each_once_and_the_required_ones_always(
    engine: GrammarEngine,
) -> None:
    offered = tool("t", TOOLS["choices"])
    for order in (("one", "mixed", "fixed"), ("fixed", "mixed", "one"), ("mixed", "one")):
        values: JsonObject = {"one": "a", "mixed": 1, "fixed": "always"}
        for syntax in Syntax:
            text = rendered(offered, {name: values[name] for name in order}, syntax)
            assert accepts(engine, offered, syntax, text)
    twice = (
        MARK + '\n{"name": "t", "arguments": {"one": "a", "one": "a", "mixed": 1}}\n</tool_call>'
    )
    assert not accepts(engine, offered, Syntax.JSON, twice)
    missing = rendered(offered, {"one": "a"}, Syntax.XML)
    assert not accepts(engine, offered, Syntax.XML, missing)


@pytest.mark.parametrize("ending", ["\n</parameter>", ""])
def test_a_second_end_of_a_parameter_is_refused(engine: GrammarEngine, ending: str) -> None:
    offered = tool("simple", TOOLS["simple"])
    text = (
        f"{MARK}\n<function=simple>\n<parameter=text>\nx\n</parameter>{ending}\n</function>"
        "\n</tool_call>"
    )
    assert accepts(engine, offered, Syntax.XML, text) is not bool(ending)


def test_a_call_of_a_tool_that_is_not_offered_is_refused(engine: GrammarEngine) -> None:
    offered = tool("simple", TOOLS["simple"])
    for syntax in Syntax:
        text = rendered(tool("other", TOOLS["simple"]), {"text": "x"}, syntax)
        assert not accepts(engine, offered, syntax, text)
