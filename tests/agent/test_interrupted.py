"""What happens to a request whose process was killed."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from pathlib import Path

import pytest
from homing_agent.journal.base import EffectRecord, EffectState, RequestRecord
from homing_agent.journal.sqlite import SqliteJournal
from homing_agent.testing import FakeTool, MemoryJournal
from homing_core.ids import new_conversation_id, new_tool_call_id, parse_request_id
from homing_core.provenance import Origin, Provenance, Trust
from homing_core.tools import ToolCall, ToolResult
from support.agent_world import PlayedEngine, World, ask, call_event, calls, question, text

TOOL = Provenance(Origin.TOOL, Trust.TRUSTED)
ALLOWED = frozenset({"act"})


def begun(
    journal: MemoryJournal, asked_id: str, hash_: str, *, idempotent: bool = False
) -> ToolCall:
    request_id = parse_request_id(asked_id)
    journal.begin_request(RequestRecord(request_id, new_conversation_id(), hash_, 1.0))
    call = ToolCall(new_tool_call_id(), "act", {"text": "tea"})
    journal.begin_effect(EffectRecord(request_id, 1, call, "t", idempotent, "person", 1.0))
    return call


async def test_what_began_and_is_not_known_to_have_ended_is_said_and_never_run_again() -> None:
    journal, tool = MemoryJournal(), FakeTool()
    asked = question("tea", allowed_tools=ALLOWED)
    begun(journal, asked.request_id, asked.content_hash)
    world = World(PlayedEngine([calls(call_event(text="tea"))]), [tool], journal=journal)
    seen = await ask(world.agent(), asked)
    answer = seen.answer
    assert answer.exit_status == 1
    assert answer.error is not None
    assert 'act {"text":"tea"}' in answer.error.what
    assert "not known whether it happened" in answer.error.what
    assert tool.calls == []
    assert world.engine.requests == []
    assert [e.state for e in journal.effects(asked.request_id)] == [EffectState.SETTLED]
    assert (await ask(world.agent(), asked)).answer == answer


async def test_what_is_known_to_be_done_is_told_again_and_not_done_again() -> None:
    journal, tool = MemoryJournal(), FakeTool()
    asked = question("tea", allowed_tools=ALLOWED)
    call = begun(journal, asked.request_id, asked.content_hash)
    journal.finish_effect(call.id, ToolResult(call.id, "ok", False, TOOL), "It is done.")  # noqa: FBT003
    world = World(PlayedEngine([calls(call_event(text="tea"))]), [tool], journal=journal)
    seen = await ask(world.agent(), asked)
    assert seen.answer.exit_status == 0
    assert seen.answer.text == "It is done."
    assert seen.answer.reason == "picked up after an interruption"
    assert tool.calls == []


@pytest.mark.parametrize("failed", [True, False])
async def test_what_changed_nothing_is_simply_worked_on_again(failed: bool) -> None:  # noqa: FBT001
    journal = MemoryJournal()
    asked = question("tea", allowed_tools=ALLOWED)
    call = begun(journal, asked.request_id, asked.content_hash, idempotent=not failed)
    if failed:
        result = ToolResult(call.id, "it was locked", is_error=True, provenance=TOOL)
        journal.finish_effect(call.id, result, "")
    tool = FakeTool()
    world = World(PlayedEngine([calls(call_event(text="tea"))]), [tool], journal=journal)
    assert world.agent().recover() == ()
    seen = await ask(world.agent(), asked)
    assert seen.answer.exit_status == 0
    assert tool.calls == [{"text": "tea"}]


async def test_recovery_ends_what_was_left_once() -> None:
    journal = MemoryJournal()
    asked = question("tea")
    begun(journal, asked.request_id, asked.content_hash)
    agent = World(PlayedEngine([text("nothing here")]), journal=journal).agent()
    (end,) = agent.recover()
    assert end.request_id == asked.request_id
    assert end.exit_status == 1
    assert agent.recover() == ()
    assert (await ask(agent, asked)).answer == end


KILLED = """
import asyncio, os, signal, sys
from pathlib import Path
sys.path.insert(0, sys.argv[3])
from homing_agent.journal.sqlite import SqliteJournal
from homing_agent.testing import FakeTool
from homing_agent.tool import ToolOutput
from support.agent_world import PlayedEngine, World, ask, call_event, calls, question

marks = Path(sys.argv[2])

def act(arguments):
    with marks.open("a") as file:
        file.write("acted\\n")
    os.kill(os.getpid(), signal.SIGKILL)
    return ToolOutput("ok", "It is done.")

asked = question("tea", allowed_tools=frozenset({"act"}))
print(asked.request_id, flush=True)
journal = SqliteJournal.open(Path(sys.argv[1]))
world = World(PlayedEngine([calls(call_event(text="tea"))]), [FakeTool(act=act)], journal=journal)
asyncio.run(ask(world.agent(), asked))
"""


async def test_a_kill_amid_a_side_effect_leaves_it_done_once_and_reported(tmp_path: Path) -> None:
    journal_path, marks = tmp_path / "journal.sqlite3", tmp_path / "marks"
    tests = str(Path(__file__).parents[1])
    killed = await asyncio.to_thread(
        subprocess.run,
        [sys.executable, "-c", KILLED, str(journal_path), str(marks), tests],
        capture_output=True,
        text=True,
        check=False,
    )
    assert killed.returncode == -9, killed.stderr
    request_id = parse_request_id(killed.stdout.strip())
    journal = SqliteJournal.open(journal_path)
    tool = FakeTool()
    world = World(PlayedEngine([calls(call_event(text="tea"))]), [tool], journal=journal)
    agent = world.agent()
    (end,) = agent.recover()
    assert end.request_id == request_id
    assert end.error is not None
    assert "not known whether it happened" in end.error.what
    repeated = question("tea", request_id=request_id, allowed_tools=ALLOWED)
    seen = await ask(agent, repeated)
    assert json.dumps(seen.answer.text) == json.dumps(end.text)
    assert seen.answer == end
    assert tool.calls == []
    assert marks.read_text() == "acted\n"
    journal.close()
