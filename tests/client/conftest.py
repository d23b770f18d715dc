from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.phone_process import PhoneRig, phone_rig

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path


@pytest.fixture
async def rig(tmp_path: Path) -> AsyncIterator[PhoneRig]:
    """A phone that was never used."""
    async with phone_rig(tmp_path) as made:
        yield made
