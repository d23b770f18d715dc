"""The real chat template of Qwen3.5, for tests: fetched once, verified, never committed.

It lies in the source distribution of llama-cpp-python. `HOMING_TEST_CACHE` says where to keep it;
otherwise that is `.cache/` of this checkout.
"""

from __future__ import annotations

import hashlib
import json
import os
import ssl
import tarfile
import urllib.parse
import urllib.request
from pathlib import Path
from tempfile import NamedTemporaryFile, TemporaryDirectory
from typing import IO, TYPE_CHECKING, Any

from filelock import FileLock

if TYPE_CHECKING:
    from collections.abc import Iterator
    from http.client import HTTPResponse

VERSION = "0.3.36"
_SDIST = f"llama_cpp_python-{VERSION}.tar.gz"
_MEMBER = "vendor/llama.cpp/models/templates/Qwen3.5-4B.jinja"
_KEPT = f"qwen3.5-{VERSION}.jinja"
_DEFAULT_INDEX = "https://pypi.org/simple"
_PAGE_TYPE = "application/vnd.pypi.simple.v1+json"
_CHUNK = 1 << 20
_MAX_SDIST = 512 << 20
_MAX_TEMPLATE = 1 << 20
_TIMEOUT_S = 120


def cache_dir() -> Path:
    """Where tests keep what they fetched."""
    given = os.environ.get("HOMING_TEST_CACHE")
    folder = Path(given) if given else Path(__file__).resolve().parents[2] / ".cache"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def qwen35_template() -> str:
    """The template's text; downloads 77 MB the first time.

    Raises:
        RuntimeError: the package index does not have it, or sent something else.
        OSError: the package index cannot be reached.
    """
    kept = cache_dir() / _KEPT
    with FileLock(kept.with_suffix(".lock")):
        if not kept.exists():
            _replace(kept, _fetch(kept.parent))
    return kept.read_text("utf-8")


def _replace(path: Path, data: bytes) -> None:
    with NamedTemporaryFile(dir=path.parent, delete=False) as file:
        file.write(data)
    Path(file.name).replace(path)


def _fetch(folder: Path) -> bytes:
    url, sha256 = _locate()
    with TemporaryDirectory(dir=folder) as name:
        sdist = Path(name) / _SDIST
        with sdist.open("wb") as file:
            found = hashlib.sha256()
            for chunk in _chunks(url):
                found.update(chunk)
                file.write(chunk)
        if found.hexdigest() != sha256:
            msg = f"{_SDIST} is not the file that the package index describes"
            raise RuntimeError(msg)
        with tarfile.open(sdist, "r|gz") as archive:
            for member in archive:
                if member.isfile() and member.name.partition("/")[2] == _MEMBER:
                    return _read(archive.extractfile(member))
    msg = f"{_SDIST} holds no {_MEMBER}"
    raise RuntimeError(msg)


def _read(file: IO[bytes] | None) -> bytes:
    data = b"" if file is None else file.read(_MAX_TEMPLATE + 1)
    if not 0 < len(data) <= _MAX_TEMPLATE:
        msg = "the template in the source distribution is empty or far too large"
        raise RuntimeError(msg)
    return data


def _locate() -> tuple[str, str]:
    """Address and SHA-256 of the source distribution, as the index gives them (PEP 691)."""
    index = os.environ.get("PIP_INDEX_URL") or _DEFAULT_INDEX
    page = f"{index.rstrip('/')}/llama-cpp-python/"
    with _open(page) as response:
        files: list[dict[str, Any]] = json.load(response)["files"]
    for file in files:
        if file["filename"] == _SDIST and "sha256" in file["hashes"]:
            return urllib.parse.urljoin(page, file["url"]), file["hashes"]["sha256"]
    msg = f"the package index has no {_SDIST}"
    raise RuntimeError(msg)


def _chunks(url: str) -> Iterator[bytes]:
    left = _MAX_SDIST
    with _open(url) as response:
        while chunk := response.read(_CHUNK):
            left -= len(chunk)
            if left < 0:
                msg = f"{_SDIST} is far too large"
                raise RuntimeError(msg)
            yield chunk


def _open(url: str) -> HTTPResponse:
    if urllib.parse.urlsplit(url).scheme not in {"http", "https"}:
        msg = "the package index must have an http or https address"
        raise RuntimeError(msg)
    request = urllib.request.Request(url, headers={"Accept": f"{_PAGE_TYPE}, */*;q=0.1"})  # noqa: S310  # checked above
    context = ssl.create_default_context(cafile=os.environ.get("PIP_CERT"))
    response: HTTPResponse = urllib.request.urlopen(request, timeout=_TIMEOUT_S, context=context)  # noqa: S310  # checked above
    return response
