"""Which model is meant, in one spelling, so that two processes can compare it."""

from __future__ import annotations

import os
from pathlib import Path

from homing_core.errors import NotFoundError
from homing_inference.catalog.local import absolute_path, looks_like_path
from homing_inference.catalog.models import default_model, find_model


def canonical_model(text: str) -> str:
    """A file's absolute path, or the whole name in the catalog; empty stays empty.

    What the catalog does not know stays as it is: whoever loads it says so.
    """
    if not text:
        return ""
    if looks_like_path(text):
        return os.fspath(absolute_path(Path(text)))
    try:
        return find_model(text, "phone").name
    except NotFoundError:
        return text


def expected_name(text: str, *, stand_in: bool) -> str:
    """Under which name that model will be served."""
    if not text:
        return default_model("phone", stand_in=stand_in).name
    if looks_like_path(text):
        return Path(text).stem
    return canonical_model(text)
