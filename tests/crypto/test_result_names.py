"""Names of files in a result, whatever a program or a server called them."""

from __future__ import annotations

import pytest
from homing_core.jobs import ResultFile
from homing_crypto.result_form import check_files, plain_name
from homing_crypto.result_names import plain_media_type, plain_names
from hypothesis import given
from hypothesis import strategies as st

AWKWARD = st.text(st.sampled_from("aA.:/ -~?\\|nulNUL1é\u0301ß\n\u202e\ud800漢"), max_size=300)


@pytest.mark.parametrize(
    ("name", "plain"),
    [
        ("a.txt", "a.txt"),
        ("12:30.mp4", "12_30.mp4"),
        (".nfo", "nfo"),
        ("what?.txt", "what_.txt"),
        ("../../etc/passwd", "_.._etc_passwd"),
        ("-rf", "rf"),
        ("end. ", "end"),
        ("NUL.txt", "file NUL.txt"),
        ("\u202egpj.exe", "_gpj.exe"),
        ("\ud800", "_"),
        ("...", "file"),
        ("", "file"),
        ("x" * 400 + ".jpeg", "x" * 179 + ".jpeg"),
    ],
)
def test_a_name_becomes_one_that_every_system_has(name: str, plain: str) -> None:
    assert plain_names([name]) == (plain,)
    assert plain_name(plain)


def test_names_that_are_one_file_somewhere_are_told_apart() -> None:
    names = ["Report.pdf", "report.pdf", "report 2.pdf", "é", "e\u0301", "a", "A"]
    assert plain_names(names) == (
        "Report.pdf",
        "report 2.pdf",
        "report 2 2.pdf",
        "é",
        "é 2",
        "a",
        "A 2",
    )


@pytest.mark.attack
@given(st.lists(AWKWARD, max_size=12))
def test_whatever_the_names_are_a_result_takes_them(names: list[str]) -> None:
    found = plain_names(names)
    assert len(found) == len(names)
    check_files(tuple(ResultFile(name, "", 1) for name in found))
    assert plain_names(found) == found


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("application/pdf", "application/pdf"),
        ("text/plain; charset=utf-8", "text/plain; charset=utf-8"),
        ("application/x-$odd", ""),
        ("nonsense", ""),
        ("a/" + "b" * 500, ""),
        ("", ""),
    ],
)
def test_a_media_type_that_has_no_form_is_left_out(text: str, plain: str) -> None:
    assert plain_media_type(text) == plain
