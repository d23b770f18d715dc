"""The node's model for its own tools: what it writes counts as the device's."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest
from homing_agent.tool import ToolOutput
from homing_core.access import DeviceRole, Limits
from homing_core.errors import OverloadedError, UsageError
from homing_core.generation import Done, Failed, FinishReason, Priority, TextDelta, Usage
from homing_core.jobs import JobState
from homing_node.testing import FixedTools
from support.job_house import ScriptedTool, job, tool_spec
from support.limited import limited_phone, question
from support.node_rig import DEADLINE_S, NodeRig, Phone, node_rig, within

if TYPE_CHECKING:
    from pathlib import Path

    from homing_agent.tool import ToolContext
    from homing_core.canonical import JsonObject
    from homing_core.generation import GenerateRequest
    from homing_core.jobs import JobSpec


async def writes(_: JsonObject, context: ToolContext) -> ToolOutput:
    """A tool that lets the node's model write."""
    assert context.engine is not None
    with pytest.raises(UsageError):
        await context.engine.embed(["x"])
    text = ""
    async for event in context.engine.generate(question("sum it up", max_tokens=50)):
        if isinstance(event, TextDelta):
            text += event.text
        if isinstance(event, Failed):
            raise event.to_error()
    return ToolOutput(f"{context.engine.info.model}: {text}")


async def ended(rig: NodeRig, phone: Phone, spec: JobSpec) -> JobState:
    device = rig.running.store.get(phone.identity.device_id)
    async with asyncio.timeout(DEADLINE_S):
        async for event in rig.running.jobs.watch(device, spec.id, 0):
            if event.state.final:
                return event.state
    raise AssertionError


async def submitted(rig: NodeRig, phone: Phone, tool: ScriptedTool) -> JobSpec:
    device = rig.running.store.get(phone.identity.device_id)
    spec = job(tool)
    await rig.running.jobs.submit(device, spec, None)
    return spec


async def test_a_tools_generations_run_as_the_devices_and_after_persons(tmp_path: Path) -> None:
    tool = ScriptedTool(tool_spec(), writes)
    async with node_rig(tmp_path, tools=FixedTools(tools=[tool])) as rig:
        phone = await limited_phone(rig, Limits(), DeviceRole.OWNER)
        spec = await submitted(rig, phone, tool)
        request: GenerateRequest = await within(rig.engine.started.get())
        assert request.owner == phone.identity.device_id
        assert request.priority is Priority.JOB
        rig.engine.feed(
            request.id, TextDelta("all of it"), Usage(10, 0, 3, 1, 1), Done(FinishReason.STOP)
        )
        assert await ended(rig, phone, spec) is JobState.SUCCEEDED


async def test_a_budget_that_is_used_up_is_said_to_the_tool(tmp_path: Path) -> None:
    errors: list[Exception] = []

    async def tries(arguments: JsonObject, context: ToolContext) -> ToolOutput:
        try:
            return await writes(arguments, context)
        except OverloadedError as error:
            errors.append(error)
            raise

    tool = ScriptedTool(tool_spec(), tries)
    async with node_rig(tmp_path, tools=FixedTools(tools=[tool])) as rig:
        limits = Limits(tokens_per_day=2)
        phone = await limited_phone(rig, limits, DeviceRole.OWNER)
        spec = await submitted(rig, phone, tool)
        assert await ended(rig, phone, spec) is JobState.FAILED
        assert rig.engine.started.empty()
    assert "tokens a day" in str(errors[0])
