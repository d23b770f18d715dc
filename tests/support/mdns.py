"""A stranger on the loopback multicast network, who can say anything."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING, Self

from homing_discovery.hints import SERVICE_TYPE, instance_name, server_name
from zeroconf import (  # type: ignore[attr-defined]
    DNSAddress,  # pyright: ignore[reportPrivateImportUsage]
    DNSOutgoing,  # pyright: ignore[reportPrivateImportUsage]
    DNSPointer,  # pyright: ignore[reportPrivateImportUsage]
    DNSService,  # pyright: ignore[reportPrivateImportUsage]
    DNSText,  # pyright: ignore[reportPrivateImportUsage]
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from zeroconf import DNSRecord  # type: ignore[attr-defined]

GROUP = ("224.0.0.251", 5353)
_RESPONSE = 0x8400
_A, _PTR, _TXT, _AAAA, _SRV = 1, 12, 16, 28, 33
_IN = 1
_IN_FLUSH = 0x8001


class Stranger:
    """Sends to the group from a socket of its own."""

    def __init__(self) -> None:
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.setsockopt(
            socket.IPPROTO_IP, socket.IP_MULTICAST_IF, socket.inet_aton("127.0.0.1")
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    def send_raw(self, data: bytes) -> None:
        self._socket.sendto(data, GROUP)

    def send(self, records: Iterable[DNSRecord]) -> None:
        packet = DNSOutgoing(_RESPONSE)
        for record in records:
            packet.add_answer_at_time(record, 0)
        for data in packet.packets():
            self.send_raw(data)

    def announce(  # noqa: PLR0913  # one for each field that a test forges
        self,
        token: str,
        *,
        hosts: Iterable[str] = ("127.0.0.1",),
        port: int = 4433,
        txt: bytes = b"\x03v=1",
        ttl: int = 120,
        name: str | None = None,
    ) -> None:
        """A whole announcement; a TTL of 0 makes it a goodbye."""
        instance = name or instance_name(token)
        server = server_name(token)
        self.send(
            [
                DNSPointer(SERVICE_TYPE, _PTR, _IN, ttl, instance, 0.0),
                DNSService(instance, _SRV, _IN_FLUSH, ttl, 0, 0, port, server, 0.0),
                DNSText(instance, _TXT, _IN_FLUSH, ttl, txt, 0.0),
                *(_address(server, host, ttl) for host in hosts),
            ]
        )

    def goodbye(self, token: str) -> None:
        self.announce(token, ttl=0)

    def move(self, token: str, host: str) -> None:
        """Only a new address, with the bit that flushes the old one."""
        self.send([_address(server_name(token), host, 120)])


def _address(server: str, host: str, ttl: int) -> DNSAddress:
    if ":" in host:
        packed = socket.inet_pton(socket.AF_INET6, host)
        return DNSAddress(server, _AAAA, _IN_FLUSH, ttl, packed, created=0.0)
    return DNSAddress(server, _A, _IN_FLUSH, ttl, socket.inet_aton(host), created=0.0)
