"""What a recipe of the tests runs: `slow_tool.py FOLDER OUT TEXT`.

It notes that it ran in FOLDER/runs, says `1 of 3`, and then does what the lines of the pipe
FOLDER/gate say: each is printed, and `end` ends it, with a file in OUT.
"""

from __future__ import annotations

import sys
from pathlib import Path

PICTURE = bytes(range(256)) * 8
"""What it leaves in OUT/picture.bin."""


def main() -> None:
    folder, out, text = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]
    with (folder / "runs").open("a", encoding="utf-8") as runs:
        runs.write(f"{text}\n")
    print("1 of 3", flush=True)  # noqa: T201  # it is a program of its own
    with (folder / "gate").open(encoding="utf-8") as gate:
        for line in gate:
            if line == "end\n":
                break
            print(line, end="", flush=True)  # noqa: T201  # as above
    (out / "picture.bin").write_bytes(PICTURE)
    print(f"made of {text}")  # noqa: T201  # as above


if __name__ == "__main__":
    main()
