from __future__ import annotations

from dataclasses import replace

import pytest
from homing_agent.registry import Registry
from homing_agent.testing import FakeTool, fake_spec
from homing_core.errors import ConflictError, InvalidDataError, NotFoundError
from homing_core.ids import new_tool_call_id
from homing_core.tools import ToolCall


def test_only_tools_that_can_act_here_are_offered() -> None:
    registry = Registry([FakeTool(fake_spec("one")), FakeTool(fake_spec("two"), reason="no torch")])
    assert [spec.name for spec in registry.offered()] == ["one"]
    assert [(tool.name, tool.reason) for tool in registry.unavailable()] == [("two", "no torch")]
    assert registry.names == {"one", "two"}


def test_a_tool_whose_schema_cannot_be_checked_is_not_offered() -> None:
    odd = replace(fake_spec("odd"), parameters={"type": "object", "anyOf": []})
    registry = Registry([FakeTool(odd)])
    assert registry.offered() == ()
    assert "anyOf" in registry.unavailable()[0].reason


def test_two_tools_with_one_name_conflict() -> None:
    with pytest.raises(ConflictError, match="act"):
        Registry([FakeTool(), FakeTool()])


def test_a_call_of_an_unknown_tool_names_the_known_ones() -> None:
    registry = Registry([FakeTool(), FakeTool(fake_spec("gone"), reason="not here")])
    for name in ("nonsense", "gone", "a\x1b[31mb"):
        with pytest.raises(NotFoundError) as caught:
            registry.check(ToolCall(new_tool_call_id(), name, {}))
        assert "act" in caught.value.hint
        assert "\x1b" not in str(caught.value)


def test_a_call_must_fit_the_schema() -> None:
    registry = Registry([FakeTool()])
    with pytest.raises(InvalidDataError, match="'text'"):
        registry.check(ToolCall(new_tool_call_id(), "act", {"text": 1}))
    assert registry.check(ToolCall(new_tool_call_id(), "act", {"text": "x"})).spec.name == "act"
