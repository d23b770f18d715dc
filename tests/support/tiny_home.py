"""Fixtures: a household where it does not matter what models say, and strangers around it."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

import pytest
from homing_inference.synthetic import write_qwen35
from support.household import Household, Node, Phone
from support.qwen35 import qwen35_template

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture(scope="session")
def tiny_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A `qwen35` model that knows nothing, with the family's real chat template."""
    return write_qwen35(tmp_path_factory.mktemp("models") / "tiny.gguf", qwen35_template())


@pytest.fixture(scope="session")
def tiny_household(
    tmp_path_factory: pytest.TempPathFactory, tiny_model: Path
) -> Iterator[Household]:
    folder = tmp_path_factory.mktemp("tiny")
    node = Node.make(folder / "attic", {"name": str(tiny_model)})
    # Its tokens are bytes, so that the tools alone are thousands.
    phone = Phone.make(folder / "pocket", {"name": str(tiny_model), "context_tokens": 8192})
    with Household(node, phone) as household:
        phone.pair(node)
        yield household


@pytest.fixture
def tiny(tiny_household: Household) -> Household:
    """A node and a phone that are paired and up, where it does not matter what models say."""
    tiny_household.node.ensure_up()
    return tiny_household


@pytest.fixture
def other_node(tmp_path_factory: pytest.TempPathFactory, tiny_model: Path) -> Iterator[Node]:
    """A node of somebody else's, whom no phone here knows. It is not up."""
    node = Node.make(tmp_path_factory.mktemp("other") / "cellar", {"name": str(tiny_model)})
    yield node
    if node.daemon is not None:
        node.end(signal.SIGTERM)


@pytest.fixture
def stranger(tmp_path: Path, tiny_model: Path) -> Iterator[Phone]:
    """A phone that never paired with anybody."""
    phone = Phone.make(tmp_path / "stranger", {"name": str(tiny_model), "context_tokens": 8192})
    yield phone
    phone.close()
