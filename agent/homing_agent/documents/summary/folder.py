"""Map and reduce over the files of a folder."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from homing_core.errors import InvalidDataError, TooLongError
from homing_core.jobs import JobProgress

from homing_agent.documents.library import UNIT
from homing_agent.documents.messages import Status
from homing_agent.documents.summary.kept import Kept
from homing_agent.documents.summary.prompts import NOTHING, about_files, about_part, about_parts
from homing_agent.documents.summary.shape import FileNote, without_wrong_numbers
from homing_agent.documents.summary.sizes import cut_to, grouped, sizes_for

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from homing_agent.documents.library import Library
    from homing_agent.documents.roots import Place
    from homing_agent.documents.rows import KnownFile
    from homing_agent.documents.summary.sizes import Sizes
    from homing_agent.documents.summary.writer import Writer
    from homing_agent.tool import Notebook

MOST_FILES: Final = 1000
_MOST_PIECES: Final = 48
"""Generations for one file; of a longer one, pieces spread evenly over it are read."""
_MOST_ROUNDS: Final = 12
_EXCERPT: Final = 300
_TEXT: Final = frozenset({Status.READ, Status.PARTLY})


@dataclass(frozen=True, slots=True)
class FolderSummary:
    """What came of it.

    Attributes:
        text: about the whole folder, with numbers of files in brackets; empty if nothing in it
            bears on the question.
        notes: on each file with text, in the order of their numbers.
        left_out: files without text or that could not be read, and why.
    """

    text: str
    notes: tuple[FileNote, ...]
    left_out: tuple[tuple[str, str], ...]


class Summariser:
    """Summarises folders; one call of `run` at a time.

    Args:
        library: documents.
        writer: the model.
        notebook: where what was written is kept.
        report: told how far it is.
        question: what the owner wants to know; empty for a summary.
    """

    def __init__(
        self,
        library: Library,
        writer: Writer,
        notebook: Notebook,
        report: Callable[[JobProgress], None],
        question: str = "",
    ) -> None:
        """Nothing is read yet."""
        self._library = library
        self._writer = writer
        self._kept = Kept(notebook)
        self._report = report
        self._question = question
        self._sizes = sizes_for(writer.context_tokens)

    async def run(self, place: Place) -> FolderSummary:
        """Summarise a folder that has been brought up to date.

        Raises:
            InvalidDataError: it holds too many files.
            HomingError: the model or the index cannot be used.
        """
        files = await self._library.files(place)
        readable = [file for file in files if file.status in _TEXT and file.chars]
        left_out = tuple(
            (file.shown(place), file.problem or "it holds no text")
            for file in files
            if file not in readable and file.status is not Status.NOT_TEXT
        )
        if len(readable) > MOST_FILES:
            msg = f"the folder holds {len(readable)} documents; at most {MOST_FILES} are summarised"
            raise InvalidDataError(msg, "Name a folder in it.")
        notes: list[FileNote] = []
        for number, file in enumerate(readable, 1):
            self._report(JobProgress(number - 1, len(readable), UNIT, "summarising documents"))
            text = await self._file(place, file)
            notes.append(FileNote(number, file.shown(place), text, file.pages))
        if notes:
            self._report(JobProgress(len(notes), len(notes), UNIT, "putting it together"))
        return FolderSummary(await self._whole(notes), tuple(notes), left_out)

    async def _file(self, place: Place, file: KnownFile) -> str:
        """A file's summary; empty if it says nothing about the question."""
        key = ["file", str(place.root.path), file.path.hex(), file.sha256, self._question]
        if not file.sha256:
            key.append(str(file.mtime_ns))
        return await self._kept.text(key, lambda: self._read(place, file, key))

    async def _read(self, place: Place, file: KnownFile, key: list[str]) -> str:
        texts = [chunk.text for chunk in await self._library.text(file)]
        name = file.shown(place)
        sizes = self._sizes
        while True:
            try:
                return await self._map(name, texts, sizes, key)
            except TooLongError:
                sizes = sizes.halved()
                if sizes.least:
                    raise

    async def _map(self, name: str, texts: list[str], sizes: Sizes, key: list[str]) -> str:
        pieces = ["\n".join(texts[i] for i in group) for group in grouped(texts, sizes.text)]
        pieces = _spread(pieces, _MOST_PIECES)
        parts: list[str] = []
        for number, piece in enumerate(pieces, 1):

            async def write(piece: str = piece, number: int = number) -> str:
                cut = cut_to(piece, sizes.text)
                asked = about_part(name, cut, (number, len(pieces)), self._question)
                text = await self._writer.write(asked, sizes.short, self._question)
                return text or ("" if self._question else f"It begins: “{_beginning(piece)}”")

            if len(pieces) == 1:
                text = await write()
            else:
                text = await self._kept.text([*key, "part", number, len(pieces)], write)
            if not self._says_nothing(text):
                parts.append(text)
        return await self._merged(name, parts, sizes)

    async def _merged(self, name: str, parts: list[str], sizes: Sizes) -> str:
        """One summary out of those of a file's parts."""
        for _ in range(_MOST_ROUNDS):
            if len(parts) <= 1:
                break
            merged: list[str] = []
            parts = [cut_to(part, sizes.text // 2 - 1) for part in parts]  # so that two fit
            for group in grouped(parts, sizes.text):
                some = [parts[i] for i in group]
                asked = about_parts(name, some, self._question)
                text = some[0] if len(some) == 1 else await self._writer.write(asked, sizes.short)
                merged.append(text or cut_to(" ".join(some), sizes.short))
            parts = merged
        return parts[0] if parts else ""

    async def _whole(self, notes: Sequence[FileNote]) -> str:
        telling = [note for note in notes if note.text]
        if not telling:
            return ""
        if len(telling) == 1:
            return f"{telling[0].text} [{telling[0].number}]"
        known = frozenset(note.number for note in telling)
        lines = [note.bare for note in telling]
        sizes = self._sizes
        for _ in range(_MOST_ROUNDS):
            lines = [cut_to(line, sizes.text // 2 - 1) for line in lines]  # so that two fit
            groups = grouped(lines, sizes.text)
            last = len(groups) == 1
            written: list[str] = []
            for group in groups:
                some = [lines[i] for i in group]
                try:
                    written.append(await self._together(some, sizes, last=last))
                except TooLongError:
                    sizes = sizes.halved()
                    if sizes.least:
                        raise
                    break
            else:
                if last:
                    return without_wrong_numbers(written[0], known)
                lines = written
        return without_wrong_numbers("\n\n".join(lines), known)

    async def _together(self, some: list[str], sizes: Sizes, *, last: bool) -> str:
        async def write() -> str:
            asked = about_files(some, self._question, last=last)
            text = await self._writer.write(
                asked, sizes.long if last else sizes.short, self._question
            )
            # Each line names its file, so the lines themselves are a poor but honest summary.
            return text or cut_to(" ".join(some), sizes.long)

        return await self._kept.text(["together", list(some), self._question, last], write)

    def _says_nothing(self, text: str) -> bool:
        bare = text.strip(" .!*\"'\n").upper()
        return not bare or (bool(self._question) and bare.startswith(NOTHING))


def _spread(pieces: list[str], most: int) -> list[str]:
    """At most so many pieces, from all over the file."""
    if len(pieces) <= most:
        return pieces
    return [pieces[i * len(pieces) // most] for i in range(most)]


def _beginning(text: str) -> str:
    folded = " ".join(text.split())
    return folded if len(folded) <= _EXCERPT else f"{folded[:_EXCERPT].rstrip()}…"
