"""A job's result, sealed for the device that submitted it: nobody else opens it, its node neither.

    bytes  what
    4      n, bytes of the letter
    n      a sealed letter (`mailbox`) of kind `job.` and the job id's 32 hex digits, sequence 1
    …      ciphertext (`chunks`) of the archive

The letter holds a version byte, 1, the ciphertext's fresh key (32 bytes), its SHA-256 (32 bytes)
and its length (8 bytes). The archive is the manifest's length (4 bytes), the manifest
(`result_form`) and the bytes of its files, in its order. Numbers are unsigned, most significant
byte first.

The letter comes first, so that a phone can check each piece as it arrives. So the ciphertext is
computed twice: once for its hash, once to be handed out. Only the second leaves this module; if a
file changed meanwhile, the hash tells and all of it is thrown away. A letter lives 90 days; nobody
opens a result later.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from homing_core.errors import IntegrityError, InvalidDataError

from homing_crypto.chunks import CHUNK_BYTES, KEY_BYTES, ChunkSealer, plain_size, sealed_size
from homing_crypto.mailbox import MAX_LIFETIME_S, Cursor, open_letter, seal_letter
from homing_crypto.result_form import encode_result

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import BinaryIO

    from homing_core.ids import JobId
    from homing_core.jobs import JobResult, ResultFile

    from homing_crypto.certificates import CheckedCertificate
    from homing_crypto.identity import DeviceIdentity
    from homing_crypto.mailbox import Recipient

RESULT_LIFETIME_S: Final = MAX_LIFETIME_S
"""A result that was not fetched for so long is of no use any more."""
LENGTH_BYTES: Final = 4
"""Of the numbers before letter and manifest."""
MAX_LETTER_BYTES: Final = 8192
_VERSION: Final = 1
_HASH_BYTES: Final = 32
_PAYLOAD: Final = struct.Struct(f">B{KEY_BYTES}s{_HASH_BYTES}sQ")


@dataclass(frozen=True, slots=True)
class ResultLetter:
    """What the letter says of the ciphertext.

    Attributes:
        key: what opens it.
        sha256: of it, 32 bytes.
        sealed_bytes: its length.
        plain_bytes: the archive's length.
    """

    key: bytes
    sha256: bytes
    sealed_bytes: int
    plain_bytes: int

    def __repr__(self) -> str:
        """Without the key."""
        return f"ResultLetter(sealed_bytes={self.sealed_bytes})"


class SealedResult:
    """An iterator over the pieces of a sealed result. It holds one chunk in memory.

    Attributes:
        size_bytes: length of all pieces together.
        sha256: of all pieces together, hex; empty until the last was taken.
    """

    def __init__(self, letter: bytes, archive: _Archive, key: bytes, expected: bytes) -> None:
        """Start at the letter; see `seal_result`."""
        head = len(letter).to_bytes(LENGTH_BYTES) + letter
        self.size_bytes = len(head) + sealed_size(archive.size_bytes)
        self.sha256 = ""
        self._pieces = self._run(head, archive, key, expected)

    def __iter__(self) -> SealedResult:
        """Itself: the pieces can be taken once."""
        return self

    def __next__(self) -> bytes:
        """The next piece.

        Raises:
            IntegrityError: a file changed while it was sealed; what was taken is worthless.
        """
        return next(self._pieces)

    def _run(self, head: bytes, archive: _Archive, key: bytes, expected: bytes) -> Iterator[bytes]:
        whole, sealed = hashlib.sha256(head), hashlib.sha256()
        yield head
        for chunk in archive.sealed(key):
            whole.update(chunk)
            sealed.update(chunk)
            yield chunk
        if sealed.digest() != expected:
            raise _changed()
        self.sha256 = whole.hexdigest()


def seal_result(
    sender: DeviceIdentity,
    recipient: Recipient,
    result: JobResult,
    files: Iterable[tuple[ResultFile, BinaryIO]],
    now: float,
) -> SealedResult:
    """Seal a result.

    Args:
        sender: the daemon that ran the job.
        recipient: the device that submitted it.
        result: what came of it.
        files: those of `result.files`, in that order, each open for reading and able to seek; they
            stay open until the last piece was taken, and unchanged.
        now: wall time here, seconds since the epoch.

    Raises:
        InvalidDataError: a file is not as long as it is said to be, its name is not a plain one,
            or the recipient's key has no form.
        IntegrityError: a file changed meanwhile; this also while the pieces are taken.
    """
    archive = _Archive(result, tuple(files))
    key = secrets.token_bytes(KEY_BYTES)  # of this result alone, see `chunks`
    hashed = hashlib.sha256()
    for chunk in archive.sealed(key):
        hashed.update(chunk)
    letter = seal_letter(
        sender,
        recipient,
        kind=result_kind(result.job_id),
        sequence=1,
        expires_at=now + RESULT_LIFETIME_S,
        now=now,
        payload=_PAYLOAD.pack(_VERSION, key, hashed.digest(), sealed_size(archive.size_bytes)),
    )
    return SealedResult(letter, archive, key, hashed.digest())


def result_kind(job_id: JobId) -> str:
    """Kind of the letter with a job's result."""
    return f"job.{job_id.removeprefix('job-')}"


def open_result_letter(
    recipient: DeviceIdentity, sender: CheckedCertificate, job_id: JobId, letter: bytes, now: float
) -> ResultLetter:
    """Open the letter before a ciphertext.

    Raises:
        InvalidDataError: it is none.
        IntegrityError: it was altered, or is of another job, daemon or device.
        RefusedError: it has expired.
    """
    kind = result_kind(job_id)
    opened = open_letter(recipient, sender, letter, kind=kind, now=now, cursor=Cursor())
    try:
        version, key, sha256, sealed_bytes = _PAYLOAD.unpack(opened.letter.payload)
    except struct.error:
        version, key, sha256, sealed_bytes = 0, b"", b"", 0
    plain_bytes = plain_size(sealed_bytes)
    if version != _VERSION or plain_bytes is None:
        msg = "a job's result is in a form that this version does not know"
        raise InvalidDataError(msg, "Update Homing.")
    return ResultLetter(key, sha256, sealed_bytes, plain_bytes)


class _Archive:
    """Manifest and files, one after the other."""

    def __init__(self, result: JobResult, files: tuple[tuple[ResultFile, BinaryIO], ...]) -> None:
        if tuple(file for file, _ in files) != result.files:
            msg = "a result's files are not those that it names"
            raise InvalidDataError(msg)
        for file, stream in files:
            if stream.seek(0, os.SEEK_END) != file.size_bytes:
                msg = "a result's file is not as long as it is said to be"
                raise InvalidDataError(msg, "The tool may still be writing it.")
        manifest = encode_result(result)
        self._head = len(manifest).to_bytes(LENGTH_BYTES) + manifest
        self._files = files
        self.size_bytes = len(self._head) + sum(file.size_bytes for file in result.files)

    def sealed(self, key: bytes) -> Iterator[bytes]:
        """The ciphertext's chunks."""
        sealer = ChunkSealer(key)
        left, waiting = self.size_bytes, bytearray()
        for piece in self._pieces():
            waiting += piece
            while len(waiting) >= CHUNK_BYTES and left > CHUNK_BYTES:
                yield sealer.seal(bytes(waiting[:CHUNK_BYTES]), last=False)
                del waiting[:CHUNK_BYTES]
                left -= CHUNK_BYTES
        yield sealer.seal(bytes(waiting), last=True)

    def _pieces(self) -> Iterator[bytes]:
        for start in range(0, len(self._head), CHUNK_BYTES):
            yield self._head[start : start + CHUNK_BYTES]
        for file, stream in self._files:
            stream.seek(0)
            left = file.size_bytes
            while left:
                piece = stream.read(min(CHUNK_BYTES, left))
                if not piece:
                    raise _changed()
                left -= len(piece)
                yield piece


def _changed() -> IntegrityError:
    msg = "a file of the result changed while it was sealed"
    return IntegrityError(msg, "Nothing was kept: the tool has to end before its result is sealed.")
