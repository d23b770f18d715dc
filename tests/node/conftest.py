from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from homing_inference.synthetic import write_qwen35
from support.templates import HERMES

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="session")
def small_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model that knows nothing, loads at once, and never ends its turn by itself."""
    return write_qwen35(tmp_path_factory.mktemp("models") / "tiny.gguf", HERMES)
