"""The page of configuration keys lists what the programs take, with the true defaults."""

from __future__ import annotations

import dataclasses
import json
import re
import tomllib
from typing import TYPE_CHECKING

import pytest
from homing_client.config import ClientConfig
from homing_node.config import NodeConfig
from support.commands import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator

PAGE = (ROOT / "docs" / "configuration.md").read_text("utf-8")
ROW = re.compile(r"^\| `([a-z_]+(?:\.[a-z_]+){1,2})` \| `([^`]*)` \| \S", re.MULTILINE)


def keys(config: ClientConfig | NodeConfig) -> dict[str, object]:
    """Every `section.key` with its default, in JSON's own terms."""
    found = dict(leaves(config))
    return {key: json.loads(json.dumps(value)) for key, value in found.items()}


def leaves(section: object, prefix: str = "") -> Iterator[tuple[str, object]]:
    """What the sections hold; a table that a person names, such as of adapters, is one value."""
    assert dataclasses.is_dataclass(section)
    for field in dataclasses.fields(section):
        value = getattr(section, field.name)
        if dataclasses.is_dataclass(value):
            yield from leaves(value, f"{prefix}{field.name}.")
        elif prefix:  # sections that a person names have a table of their own
            yield prefix + field.name, value


@pytest.mark.parametrize(
    ("title", "config"), [("Phone", ClientConfig()), ("Node", NodeConfig())], ids=["phone", "node"]
)
def test_the_page_lists_every_key_with_its_default(
    title: str, config: ClientConfig | NodeConfig
) -> None:
    part = PAGE.split(f"\n## {title}\n")[1].split("\n## ")[0]
    listed = {key: tomllib.loads(f"value = {text}")["value"] for key, text in ROW.findall(part)}
    assert listed == keys(config)
