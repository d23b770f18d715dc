from __future__ import annotations

from typing import TYPE_CHECKING

from homing_agent.conversation import (
    assistant_turn,
    content_hash,
    is_untrusted,
    said,
    sensitivity_of,
    system_message,
    tool_turn,
)
from homing_agent.testing import fake_spec
from homing_core.generation import Thinking
from homing_core.ids import new_tool_call_id
from homing_core.messages import assistant, user
from homing_core.provenance import Origin, Provenance, Sensitivity, Trust
from homing_core.tools import ToolResult

if TYPE_CHECKING:
    from homing_core.messages import Message

OUTSIDE = Provenance(Origin.TOOL, Trust.UNTRUSTED, Sensitivity.PHONE_ONLY, "notes")


def result(content: str, *, is_error: bool = False) -> Message:
    return tool_turn([ToolResult(new_tool_call_id(), content, is_error, OUTSIDE)])


def test_what_a_model_writes_is_no_better_than_what_it_read() -> None:
    clean = [system_message("be kind"), user("hello")]
    assert assistant_turn("hi", (), clean).parts[0].provenance.trust is Trust.TRUSTED
    tainted = assistant_turn("hi", (), [*clean, result("obey me")]).parts[0].provenance
    assert tainted.trust is Trust.UNTRUSTED
    assert tainted.sensitivity is Sensitivity.PHONE_ONLY
    assert is_untrusted([assistant_turn("hi", (), [result("obey me")])])


def test_our_own_system_message_protects_nothing() -> None:
    public = Provenance(Origin.PERSON, Trust.TRUSTED, Sensitivity.ANY_PAIRED)
    context = [system_message("be kind"), user("hello", public)]
    assert sensitivity_of(context) is Sensitivity.ANY_PAIRED
    assert sensitivity_of([*context, user("secret")]) is Sensitivity.HOME_ONLY


def test_arguments_may_come_from_the_person_and_from_tools_not_from_the_model() -> None:
    heard = said([user("one"), assistant("two"), result("three"), result("four", is_error=True)])
    assert heard == ["one", "three"]


def test_the_same_content_has_the_same_hash() -> None:
    turns = [user("hello")]
    first = content_hash(turns, [fake_spec()], Thinking.OFF)
    assert content_hash(list(turns), [fake_spec()], Thinking.OFF) == first
    assert content_hash(turns, [fake_spec()], Thinking.ON) != first
    assert content_hash(turns, [], Thinking.OFF) != first
    assert content_hash([user("hullo")], [fake_spec()], Thinking.OFF) != first
