"""Two households, each started once: one with the real stand-in models, one with a tiny model."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.household import Household, Node, Phone
from support.tiny_home import other_node, stranger, tiny, tiny_household, tiny_model

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["other_node", "stranger", "tiny", "tiny_household", "tiny_model"]


@pytest.fixture(scope="session")
def real_household(
    tmp_path_factory: pytest.TempPathFactory,
    models_dir: Path,
    stand_in_phone: Path,
    stand_in_bf16: Path,
) -> Iterator[Household]:
    assert stand_in_phone.parent == stand_in_bf16.parent == models_dir
    folder = tmp_path_factory.mktemp("real")
    node = Node.make(folder / "den", {"stand_in": True}, models_dir)
    phone = Phone.make(folder / "phone", {"stand_in": True}, models_dir)
    with Household(node, phone) as household:
        phone.pair(node)
        yield household


@pytest.fixture
def home(real_household: Household) -> Household:
    """A node and a phone that are paired and up, with real models."""
    real_household.node.ensure_up()
    return real_household
