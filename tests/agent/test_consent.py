from __future__ import annotations

from typing import TYPE_CHECKING

from homing_agent.policy.consent import ConsentDesk, Step
from homing_agent.policy.permit import NeedPerson
from homing_agent.ports import ConsentAnswer
from homing_agent.testing import FAKE_DEVICE, FakeConsent, FakeSigner, fake_spec
from homing_core.approvals import Verdict
from homing_core.ids import new_approval_id, new_request_id, new_tool_call_id
from homing_core.testing import FakeClock
from homing_core.tools import ToolCall

if TYPE_CHECKING:
    from homing_agent.ports import Consent, ConsentQuestion

STEP = Step(new_request_id(), 3, fake_spec(), ToolCall(new_tool_call_id(), "act", {"text": "tea"}))
NEED = NeedPerson("act writes to this phone", may_remember=True)


def desk(consent: Consent) -> ConsentDesk:
    return ConsentDesk(consent, FakeSigner(), FakeClock(1000.0), timeout_s=60.0)


async def test_the_statement_fits_this_step_and_nothing_else() -> None:
    person = FakeConsent(remember=True)
    said = await desk(person).ask(STEP, NEED, "Would act on tea")
    assert said.allowed
    assert said.remember
    assert said.approval is not None
    statement = said.approval.statement
    (question,) = person.questions
    assert statement.id == question.approval_id
    assert statement.request_id == STEP.request_id
    assert statement.step == question.step == 3
    assert statement.tool_hash == STEP.tool.schema_hash
    assert statement.argument_hash == STEP.call.argument_hash
    assert statement.device == FAKE_DEVICE
    assert statement.expires_at == question.expires_at == 1060
    assert (question.reason, question.preview) == (NEED.reason, "Would act on tea")


async def test_a_no_is_signed_too_and_never_remembered() -> None:
    said = await desk(FakeConsent(Verdict.DENY, remember=True)).ask(STEP, NEED)
    assert not said.allowed
    assert not said.remember
    assert said.approval is not None
    assert said.approval.statement.verdict is Verdict.DENY


async def test_a_yes_that_must_not_be_remembered_is_not() -> None:
    said = await desk(FakeConsent(remember=True)).ask(STEP, NeedPerson("x", may_remember=False))
    assert said.allowed
    assert not said.remember


async def test_an_answer_to_another_question_is_no_answer() -> None:
    class Confused(FakeConsent):
        async def ask(self, question: ConsentQuestion) -> ConsentAnswer:
            del question
            return ConsentAnswer(new_approval_id(), Verdict.ALLOW)

    said = await desk(Confused()).ask(STEP, NEED)
    assert not said.allowed
    assert said.approval is None
