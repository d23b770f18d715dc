"""Fixtures of the attacks."""

from __future__ import annotations

from support.tiny_home import other_node, stranger, tiny, tiny_household, tiny_model

__all__ = ["other_node", "stranger", "tiny", "tiny_household", "tiny_model"]
