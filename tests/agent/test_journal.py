from __future__ import annotations

import json
import sqlite3
import stat
import subprocess
import sys
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from homing_agent.journal.base import EffectRecord, EffectState, GenerationRecord, RequestRecord
from homing_agent.journal.json_form import (
    answer_from_json,
    answer_to_json,
    message_from_json,
    message_to_json,
)
from homing_agent.journal.memory import MemoryJournal
from homing_agent.journal.sqlite import SqliteJournal
from homing_agent.request import FinalAnswer, ToolStep
from homing_core.approvals import ApprovalStatement, SignedApproval, Verdict
from homing_core.errors import ConflictError, IntegrityError, InternalError
from homing_core.generation import Failed
from homing_core.ids import (
    DeviceId,
    RequestId,
    new_approval_id,
    new_conversation_id,
    new_generation_id,
    new_request_id,
    new_tool_call_id,
)
from homing_core.messages import assistant, user
from homing_core.provenance import Origin, Provenance, Trust
from homing_core.tools import Place, ToolCall, ToolResult
from hypothesis import given, settings
from hypothesis import strategies as st
from support.strategies import messages

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from homing_agent.journal.base import Journal
    from homing_core.canonical import JsonValue
    from homing_core.messages import Message

TOOL = Provenance(Origin.TOOL, Trust.UNTRUSTED, source="notes")


@pytest.fixture(params=["memory", "sqlite"])
def journal(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Journal]:
    opened: Journal = (
        MemoryJournal()
        if request.param == "memory"
        else SqliteJournal.open(tmp_path / "journal.sqlite3")
    )
    yield opened
    opened.close()


def request_record(**changes: object) -> RequestRecord:
    record = RequestRecord(new_request_id(), new_conversation_id(), "hash", 10.0)
    return replace(record, **changes)  # type: ignore[arg-type]  # named by the dataclass


def answer(record: RequestRecord, text: str = "hello") -> FinalAnswer:
    call = ToolCall(new_tool_call_id(), "act", {"text": "ü\ud800", "n": [1, None, {"x": 0.5}]})
    return FinalAnswer(
        request_id=record.id,
        conversation_id=record.conversation_id,
        place=Place.HOME,
        node="attic",
        reason="two tools looked alike",
        confidence=0.52,
        model="m",
        stand_in=True,
        ttft_ms=12.5,
        total_ms=99.0,
        text=text,
        steps=(ToolStep(call, Place.PHONE, "person", ToolResult(call.id, "ok", False, TOOL)),),  # noqa: FBT003
        exit_status=1,
        error=Failed("unavailable", "gone", "come back", retryable=True, retry_after_ms=5),
        features={"name_margin": 0.11},
    )


def effect(record: RequestRecord, step: int = 1) -> EffectRecord:
    call = ToolCall(new_tool_call_id(), "act", {"text": "x"})
    return EffectRecord(record.id, step, call, "toolhash", False, "rule", 11.0)  # noqa: FBT003


def test_a_repeated_request_gives_its_first_record(journal: Journal) -> None:
    record = request_record()
    assert journal.begin_request(record) == record
    again = replace(record, started_at=99.0, conversation_id=new_conversation_id())
    assert journal.begin_request(again) == record


def test_a_repeated_request_gives_its_recorded_answer(journal: Journal) -> None:
    record = journal.begin_request(request_record())
    end = answer(record)
    journal.finish_request(record.id, end, [user("hi"), assistant("hello")])
    assert journal.begin_request(record).answer == end
    assert journal.unfinished_requests() == ()


def test_an_id_with_other_content_conflicts(journal: Journal) -> None:
    record = journal.begin_request(request_record())
    with pytest.raises(ConflictError):
        journal.begin_request(replace(record, content_hash="other"))


def test_the_first_end_stays_and_adds_its_messages_once(journal: Journal) -> None:
    record = journal.begin_request(request_record())
    turns = [user("hi"), assistant("hello")]
    journal.finish_request(record.id, answer(record, "first"), turns)
    journal.finish_request(record.id, answer(record, "second"), turns)
    known = journal.begin_request(record).answer
    assert known is not None
    assert known.text == "first"
    assert list(journal.conversation(record.conversation_id)) == turns


def test_ending_an_unknown_request_changes_nothing(journal: Journal) -> None:
    record = request_record()
    journal.finish_request(record.id, answer(record), [user("hi")])
    assert journal.conversation(record.conversation_id) == ()


def test_conversations_are_apart_and_in_order(journal: Journal) -> None:
    one, other = new_conversation_id(), new_conversation_id()
    for number, conversation in enumerate((one, other, one)):
        record = journal.begin_request(request_record(conversation_id=conversation))
        journal.finish_request(record.id, answer(record), [user(str(number))])
    assert [message.text for message in journal.conversation(one)] == ["0", "2"]
    assert [message.text for message in journal.conversation(other)] == ["1"]
    assert journal.conversation(new_conversation_id()) == ()


def test_unfinished_requests_are_known_oldest_first(journal: Journal) -> None:
    late = journal.begin_request(request_record(started_at=20.0))
    early = journal.begin_request(request_record(started_at=5.0))
    assert journal.unfinished_requests() == (early, late)


def test_generations_keep_the_highest_number(journal: Journal) -> None:
    record = request_record()
    generation = GenerationRecord(new_generation_id(), record.id, Place.HOME, "node", "digest")
    journal.begin_generation(generation)
    journal.begin_generation(replace(generation, node="another"))
    for seq in (1, 3, 2):
        journal.saw(generation.id, seq)
    assert journal.open_generations(record.id) == (replace(generation, last_seq=3),)
    journal.end_generation(generation.id)
    assert journal.open_generations(record.id) == ()


def test_unknown_generations_are_nobodys_problem(journal: Journal) -> None:
    stranger = new_generation_id()
    journal.saw(stranger, 4)
    journal.end_generation(stranger)
    assert journal.open_generations(new_request_id()) == ()


def test_an_effect_is_begun_then_finished(journal: Journal) -> None:
    record = request_record()
    first = effect(record)
    journal.begin_effect(first)
    assert journal.effects(record.id) == (first,)
    result = ToolResult(first.call.id, "ok", is_error=False, provenance=TOOL)
    journal.finish_effect(first.call.id, result, "It is done.")
    expected = replace(first, state=EffectState.FINISHED, result=result, say="It is done.")
    assert journal.effects(record.id) == (expected,)


def test_an_effect_is_not_begun_twice(journal: Journal) -> None:
    first = effect(request_record())
    journal.begin_effect(first)
    with pytest.raises(ConflictError):
        journal.begin_effect(first)


def test_only_an_effect_of_unknown_outcome_is_settled(journal: Journal) -> None:
    record = request_record()
    begun, finished = effect(record, 1), effect(record, 2)
    for each in (finished, begun):
        journal.begin_effect(each)
    result = ToolResult(finished.call.id, "ok", is_error=False, provenance=TOOL)
    journal.finish_effect(finished.call.id, result, "")
    for each in (begun, finished):
        journal.settle_effect(each.call.id)
    states = [each.state for each in journal.effects(record.id)]
    assert states == [EffectState.SETTLED, EffectState.FINISHED]


def test_approvals_are_kept_as_signed(journal: Journal) -> None:
    request_id = new_request_id()
    kept = [
        SignedApproval(
            ApprovalStatement(
                new_approval_id(), request_id, step, "t", "a", verdict, DeviceId("d" * 64), 99
            ),
            b"\x00sig",
        )
        for step, verdict in ((1, Verdict.ALLOW), (2, Verdict.DENY))
    ]
    for approval in (*kept, kept[0]):
        journal.record_approval(approval)
    assert list(journal.approvals(request_id)) == kept
    assert journal.approvals(new_request_id()) == ()


def test_a_remembered_yes_is_for_one_conversation(journal: Journal) -> None:
    here, there = new_conversation_id(), new_conversation_id()
    for _ in range(2):
        journal.remember(here, "toolhash")
    assert journal.remembered(here) == {"toolhash"}
    assert journal.remembered(there) == frozenset()


def test_everything_is_there_after_reopening(tmp_path: Path) -> None:
    path = tmp_path / "journal.sqlite3"
    first = SqliteJournal.open(path)
    record = first.begin_request(request_record())
    begun = effect(record)
    first.begin_effect(begun)
    first.close()
    second = SqliteJournal.open(path)
    assert second.unfinished_requests() == (record,)
    assert second.effects(record.id) == (begun,)
    second.close()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_killed_process_loses_nothing_that_was_recorded(tmp_path: Path) -> None:
    script = """
import os, signal, sys
from pathlib import Path
from homing_agent.journal.base import EffectRecord, GenerationRecord, RequestRecord
from homing_agent.journal.sqlite import SqliteJournal
from homing_core.ids import *
from homing_core.tools import Place, ToolCall
journal = SqliteJournal.open(Path(sys.argv[1]))
record = journal.begin_request(RequestRecord(new_request_id(), new_conversation_id(), "h", 1.0))
generation = new_generation_id()
journal.begin_generation(GenerationRecord(generation, record.id, Place.HOME, "node", "digest"))
journal.begin_effect(EffectRecord(record.id, 1, ToolCall(new_tool_call_id(), "act", {}), "t", False,
                                  "rule", 1.0))
journal.saw(generation, 7)
print(record.id, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""
    path = tmp_path / "journal.sqlite3"
    killed = subprocess.run(  # noqa: S603  # our own interpreter and script
        [sys.executable, "-c", script, str(path)], capture_output=True, text=True, check=False
    )
    assert killed.returncode == -9, killed.stderr
    request_id = RequestId(killed.stdout.strip())
    journal = SqliteJournal.open(path)
    assert [record.id for record in journal.unfinished_requests()] == [request_id]
    assert [record.last_seq for record in journal.open_generations(request_id)] == [7]
    assert [record.state for record in journal.effects(request_id)] == [EffectState.BEGUN]
    journal.close()


@pytest.mark.parametrize("content", [b"not a database at all, but long enough" * 40, b"x"])
def test_a_file_that_is_no_journal_is_reported_and_kept(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "journal.sqlite3"
    path.write_bytes(content)
    with pytest.raises(IntegrityError, match="journal") as caught:
        SqliteJournal.open(path)
    assert caught.value.hint
    assert path.read_bytes() == content


def test_a_journal_of_another_version_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "journal.sqlite3"
    SqliteJournal.open(path).close()
    database = sqlite3.connect(path)
    database.execute("PRAGMA user_version = 99")
    database.close()
    with pytest.raises(IntegrityError, match="another version"):
        SqliteJournal.open(path)


def test_a_folder_that_does_not_exist_is_reported(tmp_path: Path) -> None:
    with pytest.raises(InternalError, match="cannot be opened"):
        SqliteJournal.open(tmp_path / "missing" / "journal.sqlite3")


def test_a_damaged_entry_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "journal.sqlite3"
    journal = SqliteJournal.open(path)
    record = journal.begin_request(request_record())
    journal.finish_request(record.id, answer(record), [user("hi")])
    database = sqlite3.connect(path)
    with database:
        database.execute('UPDATE message SET body = \'{"role":"user"\'')
        database.execute("UPDATE request SET answer = '[]'")
    database.close()
    with pytest.raises(IntegrityError):
        journal.conversation(record.conversation_id)
    with pytest.raises(IntegrityError):
        journal.begin_request(record)
    journal.close()


def test_a_full_disk_is_an_error_for_people(tmp_path: Path) -> None:
    journal = SqliteJournal.open(tmp_path / "journal.sqlite3")
    journal.close()
    with pytest.raises(InternalError) as caught:
        journal.begin_request(request_record())
    assert "sqlite" not in str(caught.value).lower()


@settings(max_examples=60)
@given(st.lists(messages, max_size=3))
def test_messages_come_back_as_they_were(turns: list[Message]) -> None:
    for message in turns:
        assert message_from_json(json.loads(json.dumps(message_to_json(message)))) == message


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["role", "parts", "text", "provenance", "origin", "trust", "call", "result"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(json_values)
def test_malformed_entries_are_one_kind_of_error(value: JsonValue) -> None:
    for read in (message_from_json, answer_from_json):
        try:
            read(value)
        except IntegrityError as error:
            assert error.hint  # noqa: PT017  # an entry may also be well formed


def test_answers_come_back_as_they_were() -> None:
    end = answer(request_record())
    assert answer_from_json(json.loads(json.dumps(answer_to_json(end)))) == end
    bare = replace(end, error=None, steps=(replace(end.steps[0], result=None),))
    assert answer_from_json(answer_to_json(bare)) == bare


def test_ids_in_an_answer_are_checked() -> None:
    form = {**answer_to_json(answer(request_record())), "request_id": "req-nonsense"}
    with pytest.raises(IntegrityError):
        answer_from_json(form)
