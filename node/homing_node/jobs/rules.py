"""Who may run what, whose consent it needs, and who may give it. Pure.

The submitting device's own person consents to whatever is more than reading. What changes this
computer needs an owner besides, unless an owner asks for it, or has named exactly this tool in the
limits that they set: on the device itself, or where it is here on another home's word, on that
home. What the other home says of its devices is no owner's word here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from homing_core.access import DeviceRole, Scope
from homing_core.approvals import Verdict
from homing_core.errors import (
    InvalidDataError,
    NotFoundError,
    RefusedError,
)
from homing_core.limits import may_use_tool
from homing_core.provenance import Sensitivity
from homing_core.tools import EffectClass

if TYPE_CHECKING:
    from collections.abc import Collection

    from homing_core.access import Limits
    from homing_core.approvals import ApprovalStatement
    from homing_core.ids import DeviceId
    from homing_core.jobs import JobSpec
    from homing_core.tools import ToolSpec
    from homing_crypto.devices import PairedDevice

    from homing_node.devices.limits import Standing
    from homing_node.jobs.store import JobRow, Question

MOST_PRIORITY: Final = 10
"""No job goes further before or behind others."""
_WILD: Final = frozenset("*?[&")
_CHANGES: Final = frozenset(EffectClass) - {EffectClass.READ, EffectClass.READ_NETWORK}


def is_owner(device: PairedDevice) -> bool:
    """Whether it is an owner's, and was paired here."""
    return device.role is DeviceRole.OWNER and not device.introduced_by


def in_household(device: PairedDevice) -> bool:
    """Whether it is an owner's or a member's, and was paired here."""
    return not device.introduced_by and device.role in {DeviceRole.OWNER, DeviceRole.MEMBER}


def changes_home(tool: ToolSpec) -> bool:
    """Whether it changes this computer, or acts in its owner's name."""
    return tool.effect in _CHANGES


def needs_person(tool: ToolSpec) -> bool:
    """Whether a person consents to each call."""
    return tool.effect is not EffectClass.READ or bool(tool.topics)


def needs_owner(tool: ToolSpec, standing: Standing) -> bool:
    """Whether that person's own word is not enough, and an owner is asked."""
    if not changes_home(tool) or is_owner(standing.device):
        return False
    return bool(tool.topics) or f"{tool.server}.{tool.name}" not in _granted(standing)


def once(tool: ToolSpec) -> bool:
    """Whether a call must not be made twice, so that it is recorded before and after."""
    return tool.effect is not EffectClass.READ and not tool.idempotent


def check_use(device: PairedDevice, limits: Limits, tool: ToolSpec) -> None:
    """Raise unless the device may run this tool, consent aside.

    Raises:
        NotFoundError: it is not to know of the tool.
        RefusedError: it may not run tools, or not as jobs.
    """
    for scope in (Scope.TOOLS, Scope.JOBS):
        if scope not in device.scopes:
            msg = f"this device may not use {scope.value} on this node"
            raise RefusedError(msg, "Ask the node's owner.")
    if not may_use_tool(limits, tool.name, tool.server):
        raise no_such_tool()


def check_submission(
    device: PairedDevice, spec: JobSpec, tool: ToolSpec, nodes: Collection[str]
) -> None:
    """Raise unless a job names this tool as it is now, and may bring its data here.

    Args:
        device: who submits it.
        spec: the job.
        tool: what the node has under that name.
        nodes: device ids by which this node goes.

    Raises:
        NotFoundError: the tool has changed, or is another node's.
        InvalidDataError: the call names another tool.
        RefusedError: the data may not come here, or what came of it could not go back.
    """
    if spec.tool.node and spec.tool.node not in nodes:
        msg = "this tool is another node's"
        raise NotFoundError(msg, "Send the job there.")
    if spec.call.name != spec.tool.name:
        msg = "the call names another tool than the job"
        raise InvalidDataError(msg)
    if tool.schema_hash != spec.tool.schema_hash:
        msg = f"the tool {tool.name} has changed since this device last saw it"
        raise NotFoundError(msg, "Look at this node's tools again, and allow it anew.")
    if spec.sensitivity is Sensitivity.PHONE_ONLY or (
        device.introduced_by and spec.sensitivity is Sensitivity.HOME_ONLY
    ):
        msg = "this data may not come to this node"
        raise RefusedError(msg, "Send the job home, or say that the data may go to peers.")
    if not device.hpke_public_key:
        msg = "this device gave no key for which a result could be sealed"
        raise RefusedError(msg, "Pair it again with a newer Homing.")


def check_consent(statement: ApprovalStatement | None, spec: JobSpec, tool: ToolSpec) -> None:
    """Raise unless a verified statement allows exactly this; raises `RefusedError`."""
    if not needs_person(tool):
        return
    if statement is None:
        msg = f"{tool.name} runs only with a person's consent"
        raise RefusedError(msg, "Ask the person, and sign what they said.")
    fits = (statement.request_id, statement.tool_hash, statement.argument_hash) == (
        spec.request_id,
        tool.schema_hash,
        spec.call.argument_hash,
    )
    if not fits or statement.step < 1:
        msg = "this approval is for something else"
        raise RefusedError(msg, "Ask the person for exactly this call.")
    if statement.verdict is not Verdict.ALLOW:
        msg = "the person said no"
        raise RefusedError(msg)


def check_answer(statement: ApprovalStatement, question: Question, row: JobRow) -> None:
    """Raise `RefusedError` unless a verified statement answers exactly this question."""
    if (
        statement.id,
        statement.request_id,
        statement.step,
        statement.tool_hash,
        statement.argument_hash,
    ) != (
        question.id,
        row.request_id,
        question.step,
        question.tool_hash,
        question.argument_hash,
    ):
        msg = "this approval is for something else"
        raise RefusedError(msg, "Look at the question again, and answer exactly that.")


def may_answer(device: PairedDevice, question: Question) -> bool:
    """Whether the device's person may answer: an owner what is an owner's, each their own."""
    if question.owners_only:
        return is_owner(device)
    return device.owner == question.key.account


def may_see(device: PairedDevice, account: DeviceId) -> bool:
    """Whether a job of an account exists for a device."""
    return device.owner == account


def priority_for(device: PairedDevice, wanted: int) -> int:
    """The priority that a job gets: nobody but the household goes before others."""
    most = MOST_PRIORITY if in_household(device) else 0
    return max(-MOST_PRIORITY, min(wanted, most))


def no_such_tool() -> NotFoundError:
    """The same for a tool that is not there and for one that the device is not to know of."""
    msg = "this node has no such tool, or not for this device"
    return NotFoundError(msg, "Look at this node's tools again, or ask its owner.")


def _granted(standing: Standing) -> tuple[str, ...]:
    """Patterns by which an owner of this node has named tools, without those that name several."""
    if standing.device.introduced_by:
        limits = standing.ceilings[-1][1] if standing.ceilings else None
    else:
        limits = standing.device.limits
    tools = limits.tools if limits is not None else ()
    return tuple(pattern for pattern in tools if not _WILD & set(pattern))
