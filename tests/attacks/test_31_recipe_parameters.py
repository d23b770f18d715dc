"""A recipe's parameter that tries to be a flag, a path, a file or a shell."""

from __future__ import annotations

import asyncio
import os
import sys
from typing import TYPE_CHECKING

import pytest
from homing_agent.tool import ToolContext
from homing_agent.tools.home import recipe_paths
from homing_agent.tools.home.recipe import RecipeTool
from homing_agent.tools.home.recipe_parameter import Parameter, ParameterKind
from homing_agent.tools.home.recipe_spec import Recipe
from homing_core.errors import InvalidDataError, RefusedError
from homing_core.ids import new_request_id, new_tool_call_id

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from homing_agent.tool import ToolOutput
    from homing_agent.tools.home.recipe_paths import Held
    from homing_core.canonical import JsonObject

SHOW = (sys.executable, "-I", "-S", "-c")
ARGUMENTS = "import sys; print(ascii(sys.argv[1:]))"
CONTENT = "import sys; print(open(sys.argv[1]).read())"


def recipe(script: str, *arguments: str, **parameters: Parameter) -> RecipeTool:
    return RecipeTool(
        Recipe("try_it", "Tries it.", (*SHOW, script, *arguments), parameters=parameters)
    )


async def run(tool: RecipeTool, arguments: JsonObject, folder: Path | None = None) -> ToolOutput:
    around = ToolContext(new_request_id(), new_tool_call_id(), folder=folder)
    async with asyncio.timeout(20):
        return await tool.run(arguments, around)


async def refused(tool: RecipeTool, arguments: JsonObject) -> None:
    """Neither shown to a person as something that could be, nor run."""
    with pytest.raises((RefusedError, InvalidDataError)):
        tool.preview(arguments)
    with pytest.raises((RefusedError, InvalidDataError)):
        await run(tool, arguments)


@pytest.mark.attack(31)
@pytest.mark.parametrize(
    "value",
    [
        "-rf",
        "--output=/etc/x",
        "-oProxyCommand=touch x",
        "--",
        "-",
        "  -rf",
        "\t--output=x",
        "\u2013rf",
        "\u2014output",
        "\uff0drf",
        "\u2010x",
    ],
)
async def test_a_value_never_becomes_a_flag(value: str) -> None:
    await refused(recipe(ARGUMENTS, "{value}", value=Parameter()), {"value": value})


@pytest.mark.attack(31)
@pytest.mark.parametrize(
    "value",
    [
        "; rm -rf /",
        "$(touch pwned)",
        "`touch pwned`",
        "a && touch pwned",
        "a | tee pwned",
        "a > pwned",
        "'; touch pwned; '",
        '"; touch pwned; "',
        "*",
        "~",
        "$HOME",
        "%s%n",
        "a\\",
        "!!",
    ],
)
async def test_a_shells_characters_are_characters(value: str, tmp_path: Path) -> None:
    """The program gets exactly the text, as one argument, and nothing else happens."""
    tool = recipe(ARGUMENTS, "--value={value}", "{value}", value=Parameter())
    output = await run(tool, {"value": value}, tmp_path)
    assert ascii([f"--value={value}", value]) in output.content
    assert not output.is_error
    assert names(tmp_path) == []


@pytest.mark.attack(31)
@pytest.mark.parametrize(
    "value",
    [
        "a\nb",
        "a\r--flag",
        "a\0--flag",
        "a\x1b[31m",
        "a\u2028b",
        "a\u0085b",
        "a\u202e--gnol",
        "a\u200bb",
        "\ufeffa",
        "a\ud800",
    ],
)
async def test_what_cannot_be_seen_is_refused(value: str) -> None:
    await refused(recipe(ARGUMENTS, "--x={value}", value=Parameter()), {"value": value})


@pytest.mark.attack(31)
@pytest.mark.parametrize(
    "value",
    [
        "@/etc/passwd",
        " @-",
        "http://evil.example/",
        "file:///etc/passwd",
        "concat:/etc/passwd|x",
        "data:text/plain,x",
        "msl:/etc/passwd",
        "x,https://evil.example",
        "|touch pwned",
    ],
)
async def test_a_value_is_no_file_and_no_address_unless_that_is_said(value: str) -> None:
    await refused(recipe(ARGUMENTS, "--x={value}", value=Parameter()), {"value": value})
    allowed = recipe(ARGUMENTS, "{value}", value=Parameter(url=True, at_file=True))
    if value[0] not in "| ":
        assert ascii([value]) in (await run(allowed, {"value": value})).content


@pytest.mark.attack(31)
@pytest.mark.parametrize(
    "value",
    [
        "../secret.txt",
        "..",
        ".",
        "/etc/passwd",
        "inner/../../secret.txt",
        "link/secret.txt",
        "link",
        "file-link",
        "pipe",
        "missing.txt",
        "a\0b",
        "inner/" + "../" * 40 + "etc/passwd",
        "loop/x",
    ],
)
async def test_a_path_never_leaves_its_folder(value: str, tmp_path: Path) -> None:
    folder = opened(tmp_path)
    tool = recipe(CONTENT, "{path}", path=Parameter(ParameterKind.PATH, folder=folder))
    await refused(tool, {"path": value})
    fine = await run(tool, {"path": "inner/../-fine.txt"})
    assert "honey" in fine.content


@pytest.mark.attack(31)
@pytest.mark.parametrize(
    "value",
    ["../new.txt", "/tmp/new.txt", "link/new.txt", "inner", "-fine.txt", "dangling"],  # noqa: S108  # to be refused
)
async def test_a_new_file_is_made_in_its_folder_and_replaces_nothing(
    value: str, tmp_path: Path
) -> None:
    folder = opened(tmp_path)
    (folder / "dangling").symlink_to(tmp_path / "elsewhere.txt")
    script = "import sys; open(sys.argv[1], 'x').write('made')"
    tool = recipe(script, "{path}", path=Parameter(ParameterKind.PATH, folder=folder, exists=False))
    await refused(tool, {"path": value})
    assert not (await run(tool, {"path": "inner/new.txt"})).is_error
    assert (folder / "inner" / "new.txt").read_text() == "made"
    assert not (tmp_path / "elsewhere.txt").exists()


@pytest.mark.attack(31)
@pytest.mark.parametrize("swapped", ["folder", "file"])
async def test_a_link_put_there_after_the_check_leads_nowhere(
    swapped: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever swaps a name for a link in the last moment gets what was checked, not the link."""
    folder = opened(tmp_path)
    (folder / "inner" / "secret.txt").write_text("what was checked")

    def swap(held: Held) -> Held:
        inner = folder / "inner"
        if swapped == "folder":
            inner.rename(folder / "aside")
            inner.symlink_to(tmp_path)
        else:
            (inner / "secret.txt").unlink()
            (inner / "secret.txt").symlink_to(tmp_path / "secret.txt")
        return held

    after_the_check(monkeypatch, swap)
    tool = recipe(CONTENT, "{path}", path=Parameter(ParameterKind.PATH, folder=folder))
    output = await run(tool, {"path": "inner/secret.txt"})
    assert "what was checked" in output.content
    assert "topsecret" not in output.content


@pytest.mark.attack(31)
async def test_a_link_put_there_during_the_check_is_not_followed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = opened(tmp_path)
    (folder / "inner" / "secret.txt").write_text("what was checked")
    real = recipe_paths.resolved  # the moment between resolving and opening

    def resolved(root: Path, text: str) -> Path:
        found = real(root, text)
        (folder / "inner").rename(folder / "aside")
        (folder / "inner").symlink_to(tmp_path)
        return found

    monkeypatch.setattr(recipe_paths, "resolved", resolved)
    tool = recipe(CONTENT, "{path}", path=Parameter(ParameterKind.PATH, folder=folder))
    with pytest.raises((RefusedError, InvalidDataError)):
        await run(tool, {"path": "inner/secret.txt"})


def names(folder: Path) -> list[str]:
    return [one.name for one in folder.iterdir()]


def opened(tmp_path: Path) -> Path:
    """A folder with something in it, and around it what must not be reached."""
    (tmp_path / "secret.txt").write_text("topsecret")
    folder = tmp_path / "opened"
    (folder / "inner").mkdir(parents=True)
    (folder / "-fine.txt").write_text("honey")
    (folder / "link").symlink_to(tmp_path)
    (folder / "file-link").symlink_to(tmp_path / "secret.txt")
    (folder / "loop").symlink_to("loop")
    os.mkfifo(folder / "pipe")
    return folder


def after_the_check(monkeypatch: pytest.MonkeyPatch, do: Callable[[Held], Held]) -> None:
    real = recipe_paths.hold

    def hold(folder: Path, text: str, *, exists: bool) -> Held:
        return do(real(folder, text, exists=exists))

    monkeypatch.setattr(recipe_paths, "hold", hold)
