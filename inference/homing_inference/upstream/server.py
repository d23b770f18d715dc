"""Which server, how to reach it, and how long to wait for it."""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import urlsplit

from homing_core.errors import UsageError

_HINT: Final = "Write http://host:port or https://host, with /v1 behind it or not."
_HOME_SUFFIXES: Final = (".local", ".localhost", ".lan", ".home.arpa", ".internal")
_KEY: Final = re.compile(r"[!-~]*")
_HOST: Final = re.compile(r"[0-9A-Za-z._:-]+")
_NUMERIC: Final = re.compile(r"[0-9]+|0x[0-9a-f]*")
_PATH: Final = re.compile(r"[0-9A-Za-z._~/-]*")


@dataclass(frozen=True, slots=True)
class UpstreamServer:
    """An OpenAI-compatible server.

    Attributes:
        url: such as `http://192.168.1.9:8000`, with or without `/v1`.
        model: the server's own name of the model; empty where it serves just one.
        name: under which we serve it; empty for the server's own name.
        api_key: sent as a bearer token; never shown.
        context_tokens: hold prompt and answer to this many; 0 is what the server says.
        max_sequences: requests that are sent at once; 0 is what suits the server.
        allow_insecure: let prompts travel unencrypted over a network that is not the home's own.
        connect_s: seconds for a connection.
        first_token_s: seconds for the first piece of an answer: queueing and the whole prompt.
        silence_s: seconds between two pieces.
    """

    url: str
    model: str = ""
    name: str = ""
    api_key: str = field(default="", repr=False)
    context_tokens: int = 0
    max_sequences: int = 0
    allow_insecure: bool = False
    connect_s: float = 5.0
    first_token_s: float = 300.0
    silence_s: float = 60.0

    @property
    def root(self) -> str:
        """The address before `/v1`, without a slash at its end.

        Raises:
            UsageError: it cannot be read, or prompts would travel unencrypted.
        """
        written = self.url.strip()
        try:
            # The parser of the standard library drops line breaks without a word.
            parts = urlsplit(written if written.isprintable() else "")
            host, port = parts.hostname or "", parts.port
        except ValueError:
            host, port, parts = "", None, urlsplit("")
        if parts.scheme not in {"http", "https"} or not _HOST.fullmatch(host):
            msg = "the address of the model server cannot be read"
            raise UsageError(msg, _HINT)
        if parts.username is not None or parts.query or parts.fragment:
            msg = "the address of the model server holds more than host, port and path"
            raise UsageError(msg, "Put the key into a file (key_file); leave out ? and #.")
        if not _PATH.fullmatch(parts.path):
            msg = "the path of the model server cannot be read"
            raise UsageError(msg, _HINT)
        if parts.scheme == "http" and not (self.allow_insecure or is_home(host)):
            msg = f"prompts would travel unencrypted to {host}"
            hint = "Use https, or set allow_insecure if the way there is protected otherwise."
            raise UsageError(msg, hint)
        if not _KEY.fullmatch(self.api_key):
            msg = "the model server's key holds characters that no key has"
            raise UsageError(msg, "Copy it again, without blanks and line breaks.")
        shown = f"[{host}]" if ":" in host else host
        place = shown if port is None else f"{shown}:{port}"
        path = parts.path.rstrip("/").removesuffix("/v1").rstrip("/")
        return f"{parts.scheme}://{place}{path}"

    @property
    def place(self) -> str:
        """Host and port, for messages to people."""
        return urlsplit(self.root).netloc


def is_home(host: str) -> bool:
    """Whether a host is this machine, or one that only the own network or a tunnel can mean."""
    try:
        ip = ipaddress.ip_address(host)
    except ValueError:
        name = host.lower().removesuffix(".")
        if _NUMERIC.fullmatch(name.rpartition(".")[2]):
            return False  # resolvers read 134744072 as an address, and that is none of the home's
        return "." not in name or name.endswith(_HOME_SUFFIXES)
    mapped = ip.ipv4_mapped if isinstance(ip, ipaddress.IPv6Address) else None
    return not (mapped or ip).is_global and not (mapped or ip).is_multicast
