"""Frames on a byte pipe: a four-byte big-endian length, then that many bytes. No I/O here."""

from __future__ import annotations

import struct
from typing import Final

from homing_core.errors import InvalidDataError

MAX_FRAME_BYTES: Final = 32 << 20
"""Bytes of one frame's content. Longer ones are refused before anything is kept of them."""

_LENGTH: Final = struct.Struct(">I")


def frame(content: bytes) -> bytes:
    """`content` with its length in front.

    Raises:
        InvalidDataError: it is longer than `MAX_FRAME_BYTES`.
    """
    if len(content) > MAX_FRAME_BYTES:
        msg = f"a message of {len(content)} bytes does not fit a frame of {MAX_FRAME_BYTES} bytes"
        raise InvalidDataError(msg, "Send less at once.")
    return _LENGTH.pack(len(content)) + content


class FrameReader:
    """Finds the frames in a stream of bytes that arrives in arbitrary pieces."""

    def __init__(self, limit: int = MAX_FRAME_BYTES) -> None:
        """Refuse frames of more than `limit` bytes."""
        self._limit = limit
        self._buffer = bytearray()

    @property
    def mid_frame(self) -> bool:
        """Whether the stream, if it ended here, would end within a frame."""
        return bool(self._buffer)

    def feed(self, data: bytes) -> list[bytes]:
        """Take the next piece; give the contents of the frames that are whole by now.

        Raises:
            InvalidDataError: a length is over the limit; the stream cannot be read on.
        """
        self._buffer += data
        contents: list[bytes] = []
        start = 0
        while len(self._buffer) - start >= _LENGTH.size:
            (length,) = _LENGTH.unpack_from(self._buffer, start)
            if length > self._limit:
                self._buffer.clear()
                msg = f"a frame claims {length} bytes; at most {self._limit} are allowed"
                raise InvalidDataError(msg, "The other side is damaged or of another version.")
            end = start + _LENGTH.size + length
            if len(self._buffer) < end:
                break
            contents.append(bytes(self._buffer[start + _LENGTH.size : end]))
            start = end
        del self._buffer[:start]
        return contents
