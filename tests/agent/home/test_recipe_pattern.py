"""Patterns of an operator: no text may keep the node busy with one."""

from __future__ import annotations

import re
import time
from itertools import product

import pytest
from homing_agent.tools.home.recipe import RecipeTool
from homing_agent.tools.home.recipe_parameter import Parameter
from homing_agent.tools.home.recipe_pattern import why_too_slow
from homing_agent.tools.home.recipe_spec import Recipe
from homing_core.errors import InvalidDataError, UsageError

BUSY_S = 2.0
"""Far more than a pattern that is taken needs, and far less than one that hangs."""


def recipe(pattern: str, most_chars: int = 200) -> Recipe:
    parameter = Parameter(pattern=pattern, most_chars=most_chars)
    return Recipe("try_it", "Tries it.", ("echo", "{x}"), {"x": parameter})


@pytest.mark.parametrize(
    ("pattern", "most_chars"),
    [
        ("[a-z]+", 4000),
        (r"[\w .-]+\.(?:mp4|mkv|avi)", 4000),
        (r"[\w ]+,[\w ]+\.txt", 1900),
        (r".*-.*-.*\.mp4", 200),
        (r"\d{4}-\d{2}-\d{2}(?:T\d{2}:\d{2}(?::\d{2})?)?", 200),
        (r"[0-9a-f]{8}(?:-)[0-9a-f]{4}-[0-9a-f]{12}", 200),
        (r"\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3}", 200),
        (r"(?!\.)[\w.]+", 4000),
        (r"(?i)[a-z]+|\d+|[x-z]+-\d*", 200),
        (r"[]+*(]+\)\{*", 200),
        (r"\\(a+)b", 200),
        ("a{}b{x", 200),
    ],
)
def test_patterns_that_people_write_are_taken(pattern: str, most_chars: int) -> None:
    assert not why_too_slow(pattern, most_chars)
    recipe(pattern, most_chars)


@pytest.mark.attack
@pytest.mark.parametrize(
    ("pattern", "most_chars"),
    [
        (r".*-.*-.*\.mp4", 4000),
        (r"[\w .-]+,?[\w .-]+,?[\w .-]+,?[\w .-]+", 200),
        ("a*a*a*a*a*b", 200),
        ("a{0,199}a{0,199}a{0,199}a{0,199}b", 200),
        ("a?" * 30 + "a" * 30, 200),
        ("(a|a)" * 25 + "b", 200),
        ("(?=.*a.*b)(?=.*c.*d).*", 200),
        (r"(a*)(a*)\1\2b", 200),
        ("(a+)+b", 20),
        (r"(a+\\)+b", 20),
        (r"(a|a)*b", 20),
        ("(?:a+){2,}b", 20),
        ("(?:a+){9}b", 200),
        ("(?x)(a+) +b", 20),
        ("(?x:(a+) +b)", 20),
        ("(a+)(?#x)+b", 20),
        ("(?i:(a+)+)b", 20),
        ("(?>a+)b", 20),
        ("a{99999999999999999999}", 20),
    ],
)
def test_a_pattern_that_a_text_could_keep_busy_is_refused_when_the_node_starts(
    pattern: str, most_chars: int
) -> None:
    with pytest.raises(UsageError, match=r"parameters\.x\.pattern"):
        recipe(pattern, most_chars)


@pytest.mark.attack
def test_the_slowest_patterns_that_are_taken_answer_soon() -> None:
    """Every pattern of a few repeats, at the longest text with which it is taken."""
    pieces = (".*", "a+", "a?", "a{0,9}", "(?:a|aa)", "(a*)?", "-", "(?=.*-)", r"[\w-]*")
    tried = 0
    for chosen in product(pieces, repeat=3):
        pattern = "".join(chosen) + "!"
        longest = next((n for n in (4000, 1000, 200, 60) if not why_too_slow(pattern, n)), 0)
        if not longest or tried % 4:  # a quarter of them: all take a minute
            tried += 1
            continue
        tried += 1
        for text in ("a" * longest, "-" * longest, "a-" * (longest // 2)):
            began = time.process_time()
            found = re.fullmatch(pattern, text)
            assert time.process_time() - began < BUSY_S, pattern
            assert found is None
    assert tried > 500


@pytest.mark.attack
def test_a_text_made_for_a_pattern_is_answered_soon() -> None:
    tool = RecipeTool(recipe(r"[^-].*-.*-.*\.mp4"))
    began = time.process_time()
    with pytest.raises(InvalidDataError, match="form that the recipe wants"):
        tool.preview({"x": "a" + "-" * 199})
    assert time.process_time() - began < BUSY_S
