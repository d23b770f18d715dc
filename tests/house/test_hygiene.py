"""What is committed speaks of the project alone, and of no machine that it was written on."""

from __future__ import annotations

import re

from support.commands import ROOT, project_files

# Folders of some particular machine, spelled so that this file does not hold them.
MACHINE = re.compile(
    rb"(?<![\w.$}~-])/(?:%s)/"
    % b"|".join([b"wo" + b"rk", b"ro" + b"ot", rb"home/\w+", rb"Users/\w+"])
    + b"|/tm"
    + b"p/(?:models|venv|w)/"
)
LARGEST = 512 * 1024


def test_no_file_names_a_folder_of_one_machine() -> None:
    found = [
        f"{path}: {match.group().decode()}"
        for path in project_files()
        for match in MACHINE.finditer((ROOT / path).read_bytes())
    ]
    assert found == []


def test_no_file_is_large() -> None:
    large = [path for path in project_files() if (ROOT / path).stat().st_size > LARGEST]
    assert large == []


def test_text_ends_with_one_newline_and_has_no_carriage_returns() -> None:
    texts = [
        path for path in project_files() if path.suffix != ".binpb" and path.name != "py.typed"
    ]
    odd = [
        path
        for path in texts
        if (data := (ROOT / path).read_bytes())
        and (b"\r" in data or not data.endswith(b"\n") or data.endswith(b"\n\n"))
    ]
    assert odd == []
