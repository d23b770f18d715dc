"""The source distribution of llama-cpp-python, as the package index has it: fetched and verified.

It holds llama.cpp itself: the real chat templates for tests, the server's source for a benchmark.
"""

from __future__ import annotations

import hashlib
import json
import os
import ssl
import urllib.parse
import urllib.request
from typing import IO, TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator
    from http.client import HTTPResponse

VERSION = "0.3.36"
_SDIST = f"llama_cpp_python-{VERSION}.tar.gz"
_DEFAULT_INDEX = "https://pypi.org/simple"
_PAGE_TYPE = "application/vnd.pypi.simple.v1+json"
_CHUNK = 1 << 20
_MAX_SDIST = 512 << 20
_TIMEOUT_S = 120


def fetch_sdist(into: IO[bytes]) -> None:
    """Write the archive (77 MB).

    Raises:
        RuntimeError: the package index does not have it, or sent something else.
        OSError: the package index cannot be reached.
    """
    url, sha256 = _locate()
    found = hashlib.sha256()
    for chunk in _chunks(url):
        found.update(chunk)
        into.write(chunk)
    if found.hexdigest() != sha256:
        msg = f"{_SDIST} is not the file that the package index describes"
        raise RuntimeError(msg)


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
