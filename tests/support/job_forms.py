"""Anything that a node keeps of jobs in sealed form, for property tests and fuzzing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from homing_core.approvals import ApprovalStatement, SignedApproval, Verdict
from homing_core.ids import ApprovalId, DeviceId, JobId, RequestId, ToolCallId
from homing_core.jobs import JobSpec, PendingApproval
from homing_core.provenance import Sensitivity, Trust
from homing_core.tools import EffectClass, Place, ToolCall, ToolId, ToolSpec, Topic
from homing_node.jobs.forms import Payload
from homing_node.jobs.store import JobKey
from hypothesis import strategies as st

if TYPE_CHECKING:
    from homing_core.canonical import JsonValue

ANN, BOB = DeviceId("a1" * 32), DeviceId("b0" * 32)
KEY = JobKey(ANN, JobId(f"job-{'0a' * 16}"))

hex_ids = st.binary(min_size=16, max_size=16).map(bytes.hex)
lines = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
values: st.SearchStrategy[JsonValue] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | lines
    | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(lines, inner, max_size=3),
    max_leaves=5,
)
calls = st.builds(
    ToolCall,
    hex_ids.map(lambda text: ToolCallId(f"call-{text}")),
    lines,
    st.dictionaries(lines, values, max_size=3),
)
requests = hex_ids.map(lambda text: RequestId(f"req-{text}"))
approval_ids = hex_ids.map(lambda text: ApprovalId(f"appr-{text}"))
times = st.integers(0, 1 << 40)
specs = st.builds(
    JobSpec,
    hex_ids.map(lambda text: JobId(f"job-{text}")),
    requests,
    st.builds(ToolId, lines, lines, lines, lines),
    calls,
    st.sampled_from(Sensitivity),
    st.integers(-(1 << 31), (1 << 31) - 1),
)
approvals = st.builds(
    SignedApproval,
    st.builds(
        ApprovalStatement,
        approval_ids,
        requests,
        st.integers(1, 99),
        lines,
        lines,
        st.sampled_from(Verdict),
        st.just(BOB),
        times,
    ),
    st.binary(max_size=72),
)
tools = st.builds(
    ToolSpec,
    lines,
    lines,
    st.dictionaries(lines, values, max_size=3),
    st.sampled_from(EffectClass),
    st.sampled_from(Place),
    lines,
    lines,
    st.booleans(),
    st.sampled_from(Trust),
    st.frozensets(st.sampled_from(Topic)),
    st.integers(0, 1 << 31),
)
questions = st.builds(
    PendingApproval,
    approval_ids,
    st.just(KEY.id),
    requests,
    st.integers(1, 99),
    tools,
    calls,
    lines,
    lines,
    times,
    lines,
    lines,
)
payloads = st.builds(Payload, specs, st.none() | approvals)
