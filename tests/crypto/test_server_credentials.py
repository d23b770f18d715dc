"""What a node shows in a handshake: asked each time, handed to gRPC only when it has changed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import grpc
from homing_core.errors import UnavailableError
from homing_crypto.credentials import server_credentials
from homing_crypto.testing import throwaway_identity
from support.told import told

if TYPE_CHECKING:
    from collections.abc import Callable

    import pytest

NODE = throwaway_identity()


class Shown:
    """Stands in for gRPC: what it is given first and whenever it asks."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.roots: list[bytes] = []
        self.ask: Callable[[], bytes | None] = lambda: None
        monkeypatch.setattr(grpc, "ssl_server_certificate_configuration", _roots)
        monkeypatch.setattr(grpc, "dynamic_ssl_server_credentials", self._made)

    def _made(self, first: bytes, fetch: Callable[[], bytes | None], **_rest: bool) -> None:
        self.roots.append(first)
        self.ask = fetch


def _roots(_pairs: object, root_certificates: bytes) -> bytes:
    return root_certificates


def test_nothing_is_replaced_while_nothing_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    """gRPC frees what it replaces while other handshakes use it: strangers could end the node."""
    shown, bundle = Shown(monkeypatch), [b"a"]
    server_credentials(NODE, lambda: bundle[0])
    assert shown.roots == [b""]
    assert [shown.ask() for _ in range(3)] == [b"a", None, None]
    bundle[0] = b"ab"
    assert [shown.ask() for _ in range(3)] == [b"ab", None, None]
    bundle[0] = b""
    assert [shown.ask() for _ in range(2)] == [b"", None]


def test_a_bundle_that_cannot_be_had_shuts_everyone_out_until_it_can(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    shown = Shown(monkeypatch)
    failing = True

    def bundle() -> bytes:
        if failing:
            msg = "no disk"
            raise UnavailableError(msg)
        return b"a"

    server_credentials(NODE, bundle)
    with told() as log:
        assert shown.ask() is None  # nobody was let in before either
        failing = False
        assert shown.ask() == b"a"
        failing = True
        assert [shown.ask(), shown.ask()] == [b"", None]
        failing = False
        assert shown.ask() == b"a"
        assert len(log.of("tls.no_bundle")) == 3
