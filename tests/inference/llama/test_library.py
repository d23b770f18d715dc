from __future__ import annotations

import subprocess
import sys

_LOAD = """
import sys
sys.platform = "android"
from homing_inference.llama.library import load_library
library = load_library()
print(sys.platform, callable(library.llama_model_load_from_file))
"""


def test_the_bindings_load_where_python_calls_the_platform_android() -> None:
    done = subprocess.run(  # noqa: S603  # our own script
        [sys.executable, "-c", _LOAD], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.stdout.split() == ["android", "True"], done.stderr
