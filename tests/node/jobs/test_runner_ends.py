"""A job runs to its end, and its device alone reads what came of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from homing_core.jobs import JobState
from support.job_house import ScriptedTool, house, job, tool_spec

if TYPE_CHECKING:
    from pathlib import Path


async def test_a_job_runs_and_its_result_is_sealed_for_its_device(tmp_path: Path) -> None:
    tool = ScriptedTool(tool_spec())
    async with house(tmp_path, tool) as home:
        phone = home.person()
        spec = await home.submit(phone, job(tool, "the garden"))
        events = await home.ended(phone, spec.id)
        status = await home.parts.desk.status(phone.device, spec.id)
        result, _ = await home.result(phone, spec.id)
    assert [event.state for event in events] == [
        JobState.QUEUED,
        JobState.RUNNING,
        JobState.SUCCEEDED,
    ]
    assert result.content == "worked on the garden"
    assert status.summary == "done in under a second"
    assert status.sealed_by == home.node.device_id
