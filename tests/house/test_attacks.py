"""`docs/attacks.md` and the tests that carry the marker `attack` name the same attacks."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from support.commands import ROOT, project_files

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PAGE = ROOT / "docs" / "attacks.md"
MARK = "pytest.mark.attack"


def named() -> set[str]:
    """Every test that the page names."""
    return set(re.findall(r"`(tests/[\w/]+\.py::\w+)`", PAGE.read_text("utf-8")))


def marked() -> set[str]:
    """Every test that tries an attack."""
    return {name for path in project_files("tests/*.py") for name in marked_in(path)}


def marked_in(path: Path) -> Iterator[str]:
    for node in ast.parse((ROOT / path).read_text("utf-8")).body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and any(
            ast.unparse(decorator).startswith(MARK) for decorator in node.decorator_list
        ):
            yield f"{path.as_posix()}::{node.name}"


def test_every_attack_that_the_page_names_is_tried() -> None:
    assert named() - marked() == set()


def test_every_attack_that_is_tried_is_on_the_page() -> None:
    assert marked() - named() == set()


def test_no_attack_is_without_a_test() -> None:
    rows = [line for line in PAGE.read_text("utf-8").splitlines() if line.startswith("| |")]
    assert rows
    assert [row for row in rows if "`tests/" not in row] == []
