"""How jobs lie in SQLite: the tables, and rows to entries."""

from __future__ import annotations

from dataclasses import replace
from typing import Final, TypeAlias

from homing_core.errors import HomingError
from homing_core.ids import DeviceId, JobId
from homing_core.jobs import JobState
from homing_core.tools import Place
from homing_crypto.result_form import decode_result, encode_result

from homing_client.jobs.entry import JobEntry
from homing_client.jobs.json_form import (
    asked_from_json,
    asked_to_json,
    dump,
    failed_from_json,
    failed_to_json,
    load,
    progress_from_json,
    progress_to_json,
    unreadable,
)

Value: TypeAlias = "str | float | bytes | None"
VERSION: Final = 1
SCHEMA: Final = """
CREATE TABLE job (
  number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, request_id TEXT NOT NULL,
  tool_hash TEXT NOT NULL, argument_hash TEXT NOT NULL, asked TEXT NOT NULL,
  node TEXT NOT NULL, node_name TEXT NOT NULL, place TEXT NOT NULL,
  certificate BLOB NOT NULL, key TEXT NOT NULL,
  asked_at REAL NOT NULL, tried INTEGER NOT NULL, submitted INTEGER NOT NULL, state TEXT NOT NULL,
  last_seq INTEGER NOT NULL, progress TEXT, note TEXT NOT NULL, ended_at REAL NOT NULL,
  failure TEXT, cancel_wanted INTEGER NOT NULL, fetched INTEGER NOT NULL, result BLOB,
  sha256 TEXT NOT NULL, acked INTEGER NOT NULL,
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
    "fetched, result, sha256, acked"
)


def to_row(entry: JobEntry) -> tuple[Value, ...]:
    """An entry, in the order of `COLUMNS`."""
    progress, failure, result = entry.progress, entry.failure, entry.result
    return (
        entry.id,
        dump(asked_to_json(entry.asked)),
        entry.node,
        entry.node_name,
        entry.place.value,
        entry.certificate,
        entry.key,
        entry.asked_at,
        entry.tried,
        entry.submitted,
        entry.state.value,
        entry.last_seq,
        None if progress is None else dump(progress_to_json(progress)),
        entry.note,
        entry.ended_at,
        None if failure is None else dump(failed_to_json(failure)),
        entry.cancel_wanted,
        entry.fetched,
        None if result is None else encode_result(result),
        entry.sha256,
        entry.acked,
    )


def to_entry(row: tuple[Value, ...]) -> JobEntry:
    """A row in the order of `COLUMNS`; raises `IntegrityError`."""
    try:
        return _read(row)
    except (ValueError, TypeError, HomingError) as error:
        raise unreadable() from error


def _read(row: tuple[Value, ...]) -> JobEntry:
    job, asked, node, name, place, certificate, key, at, tried, submitted, state, seq, *rest = row
    progress, note, ended, failure, cancel, fetched, result, sha256, acked = rest
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
        result=None if result is None else decode_result(_bytes(result)),
        sha256=_text(sha256),
        acked=bool(acked),
    )


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
