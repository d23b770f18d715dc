"""How far a job is: a bar with rate and time left on a terminal, quiet lines elsewhere."""

from __future__ import annotations

from typing import TYPE_CHECKING

from homing_agent.runtime.job_words import (
    STATE_WORDS,
    count_text,
    duration_text,
    percent,
    rate_text,
    short_job,
    short_question,
)
from homing_core.jobs import JobProgress, JobState
from homing_core.labels import clean_label
from rich.console import Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from homing_client.cli.console import aside, err, printable
from homing_client.cli.pace import Pace

if TYPE_CHECKING:
    from collections.abc import Callable

    from homing_core.ids import JobId
    from homing_core.jobs import JobEvent
    from rich.console import Console, RenderableType

_LINE_S = 15.0
"""Elsewhere than on a terminal a line is printed this often at most, by the node's clock."""
_ROOMY = 60
"""Columns from which on bar and numbers have room beside each other."""
_BAR = 24
_PER_SECOND = 8
_UNIT_CHARS = 20
_NOTE_CHARS = 200


class JobShow:
    """Shows one job's events as they come.

    Args:
        job: the job.
        tool: what runs.
        node: the node's name.
        command: a command that reaches the same phone, such as `jobs watch 1a2b3c`.
        console: where to.
    """

    def __init__(
        self,
        job: JobId,
        tool: str,
        node: str,
        command: Callable[[str], str],
        console: Console = err,
    ) -> None:
        """Nothing is shown yet."""
        self._title = f"{clean_label(tool)} at {clean_label(node)}"
        self._short = short_job(job)
        self._node = clean_label(node)
        self._asked = ""
        self._ours = True
        self._away = ""
        self._command = command
        self._console = console
        self._pace = Pace()
        self._live: Live | None = None
        self._state: JobState | None = None
        self._progress = JobProgress(0, 0)
        self._note = ""
        self._lined_at = 0.0

    def show(self, event: JobEvent, *, ours: bool = True) -> None:
        """One event.

        Args:
            event: the event.
            ours: whether a question, if there is one, is for this phone's person.
        """
        changed = event.state is not self._state
        self._ours = ours
        self._away = ""
        self._state = event.state
        self._asked = event.approval_id or ""
        if event.state is not JobState.RUNNING:
            self._pace.reset()
        if event.progress is not None:
            self._progress = _cleaned(event.progress)
            self._pace.add(event.at, event.progress.done)
        note = event.note or (event.progress.note if event.progress else "")
        self._note = clean_label(note, _NOTE_CHARS, fallback="") if note or changed else self._note
        if event.state.final:
            self.hide()
        elif self._console.is_terminal:
            self._draw()
        elif changed or event.at - self._lined_at >= _LINE_S:
            self._lined_at = event.at
            aside(self._line())

    def away(self, why: str) -> None:
        """Nothing more is heard of it just now, for this reason; the next event ends that."""
        why = clean_label(why, _NOTE_CHARS, fallback="")
        if why == self._away:
            return
        self._away = why
        self._pace.reset()
        if self._console.is_terminal:
            self._draw()
        elif why:
            aside(f"{self._title}: {self._unheard()}")

    def hide(self) -> None:
        """Take the bar away, so that something else can be printed; the next event brings it."""
        live, self._live = self._live, None
        if live is not None:
            live.stop()

    @property
    def question(self) -> str:
        """What a person has to do before it goes on; empty if nothing."""
        if self._state is JobState.WAITING_APPROVAL and not self._ours:
            return f"only an owner of {self._node} can answer"
        if self._state is JobState.WAITING_APPROVAL:
            words = (
                f"jobs approve {short_question(self._asked)}" if self._asked else "jobs approvals"
            )
            return f"answer it: {self._command(words)}"
        if self._state is JobState.UNKNOWN_EFFECT:
            return f"say what you know: {self._command(f'jobs settle {self._short}')}"
        return ""

    def _draw(self) -> None:
        if self._live is None:
            self._live = Live(
                console=self._console,
                transient=True,
                refresh_per_second=_PER_SECOND,
                redirect_stdout=False,
                redirect_stderr=False,
            )
            self._live.start()
        self._live.update(self.picture(self._console.width), refresh=True)

    def picture(self, width: int) -> RenderableType:
        """What a terminal of this many columns shows."""
        roomy = width >= _ROOMY
        if self._away:
            return Group(self._title_line(""), Text(printable(self._unheard())))
        said = self._note if self._state is JobState.RUNNING else self._words()
        lines: list[RenderableType] = [self._title_line(said if roomy else "")]
        if said and not roomy:
            lines.append(_quiet(said))
        if self._state is not JobState.RUNNING:
            asked = [Text(printable(self.question))] if self.question else []
            return Group(*lines, *asked)
        numbers = _quiet(" · ".join(self._numbers()) or STATE_WORDS[self._state])
        done = percent(self._progress)  # of numbers beyond measure, too, it is a plain one
        known = done is not None
        bar = ProgressBar(
            total=100 if known else None,
            completed=done or 0,
            pulse=not known,
            width=_BAR if roomy else width,
        )
        grid = Table.grid(padding=(0, 2))
        if roomy:
            grid.add_row(bar, numbers)
            return Group(*lines, grid)
        grid.add_row(bar)
        return Group(*lines, grid, numbers)

    def _unheard(self) -> str:
        return f"{self._away}; what happens there is shown as soon as it can be heard of again"

    def _title_line(self, more: str) -> Text:
        line = Text(no_wrap=True, overflow="ellipsis")
        line.append(self._title, style="bold")
        if more:
            line.append(f" · {more}", style="dim")
        return line

    def _words(self) -> str:
        words = STATE_WORDS[self._state] if self._state else ""
        return f"{words} · {self._note}" if self._note else words

    def _numbers(self) -> list[str]:
        part = percent(self._progress)
        left = self._pace.left_s(self._progress)
        facts = [
            f"{part}%" if part is not None else "",
            count_text(self._progress),
            rate_text(self._pace.per_second, self._progress.unit if part is None else ""),
            f"{duration_text(left)} left" if left is not None else "",
        ]
        return [fact for fact in facts if fact]

    def _line(self) -> str:
        """The same in one line, for a pipe."""
        if self._state is not JobState.RUNNING:
            return f"{self._title}: {' · '.join(filter(None, (self._words(), self.question)))}"
        facts = [*self._numbers(), self._note]
        return f"{self._title}: {' · '.join(filter(None, facts)) or STATE_WORDS[self._state]}"


def _quiet(text: str) -> Text:
    return Text(text, style="dim", no_wrap=True, overflow="ellipsis")


def _cleaned(progress: JobProgress) -> JobProgress:
    unit = clean_label(progress.unit, _UNIT_CHARS, fallback="")
    return JobProgress(progress.done, progress.total, unit)
