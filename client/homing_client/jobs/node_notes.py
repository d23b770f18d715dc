"""What the job book keeps about nodes: new keys, and which of their tools a person has allowed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from homing_core.ids import DeviceId

if TYPE_CHECKING:
    from homing_core.tools import ToolSpec

    from homing_client.jobs.book_file import BookFile


class NodeNotes:
    """The part of the job book that is about nodes. Every method raises `HomingError`.

    Args:
        file: the book's file.
    """

    def __init__(self, file: BookFile) -> None:
        """Keep it."""
        self._file = file

    def prepare(self, old: DeviceId, new: DeviceId) -> None:
        """A node is about to be known by another id; called in whatever thread, harmless twice.

        After a kill before `succeed`, `successors` tells, so that no job loses its node.
        """
        self._file.write_elsewhere("INSERT OR REPLACE INTO successor VALUES (?, ?)", old, new)

    def successors(self) -> tuple[tuple[DeviceId, DeviceId], ...]:
        """Old and new ids of nodes of which `prepare` was told, and `succeed` was not yet."""
        rows = self._file.rows("SELECT old, new FROM successor")
        return tuple((DeviceId(str(old)), DeviceId(str(new))) for old, new in rows)

    def succeed(self, old: DeviceId, new: DeviceId) -> None:
        """A node has a new key, and so another id; harmless twice."""
        with self._file.together():
            self._file.write("DELETE FROM successor WHERE old = ?", old)
            self._file.write("UPDATE job SET node = ? WHERE node = ?", new, old)
            self._file.write("UPDATE OR REPLACE allowed SET node = ? WHERE node = ?", new, old)

    def allow(self, tool: ToolSpec) -> None:
        """The person has allowed this very tool of its node."""
        self._file.write(
            "INSERT OR REPLACE INTO allowed VALUES (?, ?, ?, ?)",
            tool.node,
            tool.server,
            tool.name,
            tool.schema_hash,
        )

    def allowed(self, tool: ToolSpec) -> str:
        """Schema hash of the tool of that node that was allowed under this name; may be empty."""
        rows = self._file.rows(
            "SELECT tool_hash FROM allowed WHERE node = ? AND server = ? AND name = ?",
            tool.node,
            tool.server,
            tool.name,
        )
        return "".join(str(row[0]) for row in rows)
