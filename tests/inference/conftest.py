"""Fixtures for everything that stands on models."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from homing_inference.synthetic import write_qwen35
from support.qwen35 import qwen35_template

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="session")
def qwen35_chat_template() -> str:
    """The real chat template of Qwen3.5."""
    return qwen35_template()


@pytest.fixture(scope="session")
def tiny_qwen35(tmp_path_factory: pytest.TempPathFactory, qwen35_chat_template: str) -> Path:
    """A tiny `qwen35` model with random weights and the real template."""
    return write_qwen35(tmp_path_factory.mktemp("models") / "tiny.gguf", qwen35_chat_template)
