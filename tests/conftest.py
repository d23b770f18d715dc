"""Fixtures that every package's tests may use: the real stand-in models, fetched once."""

from __future__ import annotations

import asyncio
import os
import signal
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import structlog
from homing_inference.catalog.resolve import ensure
from homing_inference.catalog.store import Store
from hypothesis import settings
from support.postgres import PostgresServer, postgres_server
from support.sharing import TogetherScheduling, group_of

if TYPE_CHECKING:
    from collections.abc import Iterator

# A run that was started with nohup ignores it, and so would every program that the tests start.
signal.signal(signal.SIGHUP, signal.SIG_DFL)
# How long an example takes says how busy the machine is, and nothing about the code.
settings.register_profile("unhurried", deadline=None)
settings.load_profile("unhurried")

# Widths that a shell or a plugin tells would reach every program that the tests start.
for _width in ("COLUMNS", "LINES"):
    os.environ.pop(_width, None)

_MODEL_FIXTURES = frozenset({"stand_in_phone", "stand_in_bf16"})


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Whatever uses a real model carries the marker, so `-m "not model"` leaves all of it out."""
    for item in items:
        if _MODEL_FIXTURES.intersection(getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.model)
            if group_of(item.nodeid) != "models":
                msg = f"{item.nodeid} computes a model: name its file in support.sharing"
                raise pytest.UsageError(msg)


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> TogetherScheduling:  # noqa: ANN401  # it has no types
    """How tests are shared out among processes: `support.sharing`."""
    return TogetherScheduling(config, log)


@pytest.fixture(autouse=True)
def _log_as_at_the_beginning() -> Iterator[None]:
    """A command that runs in the tests' own process sets up logging for the whole of it."""
    yield
    if structlog.is_configured():
        structlog.reset_defaults()


@pytest.fixture(scope="session")
def models_dir() -> Path:
    """Where the tests' models lie, over runs: HOMING_MODELS_DIR, or this checkout's cache."""
    given = os.environ.get("HOMING_MODELS_DIR")
    return Path(given) if given else Path(__file__).resolve().parents[1] / ".cache" / "models"


def _fetched(name: str, models_dir: Path) -> Path:
    """In a thread of its own, whose event loop is none of the tests' business."""

    def fetch() -> Path:
        store = Store(models_dir)
        return asyncio.run(ensure(name, store=store, allow_stand_in=True, role="phone")).path

    with ThreadPoolExecutor(1) as pool:
        return pool.submit(fetch).result()


@pytest.fixture(scope="session")
def stand_in_phone(models_dir: Path) -> Path:
    """The phone's stand-in: a real 0.5B model in Q4_K_M, verified."""
    return _fetched("stand-in-0.5b:q4_k_m", models_dir)


@pytest.fixture(scope="session")
def stand_in_bf16(models_dir: Path) -> Path:
    """The node's stand-in: the same model in BF16."""
    return _fetched("stand-in-0.5b:bf16", models_dir)


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """A real Postgres, started by the first test that wants one."""
    with postgres_server() as server:
        yield server
