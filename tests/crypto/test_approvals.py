from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from homing_core.approvals import ApprovalStatement, SignedApproval, Verdict
from homing_core.errors import HomingError, IntegrityError, RefusedError
from homing_core.ids import ApprovalId, RequestId
from homing_crypto.approvals import sign_approval, verify_approval, verify_signer
from homing_crypto.testing import throwaway_identity
from hypothesis import assume, given
from hypothesis import strategies as st

PHONE, OTHER = throwaway_identity(), throwaway_identity()
NOW = 1_800_000_000.0
STATEMENT = ApprovalStatement(
    id=ApprovalId("appr-" + "1" * 32),
    request_id=RequestId("req-" + "2" * 32),
    step=3,
    tool_hash="a" * 64,
    argument_hash="b" * 64,
    verdict=Verdict.ALLOW,
    device=PHONE.device_id,
    expires_at=int(NOW) + 60,
)
SIGNED = sign_approval(PHONE, STATEMENT)


def test_a_signed_statement_verifies_until_it_expires() -> None:
    assert verify_approval(SIGNED, PHONE.certificate, NOW) == STATEMENT
    assert verify_approval(SIGNED, PHONE.certificate, NOW + 59.9) == STATEMENT
    with pytest.raises(RefusedError, match="expired"):
        verify_approval(SIGNED, PHONE.certificate, NOW + 60)


@pytest.mark.attack
def test_who_signed_is_known_of_an_approval_that_is_over_as_well() -> None:
    long_ago = sign_approval(PHONE, dataclasses.replace(STATEMENT, expires_at=1))
    assert verify_signer(long_ago, PHONE.certificate) == long_ago.statement
    with pytest.raises(RefusedError, match="another device"):
        verify_signer(long_ago, OTHER.certificate)
    with pytest.raises(IntegrityError):
        verify_signer(SignedApproval(long_ago.statement, SIGNED.signature), PHONE.certificate)


def test_a_no_is_as_valid_as_a_yes() -> None:
    statement = dataclasses.replace(STATEMENT, verdict=Verdict.DENY)
    signed = sign_approval(PHONE, statement)
    assert verify_approval(signed, PHONE.certificate, NOW).verdict is Verdict.DENY


def test_a_device_signs_for_itself_only() -> None:
    with pytest.raises(RefusedError):
        sign_approval(OTHER, STATEMENT)


@pytest.mark.attack
def test_another_devices_approval_is_refused() -> None:
    with pytest.raises(RefusedError, match="another device"):
        verify_approval(SIGNED, OTHER.certificate, NOW)
    forged = SignedApproval(STATEMENT, OTHER.sign(STATEMENT.to_bytes()))
    with pytest.raises(IntegrityError):
        verify_approval(forged, PHONE.certificate, NOW)


def changed(**fields: Any) -> ApprovalStatement:  # noqa: ANN401  # any field's type
    return dataclasses.replace(STATEMENT, **fields)


TEXTS = ["id", "request_id", "tool_hash", "argument_hash", "device"]
CHANGES = st.one_of(
    st.tuples(st.sampled_from(TEXTS), st.text() | st.just(OTHER.device_id)),
    st.tuples(st.just("step"), st.integers()),
    st.tuples(st.just("verdict"), st.sampled_from(Verdict)),
    st.tuples(st.just("expires_at"), st.integers(int(NOW) + 1)),
)


@pytest.mark.attack
@given(st.lists(CHANGES, min_size=1, max_size=3))
def test_any_altered_field_is_refused(changes: list[tuple[str, object]]) -> None:
    altered = changed(**dict(changes))
    assume(altered != STATEMENT)
    with pytest.raises(HomingError):
        verify_approval(SignedApproval(altered, SIGNED.signature), PHONE.certificate, NOW)


@pytest.mark.attack
@pytest.mark.parametrize(
    ("field", "after"), [("request_id", "tool_hash"), ("tool_hash", "argument_hash")]
)
@given(cut=st.integers(0, 30))
def test_words_cannot_move_from_one_field_to_the_next(field: str, after: str, cut: int) -> None:
    text = str(getattr(STATEMENT, field))
    longer = text[cut:] + str(getattr(STATEMENT, after))
    altered = changed(**{field: text[:cut], after: longer})
    with pytest.raises(IntegrityError):
        verify_approval(SignedApproval(altered, SIGNED.signature), PHONE.certificate, NOW)


@given(st.binary(max_size=80))
def test_any_other_signature_is_refused(signature: bytes) -> None:
    assume(signature != SIGNED.signature)
    with pytest.raises(IntegrityError):
        verify_approval(SignedApproval(STATEMENT, signature), PHONE.certificate, NOW)
