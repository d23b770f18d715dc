"""Wire messages with arbitrary content in every field, built from their descriptors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar, cast

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass
from hypothesis import strategies as st

if TYPE_CHECKING:
    from google.protobuf.descriptor import Descriptor

M = TypeVar("M", bound=Message)

MARK = "\x1b[31mEVIL"
"""Hostile text that no error may repeat."""

_F = FieldDescriptor
_TEXTS = st.one_of(
    st.text(max_size=40),
    st.just(MARK),
    st.sampled_from(["{}", "[]", "null", '{"a":1,"a":2}', "[NaN]", "1e999", f'"{MARK}"', "gen-00"]),
    st.sampled_from(["req", "gen", "job", "call", "appr", "conv"]).map(
        lambda k: f"{k}-{'0a' * 16}"
    ),
    st.just("0a" * 32),
)
_SCALARS: dict[int, st.SearchStrategy[Any]] = {
    _F.TYPE_STRING: _TEXTS,
    _F.TYPE_BYTES: st.binary(max_size=80),
    _F.TYPE_BOOL: st.booleans(),
    _F.TYPE_DOUBLE: st.floats(),
    _F.TYPE_FLOAT: st.floats(width=32),
    _F.TYPE_UINT32: st.integers(0, (1 << 32) - 1),
    _F.TYPE_UINT64: st.integers(0, (1 << 64) - 1),
    _F.TYPE_INT32: st.integers(-(1 << 31), (1 << 31) - 1),
    _F.TYPE_INT64: st.integers(-(1 << 63), (1 << 63) - 1),
    _F.TYPE_ENUM: st.integers(-(1 << 31), (1 << 31) - 1) | st.integers(0, 9),
}


@st.composite
def _fields(draw: st.DrawFn, kind: type[Message]) -> dict[str, Any]:
    content: dict[str, Any] = {}
    taken: set[str] = set()
    for field in kind.DESCRIPTOR.fields:
        group = field.containing_oneof
        if not draw(st.booleans()) or (group is not None and group.name in taken):
            continue
        if group is not None:
            taken.add(group.name)
        if field.message_type is not None and field.message_type.GetOptions().map_entry:
            key, value = (_SCALARS[part.type] for part in field.message_type.fields)
            content[field.name] = draw(st.dictionaries(key, value, max_size=3))
            continue
        if field.message_type is not None:
            one = arbitrary(GetMessageClass(cast("Descriptor", field.message_type)))
        else:
            one = _SCALARS[field.type]
        content[field.name] = draw(st.lists(one, max_size=3) if field.is_repeated else one)
    return content


def arbitrary(kind: type[M]) -> st.SearchStrategy[M]:
    """Messages of `kind`, each field absent or of any value that its type can hold."""
    return _fields(kind).map(lambda content: kind(**content))


@st.composite
def damaged(draw: st.DrawFn, whole: st.SearchStrategy[Message]) -> bytes:
    """A valid message's bytes, cut, repeated or changed somewhere; or just any bytes."""
    raw = bytearray(draw(whole).SerializeToString())
    how = draw(st.sampled_from(["cut", "change", "insert", "twice", "noise"]))
    where = draw(st.integers(0, max(len(raw) - 1, 0)))
    match how:
        case "cut":
            return bytes(raw[:where])
        case "change" if raw:
            raw[where] = draw(st.integers(0, 255))
        case "insert":
            raw[where:where] = draw(st.binary(min_size=1, max_size=12))
        case "twice":
            raw += raw[where:]
        case _:
            return draw(st.binary(max_size=60))
    return bytes(raw)
