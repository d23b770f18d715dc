"""What is not said is read strictly, what is too much is refused, odd text does no harm."""

from __future__ import annotations

import math

import pytest
from homing_core.access import DeviceRole
from homing_core.approvals import Verdict
from homing_core.errors import (
    InternalError,
    InvalidDataError,
    OverloadedError,
    UnavailableError,
)
from homing_core.generation import (
    CallGrammar,
    CallSignals,
    Done,
    FinishReason,
    GenerateRequest,
    NameProbability,
    Priority,
    Sampled,
    Sampling,
    TextDelta,
    Thinking,
    TokenLogprob,
    TokenLogprobs,
    ToolCallEvent,
    ToolChoice,
)
from homing_core.ids import (
    new_approval_id,
    new_generation_id,
    new_job_id,
    new_request_id,
    new_tool_call_id,
)
from homing_core.jobs import JobSpec, JobState
from homing_core.messages import Message, Role, TextPart, user
from homing_core.provenance import MODEL, Origin, Provenance, Sensitivity, Trust
from homing_core.tools import EffectClass, Place, ToolCall, ToolResult, ToolSpec, Topic
from homing_proto.codec import (
    access,
    approvals,
    common,
    events,
    generation,
    jobs,
    limits,
    messages,
    signals,
    tools,
)
from homing_proto.codec.json_text import decode_json, encode_json
from homing_proto.v1 import common_pb2, inference_pb2, job_pb2, tool_pb2

UNKNOWN = 77
STRICTEST = Provenance(Origin.NETWORK, Trust.UNTRUSTED, Sensitivity.PHONE_ONLY)


def request(**fields: object) -> inference_pb2.GenerateRequest:
    message = generation.encode_generate_request(
        GenerateRequest(new_generation_id(), (user("hi"),))
    )
    for name, value in fields.items():
        setattr(message, name, value)
    return message


@pytest.mark.parametrize("number", [0, UNKNOWN, -1])
def test_an_enum_that_is_not_said_has_its_strictest_meaning(number: int) -> None:
    unsaid = common_pb2.Provenance(trust=number, origin=number, sensitivity=number)  # type: ignore[arg-type]  # an unknown number
    assert common.decode_provenance(unsaid) == STRICTEST
    assert common.decode_place(number) is Place.PEER
    assert common.decode_sensitivity(number) is Sensitivity.PHONE_ONLY
    assert approvals.decode_verdict(number) is Verdict.DENY
    assert generation.decode_thinking(number) is Thinking.OFF
    assert tools.EFFECTS.decode(number) is EffectClass.SETTINGS
    assert events.FINISH_REASONS.decode(number) is FinishReason.CANCELLED
    assert jobs.JOB_STATES.decode(number) is JobState.UNKNOWN_EFFECT
    assert generation.PRIORITIES.decode(number) is Priority.JOB
    assert generation.TOOL_CHOICES.decode(number) is ToolChoice.AUTO
    assert generation.CALL_GRAMMARS.decode(number) is CallGrammar.ON


@pytest.mark.parametrize("number", [0, UNKNOWN, -1])
def test_a_role_that_is_not_said_is_refused(number: int) -> None:
    with pytest.raises(InvalidDataError, match="device's role"):
        access.decode_device_role(number)
    with pytest.raises(InvalidDataError, match="message's role"):
        messages.decode_message(inference_pb2.Message(role=number))  # type: ignore[arg-type]  # an unknown number


def test_a_known_device_role_is_read() -> None:
    assert access.decode_device_role(4) is DeviceRole.PEER


def test_a_part_without_provenance_is_untrusted_and_stays_on_the_phone() -> None:
    part = messages.decode_part(inference_pb2.Part(text="hello"))
    assert part == TextPart("hello", STRICTEST)


def test_a_results_own_provenance_counts_and_not_the_parts_copy() -> None:
    result = tool_pb2.ToolResult(call_id=new_tool_call_id(), content="x")
    part = inference_pb2.Part(provenance=common.encode_provenance(MODEL), tool_result=result)
    assert messages.decode_part(part).provenance == STRICTEST


def test_an_unsaid_topic_is_ignored_and_an_unknown_one_needs_a_person_like_every_topic() -> None:
    spec = tools.encode_tool_spec(ToolSpec("a", "", {}, topics=frozenset({Topic.MONEY})))
    spec.topics.append(tool_pb2.TOPIC_UNSPECIFIED)
    assert tools.decode_tool_spec(spec).topics == {Topic.MONEY}
    spec.topics.append(UNKNOWN)  # type: ignore[arg-type]  # an unknown number
    assert tools.decode_tool_spec(spec).topics == set(Topic)


def test_absent_sampling_is_greedy_over_the_whole_mass() -> None:
    assert generation.decode_sampling(inference_pb2.Sampling()) == Sampling(max_tokens=0)


@pytest.mark.parametrize(
    "message",
    [
        inference_pb2.Sampling(temperature=-0.1),
        inference_pb2.Sampling(temperature=math.nan),
        inference_pb2.Sampling(temperature=1e9),
        inference_pb2.Sampling(top_p=1.5),
        inference_pb2.Sampling(top_p=math.nan),
        inference_pb2.Sampling(stop=[""]),
        inference_pb2.Sampling(stop=["x" * (limits.MAX_STOP_BYTES + 1)]),
        inference_pb2.Sampling(stop=["x"] * (limits.MAX_STOPS + 1)),
    ],
)
def test_impossible_sampling_is_refused(message: inference_pb2.Sampling) -> None:
    with pytest.raises(InvalidDataError):
        generation.decode_sampling(message)


def test_probabilities_are_clamped_within_rounding_and_refused_beyond() -> None:
    near = inference_pb2.CallSignals(call_probability=1 + 1e-9, grammar_share=-1e-9)
    assert signals.decode_call_signals(near) == CallSignals(1, 0, 0, 0, 0, 0, 0)
    for bad in (1.1, -0.1, math.nan, math.inf):
        with pytest.raises(InvalidDataError):
            signals.decode_call_signals(inference_pb2.CallSignals(name_margin=bad))


def test_argument_figures_that_an_older_sender_left_out_are_read_from_the_one_it_sent() -> None:
    sent = inference_pb2.CallSignals(lowest_argument_probability=0.4)
    back = signals.decode_call_signals(sent)
    assert (back.argument_decile, back.argument_median, back.names) == (0.4, 0.4, ())
    sent.argument_decile = 0.5
    assert signals.decode_call_signals(sent).argument_median == 0.5


def test_names_of_tools_and_their_probabilities_are_checked() -> None:
    one = inference_pb2.NameProbability(name="a", probability=0.5)
    whole = inference_pb2.CallSignals(names=[one] * limits.MAX_TOOLS)
    assert signals.decode_call_signals(whole).names[0] == NameProbability("a", 0.5)
    for bad in (
        inference_pb2.CallSignals(names=[one] * (limits.MAX_TOOLS + 1)),
        inference_pb2.CallSignals(names=[inference_pb2.NameProbability(name="a", probability=2)]),
        inference_pb2.CallSignals(names=[inference_pb2.NameProbability(name="\x1b[2J")]),
        inference_pb2.CallSignals(argument_decile=1.5),
        inference_pb2.CallSignals(argument_median=math.nan),
    ):
        with pytest.raises(InvalidDataError):
            signals.decode_call_signals(bad)


def test_what_an_older_sender_does_not_say_of_a_request_is_as_it_was() -> None:
    read = generation.decode_generate_request(
        inference_pb2.GenerateRequest(generation_id=new_generation_id())
    )
    assert read.samples == 1
    assert read.thinking_budget == 0
    assert read.tool_choice is ToolChoice.AUTO
    assert read.call_grammar is CallGrammar.ON
    assert read.logprobs == 0
    assert read.adapter == ""
    assert read.owner == ""


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("samples", limits.MAX_SAMPLES + 1),
        ("logprobs", limits.MAX_LOGPROBS + 1),
        ("adapter", "x" * (limits.MAX_NAME_CHARS + 1)),
        ("tool_choice", inference_pb2.TOOL_CHOICE_REQUIRED),
    ],
)
def test_a_request_for_more_than_there_can_be_is_refused(field: str, value: object) -> None:
    with pytest.raises(InvalidDataError):
        generation.decode_generate_request(request(**{field: value}))


def test_an_answers_number_is_one_of_those_that_can_be_asked_for() -> None:
    for number in (0, -1, limits.MAX_SAMPLES + 1):
        with pytest.raises(InvalidDataError, match="answer's number"):
            events.encode_event(Sampled(number, TextDelta("x")))
    beyond = inference_pb2.GenerationEvent(text="x", sample=limits.MAX_SAMPLES + 1)
    with pytest.raises(InvalidDataError, match="answer's number"):
        events.decode_event(beyond)


def test_counts_belong_to_no_single_answer() -> None:
    message = inference_pb2.GenerationEvent(usage=inference_pb2.Usage(), sample=1)
    with pytest.raises(InvalidDataError, match="counts"):
        events.decode_event(message)


def test_a_tokens_probability_is_one_and_its_text_is_short() -> None:
    token = inference_pb2.TokenLogprob
    other = inference_pb2.TokenAlternative
    for bad in (
        inference_pb2.TokenLogprobs(tokens=[token(logprob=0.1)]),
        inference_pb2.TokenLogprobs(tokens=[token(logprob=-math.inf)]),
        inference_pb2.TokenLogprobs(tokens=[token(logprob=math.nan)]),
        inference_pb2.TokenLogprobs(tokens=[token(text="x" * 257)]),
        inference_pb2.TokenLogprobs(tokens=[token(top=[other()] * 21)]),
        inference_pb2.TokenLogprobs(tokens=[token(top=[other(text="x" * 257)])]),
        inference_pb2.TokenLogprobs(tokens=[token(top=[other(logprob=1)])]),
        inference_pb2.TokenLogprobs(tokens=[token()] * (limits.MAX_EVENT_TOKENS + 1)),
    ):
        with pytest.raises(InvalidDataError):
            signals.decode_token_logprobs(bad)


def test_a_long_or_odd_token_can_be_sent() -> None:
    sent = TokenLogprobs((TokenLogprob("\ud800" + " " * 400, 1e-9, (("\udfff", -1.0),)),))
    (token,) = signals.decode_token_logprobs(signals.encode_token_logprobs(sent)).tokens
    assert token.text == "\ufffd" + " " * 255
    assert token.logprob == 0
    assert token.top == (("\ufffd", -1.0),)


def test_a_tokens_probability_that_is_no_number_is_not_sent() -> None:
    with pytest.raises(InvalidDataError, match="finite"):
        events.encode_event(TokenLogprobs((TokenLogprob("x", -math.inf),)))


def test_an_event_needs_a_kind_and_a_number() -> None:
    with pytest.raises(InvalidDataError, match="kind"):
        events.decode_event(inference_pb2.GenerationEvent(seq=1))
    with pytest.raises(InvalidDataError, match="number"):
        events.decode_numbered(inference_pb2.GenerationEvent(text="x"))
    # The frames of an engine's child carry no number.
    assert events.decode_event(events.encode_event(TextDelta("x"))) == TextDelta("x")
    assert events.encode_event(Done(FinishReason.STOP)).seq == 0


def test_a_part_needs_a_kind() -> None:
    with pytest.raises(InvalidDataError, match="kind"):
        messages.decode_part(inference_pb2.Part())


def test_too_many_of_anything_is_refused() -> None:
    many = request()
    many.messages.extend([many.messages[0]] * limits.MAX_MESSAGES)
    with pytest.raises(InvalidDataError, match="messages"):
        generation.decode_generate_request(many)
    tool = tools.encode_tool_spec(ToolSpec("a", "", {}))
    with pytest.raises(InvalidDataError, match="tools"):
        generation.decode_generate_request(
            inference_pb2.GenerateRequest(tools=[tool] * (limits.MAX_TOOLS + 1))
        )
    with pytest.raises(InvalidDataError, match="parts"):
        messages.decode_message(
            inference_pb2.Message(
                role=inference_pb2.ROLE_USER,
                parts=[inference_pb2.Part(text="x")] * (limits.MAX_PARTS + 1),
            )
        )
    tool.topics.extend([tool_pb2.TOPIC_MONEY] * (limits.MAX_TOPICS + 1))
    with pytest.raises(InvalidDataError, match="topics"):
        tools.decode_tool_spec(tool)
    with pytest.raises(InvalidDataError, match="scopes"):
        access.decode_scopes([1] * (limits.MAX_SCOPES + 1))


def test_text_is_measured_in_bytes() -> None:
    fits = "é" * (limits.MAX_TEXT_BYTES // 2)
    assert messages.decode_part(inference_pb2.Part(text=fits)) == TextPart(fits, STRICTEST)
    with pytest.raises(InvalidDataError, match="bytes"):
        messages.decode_part(inference_pb2.Part(text=fits + "é"))


def test_two_tools_of_one_name_are_refused() -> None:
    tool = tools.encode_tool_spec(ToolSpec("a", "", {}))
    twice = request()
    twice.tools.extend([tool, tool])
    with pytest.raises(InvalidDataError, match="same name"):
        generation.decode_generate_request(twice)


def test_only_an_assistant_message_can_be_continued() -> None:
    with pytest.raises(InvalidDataError, match="continue"):
        generation.decode_generate_request(request(continue_last=True))


@pytest.mark.parametrize("name", ["", "two words", "a/b", "ä", "x" * 129, "a\n"])
def test_a_tools_name_is_plain(name: str) -> None:
    with pytest.raises(InvalidDataError, match="name"):
        tools.decode_tool_name(name)


@pytest.mark.parametrize("bad", ["", "req-1", "gen-" + "0" * 31, "gen-" + "G" * 32, "\x1b[2J"])
def test_a_wrong_id_is_refused(bad: str) -> None:
    with pytest.raises(InvalidDataError, match="gen id"):
        generation.decode_generate_request(request(generation_id=bad))


def test_a_job_whose_call_names_another_tool_is_refused() -> None:
    tool = ToolSpec("read", "", {}).id
    spec = JobSpec(new_job_id(), new_request_id(), tool, ToolCall(new_tool_call_id(), "wipe", {}))
    with pytest.raises(InvalidDataError, match="another tool"):
        jobs.decode_job_spec(jobs.encode_job_spec(spec))


def test_a_job_event_needs_sane_numbers() -> None:
    for bad in (
        job_pb2.JobEvent(seq=0),
        job_pb2.JobEvent(seq=1, at=math.inf),
        job_pb2.JobEvent(seq=1, at=-1),
        job_pb2.JobEvent(seq=1, progress=job_pb2.JobProgress(done=math.nan)),
        job_pb2.JobEvent(seq=1, approval_id="appr-1"),
        job_pb2.JobEvent(seq=1, note="x" * (limits.MAX_LINE_CHARS + 1)),
    ):
        with pytest.raises(InvalidDataError):
            jobs.decode_job_event(bad)


def test_an_approval_needs_a_signature_and_a_step() -> None:
    statement = tool_pb2.ApprovalStatement(
        id=new_approval_id(),
        request_id=new_request_id(),
        step=1,
        tool_hash="0" * 64,
        argument_hash="0" * 64,
        device="0" * 64,
    )
    assert approvals.decode_approval_statement(statement).verdict is Verdict.DENY
    for signature in (b"", b"x" * (limits.MAX_SIGNATURE_BYTES + 1)):
        with pytest.raises(InvalidDataError, match="signature"):
            approvals.decode_signed_approval(
                tool_pb2.SignedApproval(statement=statement, signature=signature)
            )
    statement.step = 0
    with pytest.raises(InvalidDataError, match="step"):
        approvals.decode_approval_statement(statement)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "{}{}",
        "{'a':1}",
        '{"a":1,"a":1}',
        '{"x":{"a":1,"\\u0061":2}}',
        "[NaN]",
        "[Infinity]",
        "[-Infinity]",
        "[1e999]",
        "[" + "9" * 321 + "]",
        "[" * 65 + "]" * 65,
        "[" * 100_000,
        '{"a":' * 50_000 + "1" + "}" * 50_000,
        '"' + "x" * limits.MAX_JSON_BYTES + '"',
        "\ufeff{}",
    ],
)
def test_bad_json_is_refused(text: str) -> None:
    with pytest.raises(InvalidDataError) as caught:
        decode_json(text, "detail")
    assert caught.value.__cause__ is None
    assert len(str(caught.value)) < 200


def test_json_at_its_limits_is_read() -> None:
    deep = "[" * limits.MAX_JSON_DEPTH + "]" * limits.MAX_JSON_DEPTH
    assert encode_json(decode_json(deep, "detail")) == deep
    assert decode_json("[" + "9" * 308 + "]", "detail") == [int("9" * 308)]


def test_arguments_must_be_an_object() -> None:
    for text in ("", "[]", "null", '"x"', "3"):
        with pytest.raises(InvalidDataError):
            tools.decode_tool_call(
                tool_pb2.ToolCall(id=new_tool_call_id(), name="a", arguments_json=text)
            )


def test_json_keeps_the_order_of_keys() -> None:
    back = tools.decode_tool_spec(
        tools.encode_tool_spec(ToolSpec("a", "", {"z": 1, "a": {"y": 2, "b": 3}}))
    )
    assert list(back.parameters) == ["z", "a"]
    assert back.schema_hash == ToolSpec("a", "", {"a": {"b": 3, "y": 2}, "z": 1}).schema_hash


@pytest.mark.parametrize(
    ("text", "readable"),
    [
        ("\ud800", "\ufffd"),
        ("a\udfffb", "a\ufffdb"),
        ("\udfff\ud800", "\ufffd\ufffd"),
        ("\ud83dx", "\ufffdx"),
    ],
)
def test_lone_surrogates_survive_in_json_and_are_replaced_in_read_text(
    text: str, readable: str
) -> None:
    call = ToolCall(new_tool_call_id(), "a", {text: [text]})
    assert tools.decode_tool_call(tools.encode_tool_call(call)) == call
    result = ToolResult(new_tool_call_id(), text, is_error=False, provenance=MODEL)
    assert tools.decode_tool_result(tools.encode_tool_result(result)).content == readable


def test_both_halves_of_a_pair_come_back_as_the_character_they_mean() -> None:
    assert decode_json(encode_json("\ud83d" + "\ude00"), "detail") == "\N{GRINNING FACE}"


def test_exact_text_with_a_lone_surrogate_cannot_be_sent() -> None:
    for value in (
        GenerateRequest(new_generation_id(), (), model="\ud800"),
        GenerateRequest(new_generation_id(), (), sampling=Sampling(stop=("\ud800",))),
        GenerateRequest(new_generation_id(), (), tools=(ToolSpec("a", "\ud800", {}),)),
    ):
        with pytest.raises(InvalidDataError, match="no form on the wire"):
            generation.encode_generate_request(value)


def test_numbers_that_do_not_fit_cannot_be_sent() -> None:
    nested: list[object] = []
    for _ in range(100_000):
        nested = [nested]
    call = ToolCall(new_tool_call_id(), "a", {"x": nested})  # type: ignore[dict-item]  # deep on purpose
    for value in (
        GenerateRequest(new_generation_id(), (), deadline_ms=-1),
        GenerateRequest(new_generation_id(), (), deadline_ms=1 << 32),
        GenerateRequest(new_generation_id(), (), sampling=Sampling(seed=1 << 64)),
    ):
        with pytest.raises(InvalidDataError, match="no form on the wire"):
            generation.encode_generate_request(value)
    for bad in (call, ToolCall(new_tool_call_id(), "a", {"x": math.nan})):
        with pytest.raises(InvalidDataError, match="no form on the wire"):
            events.encode_event(ToolCallEvent(bad))


def test_labels_too_long_are_cut_when_sent_and_refused_when_received() -> None:
    long = "x" * 5000
    sent = common.encode_provenance(Provenance(Origin.TOOL, Trust.UNTRUSTED, source=long))
    assert len(common.decode_provenance(sent).source) == limits.MAX_NAME_CHARS
    sent.source = long
    with pytest.raises(InvalidDataError, match="label"):
        common.decode_provenance(sent)
    call = tools.encode_tool_call(ToolCall(new_tool_call_id(), long, {}))
    assert len(tools.decode_tool_call(call).name) == limits.MAX_NAME_CHARS


@pytest.mark.attack
def test_a_hostile_error_is_cleaned_and_still_an_error() -> None:
    back = common.decode_error(
        common_pb2.Error(
            code="not a code\n",
            what="\x1b[2J\u202ebad\nline" + "x" * 9000,
            hint="a\r\nb",
            retry_after_ms=5,
        )
    )
    assert isinstance(back, InternalError)
    assert back.what.startswith("[2Jbad line")
    assert len(back.what) <= limits.MAX_LINE_CHARS
    assert back.hint == "a b"
    assert str(common.decode_error(common_pb2.Error(code="unavailable"))) == (
        "the other side gave no reason"
    )


def test_an_errors_delay_is_clamped() -> None:
    for given, sent in ((-5, 0), (1 << 40, (1 << 32) - 1), (250, 250)):
        message = common.encode_error(OverloadedError("busy", retry_after_ms=given))
        assert message.retry_after_ms == sent
        assert message.retryable
    assert isinstance(
        common.decode_error(common.encode_error(UnavailableError("x"))), UnavailableError
    )


def test_a_message_of_many_parts_keeps_their_order() -> None:
    message = Message(Role.USER, tuple(TextPart(str(n), MODEL) for n in range(limits.MAX_PARTS)))
    assert messages.decode_message(messages.encode_message(message)) == message
