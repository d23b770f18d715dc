"""Permission for one call: the rule, perhaps the person, and what is kept of their answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from homing_core.tools import EffectClass, Place

from homing_agent.policy.consent import ConsentDesk, Step
from homing_agent.policy.permit import BY_PERSON, Allow, PermitContext, Refuse, permit

if TYPE_CHECKING:
    from homing_core.approvals import SignedApproval
    from homing_core.ids import ConversationId
    from homing_core.tools import ToolSpec

    from homing_agent.parts import Parts
    from homing_agent.policy.permit import NeedPerson
    from homing_agent.ports import Consent
    from homing_agent.request import AskInput

JOB_CONSENT_S: Final = 12 * 60 * 60.0
"""Consent to a job holds for so long, in seconds: its node may be away when it is given. A node
takes none that holds for more than a day, and both clocks may differ."""


@dataclass(frozen=True, slots=True)
class Around:
    """What is known when a call is put to the policy.

    Attributes:
        doubt: why the model's choice is doubtful; empty if it is not.
        untrusted: whether untrusted text is in the context.
        preview: what would happen, in the tool's words.
        where: name of the node that runs the tool; empty for this phone.
        changed: whether the tool has changed since its person allowed it.
    """

    doubt: str = ""
    untrusted: bool = False
    preview: str = ""
    where: str = ""
    changed: bool = False


@dataclass(frozen=True, slots=True)
class Granted:
    """It may run.

    Attributes:
        by: `rule`, `person` or `--allow`.
        approval: the signed consent for the node that runs it; None where none is needed.
    """

    by: str
    approval: SignedApproval | None = None


class Permissions:
    """Asks for permission, for one request.

    Args:
        parts: the agent's collaborators.
        asked: the request.
        conversation_id: its conversation.
        consent: the way to the person.
    """

    def __init__(
        self, parts: Parts, asked: AskInput, conversation_id: ConversationId, consent: Consent
    ) -> None:
        """Keep them."""
        self._parts = parts
        self._asked = asked
        self._conversation_id = conversation_id
        self._desk = ConsentDesk(consent, parts.signer, parts.clock, parts.limits.consent_s)

    async def of(self, step: Step, around: Around) -> Granted | Refuse:
        """May this call run?"""
        journal = self._parts.journal
        context = PermitContext(
            interactive=self._asked.interactive,
            allowed_tools=self._asked.allowed_tools,
            remembered=journal.remembered(self._conversation_id),
            untrusted=around.untrusted,
            doubt=around.doubt,
            where=around.where,
            changed=around.changed,
        )
        permission = permit(step.tool, step.call, context)
        if isinstance(permission, Refuse):
            return permission
        if isinstance(permission, Allow):
            return Granted(permission.by, self._signed_anyway(step))
        return await self._ask(step, permission, around)

    async def _ask(self, step: Step, need: NeedPerson, around: Around) -> Granted | Refuse:
        journal, at_node = self._parts.journal, step.tool.place is not Place.PHONE
        holds_s = JOB_CONSENT_S if at_node else 0.0
        said = await self._desk.ask(step, need, around.preview, holds_s)
        if said.approval is not None:
            journal.record_approval(said.approval)
        if said.remember:
            journal.remember(self._conversation_id, step.tool.schema_hash)
        if said.allowed:
            return Granted(BY_PERSON, said.approval if at_node else None)
        reason = "you said no" if said.approval is not None else "nobody answered in time"
        return Refuse(reason, "")

    def _signed_anyway(self, step: Step) -> SignedApproval | None:
        """A node wants the person's signature also where they had said yes before."""
        if step.tool.place is Place.PHONE or _harmless(step.tool):
            return None
        approval = self._desk.allowed_before(step, JOB_CONSENT_S)
        self._parts.journal.record_approval(approval)
        return approval


def _harmless(tool: ToolSpec) -> bool:
    return tool.effect is EffectClass.READ and not tool.topics
