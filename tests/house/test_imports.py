"""Asking for help, or attaching to a running process, does not load what only the process needs."""

from __future__ import annotations

import json
import sys

import pytest
from support.commands import run_program

# The model runtime, and what takes long to import or is of use to the resident process alone.
HEAVY = (
    "llama_cpp",
    "numpy",
    "jinja2",
    "huggingface_hub",
    "zeroconf",
    "dateparser",
    "icalendar",
    "aiomqtt",
)

PROBE = """
import json, sys
module, name, heavy = sys.argv[1], sys.argv[2], sys.argv[3].split(",")
sys.argv = [name, "--help"]
status = 0
try:
    status = __import__(module, fromlist=["main"]).main()
except SystemExit as leaving:
    status = leaving.code
print("\\n" + json.dumps([status or 0, [name for name in heavy if name in sys.modules]]))
"""

COMMANDS = [("homing_client.cli", "homing"), ("homing_node.cli", "homing-node")]


@pytest.mark.parametrize(("module", "name"), COMMANDS, ids=[name for _, name in COMMANDS])
def test_help_does_not_load_the_model_runtime(module: str, name: str) -> None:
    done = run_program([sys.executable, "-c", PROBE, module, name, ",".join(HEAVY)])
    assert done.status == 0, done.err
    status, loaded = json.loads(done.out.splitlines()[-1])
    assert status == 0
    assert loaded == []
    assert name in done.out
