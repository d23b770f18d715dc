"""A template is data from outside: it gets the usual helpers, and bounds."""

from __future__ import annotations

import json
import traceback
from typing import TYPE_CHECKING, Any

import pytest
from homing_core.errors import InvalidDataError
from homing_core.testing import FakeClock
from homing_inference.formats.template import MAX_TEMPLATE_CHARS, ChatTemplate
from hypothesis import given
from hypothesis import strategies as st
from support.templates import HERMES

if TYPE_CHECKING:
    from collections.abc import Mapping


def _render(source: str, *messages: Mapping[str, Any], **options: Any) -> str:  # noqa: ANN401  # a template's world
    template = ChatTemplate(source, "<s>", "</s>", FakeClock(0.0))
    tools = options.get("tools", ())
    return template.render(
        messages, tools, enable_thinking=False, add_generation_prompt=options.get("opening", True)
    )


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("{{ bos_token }}{{ eos_token }}", "<s></s>"),
        ("{{ '<b>\\'' | tojson }}", '"<b>\'"'),
        ("{{ {'b': 'é', 'a': 1} | tojson }}", '{"b": "é", "a": 1}'),
        ("{{ [1] | tojson(indent=2) }}", "[\n  1\n]"),
        ("{% for i in range(5) %}{% if i == 2 %}{% break %}{% endif %}{{ i }}{% endfor %}", "01"),
        ("{% if enable_thinking is false %}off{% endif %}", "off"),
        ("{% if tools %}some{% else %}none{% endif %}", "none"),
        ("{% if add_generation_prompt %}open{% endif %}", "open"),
        ("{% generation %}kept{% endgeneration %}", "kept"),
        ("{{ 'a' ~ 1 ~ none }}", "a1None"),
        ("{{ 'x' * 3 }}{{ 2 ** 3 }}{{ 7 % 4 }}{{ [1] + [2] }}", "xxx83[1, 2]"),
        ("{{ ' a ' | trim }}{{ 'a,b'.split(',')[-1] }}{{ 'aa' | replace('a', 'b') }}", "abbb"),
        ("{{ 'abc'.replace('b', '--') }}{{ ', '.join(['a', 'b']) }}", "a--ca, b"),
        ("{%- set ns = namespace(n=1) %}{%- set ns.n = 2 %}{{ ns.n }}", "2"),
        ("{% macro f(x) %}<{{ x }}>{% endmacro %}{{ f(1) ~ f(2) }}", "<1><2>"),
        ("{{ {'a': 1} | items | list }}{{ {'b': 2}.items() | list }}", "[('a', 1)][('b', 2)]"),
        ("{{ messages[::-1] | length }}", "0"),
        ("{{ undefined_thing is defined }}{{ undefined_thing }}", "False"),
        ("{{ strftime_now('%Y') }}", "1970"),
        ("  {% if true %}\n  x\n  {% endif %}\n", "  x\n"),
    ],
)
def test_the_usual_helpers_work(source: str, text: str) -> None:
    assert _render(source) == text


def test_thinking_is_always_said() -> None:
    template = ChatTemplate("{{ enable_thinking }}")
    for flag in (True, False):
        text = template.render([], [], enable_thinking=flag, add_generation_prompt=True)
        assert text == str(flag)


def test_tools_arrive_as_objects() -> None:
    tool = {"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}
    text = _render("{% for tool in tools %}{{ tool | tojson }}{% endfor %}", tools=[tool])
    assert json.loads(text) == tool


@pytest.mark.parametrize(
    "source",
    [
        "{% for %}",
        "{{ 'open",
        "{% unknown_tag %}",
        "{{ x | no_such_filter }}",
        "{{ x is no_such_test }}",
        "{% if true %}",
        "x" * (MAX_TEMPLATE_CHARS + 1),
        "{{ " + "(" * 5_000 + " }}",
    ],
)
def test_a_broken_template_is_named_when_it_is_read(source: str) -> None:
    with pytest.raises(InvalidDataError, match="chat template"):
        ChatTemplate(source)


@pytest.mark.parametrize(
    "source",
    [
        "{{ 1 / 0 }}",
        "{{ messages[0].content.x.y }}",
        "{{ none + 1 }}",
        "{% include 'other' %}",
        "{% import 'other' as other %}",
        "{{ ''.__class__.__mro__ }}{{ ''.__class__.__mro__[1].__subclasses__() }}",
        "{{ messages.append(1) }}{{ tools.x }}",
        "{{ cycler.__init__.__globals__.os.system('true') }}",
        "{{ self._TemplateReference__context.x.y }}",
        "{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}",
        "{{ strftime_now('%' * 1000) }}",
    ],
)
def test_a_failing_template_is_an_error_for_a_person(source: str) -> None:
    with pytest.raises(InvalidDataError) as caught:
        _render(source)
    assert str(caught.value).startswith("the model's chat template ")
    shown = "".join(traceback.format_exception_only(caught.value))
    assert "jinja2" not in shown
    assert "Error:" not in str(caught.value)


@pytest.mark.attack
@pytest.mark.parametrize(
    "source",
    [
        "{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}",
        "{% for i in range(99999) %}{{ 'words and words' * 99 }}{% endfor %}",
        "{{ 'x' * 999999999 }}",
        "{{ [0] * 999999999 }}",
        "{{ 9 ** 999999999 }}",
        "{{ '%999999999d' % 1 }}",
        "{{ '{:999999999}'.format(1) }}",
        "{{ 'x'.ljust(999999999) }}",
        "{{ 'x'.center(999999999) }}",
        "{{ ('x' * 9999).replace('x', 'y' * 9999) }}",
        "{{ ('x' * 9999) | replace('x', 'y' * 9999) }}",
        "{{ ('x' * 9999) | replace('', 'y' * 9999) }}",
        "{{ ('x' * 99999).join(range(9999) | map('string') | list) }}",
        "{{ range(9999) | join('x' * 99999) }}",
        "{{ 'x' | indent(999999999, true) }}",
        (
            "{% set ns = namespace(x='xxxx') %}{% for i in range(60) %}"
            "{% set ns.x = ns.x ~ ns.x %}{% endfor %}"
        ),
        (
            "{% set ns = namespace(x='xxxx') %}{% for i in range(60) %}"
            "{% set ns.x = ns.x + ns.x %}{% endfor %}"
        ),
        (
            "{% set ns = namespace(x=[]) %}{% for i in range(60) %}"
            "{% set ns.x = [ns.x, ns.x] %}{% endfor %}{{ ns.x }}"
        ),
        (
            "{% set ns = namespace(x=[]) %}{% for i in range(60) %}"
            "{% set ns.x = [ns.x, ns.x] %}{% endfor %}{{ ns.x | tojson }}"
        ),
        "{% macro f(n) %}{% if n %}{{ f(n - 1) ~ f(n - 1) }}{% endif %}{% endmacro %}{{ f(60) }}",
    ],
)
@pytest.mark.timeout(20)
def test_a_bomb_is_defused(source: str) -> None:
    with pytest.raises(InvalidDataError, match="chat template"):
        _render(source)


def test_after_a_bomb_the_next_render_has_its_whole_budget() -> None:
    template = ChatTemplate(
        "{% for m in messages %}{% for i in range(99999) %}{{ i }}{% endfor %}{% endfor %}ok"
    )
    for _ in range(2):
        with pytest.raises(InvalidDataError):
            template.render(
                [{"role": "user"}] * 99, [], enable_thinking=False, add_generation_prompt=True
            )
    assert template.render([], [], enable_thinking=False, add_generation_prompt=True) == "ok"


def test_a_templates_own_refusal_is_passed_on_cleaned() -> None:
    with pytest.raises(InvalidDataError, match="No user\\[31m query") as caught:
        _render("{{ raise_exception('No user\x1b[31m query' ~ 'x' * 500) }}")
    assert len(str(caught.value)) < 300


def test_a_long_honest_conversation_is_within_the_budget() -> None:
    messages = [{"role": "user", "content": "word " * 4_000}] * 200
    tools = [{"name": f"tool_{n}", "description": "words " * 50} for n in range(100)]
    text = _render(HERMES, *messages, tools=tools)
    assert text.count("word ") == 800_000


@given(st.text(max_size=60) | st.lists(st.sampled_from(
    ["{{", "}}", "{%", "%}", " for ", "x", " in ", "endfor", " if ", "endif", "'", "|", "tojson",
     "messages", ".", "[", "]", "0", "~", "+", "(", ")", "{#", "#}", "\n", "set ", "="]
), max_size=14).map("".join))  # fmt: skip
def test_no_template_text_raises_anything_else(source: str) -> None:
    try:
        text = _render(source, {"role": "user", "content": "x"})
    except InvalidDataError:
        return
    assert isinstance(text, str)
