"""Follows a node's new key again and again, each time killed one line later.

Prints one JSON object: how many runs were killed, after how many of these the list of nodes named
the new key, and for which the kept head of the node's record was lost.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from homing_client import audit_book, renewal
from homing_client.audit_book import AUDIT_BOOK_FILE, AuditBook
from homing_client.renewal import store_successor
from homing_core.access import DeviceRole
from homing_core.audit import Head
from homing_core.tools import Place
from homing_crypto import database, node_book
from homing_crypto.node_book import NODE_BOOK_FILE, SqliteNodeBook
from homing_crypto.nodes import KnownNode
from homing_crypto.rotation import NewKey
from homing_crypto.testing import throwaway_identity

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType

Trace: TypeAlias = "Callable[[FrameType, str, object], Trace | None]"

WATCHED = {module.__file__ for module in (audit_book, renewal, database, node_book)}
OLD, NEW = throwaway_identity(), throwaway_identity()
KEPT = Head(5000, "aa" * 32, 1)


def act(folder: Path) -> None:
    heads, book = AuditBook(folder / AUDIT_BOOK_FILE), SqliteNodeBook(folder / NODE_BOOK_FILE)
    if any(node.id == OLD.device_id for node in book.nodes()):
        key = NewKey(NEW.certificate, NEW.hpke.public_bytes, NEW.hpke_signature)
        store_successor(book, heads.prepare, OLD.device_id, key)
        heads.succeed(OLD.device_id, NEW.device_id)
    book.close()
    heads.close()


def prepare(folder: Path) -> None:
    folder.mkdir(mode=0o700)
    heads, book = AuditBook(folder / AUDIT_BOOK_FILE), SqliteNodeBook(folder / NODE_BOOK_FILE)
    heads.keep(OLD.device_id, KEPT, 1.0)
    node = KnownNode(
        id=OLD.device_id,
        certificate_der=OLD.certificate.der,
        hpke_public_key=OLD.hpke.public_bytes,
        name="home",
        place=Place.HOME,
        role=DeviceRole.OWNER,
        scopes=frozenset(),
        addresses=("192.168.1.20:7443",),
        paired_at=100.0,
    )
    book.add(node)
    book.close()
    heads.close()


def looked(folder: Path) -> tuple[bool, bool]:
    """Whether the list names the new key, and whether the named node's head is kept."""
    heads, book = AuditBook(folder / AUDIT_BOOK_FILE), SqliteNodeBook(folder / NODE_BOOK_FILE)
    (node,) = book.nodes()
    kept = heads.get(node.id).kept
    book.close()
    heads.close()
    return node.id == NEW.device_id, kept == KEPT


def run_killed(folder: Path, after: int) -> bool:
    """Act in a child that is killed after so many lines; whether it was."""
    child = os.fork()
    if child == 0:
        seen = 0

        def trace(frame: FrameType, event: str, _: object) -> Trace | None:
            nonlocal seen
            if frame.f_code.co_filename not in WATCHED:
                return None
            if event == "line":
                seen += 1
                if seen == after:
                    os.kill(os.getpid(), signal.SIGKILL)
            return trace

        sys.settrace(trace)
        act(folder)
        os._exit(0)
    return os.WIFSIGNALED(os.waitpid(child, 0)[1])


def main(folder: Path) -> dict[str, object]:
    followed, lost = 0, list[int]()
    for after in range(1, 10_000):
        home = folder / str(after)
        prepare(home)
        if not run_killed(home, after):
            return {"killed": after - 1, "followed": followed, "lost": lost, "end": looked(home)}
        new, kept = looked(home)
        followed += new
        act(home)
        if not kept or looked(home) != (True, True):
            lost.append(after)
    raise AssertionError


if __name__ == "__main__":
    sys.stdout.write(json.dumps(main(Path(sys.argv[1]))))
