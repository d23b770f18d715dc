"""Commands that an operator has written down: how they run, and what a wrong recipe is told."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from homing_agent.tool import ToolContext, ToolOutput
from homing_agent.tools.home import recipe_run
from homing_agent.tools.home.recipe import RecipeTool
from homing_agent.tools.home.recipe_parameter import Parameter, ParameterKind
from homing_agent.tools.home.recipe_spec import Recipe
from homing_core.clock import boot_time
from homing_core.errors import InvalidDataError, RefusedError, UnavailableError, UsageError
from homing_core.ids import new_request_id, new_tool_call_id
from homing_core.jobs import ResultFile
from homing_core.provenance import Trust
from homing_core.tools import EffectClass
from homing_crypto.result_form import check_files

if TYPE_CHECKING:
    from homing_core.canonical import JsonObject
    from homing_core.jobs import JobProgress

SHOW = "import sys; print(sys.argv[1:])"
PYTHON = (sys.executable, "-I", "-S", "-c")


def recipe(script: str, *arguments: str, **changes: object) -> Recipe:
    script = script.replace("{", "{{").replace("}", "}}")
    given = {"name": "try_it", "description": "Tries it.", "command": (*PYTHON, script, *arguments)}
    return Recipe(**{**given, **changes})  # type: ignore[arg-type]  # named by the dataclass


def context(folder: Path | None = None, seen: list[JobProgress] | None = None) -> ToolContext:
    report = (seen if seen is not None else []).append
    return ToolContext(new_request_id(), new_tool_call_id(), report=report, folder=folder)


async def run(
    made: Recipe, arguments: JsonObject, folder: Path | None = None, **around: object
) -> ToolOutput:
    async with asyncio.timeout(20):
        return await RecipeTool(made).run(arguments, context(folder, **around))  # type: ignore[arg-type]  # named


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text("ascii").rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


async def gone(pid: int) -> None:
    async with asyncio.timeout(10):
        while is_alive(pid):  # noqa: ASYNC110  # another process, which sets no event
            await asyncio.sleep(0.01)


async def test_each_value_is_one_argument_and_files_are_given_back(tmp_path: Path) -> None:
    folder, out = tmp_path / "in", tmp_path / "out"
    for one in (folder, out):
        one.mkdir()
    (folder / "a b.txt").write_text("honey")
    made = recipe(
        "import sys, shutil; print(sys.argv[2:]); shutil.copy(sys.argv[1], sys.argv[-1])",
        "{file}",
        "--size={size}",
        "{words}",
        "scale={size}:-2",
        "{loud}",
        "{mode}",
        "{{x}}",
        "{missing}",
        "{out_folder}/copy.txt",
        parameters={
            "file": Parameter(ParameterKind.PATH, folder=folder),
            "size": Parameter(ParameterKind.INTEGER, low=1, high=9),
            "words": Parameter(),
            "loud": Parameter(ParameterKind.BOOLEAN, flag="--loud"),
            "mode": Parameter(ParameterKind.CHOICE, choices=("fast", "-slow")),
            "missing": Parameter(required=False),
        },
    )
    arguments: JsonObject = {
        "file": "a b.txt",
        "size": 4,
        "words": "it's; rm -rf ~ $(id) `id` && > x",
        "loud": True,
        "mode": "-slow",
    }
    output = await run(made, arguments, out)
    assert not output.is_error, output.content
    assert output.trust is Trust.UNTRUSTED
    shown = ["--size=4", arguments["words"], "scale=4:-2", "--loud", "-slow", "{x}"]
    assert str(shown)[1:-1] in output.content
    assert [(file.name, file.path.read_text()) for file in output.files] == [("copy.txt", "honey")]
    assert str(folder) not in output.content
    preview = RecipeTool(made).preview(arguments)
    assert f"'{folder}/a b.txt'" in preview
    assert "--size=4" in preview


async def test_what_a_program_prints_is_progress_and_its_status_is_told() -> None:
    seen: list[JobProgress] = []
    script = "import sys; print('10% done'); print('3 of 7 files', file=sys.stderr); sys.exit(3)"
    output = await run(recipe(script), {}, seen=seen)
    assert output.is_error
    assert output.content.startswith("exit status 3")
    assert "3 of 7 files" in output.content
    assert {(one.done, one.total) for one in seen} == {(10, 100), (3, 7)}


async def test_a_flood_of_output_is_cut_in_the_middle() -> None:
    script = "import sys; sys.stdout.write('A' * 10 + 'x' * 5_000_000 + 'Z' * 10)"
    output = await run(recipe(script), {})
    assert len(output.content) < 60_000
    assert "AAAA" in output.content
    assert output.content.endswith("ZZZZ")
    assert "bytes left out" in output.content


async def test_it_sees_little_of_the_nodes_own_surroundings(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SECRET_TOKEN", "hidden")
    script = (
        "import os, resource; print(sorted(os.environ), os.environ['MINE'], oct(os.umask(0)),"
        "resource.getrlimit(resource.RLIMIT_CORE), os.getsid(0) == os.getpid(), os.read(0, 1))"
    )
    output = await run(recipe(script, env={"MINE": "yes"}), {})
    assert "['HOME', 'LANG', 'MINE', 'PATH', 'TMPDIR'] yes 0o77 (0, 0) True b''" in output.content


async def test_limits_hold() -> None:
    script = "open('big', 'wb').write(bytes(3 << 20))"
    output = await run(recipe(script, file_mib=1), {})
    assert output.is_error
    output = await run(recipe("x = bytearray(600 << 20)", memory_mib=400), {})
    assert "MemoryError" in output.content


async def test_one_that_takes_too_long_is_ended_with_all_that_it_started(tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    script = (
        "import os, subprocess, sys, time\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'],"
        " start_new_session=True)\n"
        "open(sys.argv[1] + '/pids', 'w').write(f'{os.getpid()} {child.pid}')\n"
        "time.sleep(600)"
    )
    output = await run(recipe(script, "{out_folder}", timeout_s=1.0), {}, out)
    assert output.is_error
    assert "ended after 1 s" in output.content
    for pid in map(int, (out / "pids").read_text().split()):
        await gone(pid)


async def start_sleeper(out: Path) -> tuple[asyncio.Task[ToolOutput], list[int]]:
    started = asyncio.Event()
    script = (
        "import os, signal, sys, time\n"
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "print(f'{os.getppid()} of {2**31}', flush=True)\n"
        "print(f'{os.getpid()} of {2**31}', flush=True)\n"
        "time.sleep(600)"
    )
    pids: list[int] = []

    def heard(progress: JobProgress) -> None:
        pids.append(int(progress.done))
        if len(pids) == 2:
            started.set()

    around = ToolContext(new_request_id(), new_tool_call_id(), report=heard, folder=out)
    task = asyncio.create_task(RecipeTool(recipe(script)).run({}, around))
    async with asyncio.timeout(20):
        await started.wait()
    return task, pids


async def test_cancelling_really_stops_one_that_does_not_listen(tmp_path: Path) -> None:
    task, pids = await start_sleeper(tmp_path)
    task.cancel()
    async with asyncio.timeout(20):
        await asyncio.wait({task})
    assert task.cancelled()
    assert not any(is_alive(pid) for pid in pids)


async def test_a_killed_supervisor_takes_the_program_with_it(tmp_path: Path) -> None:
    task, (supervisor, program) = await start_sleeper(tmp_path)
    os.kill(supervisor, signal.SIGKILL)
    await gone(program)
    async with asyncio.timeout(20):
        assert (await task).is_error


SILENT = """
import asyncio, sys
from pathlib import Path
from homing_agent.tool import ToolContext
from homing_agent.tools.home.recipe import RecipeTool
from homing_agent.tools.home.recipe_spec import Recipe
from homing_core.ids import new_request_id, new_tool_call_id

recipe = Recipe("try_it", "Tries it.", tuple(sys.argv[1:]))
told = lambda progress: print(int(progress.done), flush=True)
context = ToolContext(new_request_id(), new_tool_call_id(), report=told, silence_s=1.0)
print(asyncio.run(RecipeTool(recipe).run({}, context)).content, flush=True)
"""


@pytest.mark.attack
async def test_a_program_ends_when_its_node_stands_still_and_not_before() -> None:
    script = "import os, time; print(f'{os.getpid()} of {2**31}', flush=True); time.sleep(600)"
    node = await asyncio.create_subprocess_exec(
        sys.executable, "-c", SILENT, *PYTHON, script.replace("{", "{{").replace("}", "}}"),
        stdout=asyncio.subprocess.PIPE,
    )  # fmt: skip
    assert node.stdout is not None
    try:
        async with asyncio.timeout(20):
            program = int(await node.stdout.readline())
            with pytest.raises(TimeoutError):  # well beyond what it may be silent
                await asyncio.wait_for(gone(program), 2.5)
            node.send_signal(signal.SIGSTOP)
            await gone(program)
            node.send_signal(signal.SIGCONT)
            said = (await node.stdout.readline()).decode()
        assert said.startswith("ended, for its node stood still for 1 s or more")
    finally:
        node.kill()
        await node.wait()


@pytest.mark.attack
async def test_a_program_is_not_begun_long_after_it_was_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recipe_run, "boot_time", lambda: boot_time() - 9)  # the node stood still
    around = replace(context(), silence_s=5.0)
    script = f"open({str(tmp_path / 'mark')!r}, 'w')"
    output = await RecipeTool(recipe(script)).run({}, around)
    assert output.is_error
    assert not (tmp_path / "mark").exists()


async def test_what_is_not_there_is_said_and_is_no_crash(tmp_path: Path) -> None:
    tool = RecipeTool(recipe("", command=("no-such-program-here", "x")))
    assert "no-such-program-here is not there" in (tool.unavailable() or "")
    with pytest.raises(UnavailableError):
        await tool.run({}, context())
    lost = Parameter(ParameterKind.PATH, folder=tmp_path / "gone")
    tool = RecipeTool(recipe(SHOW, "{x}", parameters={"x": lost}))
    assert "gone is not there" in (tool.unavailable() or "")
    with pytest.raises(UnavailableError):
        tool.preview({"x": "a"})
    broken = tmp_path / "broken"
    broken.write_bytes(b"\x7fELF nonsense")
    broken.chmod(0o755)
    with pytest.raises(UnavailableError, match="cannot be started"):
        await run(recipe("", command=(str(broken),)), {})


async def test_links_are_no_result(tmp_path: Path) -> None:
    script = (
        "import os, sys; os.chdir(sys.argv[1]); os.symlink('/etc/passwd', 'link');"
        "os.symlink('/etc', 'deep'); open('fine', 'w').write('x')"
    )
    output = await run(recipe(script, "{out_folder}"), {}, tmp_path)
    assert [file.name for file in output.files] == ["fine"]
    assert "1 more files were left out" in output.content


async def test_files_in_folders_come_with_the_folders_in_their_names(tmp_path: Path) -> None:
    script = (
        "import os, sys; os.chdir(sys.argv[1]); os.makedirs('pages/one')\n"
        "for name in ('top.txt', 'pages/a.txt', 'pages/one/a.txt', 'pages-a.txt'):"
        " open(name, 'w').write(name)"
    )
    output = await run(recipe(script, "{out_folder}"), {}, tmp_path)
    assert {file.name: file.path.read_text() for file in output.files} == {
        "top.txt": "top.txt",
        "pages-a.txt": "pages-a.txt",
        "pages-a 2.txt": "pages/a.txt",
        "pages-one-a.txt": "pages/one/a.txt",
    }


async def test_the_model_is_told_what_values_there_are(tmp_path: Path) -> None:
    parameters = {
        "file": Parameter(ParameterKind.PATH, folder=tmp_path, description="The film."),
        "size": Parameter(ParameterKind.INTEGER, low=1, high=9, default=4),
        "mode": Parameter(ParameterKind.CHOICE, choices=("a", "b"), required=False),
        "name": Parameter(pattern="[a-z]+", most_chars=5),
    }
    made = recipe(SHOW, "{file}", "{size}", "{mode}", "{name}", parameters=parameters)
    spec = RecipeTool(made).spec
    assert spec.effect is EffectClass.SETTINGS
    assert spec.server == "recipe"
    assert spec.parameters["required"] == ["file", "name"]
    properties = spec.parameters["properties"]
    assert isinstance(properties, dict)
    assert properties["size"] == {"type": "integer", "minimum": 1, "maximum": 9, "default": 4}
    assert properties["mode"] == {"type": "string", "enum": ["a", "b"]}
    assert str(tmp_path.parent) not in str(properties["file"])


@pytest.mark.attack
async def test_files_of_any_name_are_a_result_and_more_are_said_to_be_left_out(
    tmp_path: Path,
) -> None:
    script = (
        "import os, sys; os.chdir(sys.argv[1])\n"
        "for name in ('12:30.mp4', '.nfo', 'what?.txt', 'A', 'a', b'\\xff'):"
        " open(name, 'w').close()\n"
        "for number in range(60): open(f'x{number:02}', 'w').close()"
    )
    output = await run(recipe(script, "{out_folder}"), {}, tmp_path)
    names = {file.name for file in output.files}
    assert {"12_30.mp4", "nfo", "what_.txt", "A", "a 2"} <= names
    assert len(names) == 64
    assert "file: 12_30.mp4\n" in output.content
    assert "2 more files were left out" in output.content
    check_files(tuple(ResultFile(file.name, file.media_type, 0) for file in output.files))


@pytest.mark.attack
async def test_a_programs_own_folder_lies_with_the_jobs_which_is_tidied(tmp_path: Path) -> None:
    """`kill -9` of a node leaves nothing where nobody tidies."""
    out = tmp_path / "job" / "work"
    out.mkdir(parents=True)
    script = (
        "import os, sys; print('own', os.environ['TMPDIR'], os.environ['HOME'], sys.argv[1]);"
        "open(sys.argv[1] + '/told', 'w').write(os.environ['TMPDIR'] + ' ' + os.getcwd())"
    )
    output = await run(recipe(script, "{out_folder}"), {}, out)
    for told in (out / "told").read_text().split():
        assert Path(told).is_relative_to(out.parent)
    assert str(tmp_path) not in output.content
    # Both have gone.
    assert [one.name for one in out.parent.iterdir()] == ["work"]


WHOLE = Parameter()


@pytest.mark.parametrize(
    ("changes", "key"),
    [
        ({"name": "Try-It"}, "its name"),
        ({"description": " "}, "description"),
        ({"command": ()}, "command"),
        ({"command": ("{x}",), "parameters": {"x": WHOLE}}, "command"),
        ({"command": ("a", "{y}"), "parameters": {"x": WHOLE}}, "command"),
        ({"command": ("a",), "parameters": {"x": WHOLE}}, r"parameters\.x"),
        ({"command": ("a", "{x"), "parameters": {"x": WHOLE}}, "command"),
        ({"command": ("a", "{x}}"), "parameters": {"x": WHOLE}}, "command"),
        ({"command": ("a", "{}")}, "command"),
        ({"command": ("a", "{x}y"), "parameters": {"x": WHOLE}}, "command"),
        ({"command": ("a", "{x}{x}"), "parameters": {"x": WHOLE}}, "command"),
        ({"command": ("a", "-{x}"), "parameters": {"x": WHOLE}}, "command"),
        ({"command": ("a", "--{x}"), "parameters": {"x": WHOLE}}, "command"),
        ({"command": ("a", "rm {x}"), "parameters": {"x": WHOLE}}, "command"),
        ({"command": ("sh", "-c", "{x}"), "parameters": {"x": WHOLE}}, "command"),
        ({"command": ("bash", "-euc", "{x}"), "parameters": {"x": WHOLE}}, "command"),
        ({"command": ("/usr/bin/python3", "-c", "{x}"), "parameters": {"x": WHOLE}}, "command"),
        ({"command": ("a\0",)}, "command"),
        ({"timeout_s": 0}, "timeout_seconds"),
        ({"memory_mib": -1}, "memory_mib"),
        ({"file_mib": 0}, "file_mib"),
        ({"cwd": Path("here")}, "cwd"),
        ({"env": {"A B": "x"}}, "env"),
        ({"command": ("a", "{out_folder}"), "parameters": {"out_folder": WHOLE}}, "parameters"),
    ],
)
def test_a_recipe_that_does_not_hold_together_is_refused(
    changes: dict[str, object], key: str
) -> None:
    with pytest.raises(UsageError, match=key):
        recipe(SHOW, **changes)


@pytest.mark.parametrize(
    ("parameter", "key"),
    [
        (Parameter(ParameterKind.STRING, low=1), "min"),
        (Parameter(ParameterKind.INTEGER, low=2, high=1), "min"),
        (Parameter(ParameterKind.INTEGER, pattern="a"), "pattern"),
        (Parameter(pattern="("), "pattern"),
        (Parameter(pattern="(a+)+b"), "pattern"),
        (Parameter(most_chars=0), "max_length"),
        (Parameter(ParameterKind.CHOICE), "choices"),
        (Parameter(ParameterKind.CHOICE, choices=("a", "a")), "choices"),
        (Parameter(ParameterKind.CHOICE, choices=("a\n",)), "choices"),
        (Parameter(choices=("a",)), "choices"),
        (Parameter(ParameterKind.PATH), "folder"),
        (Parameter(ParameterKind.PATH, folder=Path("here")), "folder"),
        (Parameter(folder=Path("/srv")), "folder"),
        (Parameter(flag="-x"), "flag"),
        (Parameter(ParameterKind.INTEGER, url=True), "url"),
        (Parameter(ParameterKind.NUMBER, at_file=True), "at_file"),
    ],
)
def test_a_parameter_that_means_nothing_is_refused(parameter: Parameter, key: str) -> None:
    with pytest.raises(UsageError, match=rf"parameters\.x\.{key}"):
        recipe(SHOW, "{x}", parameters={"x": parameter})


@pytest.mark.parametrize(
    ("parameter", "value"),
    [
        (Parameter(ParameterKind.INTEGER, low=0), -1),
        (Parameter(ParameterKind.INTEGER, high=5), 6),
        (Parameter(ParameterKind.INTEGER), -1),
        (Parameter(ParameterKind.INTEGER), 1.5),
        (Parameter(ParameterKind.NUMBER), float("inf")),
        (Parameter(ParameterKind.NUMBER), 1e300),
        (Parameter(ParameterKind.INTEGER), True),
        (Parameter(ParameterKind.CHOICE, choices=("a",)), "b"),
        (Parameter(most_chars=3), "four"),
        (Parameter(pattern="[a-z]+"), "A"),
        (Parameter(), "   "),
        (Parameter(), 5),
    ],
)
def test_a_value_that_does_not_fit_is_refused(parameter: Parameter, value: object) -> None:
    tool = RecipeTool(recipe(SHOW, "{x}", parameters={"x": parameter}))
    with pytest.raises((InvalidDataError, RefusedError)):
        tool.preview({"x": value})  # type: ignore[dict-item]  # on purpose


def test_numbers_are_written_without_exponents() -> None:
    parameter = Parameter(ParameterKind.NUMBER)
    tool = RecipeTool(recipe(SHOW, "{x}", parameters={"x": parameter}))
    assert tool.preview({"x": 0.00001}).endswith(" 0.00001")
    assert tool.preview({"x": 2.0}).endswith(" 2")


async def test_a_killed_node_takes_the_program_with_it(tmp_path: Path) -> None:
    node = (
        "import asyncio, pathlib, sys\n"
        "from homing_agent.tools.home.recipe import RecipeTool\n"
        "from homing_agent.tools.home.recipe_spec import Recipe\n"
        "from homing_agent.tool import ToolContext\n"
        "program = 'import os, time; print(os.getpid(), flush=True); time.sleep(600)'\n"
        "recipe = Recipe('x', 'y', (sys.executable, '-I', '-S', '-c', program))\n"
        "import homing_agent.tools.home.recipe as module\n"
        "module._teller = lambda report: lambda line: print(line, flush=True)\n"
        "asyncio.run(RecipeTool(recipe).run({}, ToolContext('r', 'c')))\n"
    )
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", node, stdout=asyncio.subprocess.PIPE, cwd=tmp_path
    )
    assert process.stdout is not None
    async with asyncio.timeout(20):
        pid = int(await process.stdout.readline())
        assert is_alive(pid)
        process.kill()
        await process.communicate()
    await gone(pid)
