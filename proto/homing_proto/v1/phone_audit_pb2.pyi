from homing_proto.v1 import audit_pb2 as _audit_pb2
from homing_proto.v1 import common_pb2 as _common_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class KeptRecord(_message.Message):
    __slots__ = ("node_id", "node_name", "kept", "checked_at", "trouble", "trouble_at", "shown")
    NODE_ID_FIELD_NUMBER: _ClassVar[int]
    NODE_NAME_FIELD_NUMBER: _ClassVar[int]
    KEPT_FIELD_NUMBER: _ClassVar[int]
    CHECKED_AT_FIELD_NUMBER: _ClassVar[int]
    TROUBLE_FIELD_NUMBER: _ClassVar[int]
    TROUBLE_AT_FIELD_NUMBER: _ClassVar[int]
    SHOWN_FIELD_NUMBER: _ClassVar[int]
    node_id: str
    node_name: str
    kept: _audit_pb2.AuditHead
    checked_at: int
    trouble: str
    trouble_at: int
    shown: _audit_pb2.AuditHead
    def __init__(self, node_id: _Optional[str] = ..., node_name: _Optional[str] = ..., kept: _Optional[_Union[_audit_pb2.AuditHead, _Mapping]] = ..., checked_at: _Optional[int] = ..., trouble: _Optional[str] = ..., trouble_at: _Optional[int] = ..., shown: _Optional[_Union[_audit_pb2.AuditHead, _Mapping]] = ...) -> None: ...

class ListRecordsRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class ListRecordsResponse(_message.Message):
    __slots__ = ("records",)
    RECORDS_FIELD_NUMBER: _ClassVar[int]
    records: _containers.RepeatedCompositeFieldContainer[KeptRecord]
    def __init__(self, records: _Optional[_Iterable[_Union[KeptRecord, _Mapping]]] = ...) -> None: ...

class CheckRecordRequest(_message.Message):
    __slots__ = ("node",)
    NODE_FIELD_NUMBER: _ClassVar[int]
    node: str
    def __init__(self, node: _Optional[str] = ...) -> None: ...

class CheckRecordResponse(_message.Message):
    __slots__ = ("record", "error")
    RECORD_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    record: KeptRecord
    error: _common_pb2.Error
    def __init__(self, record: _Optional[_Union[KeptRecord, _Mapping]] = ..., error: _Optional[_Union[_common_pb2.Error, _Mapping]] = ...) -> None: ...

class AcceptRecordRequest(_message.Message):
    __slots__ = ("node",)
    NODE_FIELD_NUMBER: _ClassVar[int]
    node: str
    def __init__(self, node: _Optional[str] = ...) -> None: ...

class AcceptRecordResponse(_message.Message):
    __slots__ = ("record",)
    RECORD_FIELD_NUMBER: _ClassVar[int]
    record: KeptRecord
    def __init__(self, record: _Optional[_Union[KeptRecord, _Mapping]] = ...) -> None: ...

class ShowRecordRequest(_message.Message):
    __slots__ = ("node", "count")
    NODE_FIELD_NUMBER: _ClassVar[int]
    COUNT_FIELD_NUMBER: _ClassVar[int]
    node: str
    count: int
    def __init__(self, node: _Optional[str] = ..., count: _Optional[int] = ...) -> None: ...

class ShowRecordResponse(_message.Message):
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
    entries: _containers.RepeatedCompositeFieldContainer[_audit_pb2.AuditEntry]
    names: _containers.ScalarMap[str, str]
    def __init__(self, entries: _Optional[_Iterable[_Union[_audit_pb2.AuditEntry, _Mapping]]] = ..., names: _Optional[_Mapping[str, str]] = ...) -> None: ...
