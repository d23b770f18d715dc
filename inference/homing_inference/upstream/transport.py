"""HTTP to one server. The only module here that knows the client library.

Why httpx2 and not the `openai` package: it is here already (the model hub's client needs it), it
reads server-sent events with a bound on their size, and it leaves redirects, retries, waits and
odd answers to us. `openai` adds pydantic and jiter, retries by itself, and follows redirects.
"""

from __future__ import annotations

import json
import ssl
from contextlib import aclosing, asynccontextmanager, contextmanager
from typing import TYPE_CHECKING, Final

import httpx2
from homing_core.errors import IntegrityError, InvalidDataError, UnavailableError

from homing_inference.upstream.faults import answered, closed, cut_off
from homing_inference.upstream.wire import read_json

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Generator, Mapping

    from homing_core.errors import HomingError

    from homing_inference.upstream.body import Body
    from homing_inference.upstream.patience import Patience
    from homing_inference.upstream.server import UpstreamServer

MAX_BODY_BYTES: Final = 32 << 20
"""Of an answer that does not stream, unpacked."""
MAX_ERROR_BYTES: Final = 64 << 10
MAX_EVENT_BYTES: Final = 1 << 20
"""Of one event of a stream."""
_IDLE_S: Final = 5.0
_OK: Final = 200


class Transport:
    """Connections to one server; belongs to one event loop.

    Args:
        server: which.

    Raises:
        UsageError: its address cannot be read, or prompts would travel unencrypted.
    """

    def __init__(self, server: UpstreamServer) -> None:
        """Nothing is dialled yet."""
        self._root: Final = server.root
        self.place: Final = server.place
        self._server: Final = server
        self._closed = False
        headers = {"accept-encoding": "identity", "user-agent": "homing"}
        if server.api_key:
            headers["authorization"] = f"Bearer {server.api_key}"
        self._client: Final = httpx2.AsyncClient(
            headers=headers,
            timeout=httpx2.Timeout(None, connect=server.connect_s, write=server.silence_s),
            limits=httpx2.Limits(max_keepalive_connections=4, keepalive_expiry=_IDLE_S),
            follow_redirects=False,
            # Neither a proxy from the environment nor a password file: prompts go where we said.
            trust_env=False,
        )

    async def get(self, path: str, patience: Patience) -> tuple[object, Mapping[str, str]]:
        """JSON and headers; the errors are those of `post`."""
        return await self._whole("GET", path, None, patience, self._server.connect_s * 2)

    async def post(self, path: str, body: Body, patience: Patience) -> object:
        """Send JSON, get JSON.

        Raises:
            AnsweredError: the server answers with an error.
            UnavailableError: it cannot be reached, breaks off or takes too long.
            IntegrityError: its certificate is not trusted.
            InvalidDataError: it does not speak HTTP or JSON, or has no end.
        """
        found, _ = await self._whole("POST", path, body, patience, self._server.first_token_s)
        return found

    async def stream(self, path: str, body: Body, patience: Patience) -> AsyncGenerator[str]:
        """Send JSON, get the data of each event; closing the generator closes the connection.

        A server that answers with JSON all at once gives one item.

        Raises:
            As `post`.
        """
        with self._translated():
            async with self._answer("POST", path, body, patience) as response:
                if _media_type(response) == "application/json":
                    async with patience.within(self._server.first_token_s, self._slow("answer")):
                        content = await _read(response, MAX_BODY_BYTES)
                    yield content.decode("utf-8", "replace")
                    return
                limit = self._server.first_token_s
                async with aclosing(_events(response)) as events:
                    while True:
                        async with patience.within(limit, self._slow("go on")):
                            data = await anext(events, None)
                        if data is None:
                            return
                        yield data
                        limit = self._server.silence_s

    async def close(self) -> None:
        """Close all connections; what is in flight fails, and so does what comes later."""
        self._closed = True
        await self._client.aclose()

    async def _whole(
        self, method: str, path: str, body: Body | None, patience: Patience, seconds: float
    ) -> tuple[object, Mapping[str, str]]:
        with self._translated():
            async with (
                patience.within(seconds, self._slow("answer")),
                self._answer(method, path, body, patience) as response,
            ):
                return read_json(await _read(response, MAX_BODY_BYTES)), response.headers

    @asynccontextmanager
    async def _answer(
        self, method: str, path: str, body: Body | None, patience: Patience
    ) -> AsyncGenerator[httpx2.Response]:
        if self._closed:
            raise closed()
        request = self._client.build_request(
            method,
            f"{self._root}{path}",
            content=None if body is None else _encoded(body),
            headers={} if body is None else {"content-type": "application/json"},
        )
        async with patience.within(self._server.first_token_s, self._slow("answer")):
            response = await self._send(request)
        try:
            if response.status_code != _OK:
                async with patience.within(self._server.connect_s, self._slow("answer")):
                    said = await _error_body(response)
                raise answered(response.status_code, said, response.headers, self.place)
            yield response
        finally:
            await response.aclose()

    async def _send(self, request: httpx2.Request) -> httpx2.Response:
        """Send, twice if need be: a kept connection may be closed in the moment it is used."""
        try:
            return await self._client.send(request, stream=True)
        except (httpx2.RemoteProtocolError, httpx2.ReadError, httpx2.WriteError) as error:
            if self._closed:
                raise closed() from None
            if isinstance(error, httpx2.RemoteProtocolError) and _is_garbled(error):
                raise
        return await self._client.send(request, stream=True)

    def _slow(self, what: str) -> str:
        return f"the model server at {self.place} did not {what}"

    @contextmanager
    def _translated(self) -> Generator[None]:
        try:
            yield
        except (httpx2.HTTPError, httpx2.InvalidURL, httpx2.StreamError) as error:
            raise closed() if self._closed else _translated(error, self.place) from None


def _translated(error: Exception, place: str) -> HomingError:
    if isinstance(error, httpx2.ConnectError | httpx2.ConnectTimeout):
        if _caused_by(error, ssl.SSLCertVerificationError):
            msg = f"the certificate of the model server at {place} is not trusted"
            return IntegrityError(msg, "Have it signed by an authority that this machine knows.")
        if _caused_by(error, ssl.SSLError):
            msg = f"no encrypted connection to the model server at {place} came about"
            return UnavailableError(msg, "Check whether it speaks https at this port.")
        msg = f"the model server at {place} cannot be reached"
        return UnavailableError(msg, "Check that it runs, and its address.")
    if _is_garbled(error):
        msg = f"the model server at {place} sent something that cannot be read"
        return InvalidDataError(msg, "Check that url leads to an OpenAI-compatible server.")
    return cut_off()


def _is_garbled(error: Exception) -> bool:
    if isinstance(error, httpx2.RemoteProtocolError):
        words = str(error)
        return "disconnected" not in words and "closed connection" not in words
    return isinstance(error, httpx2.SSEError | httpx2.DecodingError | httpx2.InvalidURL)


def _caused_by(error: BaseException | None, kind: type[BaseException]) -> bool:
    seen = 0
    while error is not None and seen < 10:  # noqa: PLR2004  # no chain is longer
        if isinstance(error, kind):
            return True
        error, seen = error.__cause__ or error.__context__, seen + 1
    return False


def _encoded(body: Body) -> bytes:
    return json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")


async def _events(response: httpx2.Response) -> AsyncGenerator[str]:
    async for event in httpx2.EventSource(response, MAX_EVENT_BYTES):
        if event.data:
            yield event.data


async def _read(response: httpx2.Response, limit: int) -> bytes:
    content = bytearray()
    async for piece in response.aiter_bytes():
        content += piece
        if len(content) > limit:
            msg = f"the model server sent more than {limit >> 10} KiB"
            raise InvalidDataError(msg, "Check that url leads to an OpenAI-compatible server.")
    return bytes(content)


async def _error_body(response: httpx2.Response) -> object:
    """The JSON of an error, or its text; never more than what is needed to understand it."""
    try:
        content = await _read(response, MAX_ERROR_BYTES)
    except (InvalidDataError, httpx2.HTTPError):
        return ""
    try:
        return read_json(content)
    except InvalidDataError:
        return content.decode("utf-8", "replace")


def _media_type(response: httpx2.Response) -> str:
    return response.headers.get("content-type", "").partition(";")[0].strip().lower()
