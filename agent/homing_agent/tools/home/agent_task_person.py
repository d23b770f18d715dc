"""The person of an agent task: asked by the node, through the device that the task belongs to."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING

from homing_core.approvals import SignedApproval, Verdict
from homing_core.canonical import sha256_json
from homing_core.ids import ApprovalId, DeviceId

from homing_agent.ports import ConsentAnswer

if TYPE_CHECKING:
    from homing_core.approvals import ApprovalStatement

    from homing_agent.ports import ConsentQuestion
    from homing_agent.tool import ToolContext


class NoSigner:
    """What a person says is signed on their own device; here nothing is."""

    @property
    def device(self) -> DeviceId:
        """As in `Signer`."""
        return DeviceId("0" * 64)

    def sign(self, statement: ApprovalStatement) -> SignedApproval:
        """As in `Signer`."""
        return SignedApproval(statement, b"")


class TaskConsent:
    """The way to a person from within a task: the same question has the same id each time.

    Args:
        context: the task's.
    """

    def __init__(self, context: ToolContext) -> None:
        """Keep it."""
        self._context = context
        self.raised: BaseException | None = None
        """What asking raised: it ends this attempt, and is not an answer."""

    async def ask(self, question: ConsentQuestion) -> ConsentAnswer:
        """As in `Consent`."""
        consent = self._context.consent
        if consent is None:
            return ConsentAnswer(question.approval_id, Verdict.DENY)
        tool, call = question.tool, question.call
        named = sha256_json(
            [self._context.call_id, question.step, tool.schema_hash, call.argument_hash]
        )
        # The task's own call is the job's first step.
        asked = replace(
            question,
            approval_id=ApprovalId(f"appr-{named[:32]}"),
            step=question.step + 1,
            may_remember=False,
        )
        try:
            answer = await consent.ask(asked)
        except asyncio.CancelledError:
            raise
        except BaseException as error:
            self.raised = error
            raise asyncio.CancelledError from error
        if answer.approval_id != asked.approval_id:
            return ConsentAnswer(question.approval_id, Verdict.DENY)
        return ConsentAnswer(question.approval_id, answer.verdict)
