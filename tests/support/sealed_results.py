"""Results that are sealed and opened in tests: also such as no honest node would make."""

from __future__ import annotations

import hashlib
import io
import secrets
import struct
from typing import TYPE_CHECKING

from homing_core.ids import JobId
from homing_core.jobs import JobResult, ResultFile
from homing_crypto.chunks import CHUNK_BYTES, ChunkSealer
from homing_crypto.mailbox import Recipient, seal_letter
from homing_crypto.result_opener import OpenedResult, ResultOpener
from homing_crypto.results import result_kind, seal_result
from homing_crypto.testing import throwaway_identity

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from homing_crypto.certificates import CheckedCertificate
    from homing_crypto.identity import DeviceIdentity

NOW = 1_800_000_000.0
NODE, PHONE, EVE = throwaway_identity(), throwaway_identity(), throwaway_identity()
JOB = JobId(f"job-{'0a' * 16}")


def address(identity: DeviceIdentity) -> Recipient:
    """Where letters for a device go."""
    return Recipient(identity.certificate, identity.hpke.public_bytes)


def made(content: str, files: dict[str, bytes], job: JobId = JOB) -> JobResult:
    """A result with files of these names and contents."""
    listed = tuple(ResultFile(name, "", len(data)) for name, data in files.items())
    return JobResult(job, content, files=listed)


def sealed(
    result: JobResult,
    files: dict[str, bytes],
    recipient: DeviceIdentity = PHONE,
    sender: DeviceIdentity = NODE,
) -> bytes:
    """All of a sealed result at once."""
    streams = [(file, io.BytesIO(files[file.name])) for file in result.files]
    return b"".join(seal_result(sender, address(recipient), result, streams, NOW))


def sealed_archive(  # noqa: PLR0913  # each is something to lie about
    archive: bytes,
    *,
    job: JobId = JOB,
    sequence: int = 1,
    version: int = 1,
    sha256: bytes | None = None,
    length: int | None = None,
) -> bytes:
    """Any bytes, sealed as an archive is: what a dishonest node could send."""
    key = secrets.token_bytes(32)
    sealer = ChunkSealer(key)
    cut = [archive[at : at + CHUNK_BYTES] for at in range(0, len(archive), CHUNK_BYTES)] or [b""]
    *most, last = cut
    ciphertext = b"".join(sealer.seal(chunk, last=False) for chunk in most)
    ciphertext += sealer.seal(last, last=True)
    said = hashlib.sha256(ciphertext).digest() if sha256 is None else sha256
    size = len(ciphertext) if length is None else length
    letter = seal_letter(
        NODE,
        address(PHONE),
        kind=result_kind(job),
        sequence=sequence,
        expires_at=NOW + 60,
        now=NOW,
        payload=struct.pack(">B32s32sQ", version, key, said, size),
    )
    return len(letter).to_bytes(4) + letter + ciphertext


def archived(manifest: bytes, *files: bytes) -> bytes:
    """An archive."""
    return len(manifest).to_bytes(4) + manifest + b"".join(files)


def opened(  # noqa: PLR0913  # each is something to be wrong about
    blob: bytes,
    folder: Path,
    *,
    sizes: Iterable[int] = (),
    recipient: DeviceIdentity = PHONE,
    sender: CheckedCertificate = NODE.certificate,
    job: JobId = JOB,
    now: float = NOW,
) -> OpenedResult:
    """Open it, fed in pieces of these sizes and then the rest."""
    with ResultOpener(recipient, sender, job, now, folder) as opener:
        at = 0
        for size in sizes:
            opener.feed(blob[at : at + size])
            at += size
        opener.feed(blob[at:])
        return opener.finish()
