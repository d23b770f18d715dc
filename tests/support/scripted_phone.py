"""The phone's resident process with a model that plays a script, as a process of its own.

    python -m support.scripted_phone DATA_DIR SCRIPT [IDLE_SECONDS]

Everything but the model is real. Each line of standard input opens the gate that it names. SCRIPT
is a JSON file: a list of answers, each with `when` (a part of the question), `times`, and `steps`:
`{"text": …}`, `{"think": …}`, `{"call": NAME, "arguments": {…}}`, `{"gate": NAME}`, `{"fail": …}`.
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from homing_agent.runtime.configfile import load_config
from homing_agent.runtime.model_host import ModelStatus, Phase
from homing_agent.runtime.paths import program_paths
from homing_client.config import ClientConfig
from homing_client.resident import Resident
from homing_core.errors import UnavailableError
from homing_core.generation import (
    CallSignals,
    TextDelta,
    ThinkingDelta,
    TokenSignals,
    ToolCallEvent,
)
from homing_core.ids import new_tool_call_id
from homing_core.tools import ToolCall
from homing_inference.engine import EngineInfo
from homing_inference.testing import ScriptedEngine

if TYPE_CHECKING:
    from collections.abc import Callable

    from homing_client.readiness import Happening
    from homing_core.generation import GenerateRequest
    from homing_inference.engine import Engine
    from homing_inference.script import Step

_INFO = EngineInfo(
    model="scripted",
    quantization="Q4_K_M",
    context_tokens=8192,
    chat_format="hermes-json",
    can_think=False,
    stand_in=True,
)
_SURE = CallSignals(call_probability=0.99, name_probability=0.99, name_margin=0.98)


class _Script:
    """A `ModelSource` whose model plays the file."""

    def __init__(self, path: Path) -> None:
        self.gates: dict[str, asyncio.Event] = {}
        self._answers: list[dict[str, Any]] = json.loads(path.read_text("utf-8"))

    async def load(self, report: Callable[[ModelStatus], None]) -> Engine:
        report(ModelStatus("scripted", Phase.LOADING, stand_in=True))
        engine = ScriptedEngine(info=_INFO)
        for answer in self._answers:
            steps = [TokenSignals(0.99, -0.05, 8), *map(self._step, answer["steps"])]
            engine.answer(*steps, when=_asked(answer.get("when", "")), times=answer.get("times"))
        return engine

    def _step(self, step: dict[str, Any]) -> Step:
        match step:
            case {"text": text}:
                return TextDelta(text)
            case {"think": text}:
                return ThinkingDelta(text)
            case {"call": name, "arguments": arguments}:
                return ToolCallEvent(ToolCall(new_tool_call_id(), name, arguments), _SURE)
            case {"gate": name}:
                return self.gates.setdefault(name, asyncio.Event())
            case {"fail": what}:
                return UnavailableError(what)
            case _:
                raise ValueError(step)


def _asked(part: str) -> Callable[[GenerateRequest], bool]:
    return lambda request: any(part in message.text for message in request.messages[-1:])


async def _open_gates(script: _Script) -> None:
    reader = asyncio.StreamReader()
    protocol = asyncio.StreamReaderProtocol(reader)
    await asyncio.get_running_loop().connect_read_pipe(lambda: protocol, sys.stdin)
    while line := await reader.readline():
        script.gates[line.decode().strip()].set()


async def _main(data_dir: str, script_path: str, idle_s: str = "0") -> None:
    paths = program_paths("homing", "phone", Path(data_dir))
    script = _Script(Path(script_path))

    def tell(happening: Happening, text: str) -> None:
        sys.stdout.write(json.dumps({"event": happening.value, "text": text}) + "\n")
        sys.stdout.flush()

    resident = Resident(
        paths, load_config(paths, ClientConfig), idle_s=int(idle_s), tell=tell, source=script
    )
    gates = asyncio.create_task(_open_gates(script))
    try:
        await resident.run()
    finally:
        gates.cancel()


if __name__ == "__main__":
    asyncio.run(_main(*sys.argv[1:]))
