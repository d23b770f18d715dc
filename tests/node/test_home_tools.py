"""What a node offers: from its configuration, to phones as jobs, and to its operator."""

from __future__ import annotations

import asyncio
import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from homing_agent.runtime.paths import program_paths
from homing_agent.testing import FakeTool, fake_spec
from homing_agent.tools.home.agent_task import AgentTask
from homing_agent.tools.home.recipe import RecipeTool
from homing_agent.tools.home.recipe_spec import Recipe
from homing_core.access import DeviceRole
from homing_core.config import parse_config
from homing_core.errors import ConfigError, ConflictError, InternalError, NotFoundError
from homing_core.generation import Done, FinishReason, TextDelta, ToolCallEvent
from homing_core.ids import new_job_id, new_request_id, new_tool_call_id
from homing_core.jobs import JobSpec, JobState
from homing_core.provenance import Trust
from homing_core.tools import EffectClass, Place, ToolCall
from homing_node.cli import run
from homing_node.config import NodeConfig
from homing_node.home_tools import NodeTools, home_tools
from homing_node.rpc.tools_control import ToolsControl
from homing_node.testing import FixedTools
from homing_node.tools_views import Offer, PlainConsole, console_of
from homing_proto.codec.jobs import decode_job_event
from homing_proto.v1 import job_pb2 as wire
from support.home_tools import CountTool, EchoTool
from support.jobs_home import jobs_home, progressed, until
from support.jobs_wire import answer_to
from support.node_process import environment, finished
from support.node_rig import LOOPBACK, NodeRig, node_rig, within

if TYPE_CHECKING:
    from homing_agent.runtime.paths import ProgramPaths
    from homing_core.ids import JobId
    from homing_core.jobs import JobEvent
    from support.commands import Finished
    from support.jobs_wire import JobsClient

READ = EffectClass.READ
RECIPE = """
[recipes.greet]
command = ["echo", "hello {{", "{name}"]
description = "Greets somebody."
effect = "read"
parameters.name = {type = "string"}
"""


def config(text: str = "") -> NodeConfig:
    return parse_config(text, NodeConfig, "node.toml", {}, "HOMING_NODE_")


def paths(folder: Path) -> ProgramPaths:
    found = program_paths("homing-node", "node", folder / "node", environ={})
    found.data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    return found


def made(folder: Path, text: str = "") -> NodeTools:
    return home_tools(config(text), paths(folder), {})


def names(tools: NodeTools) -> list[str]:
    return [f"{spec.server}.{spec.name}" for spec in tools.specs()]


def test_without_a_word_there_are_pages_and_tasks_but_no_documents(tmp_path: Path) -> None:
    tools = made(tmp_path)
    assert names(tools) == ["builtin.fetch_page", "builtin.agent_task"]
    effects = {spec.name: spec.effect for spec in tools.specs()}
    assert effects == {"fetch_page": EffectClass.READ_NETWORK, "agent_task": EffectClass.READ}


async def test_what_is_configured_is_offered_in_a_stable_order_and_never_trusted(
    tmp_path: Path,
) -> None:
    text = f'{RECIPE}\n[documents]\nfolders = ["{tmp_path}"]\n'
    tools = made(tmp_path, text)
    assert names(tools) == [
        "documents.search_documents",
        "documents.summarise_folder",
        "documents.index_documents",
        "builtin.fetch_page",
        "recipe.greet",
        "builtin.agent_task",
    ]
    assert {spec.output_trust for spec in tools.specs()} == {Trust.UNTRUSTED}
    assert {spec.place for spec in tools.specs()} == {Place.HOME}
    assert len({spec.name for spec in tools.specs()}) == len(tools.specs())
    await tools.close()


def test_tools_are_found_by_server_and_name_alone(tmp_path: Path) -> None:
    tools = made(tmp_path, RECIPE)
    found = tools.find("recipe", "greet")
    assert found is not None
    assert found.preview({"name": "Ann"}) == "runs echo 'hello {' Ann"
    assert tools.find("builtin", "greet") is None
    assert tools.find("recipe", "fetch_page") is None
    assert tools.find("", "") is None


def test_what_is_off_is_neither_offered_nor_found_but_told(tmp_path: Path) -> None:
    tools = made(tmp_path, f'{RECIPE}\n[tools]\noff = ["builtin.*", "x.y"]\n')
    assert names(tools) == ["recipe.greet"]
    assert tools.find("builtin", "fetch_page") is None
    offers = {view.name: view.offer for view in tools.overview().tools}
    assert offers == {"greet": Offer.OFFERED, "fetch_page": Offer.OFF, "agent_task": Offer.OFF}
    assert names(made(tmp_path, "[fetch]\nenabled = false\n[agent_task]\nenabled = false")) == []


def test_what_cannot_run_is_not_offered_and_says_why(tmp_path: Path) -> None:
    broken = RECIPE.replace('"echo"', '"no-such-program-anywhere"')
    tools = made(tmp_path, broken)
    assert "recipe.greet" not in names(tools)
    view = next(view for view in tools.overview().tools if view.name == "greet")
    assert view.offer is Offer.UNAVAILABLE
    assert "no-such-program-anywhere is not there" in view.reason
    assert tools.find("recipe", "greet") is not None, "a job that waits for it must find it"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (RECIPE.replace("greet", "fetch_page"), "two tools of this node are called fetch_page"),
        (RECIPE.replace("greet", "Greet"), r"recipes\.Greet: its name"),
        (RECIPE.replace("{name}", "{nobody}"), r"recipes\['greet'\]\.command: there is no param"),
        (RECIPE.replace('"string"', '"text"'), r"parameters\['name'\]\.type is none of"),
        (RECIPE.replace('"read"', '"harmless"'), r"recipes\['greet'\]\.effect is none of"),
        (RECIPE + "shell = true\n", "no such key: shell"),
        (
            RECIPE.replace('"string"}', '"string", default = 5}'),
            r"parameters\.name\.default: 'name' is not text",
        ),
        ('[fetch]\nallow_private = ["1.2"]', r"fetch\.allow_private: '1\.2' is no host name"),
        ("[fetch]\nports = [0]", r"fetch\.ports"),
        ("[agent_task]\nturns = 0", r"agent_task\.turns"),
        ('[documents]\nfolders = ["papers"]', r"documents\.folders: 'papers' is not an absolute"),
        ('[tools]\noff = [" "]', r"tools\.off"),
        ("[mcp.servers.time]\nidempotent = []", r"mcp\.servers speaks of servers, but there is no"),
        ('[mcp]\nfile = "nowhere.json"', "nowhere.json"),
    ],
)
def test_a_configuration_that_lies_is_refused_by_name(text: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=said):
        made(tmp_path, text)


@pytest.mark.parametrize(
    ("servers", "text", "said"),
    [
        ("nonsense", "", "mcp.json"),
        ({"documents": {"command": "x"}}, "", "documents"),
        ({"recipe": {"command": "x"}}, "", "recipe"),
        ({"time": {"command": "x"}}, "[mcp.servers.tme]\nallow = []", "tme speaks of a server"),
        ({"time": {"command": "x"}}, '[mcp.servers.time]\neffects = {"*" = "ok"}', "effects"),
    ],
)
def test_a_list_of_servers_that_lies_is_refused_by_name(
    servers: object, text: str, said: str, tmp_path: Path
) -> None:
    (paths(tmp_path).data_dir / "mcp.json").write_text(json.dumps({"mcpServers": servers}))
    with pytest.raises(ConfigError, match=said):
        made(tmp_path, text)


async def test_a_part_that_does_not_end_well_leaves_the_others_alone() -> None:
    ended: list[str] = []

    async def fails() -> None:
        msg = "the disk is gone"
        raise InternalError(msg)

    async def ends() -> None:
        ended.append("ended")

    tools = NodeTools((FakeTool(),), closers=(fails, ends))
    await tools.start()
    await tools.close()
    assert ended == ["ended"]


async def test_tools_that_nobody_configured_have_a_console_too() -> None:
    console = console_of(FixedTools(fake_spec("act")))
    assert isinstance(console, PlainConsole)
    assert [view.name for view in console.overview().tools] == ["act"]
    for one in (console, NodeTools()):
        with pytest.raises(NotFoundError):
            await one.allow("x", "y", ())
        with pytest.raises(NotFoundError):
            one.retry("x")


async def command(node: NodeRig, *words: str) -> Finished:
    folder = node.paths.data_dir
    return await finished(*words, "--data-dir", folder, env=environment(folder.parent))


def objects(done: Finished) -> list[dict[str, Any]]:
    assert done.status == 0, done.err
    return [json.loads(line) for line in done.out.splitlines()]


def test_every_command_has_help_with_an_example(capsys: pytest.CaptureFixture[str]) -> None:
    for word in ("", "list", "status", "allow", "retry"):
        assert run(["tools", *([word] if word else []), "--help"]) == 0
        page = capsys.readouterr().out
        assert f"homing-node tools {word}".strip() in page
        assert "--json" in page


async def test_an_unmodified_server_and_what_its_operator_sees_of_it(tmp_path: Path) -> None:
    """A server's tools are offered, a changed one waits for a word, and the word lets it in."""
    folder = paths(tmp_path).data_dir
    listed = {"time": {"command": sys.executable, "args": ["-m", "mcp_server_time"]}}
    (folder / "mcp.json").write_text(json.dumps({"mcpServers": listed}))
    text = '[mcp.servers.time]\neffects = {"*" = "read"}\n'
    for changed in (False, True):
        tools = made(tmp_path, text)
        async with node_rig(tmp_path, replace(LOOPBACK, mcp=config(text).mcp), tools=tools) as node:
            await ready(tools)
            if not changed:
                views = {view.name: view for view in tools.overview().tools}
                assert views["get_current_time"].effect is EffectClass.READ
                assert views["get_current_time"].offer is Offer.OFFERED
                assert tools.find("time", "get_current_time") is not None
            else:
                shown = (await command(node, "tools", "status")).out
                assert "These wait for your word" in shown
                assert "time.get_current_time" in shown
                assert "Tells the time, and nothing else." in shown
                rows = {one["name"]: one for one in objects(await command(node, "tools", "--json"))}
                assert rows["fetch_page"]["server"] == "builtin"
                found = rows["get_current_time"]
                assert (found["server"], found["state"], found["changed"]) == (
                    "time",
                    "withheld",
                    True,
                )
                async with ToolsControl.connect(node.paths) as control:
                    with pytest.raises(NotFoundError):
                        await control.allow("time", "nothing", ())
                    with pytest.raises(ConflictError, match="what was shown to you is not"):
                        await control.allow("time", "get_current_time", {"0" * 64})
                    await control.retry("time")
                allow = ("tools", "allow", "time.get_current_time")
                unseen = await command(node, *allow)
                assert unseen.status == 2
                assert f"hash   {found['hash']}" in unseen.err
                assert "says   Get current time" in unseen.err
                assert "nobody can be asked" in unseen.err
                late = await command(node, *allow, "--hash", "0" * 64)
                assert late.status == 1
                assert "so nothing is allowed" in late.err
                (done,) = objects(await command(node, *allow, "--hash", found["hash"], "--json"))
                assert done["tools"] == ["get_current_time"]
                views = {view.name: view for view in tools.overview().tools}
                assert views["get_current_time"].offer is Offer.OFFERED
            (server,) = tools.overview().servers
            assert (server.name, server.kind, server.state) == ("time", "stdio", "ready")
        pretend_it_was_another(folder / "mcp" / "allowed.json")


async def ready(tools: NodeTools) -> None:
    """Wait until the server has said what it has."""
    assert tools.mcp is not None
    news = asyncio.Event()
    tools.mcp.on_change = news.set
    async with asyncio.timeout(60):
        while tools.overview().servers[0].state != "ready":
            await news.wait()
            news.clear()


def pretend_it_was_another(allowed: Path) -> None:
    """As if the server had described its tool otherwise when it was allowed."""
    text = allowed.read_text("utf-8")
    kept = json.loads(text)
    tool = kept["servers"]["time"]["tools"]["get_current_time"]
    tool |= {"hash": "0" * 64, "description": "Tells the time, and nothing else."}
    allowed.write_text(json.dumps(kept), "utf-8")


async def test_a_phones_goal_waits_for_an_owner_in_the_middle_and_then_goes_on(
    tmp_path: Path,
) -> None:
    """A guest's task reads by itself; what changes the computer needs the owner, once."""
    count, echo = CountTool(tmp_path / "counted"), EchoTool()
    async with jobs_home(tmp_path, AgentTask(), count, echo) as home:
        owner, guest = await home.device(DeviceRole.OWNER), await home.device(name="Ann")
        engine = home.rig.engine
        call = ToolCall(new_tool_call_id(), "agent_task", {"goal": "look, then count please"})
        job = JobSpec(new_job_id(), new_request_id(), AgentTask.SPEC.id, call)
        await guest.submit(job)
        for name, text in (("echo", "look"), ("count", "count")):
            asked = await within(engine.started.get())
            wanted = ToolCall(new_tool_call_id(), name, {"text": text})
            engine.feed(asked.id, ToolCallEvent(wanted), Done(FinishReason.TOOL_CALLS))
        await until(guest, job.id, JobState.WAITING_APPROVAL)
        assert (echo.runs, count.lines) == ([{"text": "look"}], [])
        (question,) = await owner.pending()
        assert (question.tool.name, question.call.arguments) == ("count", {"text": "count"})
        await owner.answer(answer_to(owner.identity, question))
        asked = await within(engine.started.get())
        engine.feed(asked.id, TextDelta("It is counted."), Done(FinishReason.STOP))
        await until(guest, job.id, JobState.SUCCEEDED)
    assert (echo.runs, count.lines) == ([{"text": "look"}], ["count"])


async def test_a_recipe_runs_as_a_job_and_is_really_ended_with_it(tmp_path: Path) -> None:
    script = (
        "import os, sys, time; print(f'{{os.getpid()}} of 9999999', flush=True); time.sleep(600)"
    )
    made = RecipeTool(Recipe("wait", "Waits.", (sys.executable, "-c", script), effect=READ))
    listed = RecipeTool(
        Recipe("show", "Shows.", ("cp", "/etc/hostname", "{out_folder}/name.txt"), effect=READ)
    )
    async with jobs_home(tmp_path, made, listed) as home:
        owner = await home.device(DeviceRole.OWNER)
        call = ToolCall(new_tool_call_id(), "show", {})
        job = JobSpec(new_job_id(), new_request_id(), listed.spec.id, call)
        await owner.submit(job)
        done = await until(owner, job.id, JobState.SUCCEEDED)
        assert "1 file made" in done.summary
        call = ToolCall(new_tool_call_id(), "wait", {})
        job = JobSpec(new_job_id(), new_request_id(), made.spec.id, call)
        await owner.submit(job)
        await progressed(owner, job.id)
        (pid,) = [event.progress.done for event in await pids(owner, job.id) if event.progress]
        await owner.cancel(job.id)
        await until(owner, job.id, JobState.CANCELLED)
    assert not is_there(f"/proc/{pid:.0f}")


def is_there(path: str) -> bool:
    return Path(path).exists()


async def pids(phone: JobsClient, job: JobId) -> list[JobEvent]:
    """The record so far, up to the first word of progress."""
    call = phone.watching(job)
    found: list[JobEvent] = []
    async with asyncio.timeout(10):
        while not (found and found[-1].progress):
            answer = await call.read()
            assert isinstance(answer, wire.WatchJobResponse)
            found.append(decode_job_event(answer.event))
    call.cancel()
    return found
