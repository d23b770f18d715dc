"""One HTTP transfer into a part, continued over cut connections and over restarts.

`huggingface_hub` keeps no part between two processes, so a phone that loses its connection for
long, or its process, would begin 500 MB again; this does not.
"""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import httpx2
from homing_core.errors import IntegrityError, NotFoundError, RefusedError, UnavailableError

from homing_inference.catalog.files import in_thread, os_errors

if TYPE_CHECKING:
    from collections.abc import Mapping

    from homing_inference.catalog.partial import Partial
    from homing_inference.catalog.progress import Progress

_OK, _PARTIAL, _UNAUTHORIZED, _FORBIDDEN, _GONE, _RANGE = 200, 206, 401, 403, 404, 416
_CONTENT_RANGE = re.compile(r"bytes (\d+)-\d+/(\d+|\*)")


@dataclass(frozen=True, slots=True)
class Retry:
    """How hard to try.

    Attributes:
        attempts: tries in a row that brought no byte before giving up.
        first_delay: seconds before the second try; doubled each time.
        longest_delay: seconds.
    """

    attempts: int = 5
    first_delay: float = 0.5
    longest_delay: float = 8.0

    def delay(self, failures: int) -> float:
        """Seconds to wait after so many failures in a row."""
        return min(self.first_delay * 2.0 ** (failures - 1), self.longest_delay)


@dataclass(frozen=True, slots=True)
class Transfer:
    """What to bring.

    Attributes:
        url: from where.
        headers: sent along; never a secret to another host (the client drops it on a redirect).
        size: bytes of the whole.
        label: what is shown meanwhile.
        host: how the server is called in an error.
    """

    url: str
    headers: Mapping[str, str]
    size: int
    label: str
    host: str


class _BrokenOffError(Exception):
    """The connection or the server failed; another try may help."""


async def download(
    client: httpx2.AsyncClient,
    transfer: Transfer,
    partial: Partial,
    progress: Progress,
    retry: Retry,
) -> None:
    """Append to `partial` until it holds `transfer.size` bytes.

    Raises:
        UnavailableError: too many tries in a row brought nothing; the part stays.
        IntegrityError: the server sends more than the file's size.
        NotFoundError: the server does not hold the file.
        RefusedError: the server wants a licence accepted or a token.
    """
    failures = 0
    while (before := partial.size) < transfer.size:
        try:
            await _attempt(client, transfer, partial, progress)
        except (httpx2.HTTPError, _BrokenOffError) as error:
            failures = 1 if partial.size > before else failures + 1
            if failures >= retry.attempts:
                msg = f"{transfer.host} broke off {transfer.label}"
                hint = "Check the connection and try again; it continues where it stopped."
                raise UnavailableError(msg, hint) from error
            await asyncio.sleep(retry.delay(failures))
    if partial.size > transfer.size:
        partial.discard()
        msg = f"{transfer.host} sent more than the {transfer.size:,} bytes that it announced"
        raise IntegrityError(msg, "Try again; if it repeats, something stands in between.")


async def _attempt(
    client: httpx2.AsyncClient, transfer: Transfer, partial: Partial, progress: Progress
) -> None:
    start = partial.size
    headers = {**transfer.headers, "accept-encoding": "identity"}
    if start:
        headers["range"] = f"bytes={start}-"
    async with client.stream("GET", transfer.url, headers=headers) as response:
        _raise_for_status(response.status_code, transfer)
        first = _first_byte(response)
        if first != start:
            partial.restart()
        if first is None or first not in (start, 0):
            raise _BrokenOffError
        done = first
        with os_errors(partial.path.parent), partial.append() as stream:
            progress(done, transfer.size, transfer.label)
            async for chunk in response.aiter_raw():
                await in_thread(stream.write, chunk)
                done += len(chunk)
                progress(min(done, transfer.size), transfer.size, transfer.label)
                if done > transfer.size:
                    return
    if done < transfer.size:
        raise _BrokenOffError


def _first_byte(response: httpx2.Response) -> int | None:
    """Where in the file the body begins; a server may ignore the range, or get it wrong."""
    if response.status_code == _OK:
        return 0
    match = _CONTENT_RANGE.fullmatch(response.headers.get("content-range", ""))
    return int(match[1]) if response.status_code == _PARTIAL and match else None


def _raise_for_status(status: int, transfer: Transfer) -> None:
    if status in (_OK, _PARTIAL, _RANGE):
        return
    if status == _GONE:
        msg = f"{transfer.host} does not hold the file any more"
        raise NotFoundError(msg, "Try again later, or choose another model: `homing models`.")
    if status in (_UNAUTHORIZED, _FORBIDDEN):
        msg = f"{transfer.host} refuses to send the file (HTTP {status})"
        raise RefusedError(msg, "Accept the model's licence on its page and set HF_TOKEN.")
    raise _BrokenOffError
