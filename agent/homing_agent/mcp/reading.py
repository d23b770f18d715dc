"""One reading of an `mcpServers` file, which names the key of whatever is wrong."""

from __future__ import annotations

import ipaddress
import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Final, NoReturn, cast
from urllib.parse import urlsplit

from homing_core.errors import ConfigError
from homing_core.labels import clean_label

from homing_agent.mcp.servers import HttpServer, ServerConfig, StdioServer

if TYPE_CHECKING:
    from collections.abc import Mapping

_MOST_SERVERS: Final = 64
_MOST_ITEMS: Final = 256
_MOST_CHARS: Final = 8 << 10
_NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")
_VARIABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}")
_FILLED: Final = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")
_HEADER: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,128}")
_RESERVED: Final = frozenset({"builtin", "documents", "home", "recipe"})
_STDIO_KEYS: Final = frozenset({"type", "command", "args", "env", "cwd", "disabled"})
_HTTP_KEYS: Final = frozenset({"type", "url", "headers", "disabled"})
_HTTP_TYPES: Final = frozenset({"http", "streamable-http", "streamableHttp", "streamable_http"})
_LOCAL_ENDINGS: Final = (".local", ".lan", ".home.arpa", ".internal", ".localhost")
_NO_CONSENT: Final = frozenset({"alwaysAllow", "autoApprove", "trust"})


class Reader:
    """One reading.

    Args:
        source: what to call the file in an error.
        environ: where `${NAME}` is looked up.
    """

    def __init__(self, source: str, environ: Mapping[str, str]) -> None:
        """Nothing is read yet."""
        self._source = source
        self._environ = environ

    def servers(self, text: str) -> tuple[ServerConfig, ...]:
        """The servers of a file's text. Raises `ConfigError`."""
        try:
            loaded: object = json.loads(text, object_pairs_hook=self._once)
        except (ValueError, RecursionError) as error:
            where = f" (line {error.lineno})" if isinstance(error, json.JSONDecodeError) else ""
            msg = f"{self._source} is not valid JSON{where}"
            raise ConfigError(msg, 'It looks like {"mcpServers": {"NAME": {…}}}.') from error
        # Other keys beside it belong to the client that the file is shared with.
        servers = loaded.get("mcpServers") if isinstance(loaded, dict) else None  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
        if not isinstance(servers, dict):
            msg = f"{self._source} has no object mcpServers"
            raise ConfigError(msg, 'It looks like {"mcpServers": {"NAME": {…}}}.')
        entries = cast("dict[str, object]", servers)
        if len(entries) > _MOST_SERVERS:
            self._refuse("mcpServers", f"holds more than {_MOST_SERVERS} servers")
        read = (self._server(name, entry) for name, entry in entries.items())
        return tuple(server for server in read if server is not None)

    def _once(self, pairs: list[tuple[str, object]]) -> dict[str, object]:
        found = dict(pairs)
        if len(found) != len(pairs):
            twice = next(name for name, _ in pairs if [n for n, _ in pairs].count(name) > 1)
            self._refuse(clean_label(twice), "stands there twice")
        return found

    def _server(self, name: str, entry: object) -> ServerConfig | None:
        key = f"mcpServers.{clean_label(name)}"
        if not _NAME.fullmatch(name) or name in _RESERVED:
            self._refuse(key, "is no name: letters, digits, _ and -, and no word of Homing's own")
        if not isinstance(entry, dict):
            self._refuse(key, "is not an object")
        values = cast("dict[str, object]", entry)
        web = "url" in values
        if web == ("command" in values):
            self._refuse(key, "needs either command or url")
        self._check_type(key, values.get("type", "http" if web else "stdio"), web=web)
        for unknown in sorted(set(values) - (_HTTP_KEYS if web else _STDIO_KEYS)):
            hint = (
                "Homing decides itself when to ask; say what the tools may do in its own file."
                if unknown in _NO_CONSENT
                else "Delete it, or correct its spelling."
            )
            self._refuse(f"{key}.{clean_label(unknown)}", "is not known", hint)
        disabled = values.get("disabled", False)
        if not isinstance(disabled, bool):
            self._refuse(f"{key}.disabled", "is not true or false")
        if disabled:
            return None
        return ServerConfig(name, self._web(key, values) if web else self._stdio(key, values))

    def _check_type(self, key: str, kind: object, *, web: bool) -> None:
        if kind == "sse":
            self._refuse(
                f"{key}.type", "is sse, which MCP has replaced", "Ask for its streamable HTTP URL."
            )
        if kind not in (_HTTP_TYPES if web else {"stdio"}):
            self._refuse(f"{key}.type", "does not fit: stdio with command, http with url")

    def _stdio(self, key: str, values: Mapping[str, object]) -> StdioServer:
        command = self._text(f"{key}.command", values["command"])
        if not command.strip():
            self._refuse(f"{key}.command", "is empty")
        given = values.get("args", [])
        if not isinstance(given, list) or len(cast("list[object]", given)) > _MOST_ITEMS:
            self._refuse(f"{key}.args", f"is not a list of at most {_MOST_ITEMS} texts")
        args = tuple(
            self._text(f"{key}.args[{number}]", item)
            for number, item in enumerate(cast("list[object]", given))
        )
        env = self._texts(f"{key}.env", values.get("env", {}), _VARIABLE)
        for name in env:
            if name.upper().startswith("HOMING_"):
                self._refuse(f"{key}.env.{name}", "is Homing's own and goes to no server")
        cwd = values.get("cwd")
        if cwd is None:
            return StdioServer(command, args, env)
        folder = Path(self._text(f"{key}.cwd", cwd)).expanduser()
        if not folder.is_absolute():
            self._refuse(f"{key}.cwd", "is not an absolute path")
        return StdioServer(command, args, env, folder)

    def _web(self, key: str, values: Mapping[str, object]) -> HttpServer:
        url = self._text(f"{key}.url", values["url"])
        try:
            parts = urlsplit(url)
            host = parts.hostname or ""
            _ = parts.port
        except ValueError:
            self._refuse(f"{key}.url", "is not a URL")
        if parts.scheme not in {"http", "https"} or not host:
            self._refuse(f"{key}.url", "is not an http or https URL")
        if parts.username or parts.password:
            self._refuse(f"{key}.url", "holds a password", "Put it into headers.")
        if parts.scheme == "http" and not _is_near(host):
            self._refuse(
                f"{key}.url", "is plain http to another network, readable on the way", "Use https."
            )
        headers = self._texts(f"{key}.headers", values.get("headers", {}), _HEADER)
        for name, value in headers.items():
            if not value.isprintable() or not value.isascii():
                self._refuse(f"{key}.headers.{name}", "holds characters no header may have")
        return HttpServer(url, headers)

    def _texts(self, key: str, value: object, names: re.Pattern[str]) -> dict[str, str]:
        if not isinstance(value, dict) or len(cast("dict[str, object]", value)) > _MOST_ITEMS:
            self._refuse(key, f"is not an object of at most {_MOST_ITEMS} texts")
        found: dict[str, str] = {}
        for name, text in cast("dict[str, object]", value).items():
            if not names.fullmatch(name):
                self._refuse(f"{key}.{clean_label(name)}", "is no name that can be set")
            found[name] = self._text(f"{key}.{name}", text)
        return found

    def _text(self, key: str, value: object) -> str:
        if not isinstance(value, str):
            self._refuse(key, "is not a text")
        filled = _FILLED.sub(lambda found: self._fill(key, found), value)
        if len(filled) > _MOST_CHARS or "\0" in filled:
            self._refuse(key, f"is longer than {_MOST_CHARS} characters or holds a zero byte")
        return filled

    def _fill(self, key: str, found: re.Match[str]) -> str:
        name = found[1]
        if name.upper().startswith("HOMING_"):
            self._refuse(key, f"asks for {name}, which goes to no server")
        value = self._environ.get(name) or found[2]
        if value is None:
            self._refuse(
                key, f"needs the variable {name}, which is not set", "Set it for the program."
            )
        return value

    def _refuse(self, key: str, what: str, hint: str = "Correct it.") -> NoReturn:
        msg = f"{self._source}: {key} {what}"
        raise ConfigError(msg, hint)


def _is_near(host: str) -> bool:
    """Whether plain http to a host stays on this machine or in this house."""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return "." not in host or host.lower().endswith(_LOCAL_ENDINGS)
    return address.is_loopback or address.is_private or address.is_link_local
