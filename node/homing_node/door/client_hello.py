"""The first message of TLS, read strictly (RFC 8446, 4.1.2 and 5.1). Pure and total."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

MAX_BYTES: Final = 16 * 1024
"""Longest greeting, record headers included. gRPC's has about 1.5 KiB."""
MAX_RECORDS: Final = 4
"""Records it may be cut into: everybody sends one, and each costs a look."""

_HANDSHAKE: Final = 22
_CLIENT_HELLO: Final = 1
_RECORD_HEADER: Final = 5
_MESSAGE_HEADER: Final = 4
_MAX_RECORD: Final = 1 << 14
_RANDOM: Final = 32
_MAX_SESSION_ID: Final = 32
_SUPPORTED_GROUPS: Final = 10
_SUPPORTED_VERSIONS: Final = 43
_KEY_SHARE: Final = 51
_HTTP: Final = (b"PRI * HTTP/2", b"GET ", b"POST ", b"HEAD ", b"PUT ", b"OPTIONS ", b"CONNECT ")
_SHORTEST_HTTP: Final = 4


@dataclass(frozen=True, slots=True)
class ClientHello:
    """What a caller offers.

    Attributes:
        versions: protocol versions, `0x0304` for TLS 1.3; the old field where there is no list.
        groups: key exchange groups, by preference.
        shares: groups for which a key is sent along.
    """

    versions: tuple[int, ...]
    groups: tuple[int, ...]
    shares: tuple[int, ...]


class NotTlsError(Exception):
    """What came is no TLS.

    Attributes:
        http: it is plaintext HTTP, of whichever version.
    """

    def __init__(self, *, http: bool) -> None:
        """Keep which."""
        super().__init__("plaintext HTTP" if http else "not TLS")
        self.http = http


class MalformedError(Exception):
    """It begins like TLS and is no ClientHello."""


def read_client_hello(data: bytes | bytearray) -> ClientHello | None:
    """Read a ClientHello from all that came so far; None if more must come.

    Args:
        data: from the first byte on; records that follow the ClientHello are not looked at.

    Raises:
        NotTlsError: these bytes do not begin TLS.
        MalformedError: they do, and cannot become a ClientHello, or only a longer one than
            `MAX_BYTES`.
    """
    message = bytearray()
    at = 0
    for _ in range(MAX_RECORDS):
        header = bytes(data[at : at + _RECORD_HEADER])
        _check_record_header(header, first=at == 0, data=data)
        if len(header) < _RECORD_HEADER:
            return None
        length = int.from_bytes(header[3:])
        at += _RECORD_HEADER
        if at + length > MAX_BYTES:
            msg = "too long"
            raise MalformedError(msg)
        message += data[at : at + length]
        wanted = _message_length(message)
        if len(data) < at + length:
            return None
        at += length
        if wanted is not None and len(message) >= wanted:
            if len(message) > wanted:
                msg = "something follows in its record"
                raise MalformedError(msg)
            return _read_body(bytes(message[_MESSAGE_HEADER:]))
    msg = "cut into too many records"
    raise MalformedError(msg)


def _check_record_header(header: bytes, *, first: bool, data: bytes | bytearray) -> None:
    """Refuse a beginning, however short, that no handshake record has."""
    good = (
        (not header or header[0] == _HANDSHAKE)
        and (len(header) < 2 or header[1] == 3)  # noqa: PLR2004  # major version of every TLS
        and (len(header) < 3 or header[2] in {1, 2, 3})  # noqa: PLR2004  # TLS 1.0 to 1.2 on the outside
    )
    if not good:
        if first:
            raise NotTlsError(http=_looks_like_http(bytes(data[:16])))
        msg = "another record than a handshake's inside it"
        raise MalformedError(msg)
    if len(header) == _RECORD_HEADER and not 0 < int.from_bytes(header[3:]) <= _MAX_RECORD:
        msg = "a record of no allowed length"
        raise MalformedError(msg)


def _looks_like_http(beginning: bytes) -> bool:
    if len(beginning) < _SHORTEST_HTTP:
        return any(text.startswith(beginning) for text in _HTTP)
    return any(beginning.startswith(text[: len(beginning)]) for text in _HTTP)


def _message_length(message: bytearray) -> int | None:
    """Header included; None while it is not known."""
    if message and message[0] != _CLIENT_HELLO:
        msg = "another message than a ClientHello"
        raise MalformedError(msg)
    if len(message) < _MESSAGE_HEADER:
        return None
    wanted = _MESSAGE_HEADER + int.from_bytes(message[1:4])
    if wanted > MAX_BYTES:
        msg = "too long"
        raise MalformedError(msg)
    return wanted


class _Reader:
    """Takes bytes off the front; refuses to read past the end."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def take(self, count: int) -> bytes:
        end = self._at + count
        if end > len(self._data):
            msg = "cut short"
            raise MalformedError(msg)
        taken, self._at = self._data[self._at : end], end
        return taken

    def number(self, size: int) -> int:
        return int.from_bytes(self.take(size))

    def vector(self, size: int) -> _Reader:
        """What a length of `size` bytes announces."""
        return _Reader(self.take(self.number(size)))

    @property
    def left(self) -> int:
        return len(self._data) - self._at

    def finish(self) -> None:
        if self.left:
            msg = "bytes left over"
            raise MalformedError(msg)

    def numbers(self) -> tuple[int, ...]:
        """The rest, as numbers of two bytes: at least one."""
        if not self.left or self.left % 2:
            msg = "an empty or odd list"
            raise MalformedError(msg)
        return tuple(self.number(2) for _ in range(self.left // 2))


def _read_body(body: bytes) -> ClientHello:
    reader = _Reader(body)
    legacy = reader.number(2)
    reader.take(_RANDOM)
    if reader.vector(1).left > _MAX_SESSION_ID:
        msg = "a session id of no allowed length"
        raise MalformedError(msg)
    reader.vector(2).numbers()  # the cipher suites are gRPC's business
    if 0 not in (compressions := reader.vector(1)).take(compressions.left):
        msg = "no compression method that TLS has"
        raise MalformedError(msg)
    found = _extensions(reader.vector(2)) if reader.left else {}
    reader.finish()
    return ClientHello(
        versions=_list(found, _SUPPORTED_VERSIONS, 1) or (legacy,),
        groups=_list(found, _SUPPORTED_GROUPS, 2),
        shares=_shares(found),
    )


def _extensions(reader: _Reader) -> dict[int, _Reader]:
    found: dict[int, _Reader] = {}
    while reader.left:
        kind = reader.number(2)
        if kind in found:
            msg = "an extension occurs twice"
            raise MalformedError(msg)
        found[kind] = reader.vector(2)
    return found


def _list(found: dict[int, _Reader], kind: int, size: int) -> tuple[int, ...]:
    reader = found.get(kind)
    if reader is None:
        return ()
    numbers = reader.vector(size).numbers()
    reader.finish()
    return numbers


def _shares(found: dict[int, _Reader]) -> tuple[int, ...]:
    reader = found.get(_KEY_SHARE)
    if reader is None:
        return ()
    shares = reader.vector(2)
    reader.finish()
    groups: list[int] = []
    while shares.left:
        groups.append(shares.number(2))
        if not shares.vector(2).left:
            msg = "an empty key share"
            raise MalformedError(msg)
    return tuple(groups)
