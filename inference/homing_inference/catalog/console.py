"""Fetch progress as a bar in the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from rich.progress import (
    BarColumn,
    DownloadColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeRemainingColumn,
    TransferSpeedColumn,
)

if TYPE_CHECKING:
    from types import TracebackType

    from rich.console import Console


class FetchBar:
    """A `catalog.progress.Progress` that draws on a Rich console; one line a stage.

    Without a terminal it draws nothing.

    Args:
        console: where to draw.
    """

    def __init__(self, console: Console) -> None:
        """Draw nothing yet."""
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            DownloadColumn(),
            TransferSpeedColumn(),
            TimeRemainingColumn(),
            console=console,
            transient=True,
            disable=not console.is_terminal,
        )
        self._label = ""
        self._task: TaskID | None = None

    def __enter__(self) -> Self:
        """Begin to draw."""
        self._bar.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Leave the terminal clean."""
        self._bar.stop()

    def __call__(self, done: int, total: int, label: str, /) -> None:
        """See `catalog.progress.Progress`."""
        if self._task is None or label != self._label:
            if self._task is not None:
                self._bar.remove_task(self._task)
            self._label = label
            self._task = self._bar.add_task(label, total=total or None)
        self._bar.update(self._task, completed=done, total=total or None)
