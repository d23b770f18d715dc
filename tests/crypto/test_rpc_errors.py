from __future__ import annotations

import grpc
import pytest
from homing_core.errors import (
    ErrorCode,
    HomingError,
    InternalError,
    InvalidDataError,
    OverloadedError,
    RefusedError,
    UnavailableError,
    UnpairedError,
    error_from_code,
)
from homing_crypto.rpc_errors import (
    CODE_KEY,
    HINT_KEY,
    MAX_RETRY_AFTER_MS,
    MAX_TEXT,
    RETRY_KEY,
    STATUS,
    error_from_rpc,
    status_parts,
)
from hypothesis import given
from hypothesis import strategies as st


def arrived(
    status: grpc.StatusCode,
    details: str | None = "",
    metadata: tuple[tuple[str, str | bytes], ...] = (),
) -> HomingError:
    trailing = grpc.aio.Metadata(*metadata)
    return error_from_rpc(grpc.aio.AioRpcError(status, grpc.aio.Metadata(), trailing, details))


@pytest.mark.parametrize("code", ErrorCode)
def test_every_error_crosses_whole(code: ErrorCode) -> None:
    sent = error_from_code(code.value, "what happened", "what to try: später", 250)
    got = arrived(*status_parts(sent))
    assert type(got) is type(sent)
    assert (got.what, got.hint) == (sent.what, sent.hint)
    if isinstance(got, OverloadedError):
        assert got.retry_after_ms == 250


def test_every_code_has_a_status_and_none_is_ok() -> None:
    assert set(STATUS) == set(ErrorCode)
    assert grpc.StatusCode.OK not in STATUS.values()


def test_a_status_can_be_chosen_without_changing_the_error() -> None:
    parts = status_parts(UnpairedError("revoked"), grpc.StatusCode.PERMISSION_DENIED)
    assert parts[0] is grpc.StatusCode.PERMISSION_DENIED
    assert isinstance(arrived(*parts), UnpairedError)


@given(st.text(), st.text(), st.text(), st.binary(), st.text())
def test_whatever_arrives_becomes_one_clean_short_line(
    details: str, code: str, hint: str, raw_hint: bytes, retry: str
) -> None:
    for sent in (hint, raw_hint):
        metadata = ((CODE_KEY, code), (HINT_KEY, sent), (RETRY_KEY, retry))
        error = arrived(grpc.StatusCode.UNKNOWN, details, metadata)
        assert len(error.what) <= MAX_TEXT
        assert len(error.hint) <= MAX_TEXT
        assert str(error).isprintable()


@pytest.mark.parametrize(
    ("retry", "expected"),
    [("5", 5), ("-5", 0), ("x", 0), ("9" * 8, MAX_RETRY_AFTER_MS), ("9" * 5000, 0), ("٣", 0)],
)
def test_a_wait_is_believed_within_reason(retry: str, expected: int) -> None:
    metadata = ((CODE_KEY, "overloaded"), (RETRY_KEY, retry))
    error = arrived(grpc.StatusCode.RESOURCE_EXHAUSTED, "busy", metadata)
    assert isinstance(error, OverloadedError)
    assert error.retry_after_ms == expected


@pytest.mark.attack
@pytest.mark.parametrize("status", [code for code in grpc.StatusCode if code.value[0]])
def test_grpcs_own_text_is_never_shown(status: grpc.StatusCode) -> None:
    error = arrived(status, "ipv4:10.0.0.1:443: internal text")
    assert "internal text" not in str(error)
    assert error.what


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (grpc.StatusCode.UNAVAILABLE, UnavailableError),
        (grpc.StatusCode.DEADLINE_EXCEEDED, UnavailableError),
        (grpc.StatusCode.CANCELLED, UnavailableError),
        (grpc.StatusCode.UNAUTHENTICATED, UnpairedError),
        (grpc.StatusCode.PERMISSION_DENIED, RefusedError),
        (grpc.StatusCode.INVALID_ARGUMENT, InvalidDataError),
        (grpc.StatusCode.RESOURCE_EXHAUSTED, OverloadedError),
        (grpc.StatusCode.UNKNOWN, InternalError),
    ],
)
def test_a_bare_status_means_what_it_says(status: grpc.StatusCode, kind: type[HomingError]) -> None:
    assert type(arrived(status, None)) is kind


def test_a_message_that_is_too_large_is_not_called_overload() -> None:
    details = "CLIENT: Received message larger than max (5000000 vs. 4194304)"
    error = arrived(grpc.StatusCode.RESOURCE_EXHAUSTED, details)
    assert isinstance(error, InvalidDataError)
