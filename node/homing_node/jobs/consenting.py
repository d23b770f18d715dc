"""Consent within a job: what was answered is found again, and what was not ends the attempt."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NoReturn, Protocol

from homing_agent.ports import ConsentAnswer
from homing_core.approvals import Verdict
from homing_core.canonical import sha256_json
from homing_core.errors import RefusedError
from homing_core.ids import ApprovalId
from homing_core.jobs import PendingApproval

from homing_node.jobs import rules
from homing_node.jobs.forms import encode_question
from homing_node.jobs.store import Question

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Collection, Iterable

    from homing_agent.ports import ConsentQuestion
    from homing_core.tools import ToolCall, ToolSpec
    from homing_crypto.devices import PairedDevice

    from homing_node.devices.limits import Standing
    from homing_node.jobs.sealed import JobCipher
    from homing_node.jobs.store import JobRow

OWN_STEP: Final = 1
"""The job's own call. Steps of a tool that calls others follow it."""


class Parks(Protocol):
    """Ends an attempt until a person has answered."""

    async def __call__(self, question: Question) -> NoReturn:
        """Never returns: the tool is cancelled, whatever it does about it."""
        ...


class JobConsent:
    """A `homing_agent.ports.Consent` for a job.

    Args:
        row: the job.
        standing: what holds for its device.
        look: what holds for it by now; an attempt may take hours.
        cipher: the job's own.
        questions: those of the job that were asked, answered ones too.
        no_owners: who answered as an owner, and is none any more.
        expires_at: when a question asked now is void.
        park: ends the attempt.
    """

    def __init__(  # noqa: PLR0913  # each is a part of its own
        self,
        *,
        row: JobRow,
        standing: Standing,
        look: Callable[[], Awaitable[Standing]],
        cipher: JobCipher,
        questions: Iterable[Question],
        no_owners: Collection[str] = (),
        now: float,
        expires_at: float,
        park: Parks,
    ) -> None:
        """Keep what was said."""
        self._row = row
        self._standing = standing
        self._look = look
        self._no_owners = no_owners
        self._cipher = cipher
        self._questions = tuple(questions)
        self._now = now
        self._expires_at = expires_at
        self._park = park

    def check_own_call(self, tool: ToolSpec, call: ToolCall) -> None:
        """Raise `RefusedError` if somebody said no to the job as a whole."""
        if Verdict.DENY.value in self._said(tool, call):
            raise _denied(tool)

    def own_call(self, tool: ToolSpec, call: ToolCall) -> Question | None:
        """What an owner is asked before the job may run at all; None if that is settled."""
        allowed = Verdict.ALLOW.value in self._said(tool, call)
        if allowed or not rules.needs_owner(tool, self._standing):
            return None
        reason = f"{self._standing.device.name} asks for something that changes this computer"
        return self._new(tool, call, OWN_STEP, reason, "")

    async def ask(self, question: ConsentQuestion) -> ConsentAnswer:
        """See `Consent.ask`: the answer if there is one, or the end of this attempt."""
        tool, call = question.tool, question.call
        self._standing = await self._look()
        said = self._said(tool, call, question.step)
        for verdict in (Verdict.DENY, Verdict.ALLOW):
            if verdict.value in said:
                return ConsentAnswer(question.approval_id, verdict)
        asked = self._new(tool, call, question.step, question.reason, question.preview)
        return await self._park(asked)

    async def require(self, tool: ToolSpec, call: ToolCall, preview: str) -> None:
        """Return only if the device may use it, and a person has allowed exactly this if need be.

        Raises:
            NotFoundError: it may not use this tool any more.
            RefusedError: it may use none any more, or a person said no.
        """
        self._standing = await self._look()
        rules.check_use(self._standing.device, self._standing.limits, tool)
        if not rules.needs_person(tool):
            return
        said = self._said(tool, call)
        if Verdict.ALLOW.value in said:
            return
        if said:
            raise _denied(tool)
        reason = f"{tool.name} does more than read"
        await self._park(self._new(tool, call, len(self._questions) + 2, reason, preview))

    def _said(self, tool: ToolSpec, call: ToolCall, step: int = 0) -> set[str]:
        """What counts of the answers to a call, at one step or any.

        A no always does. A yes does until it is spent, and where an owner's is needed by now, only
        that of somebody who is an owner by now.
        """
        asked = self._asked(tool, call, step)
        return {one.verdict for one in asked if self._counts(one, tool)}

    def _counts(self, one: Question, tool: ToolSpec) -> bool:
        if one.verdict != Verdict.ALLOW.value:
            return bool(one.verdict)
        owners = one.owners_only and one.answered_by not in self._no_owners
        return not one.spent and (owners or not rules.needs_owner(tool, self._standing))

    def _asked(self, tool: ToolSpec, call: ToolCall, step: int) -> list[Question]:
        """Earlier questions about a call, at one step or any."""
        return [
            one
            for one in self._questions
            if (one.tool_hash, one.argument_hash) == (tool.schema_hash, call.argument_hash)
            and step in {0, one.step}
        ]

    def _new(
        self, tool: ToolSpec, call: ToolCall, step: int, reason: str, preview: str
    ) -> Question:
        earlier = self._asked(tool, call, step)
        if any(one.spent for one in self._asked(tool, call, 0)):
            reason += "; once more, for nobody knows whether it happened when it was allowed before"
        return new_question(
            self._row,
            self._standing,
            self._cipher,
            tool=tool,
            call=call,
            step=step,
            earlier=len(earlier),
            reason=reason,
            preview=preview,
            now=self._now,
            expires_at=self._expires_at,
        )


def _denied(tool: ToolSpec) -> RefusedError:
    msg = f"a person said no to {tool.name}"
    return RefusedError(msg)


def new_question(  # noqa: PLR0913  # a question's fields
    row: JobRow,
    standing: Standing,
    cipher: JobCipher,
    *,
    tool: ToolSpec,
    call: ToolCall,
    step: int,
    earlier: int = 0,
    reason: str,
    preview: str,
    now: float,
    expires_at: float,
) -> Question:
    """A question about a step of a job, of which `earlier` ones had answers that do not count."""
    device: PairedDevice = standing.device
    named = sha256_json(
        [
            "homing job question v1",
            *row.key,
            step,
            earlier,
            tool.schema_hash,
            call.argument_hash,
        ]
    )
    pending = PendingApproval(
        # Not the hash itself: that would confirm a guess at the arguments once the job has ended.
        id=ApprovalId(f"appr-{cipher.label(named)[:32]}"),
        job_id=row.key.id,
        request_id=row.request_id,
        step=step,
        tool=tool,
        call=call,
        reason=reason,
        preview=preview,
        expires_at=int(expires_at),
        device=device.owner,
        device_name=device.name,
    )
    return Question(
        id=pending.id,
        key=row.key,
        step=step,
        tool_hash=tool.schema_hash,
        argument_hash=call.argument_hash,
        owners_only=rules.needs_owner(tool, standing),
        at=now,
        expires_at=expires_at,
        shown=cipher.seal("question", encode_question(pending)),
    )
