"""`homing-node` as it is, but for its model, which plays a script.

Whoever asks for something slow gets a call of the tool `slow`; behind a tool's result come words
that repeat it.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from homing_agent.runtime.model_host import ModelStatus, Phase
from homing_agent.runtime.testing import HeldSource
from homing_core.generation import CallSignals, TextDelta, TokenSignals, ToolCallEvent
from homing_core.ids import new_tool_call_id
from homing_core.messages import Role
from homing_core.tools import ToolCall
from homing_inference.testing import ScriptedEngine
from homing_node.cli import run
from homing_node.models import sources
from homing_node.models.slots import ConfiguredModel

if TYPE_CHECKING:
    from pathlib import Path

    from homing_core.generation import GenerateRequest
    from homing_inference.catalog.store import Store
    from homing_node.config import NodeConfig

ANSWER = "Here is what came of it."
_REQUESTS = 16
"""Requests that get a call; each call has an id of its own."""
_SURE = CallSignals(call_probability=0.99, name_probability=0.99, name_margin=0.98)


def _asked(request: GenerateRequest) -> bool:
    last = request.messages[-1]
    return last.role is Role.USER and any(tool.name == "slow" for tool in request.tools)


def _models(config: NodeConfig, store: Store, state_root: Path) -> tuple[ConfiguredModel, ...]:
    del config, store, state_root
    engine = ScriptedEngine()
    for _ in range(_REQUESTS):
        call = ToolCallEvent(ToolCall(new_tool_call_id(), "slow", {"text": "asked"}), _SURE)
        engine.answer(TokenSignals(0.99, -0.05, 8), call, when=_asked)
    engine.answer(TokenSignals(0.99, -0.05, 8), TextDelta(ANSWER), times=None)
    status = ModelStatus("default", Phase.UNLOADED)
    return (ConfiguredModel(status, HeldSource(engine)),)


def main() -> int:
    """Run the command line with this model."""
    sources.configured_models = _models
    return run(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
