"""What a phone has to install is a decision, not an accident."""

from __future__ import annotations

import re
import tomllib

from support.commands import ROOT

# The other half of the list in pyproject.toml. Whoever adds a line here has looked at what it
# brings along, whether it builds in Termux, and what it adds to the start of `homing ask`.
PHONE = {
    "aiomqtt",
    "bm25s",
    "cattrs",
    "cryptography",
    "dateparser",
    "grpcio",
    "httpx2",
    "huggingface_hub",
    "icalendar",
    "ifaddr",
    "jinja2",
    "llama-cpp-python",
    "numpy",
    "platformdirs",
    "protobuf",
    "rich",
    "spake2",
    "structlog",
    "typer",
    "tzlocal",
    "zeroconf",
}

# On top for a home node.
NODE = {
    "dbos",
    "grpcio-health-checking",
    "llguidance",
    "lxml_html_clean",
    "mcp",
    "openpyxl",
    "pypdf",
    "python-docx",
    "python-pptx",
    "segno",
    "trafilatura",
}


def names(requirements: list[str]) -> list[str]:
    return [re.split(r"[\s\[<>=!~;]", line, maxsplit=1)[0] for line in requirements]


def listed() -> dict[str, list[str]]:
    """The base list under the empty name, and every extra under its own."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    return {"": project["dependencies"], **project["optional-dependencies"]}


def test_the_phone_installs_exactly_this() -> None:
    assert sorted(names(listed()[""])) == sorted(PHONE)


def test_a_node_installs_exactly_this_on_top() -> None:
    assert sorted(names(listed()["node"])) == sorted(NODE)


def test_every_requirement_says_from_which_version() -> None:
    lines = [line for requirements in listed().values() for line in requirements]
    assert [line for line in lines if ">=" not in line] == ["homing[node,postgres,plots]"]
