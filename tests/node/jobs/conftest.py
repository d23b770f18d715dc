"""Fixtures of jobs: a store in memory, in SQLite and in a real Postgres."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import pytest
from homing_node.jobs.sql_store import SqlJobStore
from homing_node.jobs.sql_tables import METADATA
from homing_node.jobs.testing import MemoryJobStore

if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from pathlib import Path

    from homing_node.jobs.store import JobStore
    from support.postgres import PostgresServer

Opener: TypeAlias = "Callable[[], JobStore]"


@pytest.fixture(scope="module")
def postgres_url(postgres: PostgresServer) -> str:
    url = postgres.new_database()
    SqlJobStore(url).close()
    return url


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def opener(request: pytest.FixtureRequest, tmp_path: Path) -> Generator[Opener]:
    """Opens stores on the same jobs."""
    opened: list[JobStore] = []
    memory = MemoryJobStore()
    database: Path | str = tmp_path / "d" / "jobs.db"
    if request.param == "postgres":
        database = request.getfixturevalue("postgres_url")
        with request.getfixturevalue("postgres").connect(database) as connection:
            tables = ", ".join(name for name in METADATA.tables if name != "homing_jobs_schema")
            connection.execute(f"TRUNCATE {tables}".encode())

    def open_one() -> JobStore:
        store = memory if request.param == "memory" else SqlJobStore(database)
        opened.append(store)
        return store

    yield open_one
    for store in opened:
        store.close()


@pytest.fixture
def store(opener: Opener) -> JobStore:
    return opener()
