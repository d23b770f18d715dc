"""The page of configuration keys lists what the programs take, with the true defaults."""

from __future__ import annotations

import dataclasses
import json
import re
import tomllib

import pytest
from homing_client.config import ClientConfig
from homing_node.config import NodeConfig
from support.commands import ROOT

PAGE = (ROOT / "docs" / "configuration.md").read_text("utf-8")
ROW = re.compile(r"^\| `([a-z_]+\.[a-z_]+)` \| `([^`]*)` \| \S", re.MULTILINE)


def keys(config: ClientConfig | NodeConfig) -> dict[str, object]:
    """Every `section.key` with its default, in JSON's own terms."""
    sections = json.loads(json.dumps(dataclasses.asdict(config)))
    return {
        f"{section}.{key}": value
        for section, table in sections.items()
        for key, value in table.items()
    }


@pytest.mark.parametrize(
    ("title", "config"), [("Phone", ClientConfig()), ("Node", NodeConfig())], ids=["phone", "node"]
)
def test_the_page_lists_every_key_with_its_default(
    title: str, config: ClientConfig | NodeConfig
) -> None:
    part = PAGE.split(f"\n## {title}\n")[1].split("\n## ")[0]
    listed = {key: tomllib.loads(f"value = {text}")["value"] for key, text in ROW.findall(part)}
    assert listed == keys(config)
