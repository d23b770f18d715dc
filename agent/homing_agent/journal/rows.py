"""How journal values lie in SQLite: the tables, and rows to values."""

from __future__ import annotations

import contextlib
import json
import sqlite3
from enum import Enum
from typing import TYPE_CHECKING, TypeVar, cast

from homing_core.approvals import ApprovalStatement, SignedApproval, Verdict
from homing_core.errors import IntegrityError, InternalError
from homing_core.ids import ApprovalId, ConversationId, DeviceId, GenerationId, RequestId
from homing_core.tools import Place

from homing_agent.journal.base import EffectRecord, EffectState, GenerationRecord, RequestRecord
from homing_agent.journal.json_form import answer_from_json, call_from_json, result_from_json

if TYPE_CHECKING:
    from collections.abc import Generator

    from homing_core.canonical import JsonValue

_E = TypeVar("_E", bound=Enum)

VERSION = 1
SCHEMA = """
CREATE TABLE request (
  id TEXT PRIMARY KEY, conversation_id TEXT NOT NULL, content_hash TEXT NOT NULL,
  started_at REAL NOT NULL, answer TEXT
) WITHOUT ROWID;
CREATE TABLE message (
  number INTEGER PRIMARY KEY, conversation_id TEXT NOT NULL, request_id TEXT NOT NULL,
  body TEXT NOT NULL
);
CREATE INDEX message_conversation ON message (conversation_id, number);
CREATE TABLE generation (
  number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, request_id TEXT NOT NULL,
  place TEXT NOT NULL, node TEXT NOT NULL, content_hash TEXT NOT NULL,
  last_seq INTEGER NOT NULL, ended INTEGER NOT NULL
);
CREATE INDEX generation_request ON generation (request_id, ended);
CREATE TABLE effect (
  call_id TEXT PRIMARY KEY, request_id TEXT NOT NULL, step INTEGER NOT NULL, call TEXT NOT NULL,
  tool_hash TEXT NOT NULL, idempotent INTEGER NOT NULL, approved_by TEXT NOT NULL,
  begun_at REAL NOT NULL, state TEXT NOT NULL, result TEXT, say TEXT NOT NULL
) WITHOUT ROWID;
CREATE INDEX effect_request ON effect (request_id, step);
CREATE TABLE approval (
  number INTEGER PRIMARY KEY, request_id TEXT NOT NULL, id TEXT NOT NULL UNIQUE,
  step INTEGER NOT NULL, tool_hash TEXT NOT NULL, argument_hash TEXT NOT NULL,
  verdict TEXT NOT NULL, device TEXT NOT NULL, expires_at INTEGER NOT NULL, signature BLOB NOT NULL
);
CREATE INDEX approval_request ON approval (request_id, number);
CREATE TABLE remembered (
  conversation_id TEXT NOT NULL, tool_hash TEXT NOT NULL,
  PRIMARY KEY (conversation_id, tool_hash)
) WITHOUT ROWID;
"""
EFFECT_COLUMNS = (
    "request_id, step, call, tool_hash, idempotent, approved_by, begun_at, state, result, say"
)


def dump(value: JsonValue) -> str:
    """Compact JSON text."""
    return json.dumps(value, ensure_ascii=True, separators=(",", ":"))


def load(text: str) -> JsonValue:
    """Read it back; raises `IntegrityError`."""
    try:
        return cast("JsonValue", json.loads(text))
    except (ValueError, RecursionError) as error:
        raise _unreadable() from error


def to_request(row: tuple[str, str, str, float, str | None]) -> RequestRecord:
    """A row of `request`."""
    request_id, conversation_id, content_hash, started_at, answer = row
    return RequestRecord(
        RequestId(request_id),
        ConversationId(conversation_id),
        content_hash,
        started_at,
        None if answer is None else answer_from_json(load(answer)),
    )


def to_generation(row: tuple[str, str, str, str, str, int, int]) -> GenerationRecord:
    """A row of `generation`."""
    generation_id, request_id, place, node, content_hash, last_seq, ended = row
    return GenerationRecord(
        GenerationId(generation_id),
        RequestId(request_id),
        _member(Place, place),
        node,
        content_hash,
        last_seq,
        bool(ended),
    )


def to_effect(
    row: tuple[str, int, str, str, int, str, float, str, str | None, str],
) -> EffectRecord:
    """A row of `effect`, in the order of `EFFECT_COLUMNS`."""
    request_id, step, call, tool_hash, idempotent, approved_by, begun_at, state, result, say = row
    return EffectRecord(
        RequestId(request_id),
        step,
        call_from_json(load(call)),
        tool_hash,
        bool(idempotent),
        approved_by,
        begun_at,
        _member(EffectState, state),
        None if result is None else result_from_json(load(result)),
        say,
    )


def to_approval(row: tuple[str, str, int, str, str, str, str, int, bytes]) -> SignedApproval:
    """A row of `approval`."""
    approval_id, request_id, step, tool_hash, argument_hash, verdict, device, expires, sig = row
    statement = ApprovalStatement(
        ApprovalId(approval_id),
        RequestId(request_id),
        step,
        tool_hash,
        argument_hash,
        _member(Verdict, verdict),
        DeviceId(device),
        expires,
    )
    return SignedApproval(statement, sig)


def _member(kind: type[_E], text: str) -> _E:
    try:
        return kind(text)
    except ValueError as error:
        raise _unreadable() from error


def _unreadable() -> IntegrityError:
    msg = "the journal holds an entry that cannot be read"
    return IntegrityError(msg, "Move the journal's file away to start a new one.")


@contextlib.contextmanager
def told() -> Generator[None]:
    """Say what went wrong with the file in a person's words; raises `InternalError`."""
    try:
        yield
    except sqlite3.DatabaseError as error:
        msg = "the journal could not be read or written"
        raise InternalError(msg, "Check free space and the folder's mode.") from error
