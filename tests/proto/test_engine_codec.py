"""What a daemon and its engine's child say comes back equal; nothing malformed gets through."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from homing_core.errors import InvalidDataError
from homing_core.generation import GenerateRequest, Thinking
from homing_core.ids import GenerationId, new_generation_id
from homing_core.scoring import NameScore, ToolScores
from homing_proto.codec import engine, limits
from homing_proto.codec.generation import decode_generate_request, encode_generate_request
from homing_proto.v1 import engine_pb2 as wire
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support import strategies as values
from support.wire_strategies import MARK, arbitrary

if TYPE_CHECKING:
    from homing_proto.codec.engine import EngineCommand, EngineReport

_SETTINGS = settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
_uint32 = st.integers(0, (1 << 32) - 1)
_uint64 = st.integers(0, (1 << 64) - 1)
_float32 = st.floats(width=32, allow_nan=False, allow_infinity=False)
_speed = st.floats(min_value=0, allow_nan=False, allow_infinity=False)


def _start(request: GenerateRequest, owner: str) -> engine.StartGeneration:
    return engine.StartGeneration(replace(request, owner=owner))


commands: st.SearchStrategy[EngineCommand] = st.one_of(
    st.builds(
        engine.LoadModel,
        path=values.labels,
        name=values.labels,
        context_tokens=_uint32,
        threads=_uint32,
        gpu_layers=st.integers(-1, 1000),
        max_sequences=_uint32,
        cache_tokens=_uint32,
        file_sha256=st.just("") | values.sha256s,
        state_folder=values.labels,
        state_bytes=_uint64,
        checkpoint_bytes=_uint64,
        max_waiting=_uint32,
        adapters=st.dictionaries(st.text(min_size=1, max_size=20), values.labels, max_size=3).map(
            lambda paths: tuple(paths.items())
        ),
    ),
    st.builds(_start, values.generate_requests(), values.labels),
    st.builds(engine.CancelGeneration, values.generation_ids),
    st.builds(
        engine.WarmPrefix,
        ticket=_uint64,
        messages=st.lists(values.messages, max_size=3).map(tuple),
        tools=st.lists(values.tool_specs, max_size=3, unique_by=lambda tool: tool.name).map(tuple),
        thinking=st.sampled_from(Thinking),
    ),
    st.builds(engine.ScoreTools, ticket=_uint64, request=values.score_requests),
    st.builds(engine.ForgetOwner, values.labels),
    st.builds(
        engine.EmbedTexts, ticket=_uint64, texts=st.lists(values.texts, max_size=4).map(tuple)
    ),
)
reports: st.SearchStrategy[EngineReport] = st.one_of(
    st.builds(engine.ModelLoading, st.floats(0, 1)),
    st.builds(
        engine.ModelReady,
        quantization=values.labels,
        context_tokens=_uint32,
        chat_format=values.labels,
        can_think=st.booleans(),
        architecture=values.labels,
        max_sequences=st.integers(1, (1 << 32) - 1),
    ),
    st.builds(engine.LoadFailed, values.failures),
    st.builds(engine.GenerationReport, values.generation_ids, values.generation_events),
    st.builds(engine.PrefixWarmed, ticket=_uint64, tokens=_uint32, sha256=values.sha256s),
    st.builds(engine.WarmFailed, ticket=_uint64, error=values.failures),
    st.builds(engine.ToolsScored, ticket=_uint64, scores=values.tool_scores),
    st.builds(engine.ScoreFailed, ticket=_uint64, error=values.failures),
    st.builds(
        engine.TextsEmbedded,
        ticket=_uint64,
        vectors=st.lists(
            st.lists(_float32, max_size=4).map(tuple),
            max_size=3,
        ).map(tuple),
    ),
    st.builds(engine.EmbedFailed, ticket=_uint64, error=values.failures),
    st.builds(
        engine.EngineBusy,
        running=_uint32,
        waiting=_uint32,
        decode_tokens_per_second=_speed,
        prefill_tokens_per_second=_speed,
        memory_bytes=_uint64,
        warm=st.lists(st.tuples(_uint32, values.sha256s), max_size=3).map(tuple),
    ),
)


@_SETTINGS
@given(commands)
def test_a_command_comes_back_equal(command: EngineCommand) -> None:
    assert engine.decode_engine_command(engine.encode_engine_command(command)) == command


@_SETTINGS
@given(reports)
def test_a_report_comes_back_equal(report: EngineReport) -> None:
    assert engine.decode_engine_report(engine.encode_engine_report(report)) == report


@_SETTINGS
@given(
    st.one_of(
        st.binary(max_size=200),
        reports.map(engine.encode_engine_report).map(lambda raw: raw[1:]),
        arbitrary(wire.EngineCommand).map(lambda message: message.SerializeToString()),
        arbitrary(wire.EngineReport).map(lambda message: message.SerializeToString()),
    )
)
def test_noise_is_decoded_or_refused_cleanly(noise: bytes) -> None:
    for decode in (engine.decode_engine_command, engine.decode_engine_report):
        refusal = None
        try:
            decode(noise)
        except InvalidDataError as error:
            refusal = error
        assert refusal is None or ("\n" not in str(refusal) and MARK not in str(refusal))


@pytest.mark.parametrize("decode", [engine.decode_engine_command, engine.decode_engine_report])
def test_an_empty_message_is_refused(decode: object) -> None:
    assert callable(decode)
    with pytest.raises(InvalidDataError, match="empty or of an unknown kind"):
        decode(b"")


def test_a_path_that_is_not_text_is_refused_before_it_is_sent() -> None:
    with pytest.raises(InvalidDataError, match="no form on the wire"):
        engine.encode_engine_command(engine.LoadModel(path="\udcff.gguf", name="x"))


def test_an_id_of_another_kind_is_refused() -> None:
    raw = engine.encode_engine_command(engine.CancelGeneration(GenerationId("req-00")))
    with pytest.raises(InvalidDataError, match="not a gen id"):
        engine.decode_engine_command(raw)


_PINNED = wire.EnginePinned(tokens=1, prefix_sha256="0a" * 32)


@pytest.mark.parametrize(
    ("message", "why"),
    [
        (wire.EngineLoad(model_path="x" * 4097), "path is longer"),
        (wire.EngineLoad(file_sha256="0A" * 32), "not a SHA-256"),
        (wire.EngineLoad(state_folder="x" * 4097), "folder's path is longer"),
        (wire.EngineLoad(adapters=[wire.EngineAdapter(path="a")]), "has no name"),
        (wire.EngineLoad(adapters=[wire.EngineAdapter(name="x" * 257)]), "adapter's name"),
        (wire.EngineLoad(adapters=[wire.EngineAdapter(name="a", path="x" * 4097)]), "path"),
        (wire.EngineLoad(adapters=[wire.EngineAdapter(name="a")] * 2), "same name"),
        (
            wire.EngineLoad(
                adapters=[wire.EngineAdapter(name=str(n)) for n in range(limits.MAX_ADAPTERS + 1)]
            ),
            "more than 64 adapters",
        ),
    ],
)
def test_a_load_command_that_asks_too_much_is_refused(message: wire.EngineLoad, why: str) -> None:
    with pytest.raises(InvalidDataError, match=why):
        engine.decode_engine_command(wire.EngineCommand(load=message).SerializeToString())


@pytest.mark.parametrize(
    ("message", "why"),
    [
        (wire.EngineCommand(cancel=new_generation_id(), owner="x" * 300), None),
        (wire.EngineCommand(score=wire.EngineScore(), owner="x" * 300), "owner"),
        (wire.EngineCommand(score=wire.EngineScore(adapter="x" * 300)), "adapter"),
        (wire.EngineCommand(embed=wire.EngineEmbed(texts=["x"] * 300)), "more than 256 texts"),
        (wire.EngineCommand(embed=wire.EngineEmbed(texts=["x" * (2 << 20)])), "text is longer"),
    ],
)
def test_a_command_over_a_limit_is_refused(message: wire.EngineCommand, why: str | None) -> None:
    refusal = None
    try:
        engine.decode_engine_command(message.SerializeToString())
    except InvalidDataError as error:
        refusal = error
    assert (refusal is None) if why is None else (why in str(refusal))


@pytest.mark.parametrize(
    ("message", "why"),
    [
        (wire.EngineReport(busy=wire.EngineBusy(warm=[_PINNED] * 1025)), "warm prefixes"),
        (wire.EngineReport(busy=wire.EngineBusy(decode_tokens_per_second=-1)), "negative"),
        (wire.EngineReport(busy=wire.EngineBusy(prefill_tokens_per_second=math.nan)), "finite"),
        (wire.EngineReport(busy=wire.EngineBusy(warm=[wire.EnginePinned(tokens=1)])), "SHA-256"),
        (wire.EngineReport(scored=wire.EngineScored(call_logprob=0.1)), "above 0"),
        (wire.EngineReport(scored=wire.EngineScored(call_baseline=math.nan)), "finite"),
        (
            wire.EngineReport(scored=wire.EngineScored(names=[wire.EngineNameScore(name="a b")])),
            "name",
        ),
        (
            wire.EngineReport(
                scored=wire.EngineScored(names=[wire.EngineNameScore(name="a")] * 513)
            ),
            "names of tools",
        ),
        (
            wire.EngineReport(
                embedded=wire.EngineEmbedded(vectors=[wire.EngineVector(values=[math.inf])])
            ),
            "finite",
        ),
        (
            wire.EngineReport(
                embedded=wire.EngineEmbedded(vectors=[wire.EngineVector(values=[0.0] * 20_000)])
            ),
            "numbers in a vector",
        ),
        (
            wire.EngineReport(embedded=wire.EngineEmbedded(vectors=[wire.EngineVector()] * 300)),
            "vectors",
        ),
    ],
)
def test_a_report_over_a_limit_is_refused(message: wire.EngineReport, why: str) -> None:
    with pytest.raises(InvalidDataError, match=why):
        engine.decode_engine_report(message.SerializeToString())


def test_a_score_that_is_no_number_is_refused_before_it_is_sent() -> None:
    scores = ToolScores((NameScore("a", -math.inf),), -0.5)
    with pytest.raises(InvalidDataError, match="finite"):
        engine.encode_engine_report(engine.ToolsScored(1, scores))


@pytest.mark.attack
def test_whose_states_are_used_is_said_by_the_daemon_alone() -> None:
    request = GenerateRequest(new_generation_id(), (), owner="ab" * 32)
    public = encode_generate_request(request)
    assert b"abab" not in public.SerializeToString()
    assert decode_generate_request(public).owner == ""
    raw = engine.encode_engine_command(engine.StartGeneration(request))
    command = engine.decode_engine_command(raw)
    assert isinstance(command, engine.StartGeneration)
    assert command.request.owner == "ab" * 32


def test_an_engine_of_an_older_version_writes_one_answer_at_once() -> None:
    report = engine.decode_engine_report(
        wire.EngineReport(ready=wire.EngineReady(quantization="BF16")).SerializeToString()
    )
    assert isinstance(report, engine.ModelReady)
    assert report.max_sequences == 1
