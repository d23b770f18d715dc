"""Hypothesis strategies for every core value: valid ones, within the wire's limits."""

from __future__ import annotations

from typing import TYPE_CHECKING

from homing_core.access import DeviceRole, Scope
from homing_core.approvals import ApprovalStatement, SignedApproval, Verdict
from homing_core.errors import ErrorCode, HomingError, error_from_code
from homing_core.generation import (
    CallGrammar,
    CallSignals,
    Done,
    Failed,
    FinishReason,
    GenerateRequest,
    NameProbability,
    Numbered,
    Priority,
    Sampled,
    Sampling,
    TextDelta,
    Thinking,
    ThinkingDelta,
    TokenLogprob,
    TokenLogprobs,
    TokenSignals,
    ToolCallEvent,
    ToolChoice,
    ToolNamed,
    Usage,
)
from homing_core.ids import (
    ApprovalId,
    ConversationId,
    DeviceId,
    GenerationId,
    JobId,
    RequestId,
    ToolCallId,
)
from homing_core.jobs import JobEvent, JobProgress, JobSpec, JobState, JobStatus, PendingApproval
from homing_core.labels import clean_label
from homing_core.messages import Message, Role, TextPart, ThinkingPart, ToolCallPart, ToolResultPart
from homing_core.provenance import Origin, Provenance, Sensitivity, Trust
from homing_core.scoring import NameScore, ScoreRequest, ToolScores
from homing_core.tools import EffectClass, Place, ToolCall, ToolId, ToolResult, ToolSpec, Topic
from homing_proto.codec import limits
from hypothesis import strategies as st

if TYPE_CHECKING:
    from collections.abc import Mapping

    from homing_core.canonical import JsonValue
    from homing_core.generation import GenerationEvent, SampleEvent
    from homing_core.messages import Part

_HEX = "0123456789abcdef"
_UINT32 = (1 << 32) - 1
_NAME_ALPHABET = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-"


def _hex(digits: int) -> st.SearchStrategy[str]:
    return st.text(_HEX, min_size=digits, max_size=digits)


def _is_clean(text: str) -> bool:
    return clean_label(text, 200, "") == text


texts: st.SearchStrategy[str] = st.text(max_size=200)
"""Any valid text."""
lines: st.SearchStrategy[str] = (
    st.text(max_size=80).map(lambda text: clean_label(text, 200, "")).filter(_is_clean)
)
"""One line for a person, nothing hidden in it; may be empty."""
labels: st.SearchStrategy[str] = st.text(max_size=40)
sha256s: st.SearchStrategy[str] = _hex(64)

request_ids: st.SearchStrategy[RequestId] = _hex(32).map(lambda tail: RequestId(f"req-{tail}"))
generation_ids: st.SearchStrategy[GenerationId] = _hex(32).map(
    lambda tail: GenerationId(f"gen-{tail}")
)
conversation_ids: st.SearchStrategy[ConversationId] = _hex(32).map(
    lambda tail: ConversationId(f"conv-{tail}")
)
job_ids: st.SearchStrategy[JobId] = _hex(32).map(lambda tail: JobId(f"job-{tail}"))
tool_call_ids: st.SearchStrategy[ToolCallId] = _hex(32).map(lambda tail: ToolCallId(f"call-{tail}"))
approval_ids: st.SearchStrategy[ApprovalId] = _hex(32).map(lambda tail: ApprovalId(f"appr-{tail}"))
device_ids: st.SearchStrategy[DeviceId] = _hex(64).map(DeviceId)

_finite = st.floats(allow_nan=False, allow_infinity=False)
_not_negative = st.floats(min_value=0, allow_nan=False, allow_infinity=False)
_probability = st.floats(min_value=0, max_value=1)
_logprob = st.floats(max_value=0, allow_nan=False, allow_infinity=False)
_uint32 = st.integers(0, _UINT32)
_uint64 = st.integers(0, (1 << 64) - 1)
_seqs = st.integers(1, (1 << 64) - 1)

_json_scalars: st.SearchStrategy[JsonValue] = (
    st.none() | st.booleans() | st.integers(-(10**30), 10**30) | _finite | st.text(max_size=30)
)
json_values: st.SearchStrategy[JsonValue] = st.recursive(
    _json_scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=12), inner),
    max_leaves=12,
)
"""Any JSON value."""
json_objects: st.SearchStrategy[Mapping[str, JsonValue]] = st.dictionaries(
    st.text(max_size=12), json_values, max_size=5
)
"""Any JSON object."""

sensitivities: st.SearchStrategy[Sensitivity] = st.sampled_from(Sensitivity)
places: st.SearchStrategy[Place] = st.sampled_from(Place)
provenances: st.SearchStrategy[Provenance] = st.builds(
    Provenance,
    origin=st.sampled_from(Origin),
    trust=st.sampled_from(Trust),
    sensitivity=sensitivities,
    source=labels,
)

tool_names: st.SearchStrategy[str] = st.text(_NAME_ALPHABET, min_size=1, max_size=32)
_nodes: st.SearchStrategy[str] = st.just("") | device_ids
tool_specs: st.SearchStrategy[ToolSpec] = st.builds(
    ToolSpec,
    name=tool_names,
    description=texts,
    parameters=json_objects,
    effect=st.sampled_from(EffectClass),
    place=places,
    node=_nodes,
    server=labels,
    idempotent=st.booleans(),
    output_trust=st.sampled_from(Trust),
    topics=st.frozensets(st.sampled_from(Topic)),
    typical_ms=_uint32,
)
tool_ids: st.SearchStrategy[ToolId] = st.builds(
    ToolId, node=_nodes, server=labels, name=tool_names, schema_hash=sha256s
)
tool_calls: st.SearchStrategy[ToolCall] = st.builds(
    ToolCall, id=tool_call_ids, name=labels, arguments=json_objects
)
tool_results: st.SearchStrategy[ToolResult] = st.builds(
    ToolResult,
    call_id=tool_call_ids,
    content=texts,
    is_error=st.booleans(),
    provenance=provenances,
)

verdicts: st.SearchStrategy[Verdict] = st.sampled_from(Verdict)
approval_statements: st.SearchStrategy[ApprovalStatement] = st.builds(
    ApprovalStatement,
    id=approval_ids,
    request_id=request_ids,
    step=st.integers(1, _UINT32),
    tool_hash=sha256s,
    argument_hash=sha256s,
    verdict=verdicts,
    device=device_ids,
    expires_at=st.integers(0, (1 << 63) - 1),
)
signed_approvals: st.SearchStrategy[SignedApproval] = st.builds(
    SignedApproval, statement=approval_statements, signature=st.binary(min_size=1, max_size=72)
)

parts: st.SearchStrategy[Part] = st.one_of(
    st.builds(TextPart, text=texts, provenance=provenances),
    st.builds(ThinkingPart, text=texts, provenance=provenances),
    st.builds(ToolCallPart, call=tool_calls, provenance=provenances),
    st.builds(ToolResultPart, result=tool_results),
)
messages: st.SearchStrategy[Message] = st.builds(
    Message, role=st.sampled_from(Role), parts=st.lists(parts, max_size=3).map(tuple)
)
_assistant_messages: st.SearchStrategy[Message] = st.builds(
    Message, role=st.just(Role.ASSISTANT), parts=st.lists(parts, max_size=2).map(tuple)
)

samplings: st.SearchStrategy[Sampling] = st.builds(
    Sampling,
    temperature=st.floats(min_value=0, max_value=100),
    top_p=st.floats(min_value=0, max_value=1, exclude_min=True),
    top_k=_uint32,
    seed=_uint64,
    max_tokens=_uint32,
    stop=st.lists(st.text(min_size=1, max_size=12), max_size=4).map(tuple),
)


_tool_sets: st.SearchStrategy[tuple[ToolSpec, ...]] = st.lists(
    tool_specs, max_size=3, unique_by=lambda tool: tool.name
).map(tuple)


@st.composite
def generate_requests(draw: st.DrawFn) -> GenerateRequest:
    """A request whose tool names are unique and which continues only what can be continued."""
    conversation = draw(st.lists(messages, max_size=3))
    continues = draw(st.booleans())
    if continues:
        conversation.append(draw(_assistant_messages))
    tools = draw(_tool_sets)
    choices = [choice for choice in ToolChoice if tools or choice is not ToolChoice.REQUIRED]
    return GenerateRequest(
        id=draw(generation_ids),
        messages=tuple(conversation),
        model=draw(labels),
        tools=tools,
        thinking=draw(st.sampled_from(Thinking)),
        sampling=draw(samplings),
        continue_last=continues,
        priority=draw(st.sampled_from(Priority)),
        deadline_ms=draw(_uint32),
        max_context_tokens=draw(_uint32),
        samples=draw(st.integers(1, limits.MAX_SAMPLES)),
        thinking_budget=draw(_uint32),
        tool_choice=draw(st.sampled_from(choices)),
        call_grammar=draw(st.sampled_from(CallGrammar)),
        logprobs=draw(st.integers(0, limits.MAX_LOGPROBS)),
        adapter=draw(labels),
        early_names=draw(st.booleans()),
    )


score_requests: st.SearchStrategy[ScoreRequest] = st.builds(
    ScoreRequest,
    messages=st.lists(messages, max_size=3).map(tuple),
    tools=_tool_sets,
    thinking=st.sampled_from(Thinking),
    priority=st.sampled_from(Priority),
    adapter=labels,
    owner=labels,
)
tool_scores: st.SearchStrategy[ToolScores] = st.builds(
    ToolScores,
    names=st.lists(
        st.builds(
            NameScore,
            name=tool_names,
            logprob=_logprob,
            baseline=st.none() | _logprob,
            exact=st.booleans(),
        ),
        max_size=4,
    ).map(tuple),
    call_logprob=_logprob,
    call_baseline=st.none() | _logprob,
    prompt_tokens=_uint32,
    cached_tokens=_uint32,
    scored_tokens=_uint32,
)


@st.composite
def _call_signals(draw: st.DrawFn) -> CallSignals:
    """Of one call: the arguments' lowest probability, decile and median ascend."""
    lowest, decile, median = sorted(draw(st.tuples(_probability, _probability, _probability)))
    return CallSignals(
        call_probability=draw(_probability),
        name_probability=draw(_probability),
        name_margin=draw(_probability),
        lowest_argument_probability=lowest,
        grammar_share=draw(_probability),
        argument_decile=decile,
        argument_median=median,
        names=tuple(
            draw(st.lists(st.builds(NameProbability, tool_names, _probability), max_size=4))
        ),
    )


call_signals: st.SearchStrategy[CallSignals] = _call_signals()
_token_texts: st.SearchStrategy[str] = st.text(max_size=12)
token_logprobs: st.SearchStrategy[TokenLogprobs] = st.builds(
    TokenLogprobs,
    st.lists(
        st.builds(
            TokenLogprob,
            text=_token_texts,
            logprob=_logprob,
            top=st.lists(st.tuples(_token_texts, _logprob), max_size=4).map(tuple),
        ),
        max_size=4,
    ).map(tuple),
)
failures: st.SearchStrategy[Failed] = st.builds(
    Failed,
    code=st.sampled_from([code.value for code in ErrorCode]),
    what=lines.filter(bool),
    hint=lines,
    retryable=st.booleans(),
    retry_after_ms=_uint32,
)
sample_events: st.SearchStrategy[SampleEvent] = st.one_of(
    st.builds(TextDelta, text=texts),
    st.builds(ThinkingDelta, text=texts),
    st.builds(ToolCallEvent, call=tool_calls, signals=st.none() | call_signals),
    st.builds(ToolNamed, name=tool_names, signals=call_signals),
    st.builds(TokenSignals, first_probability=_probability, mean_logprob=_finite, tokens=_uint32),
    token_logprobs,
    st.builds(Done, reason=st.sampled_from(FinishReason)),
    failures,
)
generation_events: st.SearchStrategy[GenerationEvent] = st.one_of(
    sample_events,
    st.builds(Sampled, sample=st.integers(1, limits.MAX_SAMPLES), event=sample_events),
    st.builds(
        Usage,
        prompt_tokens=_uint32,
        cached_tokens=_uint32,
        completion_tokens=_uint32,
        prefill_ms=_not_negative,
        decode_ms=_not_negative,
    ),
)
numbered_events: st.SearchStrategy[Numbered] = st.builds(
    Numbered, seq=_seqs, event=generation_events
)

errors: st.SearchStrategy[HomingError] = st.builds(
    error_from_code,
    st.sampled_from([code.value for code in ErrorCode]),
    what=lines.filter(bool),
    hint=lines,
    retry_after_ms=_uint32,
)

job_states: st.SearchStrategy[JobState] = st.sampled_from(JobState)
job_progress: st.SearchStrategy[JobProgress] = st.builds(
    JobProgress, done=_not_negative, total=_not_negative, unit=labels, note=texts
)


@st.composite
def job_specs(draw: st.DrawFn) -> JobSpec:
    """A job whose call names its tool."""
    tool = draw(tool_ids)
    return JobSpec(
        id=draw(job_ids),
        request_id=draw(request_ids),
        tool=tool,
        call=ToolCall(draw(tool_call_ids), tool.name, draw(json_objects)),
        sensitivity=draw(sensitivities),
        priority=draw(st.integers(-(1 << 31), (1 << 31) - 1)),
    )


job_events: st.SearchStrategy[JobEvent] = st.builds(
    JobEvent,
    seq=_seqs,
    at=_not_negative,
    state=job_states,
    progress=st.none() | job_progress,
    approval_id=st.none() | approval_ids,
    note=texts,
)
job_statuses: st.SearchStrategy[JobStatus] = st.builds(
    JobStatus,
    id=job_ids,
    tool_name=tool_names,
    state=job_states,
    submitted_at=_not_negative,
    last_seq=_uint64,
    progress=st.none() | job_progress,
    summary=texts,
    detail=json_values,
    result_bytes=_uint64,
    sealed_by=_nodes,
)


@st.composite
def pending_approvals(draw: st.DrawFn) -> PendingApproval:
    """A question whose call names its tool."""
    tool = draw(tool_specs)
    return PendingApproval(
        id=draw(approval_ids),
        job_id=draw(job_ids),
        request_id=draw(request_ids),
        step=draw(st.integers(1, _UINT32)),
        tool=tool,
        call=ToolCall(draw(tool_call_ids), tool.name, draw(json_objects)),
        reason=draw(texts),
        preview=draw(texts),
        expires_at=draw(st.integers(0, (1 << 63) - 1)),
        device=draw(_nodes),
        device_name=clean_label(draw(lines), fallback=""),
    )


device_roles: st.SearchStrategy[DeviceRole] = st.sampled_from(DeviceRole)
scope_sets: st.SearchStrategy[frozenset[Scope]] = st.frozensets(st.sampled_from(Scope))
