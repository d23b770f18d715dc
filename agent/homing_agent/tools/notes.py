"""Notes: one Markdown file each, in `notes/`."""

from __future__ import annotations

import asyncio
import re
import unicodedata
from typing import TYPE_CHECKING, ClassVar

from homing_core.errors import ConflictError, HomingError
from homing_core.labels import clean_label
from homing_core.provenance import Trust
from homing_core.tools import EffectClass, ToolSpec

from homing_agent.tool import ToolContext, ToolOutput
from homing_agent.tools.arguments import optional_text, text_argument
from homing_agent.tools.base import Builtin
from homing_agent.tools.files import locked, read_text, write_new
from homing_agent.tools.listing import listing

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from homing_core.canonical import JsonObject

FOLDER = "notes"
_MOST_NOTE = 20_000
_MOST_TITLE = 80
_TITLE_WORDS = 6
_MOST_SHOWN = 5
_EXCERPT = 300
_MOST_NAMES = 1000
_RESERVED = frozenset(
    ["con", "prn", "aux", "nul", *(f"{port}{n}" for port in ("com", "lpt") for n in range(10))]
)
_SAVE = ToolSpec(
    name="save_note",
    description="Write down a note for the user.",
    parameters={
        "type": "object",
        "properties": {
            "text": {"type": "string", "minLength": 1},
            "title": {"type": "string"},
        },
        "required": ["text"],
    },
    effect=EffectClass.WRITE,
    output_trust=Trust.TRUSTED,
    typical_ms=30,
)
_SEARCH = ToolSpec(
    name="search_notes",
    description="Find what the user wrote down in notes.",
    parameters={
        "type": "object",
        "properties": {"query": {"type": "string", "description": "words to look for"}},
    },
    effect=EffectClass.READ,
    idempotent=True,
    typical_ms=30,
)


class SaveNote(Builtin):
    """Writes a note to a new file.

    Args:
        folder: the data folder.
    """

    SPEC = _SAVE
    QUESTIONS: ClassVar[Mapping[str, str]] = {"text": "What shall I write down?"}

    def __init__(self, folder: Path) -> None:
        """Keep it."""
        self._folder = folder / FOLDER

    async def run(self, arguments: JsonObject, context: ToolContext) -> ToolOutput:
        """As in `Tool`."""
        del context
        text = text_argument(arguments, "text", most=_MOST_NOTE, lines=True)
        title = optional_text(arguments, "title", most=_MOST_NOTE)
        heading = clean_label(title or " ".join(text.split()[:_TITLE_WORDS]), _MOST_TITLE, "Note")
        body = f"# {heading}\n\n{text}\n"
        name = await asyncio.to_thread(self._write, file_stem(heading), body)
        return ToolOutput(
            content=f"Saved as {name}.", say=f"I saved the note “{heading}”.", source=name
        )

    def _write(self, stem: str, body: str) -> str:
        with locked(self._folder):
            for number in range(1, _MOST_NAMES):
                name = f"{stem}.md" if number == 1 else f"{stem} {number}.md"
                if write_new(self._folder / name, body):
                    return name
        msg = f"there are too many notes named {stem}"
        raise ConflictError(msg, "Give it another title.")


class SearchNotes(Builtin):
    """Finds notes that hold every word of a query; without a query, the newest notes.

    Args:
        folder: the data folder.
    """

    SPEC = _SEARCH
    QUESTIONS: ClassVar[Mapping[str, str]] = {"query": "What shall I look for?"}

    def __init__(self, folder: Path) -> None:
        """Keep it."""
        self._folder = folder / FOLDER

    async def run(self, arguments: JsonObject, context: ToolContext) -> ToolOutput:
        """As in `Tool`."""
        del context
        query = optional_text(arguments, "query")
        lines = await asyncio.to_thread(self._search, query)
        about = f" with “{clean_label(query)}”" if query else ""
        return listing(f"Your notes{about}:", lines, f"You have no notes{about}.", FOLDER)

    def _search(self, query: str) -> list[str]:
        words = _folded(query).split()
        found: list[str] = []
        for path in self._newest_first():
            try:
                text = read_text(path)
            except HomingError:
                continue  # not a text: not a note
            if all(word in _folded(f"{path.stem} {text}") for word in words):
                found.append(f"{path.stem}: {_excerpt(text, words)}")
            if len(found) == _MOST_SHOWN:
                break
        return found

    def _newest_first(self) -> list[Path]:
        try:
            paths = [path for path in self._folder.glob("*.md") if path.is_file()]
            return sorted(paths, key=lambda path: path.stat().st_mtime, reverse=True)
        except OSError:
            return []


def file_stem(title: str) -> str:
    """A safe file name for a title, without its ending: letters, digits, `-`, `_` and spaces."""
    folded = unicodedata.normalize("NFKC", title)
    kept = "".join(char if char.isalnum() or char in "-_" else " " for char in folded)
    stem = " ".join(kept.split())
    while len(stem.encode()) > _MOST_TITLE:
        stem = stem[:-1]
    stem = stem.strip() or "Note"
    return f"{stem} note" if stem.casefold() in _RESERVED else stem


def _folded(text: str) -> str:
    return unicodedata.normalize("NFKC", text).casefold()


def _excerpt(text: str, words: list[str]) -> str:
    """The note without its heading, from a little before the first word that was looked for."""
    body = " ".join(re.sub(r"^# .*\n", "", text, count=1).split())
    places = [_folded(body).find(word) for word in words]
    start = max(0, min([place for place in places if place >= 0], default=0) - _EXCERPT // 3)
    cut = body[start : start + _EXCERPT]
    before = "…" if start else ""
    after = "…" if start + _EXCERPT < len(body) else ""
    return clean_label(f"{before}{cut}{after}", _EXCERPT + 2, "empty")
