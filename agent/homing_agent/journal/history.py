"""What was said on this phone: conversations to look at, to search, and to forget.

It reads and writes the journal's file beside whatever else does. Forgetting leaves a request's id
and the hash of what was asked, so that a repeated message stays harmless; every word goes, also
from the free pages of the file.
"""

from __future__ import annotations

import contextlib
import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from homing_core.errors import (
    ConflictError,
    HomingError,
    NotFoundError,
    UsageError,
)
from homing_core.generation import Failed
from homing_core.ids import ConversationId, RequestId
from homing_core.messages import Role, TextPart, ToolCallPart, ToolResultPart
from homing_core.tools import Place

from homing_agent.database import open_database
from homing_agent.journal.json_form import answer_to_json, message_from_json
from homing_agent.journal.rows import SCHEMA, VERSION, dump, load, told
from homing_agent.request import (
    NO_FIRST_TOKEN,
    UNKNOWN_CONFIDENCE,
    ExitStatus,
    FinalAnswer,
)

if TYPE_CHECKING:
    import sqlite3
    from pathlib import Path
    from typing import Self

    from homing_core.messages import Message

_LAST: Final = "last"
_ALL_BEGIN: Final = "conv-"
_LEAST_PREFIX: Final = 4


@dataclass(frozen=True, slots=True)
class Conversation:
    """A conversation.

    Attributes:
        id: its id.
        began_at: of its first request, seconds since the epoch.
        last_at: of its latest.
        requests: how many there are.
        title: what the person said first.
        found: the first text with the words that were looked for; empty where none were.
    """

    id: ConversationId
    began_at: float
    last_at: float
    requests: int
    title: str
    found: str = ""


@dataclass(frozen=True, slots=True)
class Told:
    """One message.

    Attributes:
        at: when its request was made, seconds since the epoch.
        message: what was said, called or given back.
    """

    at: float
    message: Message


class History:
    """The conversations of one journal. Use `open`."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        """Use `open`."""
        self._db = connection

    @classmethod
    def open(cls, path: Path) -> Self:
        """Open the journal's file; raises as `SqliteJournal.open`."""
        return cls(open_database(path, SCHEMA, VERSION))

    def close(self) -> None:
        """Let go of the file. Harmless if done."""
        self._db.close()

    def conversations(self, words: str = "") -> tuple[Conversation, ...]:
        """Those with any message, the newest first.

        Args:
            words: only those in which all of these are said, in any order and either case.
        """
        wanted = words.casefold().split()
        found: dict[ConversationId, Conversation] = {}
        texts: dict[ConversationId, list[str]] = {}
        with told():
            rows = self._db.execute(
                "SELECT m.conversation_id, m.request_id, r.started_at, m.body FROM message m"
                " JOIN request r ON r.id = m.request_id ORDER BY m.number"
            ).fetchall()
        seen: set[str] = set()
        for conversation, request, at, body in rows:
            message = _message(body)
            key = ConversationId(conversation)
            known = found.get(key) or Conversation(key, at, at, 0, "")
            title = known.title
            if not title and message is not None and message.role is Role.USER:
                title = text_of(message)
            more = known.requests + (request not in seen)
            found[key] = replace(known, last_at=max(known.last_at, at), requests=more, title=title)
            seen.add(request)
            texts.setdefault(key, []).append("" if message is None else text_of(message))
        kept = (
            replace(one, found=_passage(texts[key], wanted))
            for key, one in found.items()
            if _all_said(texts[key], wanted)
        )
        return tuple(sorted(kept, key=lambda one: -one.last_at))

    def find(self, name: str) -> ConversationId:
        """The conversation that somebody means.

        Args:
            name: its id, the beginning of it with or without `conv-`, or `last`.

        Raises:
            NotFoundError: there is none.
            UsageError: the beginning is too short, or fits several.
        """
        known = self.conversations()
        if name == _LAST and known:
            return known[0].id
        fitting = [one.id for one in known if short_id(one.id).startswith(short_id(name))]
        if len(fitting) == 1 and len(short_id(name)) >= _LEAST_PREFIX:
            return fitting[0]
        if fitting:
            msg = f"{name!r} is the beginning of {len(fitting)} conversations' ids"
            raise UsageError(msg, "Write more of it: homing history lists them.")
        msg = "there is no such conversation"
        raise NotFoundError(msg, "homing history lists them.")

    def messages(self, conversation: ConversationId) -> tuple[Told, ...]:
        """All of a conversation, oldest first."""
        with told():
            rows = self._db.execute(
                "SELECT r.started_at, m.body FROM message m JOIN request r ON r.id = m.request_id"
                " WHERE m.conversation_id = ? ORDER BY m.number",
                (conversation,),
            ).fetchall()
        return tuple(Told(at, message_from_json(load(body))) for at, body in rows)

    def forget(self, conversation: ConversationId) -> None:
        """Delete every word of a conversation, its calls and what was allowed in it.

        Raises:
            ConflictError: a request of it is being worked on.
            NotFoundError: there is nothing of it.
        """
        with told():
            self._db.execute("PRAGMA secure_delete = ON")
            with self._db:
                self._db.execute("BEGIN IMMEDIATE")
                self._forget(conversation)
            self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def _forget(self, conversation: ConversationId) -> None:
        requests = self._db.execute(
            "SELECT id, answer FROM request WHERE conversation_id = ?", (conversation,)
        ).fetchall()
        if not requests:
            msg = "there is no such conversation"
            raise NotFoundError(msg, "homing history lists them.")
        if any(answer is None for _, answer in requests):
            msg = "a request of this conversation has not ended"
            raise ConflictError(msg, "Wait until it has, or break it off with Ctrl-C.")
        self._db.executemany(
            "UPDATE request SET answer = ? WHERE id = ?",
            [(_wordless(RequestId(request), conversation), request) for request, _ in requests],
        )
        of_these = [(request,) for request, _ in requests]
        for table in ("effect", "approval", "generation"):
            self._db.executemany(
                f"DELETE FROM {table} WHERE request_id = ?",  # noqa: S608  # one of three words
                of_these,
            )
        for table in ("message", "remembered"):
            self._db.execute(
                f"DELETE FROM {table} WHERE conversation_id = ?",  # noqa: S608  # as above
                (conversation,),
            )


def short_id(name: str) -> str:
    """A conversation's id without what all of them begin with."""
    return name.removeprefix(_ALL_BEGIN)


def text_of(message: Message) -> str:
    """What a message says, calls and results included, as one line for each part."""
    lines: list[str] = []
    for part in message.parts:
        if isinstance(part, ToolCallPart):
            arguments = json.dumps(dict(part.call.arguments), ensure_ascii=False)
            lines.append(f"{part.call.name} {arguments}")
        elif isinstance(part, ToolResultPart):
            lines.append(part.result.content)
        elif isinstance(part, TextPart):
            lines.append(part.text)
    return "\n".join(lines)


def _message(body: str) -> Message | None:
    """A message; None if it cannot be read, which must not hide the others."""
    with contextlib.suppress(HomingError):
        return message_from_json(load(body))
    return None


def _all_said(texts: list[str], wanted: list[str]) -> bool:
    told = "\n".join(texts).casefold()
    return all(word in told for word in wanted)


def _passage(texts: list[str], wanted: list[str]) -> str:
    """The text with most of the words; empty where none are looked for."""
    if not wanted:
        return ""
    return max(texts, key=lambda text: sum(word in text.casefold() for word in wanted))


def _wordless(request: RequestId, conversation: ConversationId) -> str:
    """What is left of an answer, for whoever asks with the same id once more."""
    gone = NotFoundError("this conversation was deleted", "Ask anew, with a fresh id.")
    bare = FinalAnswer(
        request_id=request,
        conversation_id=conversation,
        place=Place.PHONE,
        node="",
        reason="",
        confidence=UNKNOWN_CONFIDENCE,
        model="",
        stand_in=False,
        ttft_ms=NO_FIRST_TOKEN,
        total_ms=0.0,
        text="",
        steps=(),
        exit_status=ExitStatus.FAILED.value,
        error=Failed.from_error(gone),
    )
    return dump(answer_to_json(bare))
