"""Servers over streamable HTTP: the SDK's own, and some that misbehave."""

from __future__ import annotations

import asyncio
import gzip
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from homing_agent.mcp.status import ServerState
from support.mcp_servers.rig import McpRig, a_context, running
from support.mcp_servers.web import adder, raw_serving, serving, web_config

if TYPE_CHECKING:
    from pathlib import Path

    from homing_agent.tool import ToolOutput
    from homing_core.jobs import JobProgress
    from support.mcp_servers.web import Answer


async def call(rig: McpRig, name: str, **arguments: int) -> ToolOutput:
    tool = rig.host.find("web", name)
    assert tool is not None
    async with asyncio.timeout(20):
        return await tool.run(arguments, a_context())


@pytest.mark.parametrize("json_response", [True, False])
async def test_the_sdks_own_server_is_called(tmp_path: Path, *, json_response: bool) -> None:
    app = adder().streamable_http_app(json_response=json_response)
    async with serving(app) as port, running(tmp_path, web_config(port)) as rig:
        await rig.ready("web")
        assert rig.status("web").kind == "http"
        assert (await call(rig, "add", a=2, b=3)).content == "5"


async def test_a_server_without_sessions_is_called(tmp_path: Path) -> None:
    app = adder().streamable_http_app(stateless_http=True)
    async with serving(app) as port, running(tmp_path, web_config(port)) as rig:
        await rig.ready("web")
        assert (await call(rig, "add", a=2, b=3)).content == "5"


async def test_a_new_tool_is_noticed_over_http(tmp_path: Path) -> None:
    async with (
        serving(adder().streamable_http_app()) as port,
        running(tmp_path, web_config(port)) as rig,
    ):
        await rig.ready("web")
        assert (await call(rig, "grow")).content == "grown"
        await rig.until(lambda: bool(rig.host.withheld()))
        assert [each.name for each in rig.host.withheld()] == ["fresh"]


async def test_cancelling_reaches_the_server_over_http(tmp_path: Path) -> None:
    log: list[str] = []
    going = asyncio.Event()

    def report(_: JobProgress) -> None:
        going.set()

    async with (
        serving(adder(log).streamable_http_app()) as port,
        running(tmp_path, web_config(port)) as rig,
    ):
        await rig.ready("web")
        tool = rig.host.find("web", "slow")
        assert tool is not None
        context = replace(a_context(), report=report)
        running_call = asyncio.create_task(tool.run({}, context))
        async with asyncio.timeout(10):
            await going.wait()
        running_call.cancel()
        with suppress(asyncio.CancelledError):
            await running_call
        assert log == ["cancelled"]
        assert rig.status("web").state is ServerState.READY


async def test_a_server_that_was_restarted_is_called_again(tmp_path: Path) -> None:
    async with serving(adder().streamable_http_app()) as port:
        host = running(tmp_path, web_config(port))
        rig = await host.__aenter__()
        await rig.ready("web")
    try:
        async with serving(adder().streamable_http_app(), port):
            assert (await call(rig, "add", a=1, b=1)).content == "2"
    finally:
        await host.__aexit__(None, None, None)


def head(kind: str, *more: str) -> bytes:
    lines = ("HTTP/1.1 200 OK", f"content-type: {kind}", "connection: close", *more)
    return "\r\n".join((*lines, "", "")).encode()


async def endless(writer: asyncio.StreamWriter, start: bytes, chunk: bytes) -> None:
    writer.write(start)
    while not writer.is_closing():
        writer.write(chunk)
        await writer.drain()


async def endless_json(writer: asyncio.StreamWriter) -> None:
    await endless(writer, head("application/json") + b'{"a":"', b"x" * 65536)


async def endless_event(writer: asyncio.StreamWriter) -> None:
    await endless(writer, head("text/event-stream") + b"data: ", b"x" * 65536)


async def intricate(writer: asyncio.StreamWriter) -> None:
    await endless(writer, head("application/json") + b"[", b"[]," * 20000)


async def packed(writer: asyncio.StreamWriter) -> None:
    bomb = gzip.compress(b"x" * 50_000_000)
    writer.write(head("application/json", "content-encoding: gzip", f"content-length: {len(bomb)}"))
    writer.write(bomb)
    await writer.drain()


async def no_http(writer: asyncio.StreamWriter) -> None:
    writer.write(b"220 mail.example ESMTP\r\n")
    await writer.drain()


async def garbage(writer: asyncio.StreamWriter) -> None:
    writer.write(head("application/json", "content-length: 7") + b"garbage")
    await writer.drain()


async def page(writer: asyncio.StreamWriter) -> None:
    writer.write(head("text/html", "content-length: 6") + b"<html>")
    await writer.drain()


async def elsewhere(writer: asyncio.StreamWriter) -> None:
    writer.write(
        b"HTTP/1.1 307 x\r\nlocation: http://169.254.169.254/\r\ncontent-length: 0\r\n"
        b"connection: close\r\n\r\n"
    )
    await writer.drain()


@pytest.mark.attack
@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (endless_json, "messages of more than 16 MiB"),
        (endless_event, "messages of more than 16 MiB"),
        (intricate, "messages of more than 400000 values"),
        (packed, "packs its answers"),
        (no_http, "no HTTP server"),
        (garbage, "it refused: Failed to parse"),
        (page, "it refused: Unexpected content type"),
        (elsewhere, "it refused: Redirect to http://169.254.169.254/ not followed"),
    ],
)
async def test_a_bad_web_server_says_why(tmp_path: Path, answer: Answer, why: str) -> None:
    async with raw_serving(answer) as port, running(tmp_path, web_config(port)) as rig:
        assert why in await rig.failed("web")
