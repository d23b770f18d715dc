from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class OpenPipeRequest(_message.Message):
    __slots__ = ("target_node_id", "data", "window_bytes")
    TARGET_NODE_ID_FIELD_NUMBER: _ClassVar[int]
    DATA_FIELD_NUMBER: _ClassVar[int]
    WINDOW_BYTES_FIELD_NUMBER: _ClassVar[int]
    target_node_id: str
    data: PipeData
    window_bytes: int
    def __init__(self, target_node_id: _Optional[str] = ..., data: _Optional[_Union[PipeData, _Mapping]] = ..., window_bytes: _Optional[int] = ...) -> None: ...

class OpenPipeResponse(_message.Message):
    __slots__ = ("data", "window_bytes")
    DATA_FIELD_NUMBER: _ClassVar[int]
    WINDOW_BYTES_FIELD_NUMBER: _ClassVar[int]
    data: PipeData
    window_bytes: int
    def __init__(self, data: _Optional[_Union[PipeData, _Mapping]] = ..., window_bytes: _Optional[int] = ...) -> None: ...

class PipeData(_message.Message):
    __slots__ = ("offset_bytes", "data")
    OFFSET_BYTES_FIELD_NUMBER: _ClassVar[int]
    DATA_FIELD_NUMBER: _ClassVar[int]
    offset_bytes: int
    data: bytes
    def __init__(self, offset_bytes: _Optional[int] = ..., data: _Optional[bytes] = ...) -> None: ...
