"""Asking the person, and turning what they say into a signed statement."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING

from homing_core.approvals import ApprovalStatement, Verdict
from homing_core.ids import new_approval_id

from homing_agent.ports import ConsentQuestion

if TYPE_CHECKING:
    from homing_core.approvals import SignedApproval
    from homing_core.clock import Clock
    from homing_core.ids import ApprovalId, RequestId
    from homing_core.tools import ToolCall, ToolSpec

    from homing_agent.policy.permit import NeedPerson
    from homing_agent.ports import Consent, Signer


@dataclass(frozen=True, slots=True)
class Step:
    """One call within a request.

    Attributes:
        request_id: the request.
        number: from 1.
        tool: the tool.
        call: the exact call.
    """

    request_id: RequestId
    number: int
    tool: ToolSpec
    call: ToolCall


@dataclass(frozen=True, slots=True)
class Said:
    """What came of asking.

    Attributes:
        allowed: whether the person said yes, to this very question, in time.
        remember: whether their yes is to be kept.
        approval: the signed statement; None if nobody answered.
    """

    allowed: bool
    remember: bool
    approval: SignedApproval | None


@dataclass(frozen=True, slots=True)
class ConsentDesk:
    """Where steps are put to the person.

    Attributes:
        consent: the way to the person.
        signer: signs what they say.
        clock: dates the statement.
        timeout_s: a question is void after this many seconds.
    """

    consent: Consent
    signer: Signer
    clock: Clock
    timeout_s: float = 120.0

    async def ask(
        self, step: Step, need: NeedPerson, preview: str = "", holds_s: float = 0.0
    ) -> Said:
        """Put one step to the person.

        Args:
            step: the call and its place in the request.
            need: why a person is asked.
            preview: what would happen, in the tool's words.
            holds_s: how long the answer holds, in seconds; 0 is as long as the question.
        """
        question = ConsentQuestion(
            approval_id=new_approval_id(),
            request_id=step.request_id,
            step=step.number,
            tool=step.tool,
            call=step.call,
            reason=need.reason,
            preview=preview,
            may_remember=need.may_remember,
            expires_at=int(self.clock.now() + self.timeout_s),
        )
        try:
            async with asyncio.timeout(self.timeout_s):
                answer = await self.consent.ask(question)
        except TimeoutError:
            return Said(allowed=False, remember=False, approval=None)
        if answer.approval_id != question.approval_id:
            return Said(allowed=False, remember=False, approval=None)
        allowed = answer.verdict is Verdict.ALLOW
        until = int(self.clock.now() + holds_s) if holds_s else question.expires_at
        return Said(
            allowed=allowed,
            remember=allowed and answer.remember and need.may_remember,
            approval=self._signed(step, question.approval_id, answer.verdict, until),
        )

    def allowed_before(self, step: Step, holds_s: float) -> SignedApproval:
        """The same for a step that its person had allowed before it was made: signed, not asked."""
        until = int(self.clock.now() + holds_s)
        return self._signed(step, new_approval_id(), Verdict.ALLOW, until)

    def _signed(
        self, step: Step, approval: ApprovalId, verdict: Verdict, until: int
    ) -> SignedApproval:
        return self.signer.sign(
            ApprovalStatement(
                id=approval,
                request_id=step.request_id,
                step=step.number,
                tool_hash=step.tool.schema_hash,
                argument_hash=step.call.argument_hash,
                verdict=verdict,
                device=self.signer.device,
                expires_at=until,
            )
        )
