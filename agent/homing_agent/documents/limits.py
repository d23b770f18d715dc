"""How much a file, a folder and a reader of documents may take."""

from __future__ import annotations

from dataclasses import dataclass

MIB = 1 << 20


@dataclass(frozen=True, slots=True)
class ReadLimits:
    """What reading one file may take.

    Attributes:
        seconds: of wall time; then the worker is ended. It stops by itself at four fifths and gives
            what it has read so far.
        cpu_seconds: of computing.
        memory_bytes: address space of the worker.
        text_bytes: of a text file or page; the rest is left out.
        file_bytes: of any other document; larger ones are not read.
        chars: of text kept of one file.
        files_a_worker: files after which a worker is replaced.
        tired_bytes: resident memory at which a worker leaves after a file.
    """

    seconds: float = 60.0
    cpu_seconds: int = 60
    memory_bytes: int = 1024 * MIB
    text_bytes: int = 8 * MIB
    file_bytes: int = 256 * MIB
    chars: int = 3_000_000
    files_a_worker: int = 2000
    tired_bytes: int = 384 * MIB


@dataclass(frozen=True, slots=True)
class FolderLimits:
    """What one folder may hold.

    Attributes:
        files: documents found in it; more are left out, and that is said.
        entries: names looked at, documents or not.
        depth: folders within folders.
    """

    files: int = 100_000
    entries: int = 1_000_000
    depth: int = 64
