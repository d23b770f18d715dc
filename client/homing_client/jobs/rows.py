"""How jobs lie in SQLite: the tables, and rows to entries."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final, TypeAlias

from homing_core.errors import HomingError
from homing_core.ids import DeviceId, JobId
from homing_core.jobs import JobState
from homing_core.tools import Place
from homing_crypto.result_form import decode_result

from homing_client.jobs.entry import JobEntry
from homing_client.jobs.json_form import (
    asked_from_json,
    asked_to_json,
    dump,
    failed_from_json,
    load,
    progress_from_json,
    unreadable,
)

if TYPE_CHECKING:
    from homing_core.jobs import JobResult

Value: TypeAlias = "str | float | bytes | None"
VERSION: Final = 1
SCHEMA: Final = """
CREATE TABLE job (
  number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, request_id TEXT NOT NULL,
  tool_hash TEXT NOT NULL, argument_hash TEXT NOT NULL, asked TEXT NOT NULL,
  node TEXT NOT NULL, node_name TEXT NOT NULL, place TEXT NOT NULL,
  certificate BLOB NOT NULL, key TEXT NOT NULL, asked_at REAL NOT NULL,
  tried INTEGER NOT NULL DEFAULT 0, submitted INTEGER NOT NULL DEFAULT 0,
  state TEXT NOT NULL, last_seq INTEGER NOT NULL DEFAULT 0, progress TEXT,
  note TEXT NOT NULL DEFAULT '', ended_at REAL NOT NULL DEFAULT 0, failure TEXT,
  cancel_wanted INTEGER NOT NULL DEFAULT 0, fetched INTEGER NOT NULL DEFAULT 0,
  result BLOB, sha256 TEXT NOT NULL DEFAULT '', acked INTEGER NOT NULL DEFAULT 0,
  UNIQUE (request_id, tool_hash, argument_hash)
);
CREATE TABLE allowed (
  node TEXT NOT NULL, server TEXT NOT NULL, name TEXT NOT NULL, tool_hash TEXT NOT NULL,
  PRIMARY KEY (node, server, name)
) WITHOUT ROWID;
CREATE TABLE successor (old TEXT PRIMARY KEY, new TEXT NOT NULL) WITHOUT ROWID;
"""
COLUMNS: Final = (
    "id, asked, node, node_name, place, certificate, key, asked_at, tried, "
    "submitted, state, last_seq, progress, note, ended_at, failure, cancel_wanted, "
    "fetched, result IS NOT NULL, sha256, acked"
)


def to_row(entry: JobEntry) -> tuple[tuple[str, ...], tuple[Value, ...]]:
    """A fresh entry: names of columns, and their values."""
    columns: dict[str, Value] = {
        "id": entry.id,
        "asked": dump(asked_to_json(entry.asked)),
        "node": entry.node,
        "node_name": entry.node_name,
        "place": entry.place.value,
        "certificate": entry.certificate,
        "key": entry.key,
        "asked_at": entry.asked_at,
        "state": entry.state.value,
    }
    return tuple(columns), tuple(columns.values())


def to_entry(row: tuple[Value, ...]) -> JobEntry:
    """A row in the order of `COLUMNS`; raises `IntegrityError`."""
    try:
        return _read(row)
    except (ValueError, TypeError, HomingError) as error:
        raise unreadable() from error


def _read(row: tuple[Value, ...]) -> JobEntry:
    job, asked, node, name, place, certificate, key, at, tried, submitted, state, seq, *rest = row
    progress, note, ended, failure, cancel, fetched, delivered, sha256, acked = rest
    what = load(_text(asked), asked_from_json)
    return JobEntry(
        id=JobId(_text(job)),
        asked=replace(what, tool=replace(what.tool, node=_text(node))),
        node=DeviceId(_text(node)),
        node_name=_text(name),
        place=Place(place),
        certificate=_bytes(certificate),
        key=DeviceId(_text(key)),
        asked_at=_number(at),
        tried=bool(tried),
        submitted=bool(submitted),
        state=JobState(state),
        last_seq=int(_number(seq)),
        progress=None if progress is None else load(_text(progress), progress_from_json),
        note=_text(note),
        ended_at=_number(ended),
        failure=None if failure is None else load(_text(failure), failed_from_json),
        cancel_wanted=bool(cancel),
        fetched=bool(fetched),
        delivered=bool(delivered),
        sha256=_text(sha256),
        acked=bool(acked),
    )


def to_result(value: Value) -> JobResult:
    """The kept result; raises `IntegrityError`."""
    try:
        return decode_result(_bytes(value))
    except HomingError as error:
        raise unreadable() from error


def _text(value: Value) -> str:
    if not isinstance(value, str):
        raise unreadable()
    return value


def _number(value: Value) -> float:
    if not isinstance(value, int | float):
        raise unreadable()
    return value


def _bytes(value: Value) -> bytes:
    if not isinstance(value, bytes):
        raise unreadable()
    return value
