"""The server interceptor: every call is authorized first and ends with a clear status.

It wraps all four kinds of handler, because gRPC's interceptors see the method and the headers but
not the caller's certificate. What it takes care of, on every call:

1. Nobody's bytes are read or parsed before the caller is authorized: gRPC is given handlers that
   take a stream, for it calls those on the headers alone (see `homing_crypto.rpc_requests`).
2. A malformed message is INVALID_ARGUMENT; gRPC alone says UNKNOWN with Python's text.
3. A `HomingError` becomes its status; any other exception becomes INTERNAL with a neutral text, and
   only its type and place are logged, because its text may hold a prompt.
4. A handler that ends in `CancelledError` has a status sent first: gRPC alone leaves its client
   hanging (grpc/grpc#29248). The cancellation itself goes on.
5. The call is tracked, so that a revocation can end it.
"""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import traceback
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import grpc
import structlog
from homing_core.errors import (
    HomingError,
    InternalError,
    InvalidDataError,
    NotFoundError,
    UnavailableError,
    UnpairedError,
)

from homing_crypto.rpc_errors import StreamHeaders, send_abort, status_parts
from homing_crypto.rpc_requests import RequestLimits, Requests

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine, Generator, Iterable, Mapping

    from homing_crypto.guard import Caller
    from homing_crypto.live_calls import LiveCalls

Authorize: TypeAlias = "Callable[[str, Mapping[str, Iterable[bytes]], str], Caller]"
"""`homing_crypto.guard.Guard.authorize`."""
Context: TypeAlias = "grpc.aio.ServicerContext[Any, Any]"
Handler: TypeAlias = "grpc.RpcMethodHandler[Any, Any]"

_T = TypeVar("_T")

INTERRUPTED = UnavailableError("the node broke this call off", "Try again.")
"""What a client is told whose call ended because its handler was cancelled: the node stops."""

_caller: ContextVar[Caller | None] = ContextVar("homing_caller", default=None)
_log = structlog.get_logger(__name__)


def current_caller() -> Caller:
    """The device whose call this is; for handlers behind a guarded server.

    Raises:
        UnpairedError: this is no such call.
    """
    caller = _caller.get()
    if caller is None:
        msg = "this call comes from no paired device"
        raise UnpairedError(msg, "Pair this device with the node.")
    return caller


class RpcGuard(grpc.aio.ServerInterceptor):
    """Authorizes calls and maps errors. Handlers are `async`, as grpc.aio wants them.

    Args:
        authorize: who may call; None lets everyone in who reaches the server at all, which is for
            the pairing server and for local sockets.
        calls: where to track the calls of paired devices; None tracks nothing.
        address_of: the caller's address from `ServicerContext.peer()`.
        on_allowed: told of every call of a paired device that was let in, with that peer; it must
            be quick and not raise.
        on_refused: told of every call that was not, with its peer and what it is told; likewise.
        requests: how much a request may take, and how long.
    """

    def __init__(  # noqa: PLR0913  # each is a boundary of its own
        self,
        authorize: Authorize | None,
        calls: LiveCalls | None = None,
        address_of: Callable[[str], str] = str,
        on_allowed: Callable[[str, Caller], None] | None = None,
        *,
        on_refused: Callable[[str, HomingError], None] | None = None,
        requests: RequestLimits | None = None,
    ) -> None:
        """Keep who decides and where calls are tracked."""
        self._authorize = authorize
        self._calls = calls
        self._address_of = address_of
        self._on_allowed = on_allowed
        self._on_refused = on_refused
        self._requests = Requests(requests or RequestLimits())

    async def intercept_service(
        self,
        continuation: Callable[[grpc.HandlerCallDetails], Awaitable[Handler | None]],
        handler_call_details: grpc.HandlerCallDetails,
    ) -> Handler | None:
        """Wrap whichever handler there is; gRPC itself answers UNIMPLEMENTED if there is none."""
        handler = await continuation(handler_call_details)
        if handler is None:
            return None
        wrap = self._wrap_stream if handler.response_streaming else self._wrap_unary
        return wrap(handler_call_details.method, handler)

    def _wrap_unary(self, method: str, handler: Handler) -> Handler:
        inner: Any = handler.stream_unary if handler.request_streaming else handler.unary_unary

        async def work(request: object, context: Context) -> bytes:
            response = await inner(await self._incoming(method, handler, request), context)
            if context.code() or handler.response_serializer is None:
                return response or b""  # with a status of its own, gRPC drops the response
            return handler.response_serializer(response)

        async def answer(request: object, context: Context) -> bytes | None:
            return await self._run(method, context, work(request, context))

        # The response is serialized above, where a failure is mapped: gRPC passes bytes on.
        reader = _reader(handler) if handler.request_streaming else None
        return grpc.stream_unary_rpc_method_handler(answer, reader)

    def _wrap_stream(self, method: str, handler: Handler) -> Handler:
        inner: Any = handler.stream_stream if handler.request_streaming else handler.unary_stream

        async def work(request: object, context: Context) -> None:
            incoming = await self._incoming(method, handler, request)
            if not inspect.isasyncgenfunction(inner):
                await inner(incoming, context)
                return
            async with contextlib.aclosing(inner(incoming, context)) as messages:
                async for message in messages:
                    await context.write(message)

        # A coroutine, not a generator: what gRPC does between two messages then happens inside
        # this frame too, so a cancellation there is seen and the handler's `finally` runs at once.
        async def answer(request: object, context: Context) -> None:
            await self._run(method, context, work(request, context), StreamHeaders())

        reader = _reader(handler) if handler.request_streaming else None
        return grpc.stream_stream_rpc_method_handler(answer, reader, handler.response_serializer)

    async def _incoming(self, method: str, handler: Handler, request: Any) -> object:  # noqa: ANN401  # gRPC's
        """The one request, read and parsed only now; a stream is parsed through `_reader`."""
        if handler.request_streaming:
            return request
        caller = _caller.get()
        raw = await self._requests.one(request, method, caller.account if caller else "")
        return _reader(handler)(raw)

    async def _run(
        self,
        method: str,
        context: Context,
        work: Coroutine[Any, Any, _T],
        headers: StreamHeaders | None = None,
    ) -> _T | None:
        """Authorize, run, and see to it that every way to end sends a status."""
        try:
            with contextlib.closing(work), self._entered(method, context, headers):
                if headers is not None:
                    await headers.send(context)
                return await work
        except asyncio.CancelledError:
            await send_abort(context, INTERRUPTED, headers=headers)
            raise
        except NotImplementedError:
            await _fail(context, _NOT_BUILT, grpc.StatusCode.UNIMPLEMENTED)
        except HomingError as error:
            if isinstance(error, InternalError):
                _log_failure(method, error)
            await _fail(context, error)
        except grpc.aio.UsageError as error:
            _log_failure(method, error)
            await _fail(context, _INTERNAL)
        except grpc.aio.BaseError:
            raise  # the handler's own abort, or the connection is gone
        except Exception as error:  # noqa: BLE001  # the last line: nothing leaks, nothing hangs
            _log_failure(method, error)
            await _fail(context, _INTERNAL)
        return None

    @contextlib.contextmanager
    def _entered(
        self, method: str, context: Context, headers: StreamHeaders | None
    ) -> Generator[None]:
        """Authorize and track. No await in between: a revocation comes before both or after."""
        if self._authorize is None:
            yield
            return
        peer = context.peer()
        try:
            caller = self._authorize(method, context.auth_context(), self._address_of(peer))
        except HomingError as error:
            if self._on_refused is not None:
                self._on_refused(peer, error)
            raise
        if self._on_allowed is not None:
            self._on_allowed(peer, caller)
        _caller.set(caller)
        if self._calls is None:
            yield
            return
        with self._calls.track(caller.account, context, caller.id, headers):
            yield


_INTERNAL = InternalError("the node failed", "The details are in the node's log.")
_NOT_BUILT = NotFoundError("this node cannot do that", "Both sides may run different versions.")
_MALFORMED = ("the request is malformed", "Both sides may run different versions of Homing.")


async def _fail(
    context: Context, error: HomingError, status: grpc.StatusCode | None = None
) -> None:
    if not context.done():  # otherwise the call was ended from outside
        await context.abort(*status_parts(error, status))


def _reader(handler: Handler) -> Callable[[bytes], Any]:
    parse = handler.request_deserializer

    def read(raw: bytes) -> object:
        if parse is None:
            return raw
        try:
            return parse(raw)
        except Exception as error:
            raise InvalidDataError(*_MALFORMED) from error

    return read


def _log_failure(method: str, error: Exception) -> None:
    # The text of an exception may hold what a person wrote; its type and place do not.
    frames = traceback.extract_tb(error.__traceback__)
    where = [f"{frame.filename}:{frame.lineno} {frame.name}" for frame in frames]
    _log.error("rpc.failed", method=method, error_type=type(error).__name__, where=where)
