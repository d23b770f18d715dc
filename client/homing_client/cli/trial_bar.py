"""How far trials are: a bar on a terminal, a line now and then elsewhere."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Self

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from homing_client.cli.console import aside, err

if TYPE_CHECKING:
    from types import TracebackType

    from rich.progress import TaskID

_TENTHS: Final = 10


class TrialBar:
    """Shows progress on standard error.

    Args:
        label: what is done.
        quiet: whether to show nothing.
    """

    def __init__(self, label: str, *, quiet: bool = False) -> None:
        """Nothing is shown yet."""
        self._label = label
        self._quiet = quiet
        self._told = -1
        self._task: TaskID | None = None
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
            console=err,
            transient=True,
            disable=quiet or not err.is_terminal,
        )

    def __enter__(self) -> Self:
        """Begin to show."""
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

    def __call__(self, done: int, total: int) -> None:
        """So many of so many are done."""
        if err.is_terminal:
            if self._task is None:
                self._task = self._bar.add_task(self._label, total=total)
            self._bar.update(self._task, completed=done, total=total)
            return
        tenth = done * _TENTHS // total if total else _TENTHS
        if not self._quiet and tenth > self._told:
            self._told = tenth
            aside(f"{self._label}: {done} of {total}")
