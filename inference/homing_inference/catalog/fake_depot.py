"""A server that stands in for the Hugging Face hub and the package index, and can misbehave."""

from __future__ import annotations

import hashlib
import json
import threading
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Self
from urllib.parse import unquote, urlsplit

if TYPE_CHECKING:
    from types import TracebackType

_LONGEST_STALL = 30.0
FAKE_COMMIT = "c0ffee" * 6 + "beef"


@dataclass(frozen=True, slots=True)
class Fault:
    """How the server misbehaves on one request.

    Attributes:
        status: HTTP status to answer with; 0 is the right one.
        error_code: value of the hub's `X-Error-Code` header; empty leaves it out.
        cut_after: bytes of the body after which the connection is closed.
        stall_after: bytes of the body after which nothing more comes until `FakeDepot.release`.
        claimed_length: what Content-Length says.
        body: sent instead of the right one.
        ignore_range: answer a range request with the whole.
        wrong_range: answer a range request from one byte further on.
    """

    status: int = 0
    error_code: str = ""
    cut_after: int | None = None
    stall_after: int | None = None
    claimed_length: int | None = None
    body: bytes | None = None
    ignore_range: bool = False
    wrong_range: bool = False


@dataclass(frozen=True, slots=True)
class SeenRequest:
    """A request that reached the server.

    Attributes:
        path: without the query.
        range: the Range header, or empty.
        authorization: the Authorization header, or empty.
    """

    path: str
    range: str
    authorization: str


class _Shelf:
    """What the server serves; shared with its request threads."""

    def __init__(self) -> None:
        self.bodies: dict[str, bytes] = {}
        self.redirects: dict[str, str] = {}
        self.faults: dict[str, list[Fault]] = {}
        self.requests: list[SeenRequest] = []
        self.stalled = threading.Event()
        self.released = threading.Event()


class FakeDepot:
    """A Hugging Face hub and a package index on one loopback port.

    Use it as a context manager. Faults are consumed one a request, in the order they were added.
    """

    def __init__(self) -> None:
        """Bind the port; serve from `__enter__` on."""
        self._shelf = _Shelf()
        self._repos: dict[str, list[dict[str, object]]] = {}
        self._projects: dict[str, list[dict[str, object]]] = {}
        self._server = _Server(self._shelf)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,))

    def __enter__(self) -> Self:
        """Begin to serve."""
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Stop, and let go of stalled requests."""
        self.release()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    @property
    def port(self) -> int:
        """Where it listens, on 127.0.0.1."""
        return int(self._server.server_address[1])

    @property
    def hub_endpoint(self) -> str:
        """What `HF_ENDPOINT` would hold."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def index_url(self) -> str:
        """What `PIP_INDEX_URL` would hold."""
        return f"http://127.0.0.1:{self.port}/simple/"

    def add_hub_file(
        self, repo: str, name: str, content: bytes, *, sha256: str = "", cdn: bool = False
    ) -> str:
        """Put a file into a repository.

        Args:
            repo: owner and name.
            name: of the file.
            content: of the file.
            sha256: what the listing says; empty is the truth.
            cdn: serve it by a redirect to another host name, as the hub does.

        Returns:
            The path under which it is asked for.
        """
        truth = sha256 or hashlib.sha256(content).hexdigest()
        lfs = {"sha256": truth, "size": len(content), "pointerSize": 130}
        self._repos.setdefault(repo, []).append(
            {"rfilename": name, "size": len(content), "blobId": truth[:40], "lfs": lfs}
        )
        listing = {"id": repo, "sha": FAKE_COMMIT, "siblings": self._repos[repo]}
        self._shelf.bodies[f"/api/models/{repo}"] = json.dumps(listing).encode()
        path = f"/{repo}/resolve/{FAKE_COMMIT}/{name}"
        if cdn:
            self._shelf.redirects[path] = f"http://localhost:{self.port}/cdn/{truth}"
            path = f"/cdn/{truth}"
        self._shelf.bodies[path] = content
        return path

    def add_wheel(self, package: str, version: str, content: bytes, *, sha256: str = "") -> str:
        """Put a wheel into the index.

        Args:
            package: import name; the project's name has hyphens instead.
            version: of the package.
            content: of the wheel.
            sha256: what the index says; empty is the truth.

        Returns:
            The path under which it is asked for.
        """
        filename = f"{package}-{version}-py3-none-any.whl"
        path = f"/files/{filename}"
        project = package.replace("_", "-")
        truth = sha256 or hashlib.sha256(content).hexdigest()
        self._projects.setdefault(project, []).append(
            {"filename": filename, "url": path, "hashes": {"sha256": truth}, "yanked": False}
        )
        page = {
            "meta": {"api-version": "1.0"},
            "name": project,
            "files": self._projects[project],
        }
        self._shelf.bodies[f"/simple/{project}/"] = json.dumps(page).encode()
        self._shelf.bodies[path] = content
        return path

    def serve(self, path: str, body: bytes) -> None:
        """Answer `path` with exactly this."""
        self._shelf.bodies[path] = body

    def misbehave(self, path: str, *faults: Fault) -> None:
        """Have the next requests for `path` go wrong, one fault each."""
        self._shelf.faults.setdefault(path, []).extend(faults)

    def requests(self, path: str) -> list[SeenRequest]:
        """The requests for `path` so far."""
        return [request for request in self._shelf.requests if request.path == path]

    def wait_stalled(self, timeout: float) -> bool:
        """Wait in a thread until a request stalls; False if none did in `timeout` seconds."""
        return self._shelf.stalled.wait(timeout)

    def release(self) -> None:
        """Let stalled requests end."""
        self._shelf.released.set()


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, shelf: _Shelf) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.shelf = shelf


class _Handler(BaseHTTPRequestHandler):
    @property
    def _shelf(self) -> _Shelf:
        if not isinstance(self.server, _Server):
            raise TypeError(self.server)
        return self.server.shelf

    def do_GET(self) -> None:
        shelf = self._shelf
        path = unquote(urlsplit(self.path).path)
        span = self.headers.get("Range", "")
        shelf.requests.append(SeenRequest(path, span, self.headers.get("Authorization", "")))
        if path in shelf.redirects:
            self.send_response(302)
            self.send_header("Location", shelf.redirects[path])
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        queue = shelf.faults.get(path)
        fault = queue.pop(0) if queue else Fault()
        body = shelf.bodies.get(path) if fault.body is None else fault.body
        if body is None or fault.status:
            self._refuse(fault.status or 404, fault.error_code)
        else:
            self._send(body, span, fault)

    def _refuse(self, status: int, error_code: str) -> None:
        self.send_response(status)
        if error_code:
            self.send_header("X-Error-Code", error_code)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def _send(self, body: bytes, span: str, fault: Fault) -> None:
        start = 0
        if span.startswith("bytes=") and not fault.ignore_range:
            start = int(span.removeprefix("bytes=").split("-")[0]) + fault.wrong_range
            if start >= len(body):
                self._refuse(416, "")
                return
        rest = body[start:]
        self.send_response(206 if start else 200)
        if start:
            self.send_header("Content-Range", f"bytes {start}-{len(body) - 1}/{len(body)}")
        is_page = self.path.startswith("/simple/")
        kind = "application/vnd.pypi.simple.v1+json" if is_page else "application/json"
        self.send_header("Content-Type", kind)
        self.send_header("X-Repo-Commit", FAKE_COMMIT)
        length = len(rest) if fault.claimed_length is None else fault.claimed_length
        self.send_header("Content-Length", str(length))
        self.end_headers()
        self._write(rest, fault)

    def _write(self, rest: bytes, fault: Fault) -> None:
        try:
            if fault.stall_after is not None:
                self.wfile.write(rest[: fault.stall_after])
                self.wfile.flush()
                self._shelf.stalled.set()
                self._shelf.released.wait(_LONGEST_STALL)
            else:
                self.wfile.write(rest if fault.cut_after is None else rest[: fault.cut_after])
        except ConnectionError:
            return  # the client has gone, as it may

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # as in the base
        """Keep quiet."""
