"""Conversations to look at, to search and to forget."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from homing_agent.journal.base import EffectRecord, GenerationRecord, RequestRecord
from homing_agent.journal.history import History, text_of
from homing_agent.journal.sqlite import SqliteJournal
from homing_agent.request import FinalAnswer, ToolStep
from homing_core.errors import ConflictError, IntegrityError, NotFoundError, UsageError
from homing_core.ids import (
    ConversationId,
    new_conversation_id,
    new_generation_id,
    new_request_id,
    new_tool_call_id,
)
from homing_core.messages import Message, Role, ToolCallPart, ToolResultPart, assistant, user
from homing_core.provenance import Origin, Provenance, Trust
from homing_core.tools import Place, ToolCall, ToolResult

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from homing_agent.journal.base import Journal

TOOL = Provenance(Origin.TOOL, Trust.TRUSTED, source="notes")


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[SqliteJournal]:
    opened = SqliteJournal.open(tmp_path / "journal.db")
    yield opened
    opened.close()


@pytest.fixture
def history(tmp_path: Path, journal: SqliteJournal) -> Iterator[History]:
    del journal  # both are open at once, as with a resident process
    opened = History.open(tmp_path / "journal.db")
    yield opened
    opened.close()


def finished(
    journal: Journal,
    at: float,
    turns: Sequence[Message],
    conversation: ConversationId | None = None,
) -> RequestRecord:
    call = ToolCall(new_tool_call_id(), "save_note", {"text": "plums"})
    record = RequestRecord(new_request_id(), conversation or new_conversation_id(), "hash", at)
    record = journal.begin_request(record)
    journal.begin_generation(GenerationRecord(new_generation_id(), record.id, Place.PHONE, "", "h"))
    journal.begin_effect(EffectRecord(record.id, 1, call, "t", False, "rule", at))  # noqa: FBT003
    result = ToolResult(call.id, "Noted: plums", False, TOOL)  # noqa: FBT003
    journal.finish_effect(call.id, result, "Noted: plums")
    answer = FinalAnswer(
        record.id,
        record.conversation_id,
        Place.PHONE,
        "",
        "the phone is sure of plums",
        0.9,
        "m",
        False,  # noqa: FBT003
        1.0,
        2.0,
        "Noted: plums",
        (ToolStep(call, Place.PHONE, "rule", result),),
        0,
        None,
    )
    journal.finish_request(record.id, answer, turns)
    return record


def test_the_newest_comes_first_with_what_was_said_first(
    journal: SqliteJournal, history: History
) -> None:
    assert history.conversations() == ()
    one = finished(journal, 10, [user("Hello there"), assistant("Good day")])
    two = finished(journal, 20, [user("Is it late?"), assistant("No")])
    finished(journal, 30, [user("And now?")], one.conversation_id)
    found = history.conversations()
    assert [(each.id, each.requests, each.title) for each in found] == [
        (one.conversation_id, 2, "Hello there"),
        (two.conversation_id, 1, "Is it late?"),
    ]
    assert (found[0].began_at, found[0].last_at) == (10, 30)


def test_all_words_are_looked_for_in_all_that_was_said_called_and_given_back(
    journal: SqliteJournal, history: History
) -> None:
    call = ToolCall(new_tool_call_id(), "search_notes", {"query": "Übergabe"})
    result = ToolResult(call.id, "The boiler holds 1.5 bar", False, TOOL)  # noqa: FBT003
    turns = [
        user("What did I write?"),
        Message(Role.ASSISTANT, (ToolCallPart(call, TOOL),)),
        Message(Role.TOOL, (ToolResultPart(result),)),
    ]
    wanted = finished(journal, 10, turns)
    finished(journal, 20, [user("Something else about a boiler")])
    for words in ("BOILER bar", "übergabe", "write boiler"):
        (found,) = history.conversations(words)
        assert found.id == wanted.conversation_id
        assert found.found
    assert len(history.conversations("boiler")) == 2
    assert history.conversations("boiler helicopter") == ()


def test_a_conversation_is_found_by_the_beginning_of_its_id_or_as_the_last(
    journal: SqliteJournal, history: History
) -> None:
    with pytest.raises(NotFoundError):
        history.find("last")
    ids = [
        ConversationId(f"conv-{head}{new_conversation_id()[11:]}") for head in ("abcd12", "abcd34")
    ]
    for at, one in enumerate(ids):
        finished(journal, at, [user("Hello")], one)
    assert history.find("last") == ids[1]
    assert history.find("abcd1") == history.find("conv-abcd1") == ids[0]
    assert history.find(ids[1]) == ids[1]
    for unclear in ("abcd", "a", "conv-", "conv-abcd"):
        with pytest.raises(UsageError):
            history.find(unclear)
    with pytest.raises(NotFoundError):
        history.find("ffff")


def test_messages_come_in_order(journal: SqliteJournal, history: History) -> None:
    one = finished(journal, 10, [user("Hello"), assistant("Good day")])
    told = history.messages(one.conversation_id)
    assert [(each.at, text_of(each.message)) for each in told] == [(10, "Hello"), (10, "Good day")]


def test_of_what_is_deleted_no_word_is_left_in_any_file(
    journal: SqliteJournal, history: History, tmp_path: Path
) -> None:
    words = ["note the plums", "Noted: plums"]
    gone = finished(journal, 10, [user(words[0]), assistant(words[1])])
    journal.remember(gone.conversation_id, "t")
    kept = finished(journal, 20, [user("note the pears"), assistant("Noted")])
    history.forget(gone.conversation_id)
    assert [each.id for each in history.conversations()] == [kept.conversation_id]
    assert journal.conversation(gone.conversation_id) == ()
    assert journal.effects(gone.id) == ()
    assert len(journal.effects(kept.id)) == 1
    assert journal.remembered(gone.conversation_id) == frozenset()
    history.forget(kept.conversation_id)
    left = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert b"plums" not in left
    assert b"pears" not in left


def test_a_repeated_request_of_a_deleted_conversation_does_nothing_and_says_so(
    journal: SqliteJournal, history: History
) -> None:
    gone = finished(journal, 10, [user("note the plums")])
    history.forget(gone.conversation_id)
    again = journal.begin_request(gone)
    assert again.answer is not None
    assert again.answer.error is not None
    assert "was deleted" in again.answer.error.what
    with pytest.raises(ConflictError):
        journal.begin_request(replace(gone, content_hash="other"))


def test_a_conversation_that_is_at_work_is_not_deleted(
    journal: SqliteJournal, history: History
) -> None:
    one = finished(journal, 10, [user("Hello")])
    journal.begin_request(RequestRecord(new_request_id(), one.conversation_id, "h", 20))
    with pytest.raises(ConflictError):
        history.forget(one.conversation_id)
    assert len(history.messages(one.conversation_id)) == 1
    with pytest.raises(NotFoundError):
        history.forget(new_conversation_id())


def test_an_entry_that_cannot_be_read_hides_no_other(
    journal: SqliteJournal, history: History, tmp_path: Path
) -> None:
    import sqlite3  # noqa: PLC0415  # to damage the file

    broken = finished(journal, 10, [user("Hello")])
    finished(journal, 20, [user("Good day")])
    with sqlite3.connect(tmp_path / "journal.db") as raw:
        raw.execute(
            "UPDATE message SET body = '{' WHERE conversation_id = ?", (broken.conversation_id,)
        )
    assert [each.title for each in history.conversations()] == ["Good day", ""]
    with pytest.raises(IntegrityError):
        history.messages(broken.conversation_id)
    history.forget(broken.conversation_id)
    assert len(history.conversations()) == 1
