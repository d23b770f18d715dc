"""A node in a process of its own whose tools count: `python -m support.job_daemon DIR LEDGER`.

    job_daemon DIR LEDGER [--database URL] [--at-once N] [--lease SECONDS]

It prints one JSON object a line: `up` with its port, and `run` whenever a tool begins, with the
token of its call and the time. `count` appends its token to LEDGER, on disk before it returns, and
takes a while before and after; `look` changes nothing; `gate` waits until a file is there; `report`
tells the time ten times.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from homing_agent.runtime.logs import silence_logging
from homing_agent.runtime.model_host import ModelStatus, Phase
from homing_agent.runtime.paths import program_paths
from homing_agent.runtime.testing import HeldSource
from homing_agent.tool import ToolOutput
from homing_core.jobs import JobProgress
from homing_core.tools import EffectClass, Place, ToolSpec
from homing_inference.testing import ScriptedEngine
from homing_node.assembly import NodeOptions, running_node
from homing_node.config import DiscoverySection, ListenSection, NodeConfig, NodeSection
from homing_node.jobs.section import JobsSection
from homing_node.limit_sections import LimitsSection
from homing_node.models.slots import ConfiguredModel
from homing_node.testing import FixedTools

if TYPE_CHECKING:
    from homing_agent.tool import ToolContext
    from homing_core.canonical import JsonObject

REPORTS = 10
_LOOK_S = 0.01


def specification(name: str, effect: EffectClass, *, idempotent: bool) -> ToolSpec:
    """What callers name, too."""
    return ToolSpec(
        name=name,
        description=f"Counts for a test: {name}.",
        parameters={
            "type": "object",
            "properties": {
                "token": {"type": "string"},
                "before_ms": {"type": "integer"},
                "after_ms": {"type": "integer"},
            },
            "required": ["token"],
            "additionalProperties": False,
        },
        effect=effect,
        place=Place.HOME,
        server="counting",
        idempotent=idempotent,
    )


COUNT = specification("count", EffectClass.WRITE, idempotent=False)
LOOK = specification("look", EffectClass.READ, idempotent=True)
GATE = specification("gate", EffectClass.READ, idempotent=True)
REPORT = specification("report", EffectClass.READ, idempotent=True)


def say(**facts: object) -> None:
    """Tell whoever started this process."""
    sys.stdout.write(json.dumps(facts) + "\n")
    sys.stdout.flush()


class Counting:
    """One of the tools above."""

    def __init__(self, spec: ToolSpec, ledger: Path) -> None:
        """Keep where to count."""
        self.spec = spec
        self._ledger = ledger

    def unavailable(self) -> str | None:
        """It always can."""
        return None

    def preview(self, arguments: JsonObject) -> str:
        """The arguments speak for themselves."""
        del arguments
        return ""

    async def run(self, arguments: JsonObject, context: ToolContext) -> ToolOutput:
        """Do what its name says."""
        token = str(arguments["token"])
        say(event="run", tool=self.spec.name, token=token, at=time.time())
        await asyncio.sleep(_seconds(arguments.get("before_ms")))
        match self.spec.name:
            case "count":
                append(self._ledger, token)
            case "gate":
                await asyncio.to_thread(_until_there, Path(token))
            case "report":
                for number in range(REPORTS):
                    context.report(JobProgress(number, REPORTS, "reports", repr(time.time())))
                    await asyncio.sleep(0.15)
            case _:
                pass
        await asyncio.sleep(_seconds(arguments.get("after_ms")))
        return ToolOutput(f"counted {token}", say=f"Counted {token}.")


def append(ledger: Path, token: str) -> None:
    """One line, on disk when this returns."""
    descriptor = os.open(ledger, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        os.write(descriptor, f"{token}\n".encode())
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _until_there(path: Path) -> None:
    while not path.exists():
        time.sleep(_LOOK_S)


def _seconds(value: object) -> float:
    return value / 1000 if isinstance(value, int) else 0.0


async def main() -> None:
    """Run until killed."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("ledger", type=Path)
    parser.add_argument("--database", default="")
    parser.add_argument("--at-once", type=int, default=2)
    parser.add_argument("--lease", type=float, default=15.0)
    given = parser.parse_args()
    config = NodeConfig(
        node=NodeSection(name=given.folder.name, drain_seconds=0.0),
        listen=ListenSection(host="127.0.0.1", port=0),
        discovery=DiscoverySection(mdns=False),
        limits=LimitsSection(calls_per_second=10_000, calls_burst=10_000, calls_at_once=1_000),
        jobs=JobsSection(database=given.database, at_once=given.at_once, lease_seconds=given.lease),
    )
    status = ModelStatus("default", Phase.UNLOADED)
    models = (ConfiguredModel(status, HeldSource(ScriptedEngine())),)
    paths = program_paths("homing-node", "node", given.folder, environ={})
    tools = [Counting(spec, given.ledger) for spec in (COUNT, LOOK, GATE, REPORT)]
    options = NodeOptions(paths, config, models, tools=FixedTools(tools=tools))
    async with running_node(options, asyncio.Event()) as node:
        say(event="up", port=node.port)
        await asyncio.Event().wait()


if __name__ == "__main__":
    silence_logging()
    asyncio.run(main())
