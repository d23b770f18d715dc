"""The tables of `audit.db`."""

from __future__ import annotations

from typing import Final

APPLICATION_ID: Final = 0x486F_4C01
"""SQLite's mark of what the file is."""
MIGRATIONS: Final = (
    """
    CREATE TABLE entries (
        seq INTEGER PRIMARY KEY NOT NULL,
        at_ms INTEGER NOT NULL,
        kind TEXT NOT NULL,
        actor TEXT NOT NULL,
        device TEXT NOT NULL,
        detail TEXT NOT NULL,
        previous TEXT NOT NULL,
        hash TEXT NOT NULL
    ) STRICT;
    CREATE TABLE head (
        id INTEGER PRIMARY KEY NOT NULL CHECK (id = 1),
        seq INTEGER NOT NULL,
        hash TEXT NOT NULL,
        at_ms INTEGER NOT NULL,
        node TEXT NOT NULL,
        certificate BLOB NOT NULL,
        signature BLOB NOT NULL
    ) STRICT;
    CREATE TABLE checkpoint (
        id INTEGER PRIMARY KEY NOT NULL CHECK (id = 1),
        seq INTEGER NOT NULL,
        hash TEXT NOT NULL
    ) STRICT
    """,
)
"""A script for each version, from 1."""
