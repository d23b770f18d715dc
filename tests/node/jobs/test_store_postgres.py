"""Jobs in a Postgres: what goes wrong with it."""

from __future__ import annotations

import contextlib
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest
from homing_core.errors import ConfigError, IntegrityError, InvalidDataError, UnavailableError
from homing_node.jobs.sql_store import SqlJobStore
from support.job_rows import put, running

if TYPE_CHECKING:
    from support.postgres import PostgresServer


def test_several_daemons_open_a_new_database_at_once(postgres: PostgresServer) -> None:
    url = postgres.new_database()
    with ThreadPoolExecutor(4) as pool:
        stores = list(pool.map(SqlJobStore, [url] * 4))
    row = put(stores[0])
    assert all(store.get(row.key) == row for store in stores)
    for store in stores:
        store.close()


def test_a_server_that_cut_the_line_is_reached_again(postgres: PostgresServer) -> None:
    url = postgres.new_database()
    with contextlib.closing(SqlJobStore(url)) as store, postgres.connect("postgres") as other:
        row = put(store)
        other.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()"
        )
        assert store.get(row.key) == row


def test_a_lock_that_another_holds_is_waited_for_and_then_said(postgres: PostgresServer) -> None:
    url = postgres.new_database()
    with contextlib.closing(SqlJobStore(url, busy_s=0.2)) as store, postgres.connect(url) as other:
        row = running(store)
        with other.transaction():
            other.execute("LOCK TABLE homing_jobs IN EXCLUSIVE MODE")
            with pytest.raises(UnavailableError, match="holds a lock"):
                store.want_cancel(row.key)
            assert store.get(row.key) == row
        assert store.want_cancel(row.key).cancel_wanted


def test_what_is_not_our_database(postgres: PostgresServer) -> None:
    newer, other = postgres.new_database(), postgres.new_database()
    SqlJobStore(newer).close()
    with postgres.connect(newer) as connection:
        connection.execute("UPDATE homing_jobs_schema SET version = 1000")
    with pytest.raises(InvalidDataError, match="newer Homing"):
        SqlJobStore(newer)
    with contextlib.closing(SqlJobStore(other)) as store:
        with postgres.connect(other) as connection:
            connection.execute("DROP TABLE homing_job_secrets")
        with pytest.raises(IntegrityError):
            put(store)


def test_who_may_not_make_tables_is_told(postgres: PostgresServer) -> None:
    url = postgres.new_database()
    with postgres.connect(url) as connection:
        connection.execute("CREATE USER guest_of_tables")
    with pytest.raises(ConfigError, match="may not"):
        SqlJobStore(url.replace("postgres@", "guest_of_tables@"))


@pytest.mark.attack
@pytest.mark.parametrize(
    "place", ["127.0.0.1:9/jobs", "/jobs?host=/nowhere", "/jobs?host=/nowhere&sslmode=perhaps"]
)
def test_a_server_that_is_not_there_is_said_without_the_password(place: str) -> None:
    with pytest.raises(UnavailableError) as caught:
        SqlJobStore(f"postgresql://ann:hunter2@{place}")
    error: BaseException | None = caught.value
    while error is not None:
        assert "hunter2" not in f"{error} {error!r}"
        error = error.__cause__ or error.__context__
