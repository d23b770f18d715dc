"""What belongs to a job, under its own key; and the forms of what is sealed."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, cast

import pytest
from homing_core.approvals import ApprovalStatement, SignedApproval, Verdict
from homing_core.errors import HomingError, IntegrityError, InvalidDataError
from homing_core.ids import (
    ApprovalId,
    RequestId,
    ToolCallId,
    new_job_id,
)
from homing_core.jobs import JobResult, JobSpec, PendingApproval, ResultFile
from homing_core.tools import ToolCall, ToolId, ToolSpec, Topic
from homing_node.jobs.forms import (
    Payload,
    decode_outcome,
    decode_payload,
    decode_question,
    digest_of,
    encode_outcome,
    encode_payload,
    encode_question,
)
from homing_node.jobs.sealed import DATA_KEY_BYTES, JobCipher, new_data_key
from homing_node.jobs.store import JobKey
from hypothesis import given
from hypothesis import strategies as st
from support.job_forms import ANN, BOB, KEY, payloads, questions, specs, values

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


# Forms

SPEC = JobSpec(
    KEY.id,
    RequestId(f"req-{'0b' * 16}"),
    ToolId("n", "s", "count", "e1"),
    ToolCall(ToolCallId(f"call-{'0c' * 16}"), "count", {"to": 3}),
)


@given(payloads)
def test_a_payload_is_read_as_it_was_written(payload: Payload) -> None:
    assert decode_payload(encode_payload(payload)) == payload


@given(questions)
def test_a_question_is_read_as_it_was_written(question: PendingApproval) -> None:
    assert decode_question(encode_question(question)) == question


def test_an_outcome_is_read_as_it_was_written() -> None:
    outcome = JobResult(KEY.id, "text", "say", is_error=True, files=(ResultFile("a", "", 3),))
    assert decode_outcome(encode_outcome(outcome)) == outcome
    with pytest.raises(InvalidDataError):
        encode_outcome(JobResult(KEY.id, "half \ud83d"))


@given(specs, specs)
def test_a_digest_says_whether_the_same_is_asked(one: JobSpec, other: JobSpec) -> None:
    assert (digest_of(one) == digest_of(other)) == (
        encode_payload(Payload(one)) == encode_payload(Payload(other))
    )


@given(st.binary(max_size=200) | values.map(lambda value: json.dumps(value).encode()))
def test_what_is_no_form_is_refused(noise: bytes) -> None:
    for decode in (decode_payload, decode_question, decode_outcome):
        with pytest.raises(InvalidDataError):
            decode(noise)


def damaged(value: Any) -> Iterator[Any]:  # noqa: ANN401  # any JSON
    """Each part of a form gone, too much, or of another type."""
    if isinstance(value, dict):
        found = cast("dict[str, Any]", value)
        yield found | {"more": 1}
        for name, inner in found.items():
            if name not in {"arguments", "parameters"}:
                yield {key: kept for key, kept in found.items() if key != name}
                yield from ({**found, name: changed} for changed in damaged(inner))
            else:
                yield {**found, name: [1]}
    else:
        yield {"odd": value}
        yield 1.5


QUESTION = PendingApproval(
    ApprovalId(f"appr-{'0d' * 16}"),
    KEY.id,
    SPEC.request_id,
    1,
    ToolSpec("act", "Acts.", {"type": "object"}, topics=frozenset(Topic)),
    SPEC.call,
    "why",
    "what",
    9,
)
STATEMENT = ApprovalStatement(QUESTION.id, SPEC.request_id, 1, "e1", "f1", Verdict.ALLOW, BOB, 9)
WHOLE = Payload(SPEC, SignedApproval(STATEMENT, b"signature"))


@pytest.mark.parametrize(
    ("form", "decode"),
    [
        (encode_payload(WHOLE), decode_payload),
        (encode_question(QUESTION), decode_question),
        (encode_outcome(JobResult(KEY.id, "x")), decode_outcome),
    ],
    ids=["payload", "question", "outcome"],
)
def test_each_part_is_checked(form: bytes, decode: Callable[[bytes], object]) -> None:
    decode(form)
    changed = list(damaged(json.loads(form)))
    assert len(changed) > 10
    for value in changed:
        with pytest.raises(InvalidDataError):
            decode(json.dumps(value).encode())


# Sealing


@given(st.text(max_size=20), st.binary(max_size=500))
def test_what_is_sealed_is_what_is_opened(purpose: str, plain: bytes) -> None:
    cipher = JobCipher(KEY, new_data_key())
    blob = cipher.seal(purpose, plain)
    assert cipher.open(purpose, blob) == plain
    assert blob != cipher.seal(purpose, plain)
    if len(plain) > 3:
        assert plain not in blob


@pytest.mark.attack
@given(st.binary(max_size=60), st.data())
def test_a_piece_opens_as_what_it_is_and_nowhere_else(plain: bytes, data: st.DataObject) -> None:
    key = new_data_key()
    blob = JobCipher(KEY, key).seal("payload", plain)
    bit = data.draw(st.integers(0, len(blob) * 8 - 1))
    flipped = bytearray(blob)
    flipped[bit // 8] ^= 1 << bit % 8
    cut = data.draw(st.integers(0, len(blob) - 1))
    for cipher, purpose, piece in (
        (JobCipher(KEY, key), "note", blob),
        (JobCipher(KEY, key), "payload", bytes(flipped)),
        (JobCipher(KEY, key), "payload", blob[:cut]),
        (JobCipher(KEY, key), "payload", blob + b"\x00"),
        (JobCipher(KEY, new_data_key()), "payload", blob),
        (JobCipher(JobKey(BOB, KEY.id), key), "payload", blob),
        (JobCipher(JobKey(ANN, new_job_id()), key), "payload", blob),
    ):
        with pytest.raises(IntegrityError):
            cipher.open(purpose, piece)


@pytest.mark.parametrize("size", [0, 16, DATA_KEY_BYTES - 1, DATA_KEY_BYTES + 1])
def test_what_is_no_key(size: int) -> None:
    with pytest.raises(HomingError) as caught:
        JobCipher(KEY, bytes(size))
    assert caught.value.hint


def test_a_label_stands_for_a_name_under_one_key_only() -> None:
    key = new_data_key()
    first = JobCipher(KEY, key).label("cursor")
    assert first == JobCipher(KEY, key).label("cursor")
    assert (
        len(
            {
                first,
                JobCipher(KEY, key).label("cursors"),
                JobCipher(KEY, new_data_key()).label("cursor"),
            }
        )
        == 3
    )
