"""Questions to the person while events go on: of a request, or of a job."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from homing_agent.ports import ConsentAnswer
from homing_core.approvals import Verdict
from homing_core.errors import HomingError

from homing_client.cli.approvals_view import show_waiting
from homing_client.cli.consent import ask_person, ask_yes
from homing_client.cli.console import aside

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from homing_agent.ports import ConsentQuestion
    from homing_core.ids import ApprovalId

    from homing_client.jobs.ports import PhoneJobs


class QuestionDesk:
    """At most one open question. Events go on meanwhile: it may be settled elsewhere.

    A question of a job stays open at its node when the person leaves without an answer.

    Args:
        answer: takes an answer to a request's question.
        jobs: takes answers to jobs' questions.
    """

    def __init__(self, answer: Callable[[ConsentAnswer], None], jobs: PhoneJobs) -> None:
        """Nothing is asked yet."""
        self._answer = answer
        self._jobs = jobs
        self._task: asyncio.Task[None] | None = None
        self._of_job: ApprovalId | None = None
        self._shown = False
        self._answering = False

    @property
    def is_open(self) -> bool:
        """Whether an answer is waited for."""
        return self._task is not None and not self._task.done()

    def open(self, question: ConsentQuestion) -> None:
        """Ask a request's question."""
        self._begin(self._ask(question))

    async def open_job(self, approval: ApprovalId) -> None:
        """Ask a job's question, unless that is the one that is open."""
        if self._of_job != approval:
            await self.close()
            self._of_job = approval
            self._begin(self._ask_of_job(approval))

    async def close(self) -> None:
        """Whatever is still asked, is not any more; an answer on its way is let through."""
        task, self._task, self._of_job = self._task, None, None
        if task is None:
            return
        if not task.done() and not self._answering:
            if self._shown:
                aside("\n(not asked any more)")
            task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    def _begin(self, asking: Coroutine[None, None, None]) -> None:
        self._shown = self._answering = False
        self._task = asyncio.create_task(asking)

    async def _ask(self, question: ConsentQuestion) -> None:
        self._shown = True
        try:
            answer = await ask_person(question)
        except OSError:  # the terminal has gone
            answer = ConsentAnswer(question.approval_id, Verdict.DENY)
        self._answering = True
        self._answer(answer)

    async def _ask_of_job(self, approval: ApprovalId) -> None:
        try:
            found = [one for one in await self._jobs.waiting() if one.approval.id == approval]
            if not found:
                aside("The job waits for a yes or no of somebody else.")
                return
            show_waiting(found[0])
            self._shown = True
            allowed = await ask_yes()
            self._answering = True
            verdict = Verdict.ALLOW if allowed else Verdict.DENY
            await self._jobs.answer(found[0].shown, verdict)
        except OSError:  # the terminal has gone; the question stays
            return
        except HomingError as error:
            aside(str(error))
