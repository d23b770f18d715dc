"""The command line's side of the daemon's audit log."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

import grpc.aio
from homing_agent.runtime.localsocket import open_local_channel
from homing_core.errors import UnavailableError
from homing_crypto.rpc_errors import error_from_rpc
from homing_proto.codec.audit import decode_entries, decode_entry, encode_head
from homing_proto.v1 import audit_pb2 as wire
from homing_proto.v1 import audit_pb2_grpc

from homing_node.rpc.audit_codec import decode_names, decode_verdict, encode_filter

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Generator, Sequence

    from homing_agent.runtime.paths import ProgramPaths
    from homing_core.audit import Entry, Head
    from homing_crypto.audit.store import Filter
    from homing_crypto.audit.verify import Verdict

_TIMEOUT_S = 10.0
_VERIFY_S = 120.0


class AuditClient:
    """Asks the daemon that runs on a data directory. Every method raises `HomingError`."""

    def __init__(self, channel: grpc.aio.Channel) -> None:
        """Use `connect`."""
        self._stub = audit_pb2_grpc.NodeAuditControlServiceStub(channel)

    @classmethod
    @contextlib.asynccontextmanager
    async def connect(cls, paths: ProgramPaths, start_with: str) -> AsyncGenerator[AuditClient]:
        """Raises `UnavailableError` if no daemon runs there; `start_with` is what to try."""
        async with open_local_channel(paths, start_with) as channel:
            yield cls(channel)

    async def verify(self, heads: Sequence[Head]) -> Verdict:
        """Follow the whole chain, and through heads that others kept."""
        request = wire.VerifyAuditRequest(heads=[encode_head(head) for head in heads])
        with _errors():
            return decode_verdict(await self._stub.VerifyAudit(request, timeout=_VERIFY_S))

    async def show(self, count: int, wanted: Filter) -> tuple[tuple[Entry, ...], dict[str, str]]:
        """The newest entries that are wanted, oldest first, and names of devices by id."""
        request = wire.ShowAuditRequest(count=count, filter=encode_filter(wanted))
        with _errors():
            found = await self._stub.ShowAudit(request, timeout=_TIMEOUT_S)
        return decode_entries(found.entries), decode_names(found.names)

    async def follow(
        self, after: int, wanted: Filter
    ) -> AsyncGenerator[tuple[Entry, dict[str, str]], None]:
        """New entries, each with names of devices by id; closing the generator ends it."""
        request = wire.FollowAuditRequest(after_seq=after, filter=encode_filter(wanted))
        call = self._stub.FollowAudit(request)
        try:
            with _errors():
                async for one in call:
                    yield decode_entry(one.entry), decode_names(one.names)
        finally:
            call.cancel()


@contextlib.contextmanager
def _errors() -> Generator[None]:
    try:
        yield
    except grpc.aio.AioRpcError as error:
        found = error_from_rpc(error)
        if isinstance(found, UnavailableError):
            msg = "the daemon ended during the call"
            raise UnavailableError(msg, "Start it with: homing-node run") from error
        raise found from error
