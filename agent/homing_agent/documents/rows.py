"""The index's tables, and what stands in them."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from homing_agent.documents.chunks import Unit, clean_line, place_of
from homing_agent.documents.messages import Status

if TYPE_CHECKING:
    from homing_agent.documents.roots import Place
    from homing_agent.documents.scan import FoundFile

VERSION: Final = 1
SCHEMA: Final = """
CREATE TABLE file (
  id INTEGER PRIMARY KEY,
  root TEXT NOT NULL,          -- the root's real path
  path BLOB NOT NULL,          -- below the root
  size INTEGER NOT NULL,       -- bytes, when it was read
  mtime_ns INTEGER NOT NULL,   -- nanoseconds since the epoch, when it was read
  sha256 TEXT NOT NULL,        -- of its content, hex; empty if unknown
  status TEXT NOT NULL,
  problem TEXT NOT NULL,       -- why not all of it was read, for people
  pages INTEGER NOT NULL,
  chars INTEGER NOT NULL,      -- of text
  UNIQUE (root, path)
);
CREATE TABLE chunk (
  id INTEGER PRIMARY KEY,
  file_id INTEGER NOT NULL REFERENCES file (id),
  name TEXT NOT NULL,          -- the file's path in words, so that a search finds it by name too
  text TEXT NOT NULL,
  unit TEXT NOT NULL,
  number INTEGER NOT NULL,
  label TEXT NOT NULL
);
CREATE INDEX chunk_of_file ON chunk (file_id);
CREATE VIRTUAL TABLE found USING fts5 (
  name, text, content = 'chunk', content_rowid = 'id',
  tokenize = 'porter unicode61 remove_diacritics 2'
);
CREATE TRIGGER chunk_added AFTER INSERT ON chunk BEGIN
  INSERT INTO found (rowid, name, text) VALUES (new.id, new.name, new.text);
END;
CREATE TRIGGER chunk_gone AFTER DELETE ON chunk BEGIN
  INSERT INTO found (found, rowid, name, text) VALUES ('delete', old.id, old.name, old.text);
END;
"""
_MOST_SHOWN: Final = 200
_SETTLED: Final = frozenset({Status.READ, Status.PARTLY, Status.EMPTY, Status.NOT_TEXT})


@dataclass(frozen=True, slots=True)
class KnownFile:
    """What the index holds of a file.

    Attributes:
        id: its number in the index.
        path: below the root, as the file system writes it.
        size: bytes, when it was read.
        mtime_ns: when it had been changed then.
        sha256: of its content then; empty if unknown.
        status: what came of reading it.
        problem: why not all of it was read.
        pages: pages or slides; 0 if it has none.
        chars: of text.
    """

    id: int
    path: bytes
    size: int
    mtime_ns: int
    sha256: str
    status: Status
    problem: str
    pages: int
    chars: int

    def is_current(self, found: FoundFile) -> bool:
        """Whether it need not be read again."""
        same = (self.size, self.mtime_ns) == (found.size, found.mtime_ns)
        return same and self.status is not Status.UNREADABLE

    @property
    def reusable_sha256(self) -> str:
        """The hash under which its text may stay as it is; empty if it must be read."""
        return self.sha256 if self.status in _SETTLED else ""

    def shown(self, place: Place) -> str:
        """Its path for people, beginning with the root's name."""
        return shown_path(place.root.name, self.path)


@dataclass(frozen=True, slots=True)
class Hit:
    """A place that a search has found.

    Attributes:
        file: the file's path for people, beginning with the root's name.
        unit: what `number` counts.
        number: where in the file.
        label: a named part of it, such as a sheet.
        text: what stands there, cut to what matters.
    """

    file: str
    unit: Unit
    number: int
    label: str
    text: str

    @property
    def citation(self) -> str:
        """Such as `Documents/lease.pdf:page 3`."""
        return f"{self.file}:{place_of(self.unit, self.number, self.label)}"


def shown_path(root: str, path: bytes) -> str:
    """A path for people: cleaned, since names of files come from anywhere."""
    return clean_line(f"{root}/{os.fsdecode(path)}", _MOST_SHOWN) or root


def words_of_path(path: bytes) -> str:
    """A path as words to be searched for."""
    text = os.fsencode(os.fsdecode(path)).decode("utf-8", "replace")
    return clean_line(text.replace("/", " ").replace("_", " ").replace("-", " "), 400)


def to_known(row: tuple[int, bytes, int, int, str, str, str, int, int]) -> KnownFile:
    """From the columns of `FILE_COLUMNS`."""
    number, path, size, mtime_ns, sha256, status, problem, pages, chars = row
    known = Status(status)
    return KnownFile(number, path, size, mtime_ns, sha256, known, problem, pages, chars)


FILE_COLUMNS: Final = "id, path, size, mtime_ns, sha256, status, problem, pages, chars"
