"""What is sent for a page, and what answers mean."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING, Final

import httpx2
from homing_core.errors import HomingError, InvalidDataError, RefusedError, UnavailableError

if TYPE_CHECKING:
    from collections.abc import Callable

    from homing_agent.web.addresses import Address
    from homing_agent.web.urls import PageAddress

_GZIP: Final = 31
"""zlib's window bits for a gzip stream of any window."""
_TRY_LATER: Final = frozenset({408, 425, 429, 500, 502, 503, 504})
_HEADERS: Final = {
    "user-agent": "homing",
    "accept": "text/html,application/xhtml+xml,text/plain,text/*;q=0.9,application/json;q=0.8",
    "accept-encoding": "gzip",
}


def request_for(client: httpx2.AsyncClient, page: PageAddress, address: Address) -> httpx2.Request:
    """Ask a checked address for a page, by the page's own name."""
    number = f"[{address}]" if address.version == 6 else str(address)  # noqa: PLR2004  # IPv6
    request = client.build_request(
        "GET",
        f"{page.scheme}://{number}:{page.port}{page.target}",
        headers=_HEADERS | {"host": page.authority},
    )
    if page.scheme == "https":
        request.extensions["sni_hostname"] = page.host
    return request


def length_of(response: httpx2.Response) -> int:
    """Bytes that the server says to send; 0 if it does not say."""
    text = response.headers.get("content-length", "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 16 else 0  # noqa: PLR2004  # digits of any size that exists


def unpacker(page: PageAddress, response: httpx2.Response) -> Callable[[bytes, int], bytes]:
    """Unpacks pieces of the answer, giving at most as many bytes as it is told.

    Raises:
        InvalidDataError: it is packed in a way that was not asked for.
    """
    encoding = response.headers.get("content-encoding", "").strip().lower()
    if encoding in {"", "identity"}:
        return lambda piece, _: piece
    if encoding not in {"gzip", "x-gzip"}:
        msg = f"{page.host} packs its page in a way that was not asked for"
        raise InvalidDataError(msg)
    # A few bytes may unpack to gigabytes: never more than there is room for is taken.
    return zlib.decompressobj(_GZIP).decompress


def refusal(page: PageAddress, status: int) -> HomingError:
    """What an answer that is no page means."""
    if status in _TRY_LATER:
        return UnavailableError(f"{page.host} answers with status {status}", "Try again later.")
    if status in {401, 403, 451}:
        msg = f"{page.host} does not give this page to everybody (status {status})"
        return RefusedError(msg, "Open it yourself.")
    return InvalidDataError(f"{page.host} answers with status {status}", "Check the address.")


def unreachable(page: PageAddress, error: httpx2.HTTPError) -> UnavailableError:
    """What a line that broke means."""
    if isinstance(error, httpx2.TimeoutException):
        return UnavailableError(f"{page.host} does not answer", "Try again later.")
    cause: BaseException | None = error
    while cause is not None:
        if type(cause).__module__ == "ssl" or "certificate" in str(cause).lower():
            msg = f"{page.host} does not prove that it is {page.host}"
            return UnavailableError(msg, "Its certificate is not trusted here.")
        cause = cause.__cause__ or cause.__context__
    return UnavailableError(f"{page.host} cannot be reached, or breaks off", "Try again later.")
