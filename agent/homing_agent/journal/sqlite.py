"""The journal in one SQLite file.

Write-ahead log. Most writes are on disk when the method returns (`synchronous=FULL`); the running
number of a stream is written through the kernel only (`NORMAL`), which a killed process survives.
"""

from __future__ import annotations

import contextlib
import sqlite3
from typing import TYPE_CHECKING

from homing_core.errors import ConflictError

from homing_agent.database import open_database
from homing_agent.journal.base import EffectRecord, EffectState, GenerationRecord, RequestRecord
from homing_agent.journal.json_form import (
    answer_to_json,
    call_to_json,
    message_from_json,
    message_to_json,
    result_to_json,
)
from homing_agent.journal.rows import (
    EFFECT_COLUMNS,
    SCHEMA,
    VERSION,
    dump,
    load,
    to_approval,
    to_effect,
    to_generation,
    to_request,
    told,
)

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence
    from pathlib import Path
    from typing import Self

    from homing_core.approvals import SignedApproval
    from homing_core.ids import ConversationId, GenerationId, RequestId, ToolCallId
    from homing_core.messages import Message
    from homing_core.tools import ToolResult

    from homing_agent.request import FinalAnswer


class SqliteJournal:
    """`homing_agent.journal.base.Journal` on a file. Use `open`."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        """Use `open`."""
        self._db = connection

    @classmethod
    def open(cls, path: Path) -> Self:
        """Open the journal, or make it, readable by its user alone.

        Raises:
            IntegrityError: the file is no journal, is damaged, or was written by a newer Homing.
            InternalError: it cannot be opened or made.
        """
        return cls(open_database(path, SCHEMA, VERSION))

    def begin_request(self, record: RequestRecord) -> RequestRecord:
        """As in `Journal`."""
        with told(), self._db:
            self._db.execute(
                "INSERT OR IGNORE INTO request VALUES (?, ?, ?, ?, NULL)",
                (record.id, record.conversation_id, record.content_hash, record.started_at),
            )
            row = self._db.execute("SELECT * FROM request WHERE id = ?", (record.id,)).fetchone()
        known = to_request(row)
        if known.content_hash != record.content_hash:
            msg = "this request id was used for something else"
            raise ConflictError(msg, "Choose a fresh id for a new request.")
        return known

    def finish_request(
        self, request_id: RequestId, answer: FinalAnswer, messages: Sequence[Message]
    ) -> None:
        """As in `Journal`."""
        with told(), self._transaction():
            done = self._db.execute(
                "UPDATE request SET answer = ? WHERE id = ? AND answer IS NULL",
                (dump(answer_to_json(answer)), request_id),
            )
            if done.rowcount:
                self._db.executemany(
                    "INSERT INTO message (conversation_id, request_id, body) VALUES (?, ?, ?)",
                    [
                        (answer.conversation_id, request_id, dump(message_to_json(message)))
                        for message in messages
                    ],
                )

    def last_finished(self) -> RequestRecord | None:
        """As in `Journal`."""
        with told():
            row = self._db.execute(
                "SELECT * FROM request WHERE answer IS NOT NULL"
                " ORDER BY started_at DESC, id DESC LIMIT 1"
            ).fetchone()
        return None if row is None else to_request(row)

    def unfinished_requests(self) -> tuple[RequestRecord, ...]:
        """As in `Journal`."""
        with told():
            rows = self._db.execute(
                "SELECT * FROM request WHERE answer IS NULL ORDER BY started_at, id"
            ).fetchall()
        return tuple(to_request(row) for row in rows)

    def conversation(self, conversation_id: ConversationId) -> tuple[Message, ...]:
        """As in `Journal`."""
        with told():
            rows = self._db.execute(
                "SELECT body FROM message WHERE conversation_id = ? ORDER BY number",
                (conversation_id,),
            ).fetchall()
        return tuple(message_from_json(load(row[0])) for row in rows)

    def begin_generation(self, record: GenerationRecord) -> None:
        """As in `Journal`."""
        with told():
            self._db.execute(
                "INSERT OR IGNORE INTO generation "
                "(id, request_id, place, node, content_hash, last_seq, ended) "
                "VALUES (?, ?, ?, ?, ?, ?, ?)",
                (
                    record.id,
                    record.request_id,
                    record.place.value,
                    record.node,
                    record.content_hash,
                    record.last_seq,
                    record.ended,
                ),
            )

    def saw(self, generation_id: GenerationId, seq: int) -> None:
        """As in `Journal`."""
        with told(), self._unsynced():
            self._db.execute(
                "UPDATE generation SET last_seq = max(last_seq, ?) WHERE id = ?",
                (seq, generation_id),
            )

    def end_generation(self, generation_id: GenerationId) -> None:
        """As in `Journal`."""
        with told(), self._unsynced():
            self._db.execute("UPDATE generation SET ended = 1 WHERE id = ?", (generation_id,))

    def open_generations(self, request_id: RequestId) -> tuple[GenerationRecord, ...]:
        """As in `Journal`."""
        with told():
            rows = self._db.execute(
                "SELECT id, request_id, place, node, content_hash, last_seq, ended FROM generation "
                "WHERE request_id = ? AND NOT ended ORDER BY number",
                (request_id,),
            ).fetchall()
        return tuple(to_generation(row) for row in rows)

    def begin_effect(self, record: EffectRecord) -> None:
        """As in `Journal`."""
        result = None if record.result is None else dump(result_to_json(record.result))
        row = (
            record.call.id,
            record.request_id,
            record.step,
            dump(call_to_json(record.call)),
            record.tool_hash,
            record.idempotent,
            record.approved_by,
            record.begun_at,
            record.state.value,
            result,
            record.say,
        )
        with told():
            try:
                self._db.execute("INSERT INTO effect VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", row)
            except sqlite3.IntegrityError as error:
                msg = "this call is recorded already"
                raise ConflictError(msg, "It is not run again.") from error

    def finish_effect(self, call_id: ToolCallId, result: ToolResult, say: str) -> None:
        """As in `Journal`."""
        with told():
            self._db.execute(
                "UPDATE effect SET state = CASE WHEN state = ? THEN state ELSE ? END, "
                "result = ?, say = ? WHERE call_id = ?",
                (
                    EffectState.JOB.value,
                    EffectState.FINISHED.value,
                    dump(result_to_json(result)),
                    say,
                    call_id,
                ),
            )

    def settle_effect(self, call_id: ToolCallId) -> None:
        """As in `Journal`."""
        with told():
            self._db.execute(
                "UPDATE effect SET state = ? WHERE call_id = ? AND state = ?",
                (EffectState.SETTLED.value, call_id, EffectState.BEGUN.value),
            )

    def effects(self, request_id: RequestId) -> tuple[EffectRecord, ...]:
        """As in `Journal`."""
        with told():
            rows = self._db.execute(
                f"SELECT {EFFECT_COLUMNS} FROM effect WHERE request_id = ? "  # noqa: S608  # constant
                "ORDER BY step, begun_at",
                (request_id,),
            ).fetchall()
        return tuple(to_effect(row) for row in rows)

    def record_approval(self, approval: SignedApproval) -> None:
        """As in `Journal`."""
        said = approval.statement
        with told():
            self._db.execute(
                "INSERT OR IGNORE INTO approval (request_id, id, step, tool_hash, argument_hash, "
                "verdict, device, expires_at, signature) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    said.request_id,
                    said.id,
                    said.step,
                    said.tool_hash,
                    said.argument_hash,
                    said.verdict.value,
                    said.device,
                    said.expires_at,
                    approval.signature,
                ),
            )

    def approvals(self, request_id: RequestId) -> tuple[SignedApproval, ...]:
        """As in `Journal`."""
        with told():
            rows = self._db.execute(
                "SELECT id, request_id, step, tool_hash, argument_hash, verdict, device, "
                "expires_at, signature FROM approval WHERE request_id = ? ORDER BY number",
                (request_id,),
            ).fetchall()
        return tuple(to_approval(row) for row in rows)

    def remember(self, conversation_id: ConversationId, tool_hash: str) -> None:
        """As in `Journal`."""
        with told():
            self._db.execute(
                "INSERT OR IGNORE INTO remembered VALUES (?, ?)", (conversation_id, tool_hash)
            )

    def remembered(self, conversation_id: ConversationId) -> frozenset[str]:
        """As in `Journal`."""
        with told():
            rows = self._db.execute(
                "SELECT tool_hash FROM remembered WHERE conversation_id = ?", (conversation_id,)
            ).fetchall()
        return frozenset(row[0] for row in rows)

    def close(self) -> None:
        """As in `Journal`."""
        self._db.close()

    @contextlib.contextmanager
    def _transaction(self) -> Generator[None]:
        self._db.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self._db.execute("ROLLBACK")
            raise
        self._db.execute("COMMIT")

    @contextlib.contextmanager
    def _unsynced(self) -> Generator[None]:
        self._db.execute("PRAGMA synchronous = NORMAL")
        try:
            yield
        finally:
            self._db.execute("PRAGMA synchronous = FULL")
