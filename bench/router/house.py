"""A phone and a home node of their own, kept between runs: the trials go on where they were."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING

from homing_client.cli.options import Setup

if TYPE_CHECKING:
    from collections.abc import Generator

BIN = Path(sys.executable).parent
ROOT = Path(__file__).resolve().parent.parent.parent
FOLDER = ROOT / ".cache" / "router"
PHONE = FOLDER / "phone"
NODE = FOLDER / "node"
HOME_MODEL = "stand-in-1.5b"


def phone() -> Setup:
    """The phone, with the small stand-in."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    return Setup(PHONE, None, stand_in=True)


@contextlib.contextmanager
def home() -> Generator[None]:
    """The node runs with the larger stand-in, and the phone is paired with it.

    Raises:
        RuntimeError: it did not start, or pairing failed.
    """
    arguments = (
        "--host",
        "127.0.0.1",
        "--port",
        "0",
        "--no-mdns",
        "--model",
        HOME_MODEL,
        "--stand-in",
    )
    fetched = [
        str(BIN / "homing-node"),
        "models",
        "fetch",
        "--stand-in",
        HOME_MODEL,
        "--data-dir",
        str(NODE),
    ]
    subprocess.run(fetched, check=True)  # noqa: S603  # our own program
    node = _start("homing-node", "run", *arguments, "--json", "--data-dir", str(NODE))
    try:
        _until(node, "model.ready")
        opening = _start("homing-node", "pair", "--json", "--data-dir", str(NODE))
        link = _until(opening, "opened")["link"]
        subprocess.run(  # noqa: S603  # our own program
            [str(BIN / "homing"), "pair", str(link), "--data-dir", str(PHONE)], check=True
        )
        opening.wait()
        yield
    finally:
        node.terminate()
        node.wait()


def _start(program: str, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(  # noqa: S603  # our own programs
        [str(BIN / program), *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def _until(process: subprocess.Popen[str], event: str) -> dict[str, object]:
    """The first object with this event; what is said after it is read and forgotten."""
    said = ""
    for line in process.stdout or ():
        said = line
        with contextlib.suppress(ValueError):
            found = json.loads(line)
            if found.get("event") == event:
                threading.Thread(target=_drain, args=(process,), daemon=True).start()
                return found  # type: ignore[no-any-return]  # an object with an event
    msg = f"a program ended before it said {event}: {said.strip()}"
    raise RuntimeError(msg)


def _drain(process: subprocess.Popen[str]) -> None:
    for _ in process.stdout or ():
        pass
