"""How one request's events look to a person."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from homing_agent.events import (
    FinalAnswer,
    Note,
    RouteChosen,
    TextDelta,
    ThinkingDelta,
    ToolFinished,
    ToolProgress,
    ToolStarted,
)
from homing_agent.request import REFUSED
from homing_agent.routing.score import CALIBRATED
from homing_agent.runtime.job_words import short_job
from homing_core.labels import clean_label
from homing_core.tools import Place

from homing_client.cli.console import (
    PLACES,
    aside,
    exact,
    seconds,
    somebody_watches,
    write_answer,
)
from homing_client.cli.request_jobs import RequestJobs, again
from homing_client.cli.silence import Spinner

if TYPE_CHECKING:
    from collections.abc import Callable

    from homing_agent.request import AskInput, ToolStep

    from homing_client.sessions import Shown


_UNCALIBRATED = "  not calibrated for this model and these tools: homing calibrate"
_MOST_REASON = 200
"""Characters of a failed call's reason; all of it is in `--json`."""


class Reporter(Protocol):
    """Shows events as they come."""

    def show(self, event: Shown) -> None:
        """One event."""
        ...

    def start_over(self) -> None:
        """The resident process was killed; the request is asked again and told from its start."""
        ...

    def silent(self, seconds: float) -> None:
        """Nothing has come for so long, but the request goes on."""
        ...

    def interrupted(self) -> None:
        """The person ended the request."""
        ...

    def pause(self) -> None:
        """Something else is about to be printed."""
        ...

    def left(self, job: ToolProgress | None, request: AskInput) -> None:
        """The person left while a job of the request runs; both go on.

        Args:
            job: what is known of it; None if it was only just begun.
            request: what to ask again.
        """
        ...


def _plain(words: str) -> str:
    return f"homing {words}"


class TextReporter:
    """The answer on standard output, everything around it on standard error.

    Args:
        explain: whether to show what the routing decision saw.
        quiet: whether to leave out everything but the answer. Unless a person watches, it is then
            printed only when it is whole: a script must not get the start of another.
        command: a command that reaches the same phone, from its words.
        once: whether nothing more can be said here, so that a question is answered elsewhere.
    """

    def __init__(
        self,
        *,
        explain: bool = False,
        quiet: bool = False,
        command: Callable[[str], str] = _plain,
        once: bool = False,
    ) -> None:
        """Nothing is shown yet."""
        self._explain = explain
        self._quiet = quiet
        self._watched = somebody_watches()
        self._held = quiet and not self._watched
        self._told = ""
        self._before = ""
        self._open_line = False
        self._broke = False
        self._thinking = False
        self._command = command
        self._once = once
        self._jobs = RequestJobs(command)
        self._place = ""
        self._spinner = Spinner()

    def show(self, event: Shown) -> None:
        """Print one event."""
        self._spinner.hide()
        if isinstance(event, ToolProgress):
            self._job(event)
            return
        self._jobs.hide()
        match event:
            case ToolStarted(step):
                self._jobs.began(step.call)
            case TextDelta(text):
                self._end_thinking()
                self._write(self._unrepeated(text))
            case ThinkingDelta(text):
                self._thinking = True
                self._aside(text, end="")
            case Note(text):
                self._line(text)
            case RouteChosen(place, node, reason) if place is not Place.PHONE:
                self._place = f"{PLACES[place]} ({node})"
                self._line(f"→ {self._place}: {reason}")
            case ToolFinished(step):
                self._line(_step_line(step))
            case FinalAnswer():
                self._final(event)
            case _:
                pass

    def start_over(self) -> None:
        """Say so; text that comes again is not printed again."""
        self._spinner.hide()
        self._jobs.hide()
        self._line("(the resident process was ended; going on with a new one)")
        self._before = self._before or self._told
        self._told = ""

    def silent(self, seconds: float) -> None:
        """Show that it goes on, where no line of text is open."""
        if not (self._quiet or self._open_line or self._thinking):
            who = self._place or PLACES[Place.PHONE]
            self._spinner.show(f"{who} is working, {seconds:.0f} s; Ctrl-C ends it")

    def interrupted(self) -> None:
        """Say so."""
        self._spinner.hide()
        self._jobs.hide()
        self._line("interrupted; the request was ended")

    def pause(self) -> None:
        """Take away what is drawn."""
        self._spinner.hide()
        self._jobs.hide()

    def left(self, job: ToolProgress | None, request: AskInput) -> None:
        """Say how to come back."""
        self._spinner.hide()
        self._jobs.hide()
        words = f"jobs watch {short_job(job.job_id)}" if job else "jobs"
        where = job.node if job else "home"
        self._line(f"The job goes on at {where}. See it: {self._command(words)}")
        self._line(f"The answer, when it is there: {self._command(again(request))}")

    def _job(self, event: ToolProgress) -> None:
        if not self._quiet:
            self._end_thinking()
            self._break()
            self._jobs.show(event)

    def _unrepeated(self, text: str) -> str:
        """What of it has not been printed before the request was asked again."""
        self._told += text
        if not self._before:
            return text
        if self._before.startswith(self._told):
            return ""
        before, self._before = self._before, ""
        if self._told.startswith(before):
            return self._told[len(before) :]
        return f"\n{self._told}"  # another answer than before

    def _final(self, answer: FinalAnswer) -> None:
        self._end_thinking()
        if self._held or not self._told.endswith(answer.text):
            self._held = False
            self._break()
            self._write(answer.text)
        self._break()
        if self._quiet or answer.error is not None:
            return  # what went wrong is said in a line of its own
        where = PLACES[answer.place] + (f" ({answer.node})" if answer.node else "")
        facts = [where, answer.model + (" (stand-in)" if answer.stand_in else "")]
        if answer.ttft_ms >= 0:
            facts.append(f"first token {seconds(answer.ttft_ms)}")
        facts += [f"total {seconds(answer.total_ms)}", answer.reason]
        self._aside(" · ".join(fact for fact in facts if fact))
        if self._once and answer.asks:
            words = f'ask --conversation {answer.conversation_id} "…"'
            self._aside(f"Answer it: {self._command(words)}")
        if self._explain:
            if answer.features.get(CALIBRATED) == 0:
                self._aside(_UNCALIBRATED)
            for name, value in sorted(answer.features.items()):
                self._aside(f"  {name} = {value:g}")

    def _write(self, text: str) -> None:
        fresh = text.removeprefix("\n") if self._broke else text
        if self._held or not fresh:
            return
        self._broke = False
        self._open_line = not fresh.endswith("\n")
        write_answer(fresh)

    def _line(self, text: str) -> None:
        self._end_thinking()
        if self._watched and not self._quiet:  # elsewhere the two streams go separate ways
            self._break()
        self._aside(text)

    def _break(self) -> None:
        if self._open_line:
            self._write("\n")
            self._broke = True

    def _end_thinking(self) -> None:
        if self._thinking:
            self._thinking = False
            self._aside("")

    def _aside(self, text: str, end: str = "\n") -> None:
        if not self._quiet:
            aside(text, end=end)


def _step_line(step: ToolStep) -> str:
    call = step.call
    arguments = ", ".join(
        f"{exact(key)[1:-1]}={exact(item)}" for key, item in call.arguments.items()
    )
    what = f"{call.name}({arguments})"
    if step.approved_by == REFUSED:
        return f"✗ {what} was not allowed"
    if step.result is None or step.result.is_error:
        why = clean_label(step.result.content, _MOST_REASON, "") if step.result else ""
        return f"✗ {what} did not work{': ' if why else ''}{why}"
    allowed = f", allowed by {step.approved_by}" if step.approved_by else ""
    return f"✓ {what} on {PLACES[step.place]}{allowed}"
