"""What a daemon and its engine's child say comes back equal; nothing malformed gets through."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from homing_core.errors import InvalidDataError
from homing_core.generation import Thinking
from homing_core.ids import GenerationId
from homing_proto.codec import engine
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support import strategies as values

if TYPE_CHECKING:
    from homing_proto.codec.engine import EngineCommand, EngineReport

_SETTINGS = settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
_uint32 = st.integers(0, (1 << 32) - 1)
_uint64 = st.integers(0, (1 << 64) - 1)

commands: st.SearchStrategy[EngineCommand] = st.one_of(
    st.builds(
        engine.LoadModel,
        path=values.labels,
        name=values.labels,
        context_tokens=_uint32,
        threads=_uint32,
        gpu_layers=st.integers(-1, 1000),
    ),
    st.builds(engine.StartGeneration, values.generate_requests()),
    st.builds(engine.CancelGeneration, values.generation_ids),
    st.builds(
        engine.WarmPrefix,
        ticket=_uint64,
        messages=st.lists(values.messages, max_size=3).map(tuple),
        tools=st.lists(values.tool_specs, max_size=3).map(tuple),
        thinking=st.sampled_from(Thinking),
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
    ),
    st.builds(engine.LoadFailed, values.failures),
    st.builds(engine.GenerationReport, values.generation_ids, values.generation_events),
    st.builds(engine.PrefixWarmed, ticket=_uint64, tokens=_uint32, sha256=values.sha256s),
    st.builds(engine.WarmFailed, ticket=_uint64, error=values.failures),
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
@given(st.binary(max_size=200) | reports.map(engine.encode_engine_report).map(lambda raw: raw[1:]))
def test_noise_is_decoded_or_refused_cleanly(noise: bytes) -> None:
    for decode in (engine.decode_engine_command, engine.decode_engine_report):
        refusal = None
        try:
            decode(noise)
        except InvalidDataError as error:
            refusal = error
        assert refusal is None or "\n" not in str(refusal)


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
