from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class AuditHead(_message.Message):
    __slots__ = ("seq", "hash", "at_ms")
    SEQ_FIELD_NUMBER: _ClassVar[int]
    HASH_FIELD_NUMBER: _ClassVar[int]
    AT_MS_FIELD_NUMBER: _ClassVar[int]
    seq: int
    hash: str
    at_ms: int
    def __init__(self, seq: _Optional[int] = ..., hash: _Optional[str] = ..., at_ms: _Optional[int] = ...) -> None: ...

class SignedAuditHead(_message.Message):
    __slots__ = ("node", "head", "signature")
    NODE_FIELD_NUMBER: _ClassVar[int]
    HEAD_FIELD_NUMBER: _ClassVar[int]
    SIGNATURE_FIELD_NUMBER: _ClassVar[int]
    node: str
    head: AuditHead
    signature: bytes
    def __init__(self, node: _Optional[str] = ..., head: _Optional[_Union[AuditHead, _Mapping]] = ..., signature: _Optional[bytes] = ...) -> None: ...

class AuditEntry(_message.Message):
    __slots__ = ("seq", "at_ms", "kind", "actor", "device", "detail", "previous", "hash")
    SEQ_FIELD_NUMBER: _ClassVar[int]
    AT_MS_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    ACTOR_FIELD_NUMBER: _ClassVar[int]
    DEVICE_FIELD_NUMBER: _ClassVar[int]
    DETAIL_FIELD_NUMBER: _ClassVar[int]
    PREVIOUS_FIELD_NUMBER: _ClassVar[int]
    HASH_FIELD_NUMBER: _ClassVar[int]
    seq: int
    at_ms: int
    kind: str
    actor: str
    device: str
    detail: str
    previous: str
    hash: str
    def __init__(self, seq: _Optional[int] = ..., at_ms: _Optional[int] = ..., kind: _Optional[str] = ..., actor: _Optional[str] = ..., device: _Optional[str] = ..., detail: _Optional[str] = ..., previous: _Optional[str] = ..., hash: _Optional[str] = ...) -> None: ...

class GetHeadRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class GetHeadResponse(_message.Message):
    __slots__ = ("signed", "removed_up_to")
    SIGNED_FIELD_NUMBER: _ClassVar[int]
    REMOVED_UP_TO_FIELD_NUMBER: _ClassVar[int]
    signed: SignedAuditHead
    removed_up_to: int
    def __init__(self, signed: _Optional[_Union[SignedAuditHead, _Mapping]] = ..., removed_up_to: _Optional[int] = ...) -> None: ...

class ListEntriesRequest(_message.Message):
    __slots__ = ("after_seq", "limit")
    AFTER_SEQ_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    after_seq: int
    limit: int
    def __init__(self, after_seq: _Optional[int] = ..., limit: _Optional[int] = ...) -> None: ...

class ListEntriesResponse(_message.Message):
    __slots__ = ("entries", "names")
    class NamesEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    ENTRIES_FIELD_NUMBER: _ClassVar[int]
    NAMES_FIELD_NUMBER: _ClassVar[int]
    entries: _containers.RepeatedCompositeFieldContainer[AuditEntry]
    names: _containers.ScalarMap[str, str]
    def __init__(self, entries: _Optional[_Iterable[_Union[AuditEntry, _Mapping]]] = ..., names: _Optional[_Mapping[str, str]] = ...) -> None: ...

class VerifyAuditRequest(_message.Message):
    __slots__ = ("heads",)
    HEADS_FIELD_NUMBER: _ClassVar[int]
    heads: _containers.RepeatedCompositeFieldContainer[AuditHead]
    def __init__(self, heads: _Optional[_Iterable[_Union[AuditHead, _Mapping]]] = ...) -> None: ...

class VerifyAuditResponse(_message.Message):
    __slots__ = ("whole", "seq", "hash", "why", "removed", "lost", "unvouched")
    WHOLE_FIELD_NUMBER: _ClassVar[int]
    SEQ_FIELD_NUMBER: _ClassVar[int]
    HASH_FIELD_NUMBER: _ClassVar[int]
    WHY_FIELD_NUMBER: _ClassVar[int]
    REMOVED_FIELD_NUMBER: _ClassVar[int]
    LOST_FIELD_NUMBER: _ClassVar[int]
    UNVOUCHED_FIELD_NUMBER: _ClassVar[int]
    whole: bool
    seq: int
    hash: str
    why: str
    removed: int
    lost: int
    unvouched: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, whole: _Optional[bool] = ..., seq: _Optional[int] = ..., hash: _Optional[str] = ..., why: _Optional[str] = ..., removed: _Optional[int] = ..., lost: _Optional[int] = ..., unvouched: _Optional[_Iterable[int]] = ...) -> None: ...

class AuditFilter(_message.Message):
    __slots__ = ("kinds", "device", "since_ms")
    KINDS_FIELD_NUMBER: _ClassVar[int]
    DEVICE_FIELD_NUMBER: _ClassVar[int]
    SINCE_MS_FIELD_NUMBER: _ClassVar[int]
    kinds: _containers.RepeatedScalarFieldContainer[str]
    device: str
    since_ms: int
    def __init__(self, kinds: _Optional[_Iterable[str]] = ..., device: _Optional[str] = ..., since_ms: _Optional[int] = ...) -> None: ...

class ShowAuditRequest(_message.Message):
    __slots__ = ("count", "filter")
    COUNT_FIELD_NUMBER: _ClassVar[int]
    FILTER_FIELD_NUMBER: _ClassVar[int]
    count: int
    filter: AuditFilter
    def __init__(self, count: _Optional[int] = ..., filter: _Optional[_Union[AuditFilter, _Mapping]] = ...) -> None: ...

class ShowAuditResponse(_message.Message):
    __slots__ = ("entries", "names")
    class NamesEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    ENTRIES_FIELD_NUMBER: _ClassVar[int]
    NAMES_FIELD_NUMBER: _ClassVar[int]
    entries: _containers.RepeatedCompositeFieldContainer[AuditEntry]
    names: _containers.ScalarMap[str, str]
    def __init__(self, entries: _Optional[_Iterable[_Union[AuditEntry, _Mapping]]] = ..., names: _Optional[_Mapping[str, str]] = ...) -> None: ...

class FollowAuditRequest(_message.Message):
    __slots__ = ("after_seq", "filter")
    AFTER_SEQ_FIELD_NUMBER: _ClassVar[int]
    FILTER_FIELD_NUMBER: _ClassVar[int]
    after_seq: int
    filter: AuditFilter
    def __init__(self, after_seq: _Optional[int] = ..., filter: _Optional[_Union[AuditFilter, _Mapping]] = ...) -> None: ...

class FollowAuditResponse(_message.Message):
    __slots__ = ("entry", "names")
    class NamesEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    ENTRY_FIELD_NUMBER: _ClassVar[int]
    NAMES_FIELD_NUMBER: _ClassVar[int]
    entry: AuditEntry
    names: _containers.ScalarMap[str, str]
    def __init__(self, entry: _Optional[_Union[AuditEntry, _Mapping]] = ..., names: _Optional[_Mapping[str, str]] = ...) -> None: ...
