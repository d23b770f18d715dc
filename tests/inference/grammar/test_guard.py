"""When a model is held, and when it is free."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import numpy as np
import pytest
from homing_core.errors import UsageError
from homing_core.generation import (
    CallGrammar,
    GenerateRequest,
    Sampling,
    Thinking,
    ToolChoice,
)
from homing_core.ids import GenerationId
from homing_inference.answers.choosing import Chooser
from homing_inference.formats.plain import CHATML
from homing_inference.formats.select import choose
from homing_inference.grammar import guard_for
from homing_inference.grammar.calls import Syntax
from support.grammars import FORMATS, read, rendered, scores_for, write
from support.schema_validator import violations
from support.schemas import TOOLS, tool

if TYPE_CHECKING:
    from homing_inference.answers.run import TokenGuard
    from homing_inference.grammar.engine import GrammarEngine

_SYNTAXES = list(Syntax)
_OFFER = (tool("simple", TOOLS["simple"]), tool("bounded", TOOLS["bounded"]))


def _guard(
    engine: GrammarEngine,
    syntax: Syntax,
    choice: ToolChoice = ToolChoice.AUTO,
    *,
    thinking: Thinking = Thinking.OFF,
    inside: bool = False,
) -> TokenGuard:
    request = GenerateRequest(
        GenerationId("g"), (), tools=_OFFER, tool_choice=choice, thinking=thinking
    )
    guard = guard_for(request, FORMATS[syntax], engine, starts_in_thinking=inside)
    assert guard is not None
    return guard


def _calls(syntax: Syntax) -> str:
    first = rendered(_OFFER[0], {"count": 3, "text": "a < b"}, syntax)
    second = rendered(_OFFER[1], {"code": "abc", "level": 3, "share": 0}, syntax)
    return f"{first}\n{second}"


@pytest.mark.parametrize("syntax", _SYNTAXES)
def test_words_and_valid_calls_are_written_as_the_model_wants_them(
    engine: GrammarEngine, syntax: Syntax
) -> None:
    text = f"A < b, <b>so</b>.\n{_calls(syntax)}\nDone."
    written, choices = write(_guard(engine, syntax), engine.pieces.vocabulary, text)
    assert written.decode() == text
    assert min(choice.share for choice in choices) > 0.9


@pytest.mark.parametrize("special", [True, False])
@pytest.mark.parametrize("syntax", _SYNTAXES)
def test_marks_count_as_one_token_and_as_many(
    real_engine: GrammarEngine, syntax: Syntax, *, special: bool
) -> None:
    vocabulary = real_engine.pieces.vocabulary
    text = f"Now.\n{_calls(syntax)}\nDone."
    written, _ = write(_guard(real_engine, syntax), vocabulary, text, special=special)
    assert written.decode() == text
    wrong = "Now.\n<tool_call>\nhello"
    written, choices = write(_guard(real_engine, syntax), vocabulary, wrong, special=special)
    assert written.startswith(b"Now.\n<tool_call>\n")
    assert not written.endswith(b"h")
    assert choices[-1].share < 0.1


@pytest.mark.parametrize("syntax", _SYNTAXES)
def test_a_model_that_wants_something_else_still_writes_a_valid_call(
    engine: GrammarEngine, syntax: Syntax
) -> None:
    guard = _guard(engine, syntax)
    vocabulary = engine.pieces.vocabulary
    written, _ = write(guard, vocabulary, "<tool_call>")
    chooser = Chooser(Sampling(temperature=1.0, seed=7))
    rising = np.zeros(vocabulary.size, np.float32)
    for text, weight in ((b'"', 4.0), (b"}", 5.0), (b"\n", 4.0), (b"<", 3.0)):
        rising[engine.pieces.bytewise[text[0]]] = weight
    for _ in range(3000):
        written += vocabulary.piece(guard.choose(chooser, rising).token)
        if written.endswith(b"</tool_call>"):
            break
    calls = read(written.decode(), _OFFER, syntax)
    assert len(calls) == 1
    schema = {"simple": TOOLS["simple"], "bounded": TOOLS["bounded"]}[calls[0].name]
    assert violations(calls[0].arguments, schema, schema) == []


@pytest.mark.parametrize("syntax", _SYNTAXES)
def test_the_name_says_how_much_the_grammar_left(engine: GrammarEngine, syntax: Syntax) -> None:
    opening = FORMATS[syntax].call_syntax
    assert opening is not None
    guard = _guard(engine, syntax)
    vocabulary = engine.pieces.vocabulary
    written, _ = write(guard, vocabulary, opening.opening)
    assert written.decode() == opening.opening
    even = np.zeros(vocabulary.size, np.float32)
    even[vocabulary.tokenize("s")[0]] = 0.1
    choice = guard.choose(Chooser(Sampling()), even)
    assert vocabulary.piece(choice.token) == b"s"
    assert choice.share == pytest.approx(2 / vocabulary.size, rel=0.1)


def test_the_models_own_probability_is_told_also_where_the_grammar_chose(
    engine: GrammarEngine,
) -> None:
    guard = _guard(engine, Syntax.JSON)
    vocabulary = engine.pieces.vocabulary
    write(guard, vocabulary, "<tool_call>")
    scores = np.log(np.full(vocabulary.size, 0.2 / (vocabulary.size - 2), np.float32))
    scores[vocabulary.tokenize("x")[0]] = np.log(0.7)
    scores[vocabulary.tokenize("\n")[0]] = np.log(0.1)
    choice = guard.choose(Chooser(Sampling()), scores)
    assert vocabulary.piece(choice.token) == b"\n"
    assert choice.probability == pytest.approx(0.1, rel=0.01)
    assert choice.margin == pytest.approx(0.6, rel=0.01)
    assert choice.share == pytest.approx(0.1, rel=0.01)


def test_a_draw_among_what_is_allowed_keeps_the_models_proportions(
    engine: GrammarEngine,
) -> None:
    vocabulary = engine.pieces.vocabulary
    scores = np.full(vocabulary.size, -30.0, np.float32)
    for text, share in (("x", 0.6), ("s", 0.3), ("b", 0.1)):  # no tool begins with x
        scores[vocabulary.tokenize(text)[0]] = np.log(share)
    drawn: Counter[bytes] = Counter()
    opening = FORMATS[Syntax.JSON].call_syntax
    assert opening is not None
    for seed in range(1, 201):
        guard = _guard(engine, Syntax.JSON)
        write(guard, vocabulary, opening.opening)
        choice = guard.choose(Chooser(Sampling(temperature=1.0, seed=seed)), scores)
        drawn[vocabulary.piece(choice.token)] += 1
    assert drawn.keys() == {b"s", b"b"}
    assert drawn[b"s"] / 200 == pytest.approx(0.75, abs=0.1)


@pytest.mark.parametrize("syntax", _SYNTAXES)
def test_nothing_is_held_inside_a_think_block(engine: GrammarEngine, syntax: Syntax) -> None:
    vocabulary = engine.pieces.vocabulary
    text = f"<think>\nI could write <tool_call> nonsense.\n</think>\n\n{_calls(syntax)}"
    guard = _guard(engine, syntax, thinking=Thinking.ON)
    assert write(guard, vocabulary, text)[0].decode() == text
    inside = text.removeprefix("<think>")
    guard = _guard(engine, syntax, thinking=Thinking.ON, inside=True)
    assert write(guard, vocabulary, inside)[0].decode() == inside
    guard = _guard(engine, syntax, thinking=Thinking.ON, inside=True)
    wrong = "hm</think>\n\n<tool_call>x"
    assert write(guard, vocabulary, wrong)[0] != wrong.encode()


@pytest.mark.parametrize("syntax", _SYNTAXES)
def test_a_required_call_comes_first_behind_thinking(engine: GrammarEngine, syntax: Syntax) -> None:
    vocabulary = engine.pieces.vocabulary
    required = ToolChoice.REQUIRED
    assert write(_guard(engine, syntax, required), vocabulary, "No.")[0] != b"No."
    calls = f"{_calls(syntax)}\nThen words."
    assert write(_guard(engine, syntax, required), vocabulary, calls)[0].decode() == calls
    thought = f"<think>\nhm\n</think>\n\n{calls}"
    off = _guard(engine, syntax, required)
    assert not write(off, vocabulary, thought)[0].startswith(b"<th")
    on = _guard(engine, syntax, required, thinking=Thinking.ON)
    assert write(on, vocabulary, thought)[0].decode() == thought
    inside = _guard(engine, syntax, required, thinking=Thinking.ON, inside=True)
    assert write(inside, vocabulary, thought[8:])[0].decode() == thought[8:]
    bare = '```json\n{"name": "simple", "arguments": {"text": "a"}}\n```\nok'
    written = write(_guard(engine, syntax, required), vocabulary, bare)[0].decode()
    assert (written == bare) is (syntax is Syntax.JSON)
    inside = _guard(engine, syntax, required, thinking=Thinking.ON, inside=True)
    words = "hm\n</think>\n\nWords."
    assert write(inside, vocabulary, words)[0] != words.encode()


def test_a_turn_that_must_call_does_not_end_before(engine: GrammarEngine) -> None:
    vocabulary = engine.pieces.vocabulary
    end = engine.pieces.ends[0]
    for guard in (
        _guard(engine, Syntax.JSON, ToolChoice.REQUIRED),
        _guard(engine, Syntax.JSON, ToolChoice.REQUIRED, thinking=Thinking.ON, inside=True),
    ):
        choice = guard.choose(Chooser(Sampling()), scores_for(vocabulary.size, end))
        assert choice.token != end
        assert choice.share < 0.1
    free = _guard(engine, Syntax.JSON)
    assert free.choose(Chooser(Sampling()), scores_for(vocabulary.size, end)).token == end


@pytest.mark.parametrize("special", [True, False])
@pytest.mark.parametrize(
    "wanted",
    [
        "Well.\n<tool_call>\n",
        "a<tool_call>",
        "see <function=simple>",
        '{"name": "simple", "arguments": {"text": "x"}}',
        '```json\n{"name": "bounded"',
        "<think>\n<tool_call>\n",
    ],
)
def test_no_call_can_be_opened_where_none_is_wanted(
    real_engine: GrammarEngine, wanted: str, *, special: bool
) -> None:
    vocabulary = real_engine.pieces.vocabulary
    guard = _guard(real_engine, Syntax.JSON, ToolChoice.NONE)
    written, choices = write(guard, vocabulary, wanted, special=special)
    assert written != wanted.encode()
    assert b"<tool_call>" not in written
    assert b"<function=" not in written
    assert choices[-1].share < 0.1
    guard = _guard(real_engine, Syntax.JSON, ToolChoice.NONE)
    harmless = 'A <tool> or <functions> and {"name": "simple"}'
    assert write(guard, vocabulary, harmless, special=special)[0].decode() == harmless


@pytest.mark.parametrize("syntax", _SYNTAXES)
def test_a_call_without_marks_is_held_once_it_names_a_tool(
    engine: GrammarEngine, syntax: Syntax
) -> None:
    vocabulary = engine.pieces.vocabulary
    good = '```json\n{"name": "simple", "arguments": {"text": "a"}}\n```\nok'
    assert write(_guard(engine, syntax), vocabulary, good)[0].decode() == good
    bad = '```json\n{"name": "simple", "arguments": {"txt": "a"}}'
    assert write(_guard(engine, syntax), vocabulary, bad)[0] != bad.encode()
    other = '{"name": "Anna", "age": 3}'
    assert write(_guard(engine, syntax), vocabulary, other)[0].decode() == other


@pytest.mark.parametrize("syntax", _SYNTAXES)
def test_a_function_without_its_outer_mark_is_held(engine: GrammarEngine, syntax: Syntax) -> None:
    vocabulary = engine.pieces.vocabulary
    good = "ok <function=simple>\n<parameter=text>\nx\n</parameter>\n</function> b"
    assert write(_guard(engine, syntax), vocabulary, good)[0].decode() == good
    bad = "ok <function=other>"
    assert write(_guard(engine, syntax), vocabulary, bad)[0] != bad.encode()


def test_tokens_that_were_forced_are_followed(engine: GrammarEngine) -> None:
    vocabulary = engine.pieces.vocabulary
    guard = _guard(engine, Syntax.JSON)
    for token in vocabulary.tokenize("<tool_call>", parse_special=False):
        guard.force(token)
    wrong = scores_for(vocabulary.size, vocabulary.tokenize("x")[0])
    assert vocabulary.piece(guard.choose(Chooser(Sampling()), wrong).token) == b"\n"
    guard.force(vocabulary.tokenize("x")[0])  # breaks the call, which is text from here on
    assert vocabulary.piece(guard.choose(Chooser(Sampling()), wrong).token) == b"x"


def test_what_is_free_is_not_guarded_at_all(engine: GrammarEngine) -> None:
    plain = choose(CHATML)
    request = GenerateRequest(GenerationId("g"), (), tools=_OFFER)
    off = GenerateRequest(GenerationId("g"), (), tools=_OFFER, call_grammar=CallGrammar.OFF)
    bare = GenerateRequest(GenerationId("g"), ())
    chat = FORMATS[Syntax.JSON]
    assert guard_for(request, plain, engine) is None
    assert guard_for(off, chat, engine) is None
    assert guard_for(bare, chat, engine) is None
    assert guard_for(request, chat, engine) is not None


def test_a_required_call_needs_a_tool_and_a_format(engine: GrammarEngine) -> None:
    plain = choose(CHATML)
    required = ToolChoice.REQUIRED
    request = GenerateRequest(GenerationId("g"), (), tools=_OFFER, tool_choice=required)
    with pytest.raises(UsageError, match="knows no calls"):
        guard_for(request, plain, engine)
    request = GenerateRequest(GenerationId("g"), (), tool_choice=required)
    with pytest.raises(UsageError, match="no tool is offered"):
        guard_for(request, FORMATS[Syntax.JSON], engine)


def test_an_offer_is_compiled_once(engine: GrammarEngine) -> None:
    calls = engine.calls(_OFFER, Syntax.JSON)
    assert engine.calls(list(_OFFER), Syntax.JSON) is calls
    assert engine.calls(_OFFER, Syntax.XML) is not calls
    for number in range(20):
        engine.calls([tool(f"t{number}", TOOLS["simple"])], Syntax.JSON)
    assert engine.calls(_OFFER, Syntax.JSON) is not calls
