"""A scriptable OpenAI-compatible HTTP server: what it answers is given byte for byte, or built.

    async with FakeOpenAI() as server:
        server.chat(sse(text("Hello"), finish("stop"), usage(9, 1)))
        engine = await UpstreamEngine.connect(UpstreamServer(server.url))

The shapes of the chunks are those that llama.cpp's server and llama-cpp-python's really send.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self, TypeAlias

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable, Mapping

Step: TypeAlias = "bytes | asyncio.Event"
"""Bytes to send; or an event to wait for."""
Body: TypeAlias = dict[str, Any]


@dataclass(frozen=True)
class Reply:
    """What is sent, and whether the connection stays open behind it until the other side closes."""

    steps: tuple[Step, ...]
    hangs: bool = False


@dataclass(frozen=True)
class Asked:
    """A request as it came in."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: Body


Script: TypeAlias = "Reply | Callable[[Body], Reply]"

_COMMON: Body = {
    "created": 1796068599,
    "id": "chatcmpl-cl4gzqhGB9mZeUAb99hz9KJC2Rr7sAUy",
    "model": "small",
    "system_fingerprint": "b1-0c1e570",
    "object": "chat.completion.chunk",
}


def delta(
    content: Body, *, sample: int = 0, reason: str | None = None, logprobs: Body | None = None
) -> Body:
    """A chunk with one choice."""
    choice: Body = {"finish_reason": reason, "index": sample, "delta": content}
    if logprobs is not None:
        choice["logprobs"] = logprobs
    return {"choices": [choice], **_COMMON}


def role(sample: int = 0) -> Body:
    """How streams begin."""
    return delta({"role": "assistant", "content": None}, sample=sample)


def text(words: str, sample: int = 0, *, logprob: float | None = None) -> Body:
    """More text; with a log-probability where one is given, as llama.cpp's server writes it."""
    if logprob is None:
        return delta({"content": words}, sample=sample)
    token = {"id": 785, "token": words, "bytes": list(words.encode()), "logprob": logprob}
    other = {"id": 3966, "token": "One", "bytes": [79, 110, 101], "logprob": -2.5}
    listed = [{**token, "top_logprobs": [other, token]}]
    return delta({"content": words}, sample=sample, logprobs={"content": listed})


def thought(words: str, sample: int = 0, *, key: str = "reasoning_content") -> Body:
    """More thinking; vLLM and Ollama call it `reasoning`."""
    return delta({key: words}, sample=sample)


def call(
    arguments: str, name: str | None = None, identity: str | None = None, index: int | None = 0
) -> Body:
    """A part of a structured call."""
    function: Body = {"arguments": arguments}
    if name is not None:
        function["name"] = name
    piece: Body = {"function": function}
    if index is not None:
        piece["index"] = index
    if identity is not None:
        piece |= {"id": identity, "type": "function"}
    return delta({"tool_calls": [piece]})


def finish(reason: str, sample: int = 0) -> Body:
    """How an answer ends."""
    return delta({}, sample=sample, reason=reason)


def usage(prompt: int, completion: int, cached: int = 0) -> Body:
    """The counts."""
    counts: Body = {
        "completion_tokens": completion,
        "prompt_tokens": prompt,
        "total_tokens": prompt + completion,
        "prompt_tokens_details": {"cached_tokens": cached},
    }
    return {"choices": [], **_COMMON, "usage": counts}


def event(chunk: Body) -> bytes:
    """A chunk as it stands in the stream."""
    return b"data: " + json.dumps(chunk).encode() + b"\n\n"


STREAM_HEAD = (
    b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nServer: llama.cpp\r\n"
    b"Connection: close\r\n\r\n"
)
DONE = b"data: [DONE]\n\n"


def sse(*chunks: Body | Step, done: bool = True, hangs: bool = False) -> Reply:
    """A stream; raw bytes and events to wait for may stand between the chunks."""
    steps = [event(chunk) if isinstance(chunk, dict) else chunk for chunk in chunks]
    return Reply((STREAM_HEAD, *steps, *([DONE] if done else [])), hangs)


def answer(body: Any, status: int = 200, **headers: str) -> Reply:  # noqa: ANN401  # any JSON
    """JSON all at once; a header's `_` stands for `-`."""
    return raw(json.dumps(body).encode(), status, content_type="application/json", **headers)


def raw(content: bytes, status: int = 200, **headers: str) -> Reply:
    """Any content; a header's `_` stands for `-`."""
    lines = [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    lines += [f"Content-Length: {len(content)}", "Connection: close"]
    head = "\r\n".join([f"HTTP/1.1 {status} Whatever", *lines, "", ""])
    return Reply((head.encode() + content,))


def models(*names: str, owner: str = "", **extra: Any) -> Reply:  # noqa: ANN401  # any JSON
    """What `/v1/models` answers."""
    data = [{"id": name, "object": "model", "owned_by": owner, **extra} for name in names]
    return answer({"object": "list", "data": data})


class FakeOpenAI:
    """The server. Each connection serves one request, then closes.

    Args:
        tls: to speak https.

    Attributes:
        port: at which it listens; kept when it is entered again.
        asked: every request, in order.
        paths: what other paths than chat completions answer, by method and path.
        gone: set when a client closed the connection while an answer was on its way.
        at_work: answers on their way.
        most_at_work: the most of them at once.
    """

    def __init__(self, tls: ssl.SSLContext | None = None) -> None:
        """It serves one model, `small`."""
        self.port = 0
        self.asked: list[Asked] = []
        self.paths: dict[str, Script] = {"GET /v1/models": models("small")}
        self.gone = asyncio.Event()
        self.at_work = 0
        self.most_at_work = 0
        self._tls = tls
        self._chats: deque[Script] = deque()
        self._default: Script | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None

    @property
    def url(self) -> str:
        return f"{'https' if self._tls else 'http'}://127.0.0.1:{self.port}"

    @property
    def chats(self) -> list[Body]:
        """The bodies of all chat completions that were asked for."""
        return [asked.body for asked in self.asked if asked.path == "/v1/chat/completions"]

    def chat(self, *scripts: Script) -> None:
        """Answer the next chat completions so, one after the other."""
        self._chats.extend(scripts)

    def always(self, script: Script) -> None:
        """Answer every chat completion so for which nothing else is scripted."""
        self._default = script

    async def __aenter__(self) -> Self:
        place = ("127.0.0.1", self.port)
        self._server = await asyncio.start_server(self._serve, *place, ssl=self._tls)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._server is not None:
            self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            with contextlib.suppress(OSError, asyncio.IncompleteReadError):
                await self._answer(reader, writer)
        except asyncio.CancelledError:
            pass  # the test is over
        finally:
            self._tasks.discard(task)
            writer.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        first, *lines = head.strip().split("\r\n")
        method, path, _ = first.split(" ")
        headers = {
            name.lower(): value.strip()
            for name, _, value in (line.partition(":") for line in lines)
        }
        content = await reader.readexactly(int(headers.get("content-length", "0")))
        asked = Asked(method, path, headers, json.loads(content) if content else {})
        self.asked.append(asked)
        script = self._script(asked)
        reply = script if isinstance(script, Reply) else script(asked.body)
        self.at_work += 1
        self.most_at_work = max(self.most_at_work, self.at_work)
        leaving = asyncio.create_task(reader.read(1))
        try:
            await self._play(reply, writer, leaving)
        finally:
            self.at_work -= 1
            leaving.cancel()
            await asyncio.gather(leaving, return_exceptions=True)

    async def _play(
        self, reply: Reply, writer: asyncio.StreamWriter, leaving: asyncio.Task[bytes]
    ) -> None:
        for step in (*reply.steps, *([asyncio.Event()] if reply.hangs else [])):
            if leaving.done():
                break
            if isinstance(step, bytes):
                writer.write(step)
                await writer.drain()
                continue
            waiting = asyncio.create_task(step.wait())
            await asyncio.wait({waiting, leaving}, return_when=asyncio.FIRST_COMPLETED)
            waiting.cancel()
        if leaving.done():
            self.gone.set()

    def _script(self, asked: Asked) -> Script:
        if asked.path == "/v1/chat/completions":
            if self._chats:
                return self._chats.popleft()
            if self._default is not None:
                return self._default
        missing = answer({"error": {"message": "File Not Found", "code": 404}}, 404)
        return self.paths.get(f"{asked.method} {asked.path}", missing)
