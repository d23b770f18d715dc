"""What models write into calls of home tools: addresses of pages, and values of recipes."""

from __future__ import annotations

import unicodedata
from functools import cache
from ipaddress import ip_address
from typing import TYPE_CHECKING

from fuzz.rows import scratch
from fuzz.target import of_text
from homing_agent.tools.home.recipe_parameter import Parameter, ParameterKind
from homing_agent.tools.home.recipe_spec import Recipe
from homing_agent.tools.home.recipe_values import HeldArgument, filled
from homing_agent.web.addresses import Allowed, parse_address
from homing_agent.web.urls import parse_page_address, redirected
from homing_core.errors import HomingError

if TYPE_CHECKING:
    from pathlib import Path

_PORTS = frozenset({80, 443})


def _leads(text: str) -> object:
    """Wherever a redirect leads, it is a page's address, and reads the same when read again."""
    found = redirected(parse_page_address("https://example.org/a/b?c"), text, _PORTS)
    assert parse_page_address(str(found)) == found
    assert found.port in _PORTS
    assert found.host.isascii()
    assert not set(found.target) & set("\r\n\0 ")
    return found


def _allows(text: str) -> object:
    """No entry opens this machine but one that names it."""
    allowed = Allowed.parse(tuple(text.split(",")))
    if not allowed.networks:
        assert allowed.refusal("page.test", ip_address("127.0.0.1"))
    return allowed


@cache
def _folder() -> Path:
    folder = scratch() / "opened"
    (folder / "inner").mkdir(parents=True, exist_ok=True)
    (folder / "a.txt").write_text("a", "utf-8")
    return folder


def _value(text: str) -> None:
    """A value that is taken is the whole argument, is seen as it is, and is no flag."""
    recipe = Recipe("x", "y", ("z", "{v}", "--v={v}"), {"v": Parameter(most_chars=4000)})
    with filled(recipe, {"v": text}, None) as arguments:
        assert arguments == (text, f"--v={text}")
        assert all(char.isprintable() or unicodedata.category(char) == "Zs" for char in text)
        assert text.lstrip()[0] not in "-@|"


def _path(text: str) -> None:
    """A path that is taken lies in its folder, whether it is to exist or not."""
    try:
        _path_that(text, exists=True)
    except HomingError:
        _path_that(text, exists=False)


def _path_that(text: str, *, exists: bool) -> None:
    parameter = Parameter(ParameterKind.PATH, folder=_folder(), exists=exists)
    with filled(Recipe("x", "y", ("z", "{v}"), {"v": parameter}), {"v": text}, None) as found:
        (argument,) = found
        assert isinstance(argument, HeldArgument)
        assert argument.held.path.resolve().is_relative_to(_folder().resolve())


TARGETS = (
    of_text("page-redirect", _leads, "/x", "//example.org/", "https://[2606:4700::1]/?q#f", "../é"),
    of_text("page-allowed", _allows, "nas.lan,192.168.1.0/24", "fd00::/8", "[::1]"),
    of_text(
        "page-address-number",
        parse_address,
        "127.0.0.1",
        "::ffff:10.0.0.1",
        "fe80::1%eth0",
        covers=("homing_agent.web.addresses.parse_address",),
    ),
    of_text("recipe-value", _value, "honey", "; rm -rf /", "-x", "@a", "a:b", "\u2028"),
    of_text("recipe-path", _path, "a.txt", "inner/../a.txt", "../x", "inner/new", "/etc/passwd"),
)
