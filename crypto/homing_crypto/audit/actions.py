"""Entries about what was done for a device: a tool that ran, a person's yes or no.

They name the tool and the step, and never the arguments, nor a hash of them: whoever takes the disk
could try likely arguments against it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from homing_crypto.audit.records import AuditKind

if TYPE_CHECKING:
    from homing_core.approvals import ApprovalStatement
    from homing_core.ids import DeviceId
    from homing_core.tools import ToolId

    from homing_crypto.audit.records import Audit


def note_tool_run(audit: Audit, device: DeviceId, tool: ToolId, run: str, outcome: str) -> None:
    """A home tool ran, or was kept from it.

    Args:
        audit: the record.
        device: for whom.
        tool: which.
        run: id of the job or call, as its initiator chose it.
        outcome: one word, such as `done`, `failed` or `refused`; never a tool's own text.
    """
    audit.record(
        AuditKind.TOOL_RUN,
        actor=device,
        device=device,
        detail={
            "tool": f"{tool.server}.{tool.name}",
            "schema": tool.schema_hash,
            "run": run,
            "outcome": outcome,
        },
    )


def note_approval(audit: Audit, statement: ApprovalStatement, *, accepted: bool) -> None:
    """A person's answer arrived, and counted or did not.

    Args:
        audit: the record.
        statement: what was signed.
        accepted: whether its signature, its step and its time were right.
    """
    audit.record(
        AuditKind.APPROVAL,
        actor=statement.device,
        device=statement.device,
        detail={
            "approval": statement.id,
            "request": statement.request_id,
            "step": statement.step,
            "schema": statement.tool_hash,
            "verdict": statement.verdict.value,
            "accepted": accepted,
        },
    )
