"""`docs/attacks.md` and the tests that carry the marker `attack` name the same attacks."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from support.commands import ROOT, project_files

if TYPE_CHECKING:
    from collections.abc import Iterator

PAGE = ROOT / "docs" / "attacks.md"
MARK = re.compile(r"pytest\.mark\.attack(?:\((\d+)\))?")
NUMBERED = range(1, 33)
"""The attacks that have to be tried, whatever else is."""


def rows() -> Iterator[tuple[int, set[str]]]:
    """Each row's number, 0 for none, and the tests that it names."""
    for line in PAGE.read_text("utf-8").splitlines():
        if match := re.match(r"\| ?(\d*) ?\| ", line):
            yield int(match[1] or 0), set(re.findall(r"`(tests/[\w/]+\.py::[\w:]+)`", line))


def marked() -> dict[str, int]:
    """Every test that tries an attack, with the attack's number; 0 for none."""
    found: dict[str, int] = {}
    for path in project_files("tests/*.py"):
        tree = ast.parse((ROOT / path).read_text("utf-8"))
        # A mark for a whole module would hide from this page which of its tests are attacks.
        assigned = [ast.unparse(node) for node in tree.body if isinstance(node, ast.Assign)]
        assert not [line for line in assigned if line.startswith("pytestmark") and "attack" in line]
        classes = [node for node in tree.body if isinstance(node, ast.ClassDef)]
        for prefix, body in (("", tree.body), *((f"{one.name}::", one.body) for one in classes)):
            for node in body:
                if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                    for decorator in node.decorator_list:
                        if match := MARK.fullmatch(ast.unparse(decorator)):
                            found[f"{path.as_posix()}::{prefix}{node.name}"] = int(match[1] or 0)
    return found


def test_the_page_and_the_tests_name_the_same_attacks() -> None:
    named = {test for _, tests in rows() for test in tests}
    assert named - marked().keys() == set()
    assert marked().keys() - named == set()


def test_no_attack_is_without_a_test() -> None:
    assert [number for number, tests in rows() if not tests] == []


def test_each_numbered_attack_is_tried_under_its_number() -> None:
    found = marked()
    for number, tests in rows():
        if number:
            assert {found[test] for test in tests} & {number}, f"row {number}: {tests}"
    tried = {number for number, _ in rows()}
    assert set(NUMBERED) <= tried
    assert set(NUMBERED) <= set(found.values())
