"""Servers that misbehave: each gets a clear state, and hurts nobody else."""

from __future__ import annotations

import asyncio
import resource
from typing import TYPE_CHECKING

import pytest
from homing_agent.mcp.config import HttpServer, ServerConfig, StdioServer
from homing_agent.mcp.guard import MessageLimits
from homing_agent.mcp.status import ServerState
from homing_agent.mcp.words import ServerWords
from homing_agent.tool import UnknownOutcomeError
from homing_core.errors import UnavailableError
from support.mcp_servers.rig import a_context, running, scripted

if TYPE_CHECKING:
    from pathlib import Path

SOON = ServerWords(start_seconds=0.5)
FAILURES = {
    "garbage": "not MCP on its standard output",
    "endless_line": "messages of more than",
    "notifications": "messages a minute",
    "intricate": "values",
    "nested": "did not answer in time",
    "deep_answer": "malformed",
    "silent": "did not answer in time",
    "version": "speaks MCP 1999-01-01",
    "crash_at_start": "ended with status 1",
    "wrong_list": "list of tools is malformed",
    "many_tools": "more than 256 tools",
}


@pytest.mark.attack
async def test_each_bad_server_says_why_and_the_good_one_works(tmp_path: Path) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    servers = [scripted(mode) for mode in FAILURES]
    words = {"nested": SOON, "silent": SOON}
    limits = MessageLimits(messages_per_minute=5000)
    async with running(tmp_path, *servers, scripted("fine"), words=words, limits=limits) as rig:
        await rig.ready("fine")
        for mode, why in FAILURES.items():
            assert why in await rig.failed(mode), mode
            assert not rig.status(mode).tools
        assert (await rig.call("fine")).content == "hello"
    grown_mib = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    assert grown_mib < 250


@pytest.mark.attack
async def test_bytes_that_are_no_text_end_a_server_and_not_the_host(tmp_path: Path) -> None:
    async with running(tmp_path, scripted("binary")) as rig:
        assert "not MCP" in await rig.failed("binary")


async def test_a_server_that_failed_is_tried_again_and_then_tells_nothing_secret(
    tmp_path: Path,
) -> None:
    server = scripted("crash_at_start", OWN="token-123456")
    async with running(tmp_path, server) as rig:
        why = await rig.failed("crash_at_start", times=3)
        assert "ModuleNotFoundError" in why
        assert "token-123456" not in why


async def test_a_program_that_is_missing_is_named(tmp_path: Path) -> None:
    server = ServerConfig("gone", StdioServer("no-such-program"))
    async with running(tmp_path, server) as rig:
        assert await rig.failed("gone") == "there is no program no-such-program"


async def test_a_wrong_url_is_said(tmp_path: Path) -> None:
    server = ServerConfig("web", HttpServer("http://127.0.0.1:9/mcp"))
    async with running(tmp_path, server) as rig:
        assert await rig.failed("web") == "it cannot be reached"


async def test_a_banner_on_standard_output_is_forgiven(tmp_path: Path) -> None:
    async with running(tmp_path, scripted("chatty")) as rig:
        await rig.ready("chatty")
        assert (await rig.call("chatty")).content == "hello"


@pytest.mark.attack
async def test_schemas_that_lie_are_named_and_the_rest_is_offered(tmp_path: Path) -> None:
    async with running(tmp_path, scripted("odd_tools"), reserved=["echo"]) as rig:
        await rig.ready("odd_tools")
        reasons = {each.name: each.reason for each in rig.status("odd_tools").not_offered}
        assert "'float'" in reasons["float"]
        assert "refers to what is not there" in reasons["lost"]
        assert "another document" in reasons["away"]
        assert "too large" in reasons["many"] or "64 KiB" in reasons["many"]
        assert "malformed" in reasons["list"]
        assert "two tools of this name" in reasons["twice"]
        assert "cannot be shown" in reasons["bad[2J name"]
        assert "description is malformed" in reasons["typed"]
        assert "description is malformed" in reasons["unnamed"]
        offered = {tool.spec.name: tool.spec for tool in rig.host.tools()}
        assert set(offered) == {"odd_tools_echo", "loop", "deep", "unfit", "a_b_c_d"}
        assert len(offered["a_b_c_d"].description) == 1024
        output = await rig.call("odd_tools")
        assert output.content == "hello"


@pytest.mark.attack
async def test_a_crash_in_a_call_is_an_unknown_outcome_and_the_server_comes_back(
    tmp_path: Path,
) -> None:
    async with running(tmp_path, scripted("crash_in_call")) as rig:
        await rig.ready("crash_in_call")
        with pytest.raises(UnknownOutcomeError, match="went away during the call"):
            await rig.call("crash_in_call")
        assert "ended with status 7" in await rig.failed("crash_in_call")
        await rig.ready("crash_in_call")


async def test_a_crash_in_a_call_that_may_be_repeated_says_try_again(tmp_path: Path) -> None:
    words = {"crash_in_call": ServerWords(idempotent=("ec*",))}
    async with running(tmp_path, scripted("crash_in_call"), words=words) as rig:
        await rig.ready("crash_in_call")
        with pytest.raises(UnavailableError, match="went away") as caught:
            await rig.call("crash_in_call")
        assert not isinstance(caught.value, UnknownOutcomeError)


@pytest.mark.attack
async def test_a_server_stuck_in_a_call_that_was_cancelled_is_killed(tmp_path: Path) -> None:
    async with running(tmp_path, scripted("hang_in_call")) as rig:
        await rig.ready("hang_in_call")
        call = asyncio.create_task(rig.call("hang_in_call", a_context()))
        await asyncio.wait({call}, timeout=0.1)
        call.cancel()
        await asyncio.wait({call}, timeout=10)
        assert call.cancelled()
        assert rig.status("hang_in_call").state is not ServerState.READY
        assert "did not answer after a call was cancelled" in await rig.failed("hang_in_call")


async def test_a_call_without_an_answer_ends_in_time(tmp_path: Path) -> None:
    words = {"hang_in_call": ServerWords(timeout_seconds=0.2)}
    async with running(tmp_path, scripted("hang_in_call"), words=words) as rig:
        await rig.ready("hang_in_call")
        with pytest.raises(UnknownOutcomeError, match="no answer"):
            await rig.call("hang_in_call")


@pytest.mark.attack
async def test_an_answer_of_wrong_types_is_an_unknown_outcome(tmp_path: Path) -> None:
    async with running(tmp_path, scripted("wrong_answer")) as rig:
        await rig.ready("wrong_answer")
        with pytest.raises(UnknownOutcomeError, match="cannot be read"):
            await rig.call("wrong_answer")
        assert rig.status("wrong_answer").state is ServerState.READY


@pytest.mark.attack
async def test_a_huge_answer_is_cut_and_that_is_said(tmp_path: Path) -> None:
    words = {"huge_answer": ServerWords(output_kib=4)}
    async with running(tmp_path, scripted("huge_answer"), words=words) as rig:
        await rig.ready("huge_answer")
        output = await rig.call("huge_answer")
        assert len(output.content.encode()) < 5000
        assert "[cut here: 1,995,904 bytes more" in output.content


@pytest.mark.attack
async def test_requests_for_a_models_or_a_persons_words_are_refused(tmp_path: Path) -> None:
    async with running(tmp_path, scripted("ask")) as rig:
        await rig.ready("ask")
        assert (await rig.call("ask")).content == "e:True s:True"
