"""A fake server, and engines that are closed at the end."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import pytest_asyncio
from homing_inference.upstream.engine import UpstreamEngine
from homing_inference.upstream.server import UpstreamServer
from support.openai_server import FakeOpenAI

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable

Connect = "Callable[..., Awaitable[UpstreamEngine]]"


@pytest_asyncio.fixture
async def server() -> AsyncGenerator[FakeOpenAI]:
    """A fake server that serves one model."""
    async with FakeOpenAI() as fake:
        yield fake


@pytest_asyncio.fixture
async def connect(server: FakeOpenAI) -> AsyncGenerator[Callable[..., Awaitable[UpstreamEngine]]]:
    """Connects to the fake server; waits are short."""
    opened: list[UpstreamEngine] = []

    async def connect(**settings: Any) -> UpstreamEngine:  # noqa: ANN401  # fields of the server
        settings = {"url": server.url, "first_token_s": 5, "silence_s": 5, **settings}
        engine = await UpstreamEngine.connect(UpstreamServer(**settings))
        opened.append(engine)
        return engine

    yield connect
    for engine in opened:
        await engine.close()


@pytest.fixture
def secret() -> str:
    """A key that must be seen nowhere."""
    return "sk-0123456789abcdef-secret"
