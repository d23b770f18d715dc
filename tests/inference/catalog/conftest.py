from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
from homing_inference.catalog.fake_depot import FakeDepot
from homing_inference.catalog.store import Store

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def depot() -> Iterator[FakeDepot]:
    with FakeDepot() as depot:
        yield depot


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "models")


@pytest.fixture
def pip_environ(depot: FakeDepot) -> dict[str, str]:
    """The environment without anybody's pip settings, and with the fake index."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PIP_")}
    return kept | {
        "PIP_INDEX_URL": depot.index_url,
        "PIP_CONFIG_FILE": os.devnull,
        "PIP_RETRIES": "0",
        "PIP_DEFAULT_TIMEOUT": "5",
    }
