"""The folders that the operator has opened, and finding the one that somebody means."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from homing_core.errors import NotFoundError, RefusedError

from homing_agent.documents.chunks import clean_line
from homing_agent.documents.kinds import is_skipped
from homing_agent.documents.opening import is_folder

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_MOST_NAME = 120
_AROUND = re.compile(r"^(?:my|the|our)\s+|\s+(?:folder|directory)$", re.IGNORECASE)
"""What a model likes to write around a folder's name."""


@dataclass(frozen=True, slots=True)
class Root:
    """A folder that may be read, with all that lies in it.

    Attributes:
        name: what people call it.
        path: its real path, free of links when the node started.
        given: the path as the operator wrote it.
    """

    name: str
    path: Path
    given: Path


@dataclass(frozen=True, slots=True)
class Place:
    """A folder within a root.

    Attributes:
        root: the root.
        parts: names of the folders on the way to it; none for the root itself.
    """

    root: Root
    parts: tuple[str, ...] = ()

    @property
    def relative(self) -> bytes:
        """The path below the root, as the file system writes it."""
        return os.fsencode("/".join(self.parts))

    @property
    def shown(self) -> str:
        """For people."""
        return clean_line("/".join((self.root.name, *self.parts)), _MOST_NAME * 4)


class Roots:
    """All roots.

    Args:
        roots: folders by name.
        never: folders that are left out wherever they lie, such as the node's own data.
    """

    def __init__(self, roots: Mapping[str, Path], never: Iterable[Path] = ()) -> None:
        """Nothing is looked at on disk but links."""
        self._roots = tuple(_root(name, path) for name, path in roots.items())
        self.never = tuple(never)

    @classmethod
    def of(cls, folders: Iterable[Path | str], never: Iterable[Path] = ()) -> Roots:
        """Roots called by the names of their folders; the same name twice gets a number."""
        named: dict[str, Path] = {}
        for folder in folders:
            path = Path(folder).expanduser()
            base = clean_line(path.name, _MOST_NAME) or "files"
            name, number = base, 2
            while name.casefold() in {one.casefold() for one in named}:
                name, number = f"{base} {number}", number + 1
            named[name] = path
        return cls(named, never)

    def __bool__(self) -> bool:
        """Whether there is one."""
        return bool(self._roots)

    @property
    def names(self) -> tuple[str, ...]:
        """What they are called."""
        return tuple(root.name for root in self._roots)

    def all(self) -> tuple[Place, ...]:
        """Every root as a place."""
        return tuple(Place(root) for root in self._roots)

    def find(self, folder: str) -> Place:
        """The folder that a name, a path within a root, or a whole path means.

        Raises:
            RefusedError: it lies outside, or is hidden.
            NotFoundError: there is no such folder in any root.
        """
        wanted = folder.strip().strip("'\"`")
        if "\0" in wanted:
            raise self._refused()
        for words in dict.fromkeys((wanted, _AROUND.sub("", wanted))):
            place = self._find(words)
            if place is not None:
                return place
        msg = "there is no such folder among those that may be read"
        raise NotFoundError(msg, self.hint)

    def _find(self, wanted: str) -> Place | None:
        places = self._absolute(wanted) if wanted.startswith(("/", "~")) else self._within(wanted)
        for place in places:
            if any(is_skipped(part) for part in place.parts) or self._is_never(place):
                raise self._refused()
            if is_folder(place.root.path, place.parts):
                return place
        return None

    @property
    def hint(self) -> str:
        """What may be named."""
        return f"Name one of these, or a folder in it: {', '.join(self.names)}."

    def _absolute(self, wanted: str) -> list[Place]:
        path = os.path.normpath(os.path.expanduser(wanted))  # noqa: PTH111  # of a name, not a file
        # A link on the way to a root is the operator's; below it every part is opened unfollowed.
        forms = (path, os.path.realpath(path))
        places = [
            Place(root, tuple(Path(form).relative_to(base).parts))
            for form in forms
            for root in self._roots
            for base in (root.path, root.given)
            if Path(form).is_relative_to(base)
        ]
        if not places:
            raise self._refused()
        return places

    def _within(self, wanted: str) -> list[Place]:
        parts = tuple(Path(os.path.normpath(wanted)).parts) if wanted else ()
        if ".." in parts:
            raise self._refused()
        if not parts:
            return list(self.all())[:1] if len(self._roots) == 1 else []
        head, rest = parts[0].casefold(), parts[1:]
        named = [Place(root, rest) for root in self._roots if root.name.casefold() == head]
        return [*named, *(Place(root, parts) for root in self._roots)]

    def _is_never(self, place: Place) -> bool:
        path = place.root.path.joinpath(*place.parts)
        return any(path.is_relative_to(os.path.realpath(folder)) for folder in self.never)

    def _refused(self) -> RefusedError:
        msg = "that folder may not be read"
        return RefusedError(msg, self.hint)


def _root(name: str, path: Path) -> Root:
    given = Path(os.path.abspath(path.expanduser()))  # noqa: PTH100  # links stay
    return Root(clean_line(name, _MOST_NAME) or "files", Path(os.path.realpath(given)), given)
