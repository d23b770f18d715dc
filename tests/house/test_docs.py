"""The documentation names things that exist."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from support.commands import ROOT, project_files, run_program

if TYPE_CHECKING:
    from pathlib import Path

PAGES = project_files("*.md")
LINK = re.compile(r"\]\(([^)\s]+)\)")
FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
# Inline code or a line of a code block that is a call of make.
TARGET = re.compile(r"(?:`|^)make ([a-z][a-z-]*)", re.MULTILINE)


def anchors(page: Path) -> set[str]:
    """The headings of a page as links address them."""
    text = FENCE.sub("", page.read_text("utf-8"))
    titles = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}


def dead_links(page: Path) -> list[str]:
    dead: list[str] = []
    for link in LINK.findall(FENCE.sub("", (ROOT / page).read_text("utf-8"))):
        if re.match(r"[a-z]+:", link):
            continue
        file, _, anchor = link.partition("#")
        target = (ROOT / page).parent / file if file else ROOT / page
        if not target.exists() or (anchor and anchor not in anchors(target)):
            dead.append(link)
    return dead


def make_targets() -> set[str]:
    listing = run_program(["make", "help"])
    assert listing.status == 0, listing.err
    return set(re.findall(r"^  ([a-z-]+) ", listing.out, re.MULTILINE))


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_every_link_within_the_project_leads_somewhere(page: Path) -> None:
    assert dead_links(page) == []


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_every_make_target_that_a_page_names_exists(page: Path) -> None:
    named = set(TARGET.findall((ROOT / page).read_text("utf-8")))
    assert named <= make_targets()


def test_make_explains_every_target_that_people_use() -> None:
    assert make_targets() >= {
        "help",
        "demo",
        "test",
        "check",
        "bench",
        "clean",
        "test-attack",
        "soak",
        "proto",
    }
    assert run_program(["make"]).out == run_program(["make", "help"]).out
