from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable
from typing import ClassVar as _ClassVar, Optional as _Optional

DESCRIPTOR: _descriptor.FileDescriptor

class OwnLimits(_message.Message):
    __slots__ = ("tokens_per_day", "tokens_left", "concurrent_streams", "jobs", "models", "tools", "expires_at", "hours", "opens_in_seconds")
    TOKENS_PER_DAY_FIELD_NUMBER: _ClassVar[int]
    TOKENS_LEFT_FIELD_NUMBER: _ClassVar[int]
    CONCURRENT_STREAMS_FIELD_NUMBER: _ClassVar[int]
    JOBS_FIELD_NUMBER: _ClassVar[int]
    MODELS_FIELD_NUMBER: _ClassVar[int]
    TOOLS_FIELD_NUMBER: _ClassVar[int]
    EXPIRES_AT_FIELD_NUMBER: _ClassVar[int]
    HOURS_FIELD_NUMBER: _ClassVar[int]
    OPENS_IN_SECONDS_FIELD_NUMBER: _ClassVar[int]
    tokens_per_day: int
    tokens_left: int
    concurrent_streams: int
    jobs: int
    models: _containers.RepeatedScalarFieldContainer[str]
    tools: _containers.RepeatedScalarFieldContainer[str]
    expires_at: int
    hours: str
    opens_in_seconds: int
    def __init__(self, tokens_per_day: _Optional[int] = ..., tokens_left: _Optional[int] = ..., concurrent_streams: _Optional[int] = ..., jobs: _Optional[int] = ..., models: _Optional[_Iterable[str]] = ..., tools: _Optional[_Iterable[str]] = ..., expires_at: _Optional[int] = ..., hours: _Optional[str] = ..., opens_in_seconds: _Optional[int] = ...) -> None: ...
