"""A conversation that is too long for a model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from homing_agent.compaction import compacted
from homing_agent.conversation import estimate_tokens
from homing_core.ids import ToolCallId, new_tool_call_id
from homing_core.messages import (
    Message,
    Role,
    TextPart,
    ToolCallPart,
    ToolResultPart,
    assistant,
    user,
)
from homing_core.provenance import Origin, Provenance, Trust
from homing_core.tools import ToolCall, ToolResult
from hypothesis import given
from hypothesis import strategies as st
from support.strategies import messages

if TYPE_CHECKING:
    from collections.abc import Sequence

NOTES = Provenance(Origin.TOOL, Trust.UNTRUSTED, source="notes")


def request(question: str, found: str, words: str) -> list[Message]:
    call = ToolCall(new_tool_call_id(), "search_notes", {"query": question})
    result = ToolResult(call.id, found, False, NOTES)  # noqa: FBT003
    return [
        user(question),
        Message(Role.ASSISTANT, (ToolCallPart(call, NOTES),)),
        Message(Role.TOOL, (ToolResultPart(result),)),
        assistant(words),
    ]


def ids(turns: Sequence[Message]) -> tuple[set[ToolCallId], set[ToolCallId]]:
    parts = [part for turn in turns for part in turn.parts]
    called = {part.call.id for part in parts if isinstance(part, ToolCallPart)}
    return called, {part.result.call_id for part in parts if isinstance(part, ToolResultPart)}


def test_what_fits_stays_as_it_is() -> None:
    turns = [*request("one", "a" * 2000, "b" * 2000), *request("two", "c", "d")]
    assert compacted(turns, estimate_tokens(turns)) == tuple(turns)


def test_earlier_requests_lose_their_middles_before_any_is_left_out() -> None:
    turns = [*request("one", "a" * 3000 + "end", "b" * 3000), *request("two", "c" * 900, "d" * 900)]
    kept = compacted(turns, estimate_tokens(turns) // 2)
    assert len(kept) == len(turns)
    (result,) = kept[2].parts
    assert isinstance(result, ToolResultPart)
    assert len(result.result.content) == 480
    assert result.result.content.startswith("aaa")
    assert result.result.content.endswith("end")
    assert result.result.provenance == NOTES
    assert kept[4:] == tuple(turns[4:])


def test_then_the_oldest_requests_go_whole() -> None:
    turns = [each for number in range(6) for each in request(f"{number}", "a" * 200, "b" * 200)]
    kept = compacted(turns, estimate_tokens(turns) // 3)
    assert 0 < len(kept) < len(turns)
    assert kept == tuple(turns[len(turns) - len(kept) :])
    assert kept[0].role is Role.USER
    called, returned = ids(kept)
    assert called == returned


def test_the_persons_own_words_are_never_shortened() -> None:
    turns = [user("x" * 2000), assistant("y" * 4000), *request("two", "c", "d")]
    kept = compacted(turns, estimate_tokens(turns) - 500)
    (part,) = kept[0].parts
    assert isinstance(part, TextPart)
    assert part.text == "x" * 2000


def test_a_request_that_is_too_long_by_itself_leaves_nothing() -> None:
    assert compacted(request("one", "a" * 5000, "b"), 100) == ()


@given(st.lists(messages, max_size=8), st.integers(0, 300))
def test_what_is_kept_fits_and_begins_with_the_person(turns: list[Message], tokens: int) -> None:
    kept = compacted(turns, tokens)
    assert estimate_tokens(kept) <= tokens
    assert not kept or kept == tuple(turns) or kept[0].role is Role.USER
