from __future__ import annotations

import pytest
from google.protobuf.message import DecodeError
from homing_core.access import DeviceRole, Scope
from homing_core.errors import InvalidDataError
from homing_core.labels import clean_label
from homing_core.nodes import NodeInfo, NodeLoad, ServedModel, WarmPrefix
from homing_core.tools import Place
from homing_proto.codec.nodes import decode_node_info, encode_node_info
from homing_proto.v1 import node_pb2 as wire
from hypothesis import given
from hypothesis import strategies as st
from support.strategies import sha256s

counts = st.integers(0, 2**32 - 1)
speeds = st.floats(0, 1e6)
names = st.text(min_size=1, max_size=40).map(clean_label)
device_ids = sha256s

models = st.builds(
    ServedModel,
    name=names,
    quantization=names,
    context_tokens=counts,
    stand_in=st.booleans(),
    loaded=st.booleans(),
    file_sha256=sha256s | st.just(""),
    chat_format=names,
    can_think=st.booleans(),
)
infos = st.builds(
    NodeInfo,
    id=device_ids,
    name=names,
    version=names,
    models=st.lists(models, max_size=3).map(tuple),
    default_model=names,
    load=st.builds(NodeLoad, counts, counts, counts, speeds, speeds),
    role=st.sampled_from(DeviceRole),
    scopes=st.frozensets(st.sampled_from(Scope)),
    place=st.sampled_from(Place),
    capabilities=st.lists(st.text(max_size=20), max_size=3).map(tuple),
    warm_prefixes=st.lists(st.builds(WarmPrefix, names, sha256s, counts), max_size=3).map(tuple),
)


@given(infos)
def test_a_node_description_comes_back_as_it_was(info: NodeInfo) -> None:
    assert decode_node_info(encode_node_info(info)) == info


@given(st.binary(max_size=400))
def test_garbage_is_read_or_refused_and_nothing_else(data: bytes) -> None:
    message = wire.GetNodeResponse()
    outcome = "read"
    try:
        message.ParseFromString(data)
        decode_node_info(message)
    except (DecodeError, InvalidDataError):
        outcome = "refused"
    assert outcome in {"read", "refused"}


@pytest.mark.attack
def test_a_hostile_name_is_cleaned() -> None:
    message = wire.GetNodeResponse(
        node_id="a" * 64, name="\x1b[31mevil\u202e" * 50, role=wire.DEVICE_ROLE_OWNER
    )
    assert decode_node_info(message).name.startswith("[31mevil")
    assert "\x1b" not in decode_node_info(message).name


def test_a_node_that_claims_too_many_models_is_refused() -> None:
    message = wire.GetNodeResponse(
        node_id="a" * 64, role=wire.DEVICE_ROLE_OWNER, models=[wire.ServedModel(name="m")] * 300
    )
    with pytest.raises(InvalidDataError):
        decode_node_info(message)
