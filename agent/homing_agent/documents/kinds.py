"""Which files are documents, by their names."""

from __future__ import annotations

from enum import Enum
from typing import Final


class Kind(Enum):
    """How a file is read."""

    TEXT = "text"
    HTML = "html"
    PDF = "pdf"
    DOCX = "docx"
    XLSX = "xlsx"
    PPTX = "pptx"
    ODF = "odf"
    """OpenDocument text, sheet or slides."""


_KNOWN: Final = {
    "htm": Kind.HTML,
    "html": Kind.HTML,
    "xhtml": Kind.HTML,
    "pdf": Kind.PDF,
    "docx": Kind.DOCX,
    "docm": Kind.DOCX,
    "xlsx": Kind.XLSX,
    "xlsm": Kind.XLSX,
    "pptx": Kind.PPTX,
    "pptm": Kind.PPTX,
    "odt": Kind.ODF,
    "ods": Kind.ODF,
    "odp": Kind.ODF,
}
_BINARY: Final = (
    # pictures, sound, films
    "avif bmp cr2 dng gif heic heif ico jpeg jpg nef png psd raw svgz tif tiff webp xcf "
    "aac aiff flac m4a mid mp3 ogg opus wav wma 3gp avi flv m4v mkv mov mp4 mpeg mpg webm wmv "
    # archives and images of disks
    "7z apk br bz2 cab deb dmg gz img iso jar lz4 lzma rar rpm tar tgz txz whl xz zip zst "
    # programs and data
    "a bin class com dat db dll dylib elc exe gguf lib mo msi npy npz o obj onnx parquet pickle "
    "pkl pt pyc pyd pyo safetensors so sqlite sqlite3 swp wasm "
    # documents that nobody here reads
    "doc epub mobi numbers pages key ppt rtfd xls "
    # fonts
    "eot otf ttf woff woff2 "
    # secrets are no documents
    "gpg jks kdbx kdb keystore p12 pem pfx pgp"
)
_NOT_TEXT: Final = frozenset(_BINARY.split())
_SECRET_NAMES: Final = frozenset({"id_rsa", "id_dsa", "id_ecdsa", "id_ed25519"})
_SKIPPED_FOLDERS: Final = frozenset({"__pycache__", "node_modules", "lost+found"})


def kind_of(name: str) -> Kind | None:
    """How the file is read; None if it is no document.

    What has an unknown ending counts as text until its first bytes say otherwise.
    """
    if name.startswith((".", "~$")) or name.endswith("~") or name.lower() in _SECRET_NAMES:
        return None
    _, dot, ending = name.rpartition(".")
    if not dot:
        return Kind.TEXT
    folded = ending.lower()
    if folded in _NOT_TEXT:
        return None
    return _KNOWN.get(folded, Kind.TEXT)


def is_skipped(folder: str) -> bool:
    """Whether a folder of this name is left out: hidden, or full of what programs made."""
    return folder.startswith(".") or folder in _SKIPPED_FOLDERS
