"""The local service's messages: nothing changes on the way, and nothing malformed gets through."""

from __future__ import annotations

import math
from typing import Any, cast

import pytest
from google.protobuf.message import DecodeError
from homing_agent.events import (
    AgentEvent,
    FinalAnswer,
    Note,
    RouteChosen,
    ToolFinished,
    ToolProgress,
    ToolStarted,
)
from homing_agent.ports import ConsentAnswer, ConsentQuestion
from homing_agent.request import AskInput, ExitStatus, RoutePreference, ToolStep
from homing_client.rpc import phone_codec as codec
from homing_client.rpc import phone_events as events
from homing_core.errors import InvalidDataError
from homing_core.generation import TextDelta, ThinkingDelta
from homing_core.ids import new_request_id
from homing_core.labels import clean_label
from homing_core.provenance import Sensitivity
from homing_core.tools import Place
from homing_proto.v1 import phone_pb2
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support import strategies as values
from support.codecs import Codec
from support.wire_strategies import MARK, arbitrary, damaged

DEFAULT = Sensitivity.TRUSTED_PEERS
_finite = st.floats(allow_nan=False, allow_infinity=False)
_labels = values.lines.map(lambda text: clean_label(text, fallback=""))

asks: st.SearchStrategy[AskInput] = st.builds(
    AskInput,
    request_id=values.request_ids,
    text=st.text(min_size=1, max_size=200).filter(lambda text: bool(text.strip())),
    conversation_id=st.none() | values.conversation_ids,
    route=st.sampled_from(RoutePreference),
    allowed_tools=st.frozensets(values.tool_names, max_size=4),
    interactive=st.booleans(),
    sensitivity=values.sensitivities,
    thinking=st.booleans(),
)
unfinished: st.SearchStrategy[ToolStep] = st.builds(
    ToolStep, call=values.tool_calls, place=values.places, approved_by=_labels
)
finished: st.SearchStrategy[ToolStep] = st.builds(
    ToolStep,
    call=values.tool_calls,
    place=values.places,
    approved_by=_labels,
    result=values.tool_results,
)
questions: st.SearchStrategy[ConsentQuestion] = st.builds(
    ConsentQuestion,
    approval_id=values.approval_ids,
    request_id=values.request_ids,
    step=st.integers(1, (1 << 32) - 1),
    tool=values.tool_specs,
    call=values.tool_calls,
    reason=values.lines,
    preview=values.lines,
    may_remember=st.booleans(),
    expires_at=st.integers(0, (1 << 63) - 1),
)
answers: st.SearchStrategy[ConsentAnswer] = st.builds(
    ConsentAnswer,
    approval_id=values.approval_ids,
    verdict=values.verdicts,
    remember=st.booleans(),
)
finals: st.SearchStrategy[FinalAnswer] = st.builds(
    FinalAnswer,
    request_id=values.request_ids,
    conversation_id=values.conversation_ids,
    place=values.places,
    node=_labels,
    reason=values.lines,
    confidence=_finite,
    model=_labels,
    stand_in=st.booleans(),
    ttft_ms=_finite,
    total_ms=_finite,
    text=values.texts,
    steps=st.lists(finished, max_size=2).map(tuple),
    exit_status=st.sampled_from([status.value for status in ExitStatus]),
    error=st.none() | values.failures,
    features=st.dictionaries(values.labels, _finite, max_size=4),
)
progresses: st.SearchStrategy[ToolProgress] = st.builds(
    ToolProgress,
    call_id=values.tool_call_ids,
    job_id=values.job_ids,
    node=_labels,
    event=values.job_events,
)
shown: st.SearchStrategy[AgentEvent | ConsentQuestion] = st.one_of(
    st.builds(TextDelta, values.texts),
    st.builds(ThinkingDelta, values.texts),
    st.builds(Note, values.lines),
    st.builds(RouteChosen, place=values.places, node=_labels, reason=values.lines, model=_labels),
    st.builds(ToolStarted, unfinished),
    st.builds(ToolFinished, finished),
    progresses,
    questions,
    finals,
)


def _decode_question(message: phone_pb2.Question) -> AskInput:
    return codec.decode_question(message, DEFAULT)


CODECS = [
    Codec("question", asks, phone_pb2.Question, codec.encode_question, _decode_question),
    Codec(
        "step", unfinished | finished, phone_pb2.ToolStep, events.encode_step, events.decode_step
    ),
    Codec(
        "consent_question",
        questions,
        phone_pb2.ConsentQuestion,
        codec.encode_consent_question,
        codec.decode_consent_question,
    ),
    Codec(
        "consent_answer",
        answers,
        phone_pb2.ConsentAnswer,
        codec.encode_consent_answer,
        codec.decode_consent_answer,
    ),
    Codec(
        "progress",
        progresses,
        phone_pb2.ToolProgress,
        events.encode_progress,
        events.decode_progress,
    ),
    Codec("final", finals, phone_pb2.Answer, events.encode_final, events.decode_final),
    Codec("event", shown, phone_pb2.AskResponse, events.encode_event, events.decode_event),
    Codec(
        "tools",
        st.tuples(
            st.lists(values.tool_specs, max_size=3).map(tuple),
            st.lists(st.tuples(values.tool_names, _labels.filter(bool)), max_size=3).map(tuple),
        ),
        phone_pb2.ListPhoneToolsResponse,
        lambda both: codec.encode_phone_tools(*both),
        codec.decode_phone_tools,
    ),
]
_EVERY = pytest.mark.parametrize("one", CODECS, ids=[one.name for one in CODECS])
_SETTINGS = settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


def decodes_or_refuses(one: Codec, message: object) -> None:
    refusal = None
    try:
        one.decode(message)
    except InvalidDataError as error:
        refusal = error
    assert refusal is None or (MARK not in str(refusal) and "\n" not in str(refusal))


@_EVERY
@_SETTINGS
@given(data=st.data())
def test_a_value_comes_back_equal_through_bytes(one: Codec, data: st.DataObject) -> None:
    value = data.draw(one.value)
    message = one.wire()
    message.ParseFromString(one.encode(value).SerializeToString())
    assert one.decode(message) == value


@_EVERY
@_SETTINGS
@given(data=st.data())
def test_any_message_is_decoded_or_refused_cleanly(one: Codec, data: st.DataObject) -> None:
    decodes_or_refuses(one, data.draw(arbitrary(one.wire)))


@_EVERY
@_SETTINGS
@given(data=st.data())
def test_damaged_bytes_are_decoded_or_refused_cleanly(one: Codec, data: st.DataObject) -> None:
    raw = data.draw(damaged(one.value.map(one.encode)))
    message = one.wire()
    try:
        message.ParseFromString(raw)
    except DecodeError:
        return  # the transport refuses it before the codec sees it
    decodes_or_refuses(one, message)


def question(**fields: object) -> phone_pb2.Question:
    message = codec.encode_question(AskInput(new_request_id(), "what time is it?"))
    for name, value in fields.items():
        setattr(message, name, value)
    return message


def test_the_configured_sensitivity_holds_where_none_is_said() -> None:
    assert _decode_question(question(sensitivity=0)).sensitivity is DEFAULT
    # A class of a later version is the strictest, not the default.
    assert _decode_question(question(sensitivity=77)).sensitivity is Sensitivity.PHONE_ONLY


@pytest.mark.parametrize(
    ("message", "words"),
    [
        (question(text=" \n "), "empty"),
        (question(text="x" * (codec.MAX_QUESTION_CHARS + 1)), "200,000"),
        (question(route=77), "route"),
        (question(request_id="gen-00"), "req id"),
        (question(conversation_id="conv-1"), "conv id"),
    ],
    ids=["empty", "long", "route", "request", "conversation"],
)
def test_a_question_that_cannot_be_asked_is_refused(
    message: phone_pb2.Question, words: str
) -> None:
    with pytest.raises(InvalidDataError, match=words):
        _decode_question(message)


def test_text_that_no_wire_can_carry_loses_only_the_odd_characters() -> None:
    asked = AskInput(new_request_id(), "call \ud800 mom", allowed_tools=frozenset({"a\udc80"}))
    back = _decode_question(codec.encode_question(asked))
    assert back.text == "call \ufffd mom"
    assert back.allowed_tools == {"a\ufffd"}
    event = events.decode_event(events.encode_event(TextDelta("a\udcffb")))
    assert event == TextDelta("a\ufffdb")


def final(**fields: object) -> phone_pb2.Answer:
    answer = FinalAnswer(
        request_id=new_request_id(),
        conversation_id=cast("Any", "conv-" + "0a" * 16),
        place=Place.PHONE,
        node="",
        reason="",
        confidence=0.5,
        model="m",
        stand_in=False,
        ttft_ms=1.0,
        total_ms=2.0,
        text="",
    )
    message = events.encode_final(answer)
    for name, value in fields.items():
        setattr(message, name, value)
    return message


@pytest.mark.parametrize("status", [4, 127, 256, (1 << 32) - 1])
def test_no_exit_status_but_ours_reaches_a_script(status: int) -> None:
    with pytest.raises(InvalidDataError, match="exit status"):
        events.decode_final(final(exit_status=status))


@pytest.mark.parametrize("name", ["confidence", "ttft_ms", "total_ms"])
@pytest.mark.parametrize("number", [math.nan, math.inf])
def test_no_number_that_json_cannot_hold_reaches_a_script(name: str, number: float) -> None:
    with pytest.raises(InvalidDataError, match="finite"):
        events.decode_final(final(**{name: number}))


@given(questions)
@_SETTINGS
def test_what_a_person_decides_by_hides_nothing(asked: ConsentQuestion) -> None:
    message = codec.encode_consent_question(asked)
    message.reason, message.preview = "yes\x1b[2Kno\u202e", "line\nline"
    back = codec.decode_consent_question(message)
    assert (back.reason, back.preview) == ("yes[2Kno", "line line")
