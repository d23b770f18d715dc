from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def small_model(stand_in_phone: Path) -> Path:
    """A real model that loads fast."""
    return stand_in_phone
