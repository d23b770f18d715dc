from homing_proto.v1 import devices_pb2 as _devices_pb2
from homing_proto.v1 import node_pb2 as _node_pb2
from homing_proto.v1 import phone_devices_pb2 as _phone_devices_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class ChangeDeviceRequest(_message.Message):
    __slots__ = ("id_prefix", "role", "scopes", "limits", "reset")
    ID_PREFIX_FIELD_NUMBER: _ClassVar[int]
    ROLE_FIELD_NUMBER: _ClassVar[int]
    SCOPES_FIELD_NUMBER: _ClassVar[int]
    LIMITS_FIELD_NUMBER: _ClassVar[int]
    RESET_FIELD_NUMBER: _ClassVar[int]
    id_prefix: str
    role: _node_pb2.DeviceRole
    scopes: ScopeList
    limits: _phone_devices_pb2.LimitChange
    reset: bool
    def __init__(self, id_prefix: _Optional[str] = ..., role: _Optional[_Union[_node_pb2.DeviceRole, str]] = ..., scopes: _Optional[_Union[ScopeList, _Mapping]] = ..., limits: _Optional[_Union[_phone_devices_pb2.LimitChange, _Mapping]] = ..., reset: _Optional[bool] = ...) -> None: ...

class ScopeList(_message.Message):
    __slots__ = ("scopes",)
    SCOPES_FIELD_NUMBER: _ClassVar[int]
    scopes: _containers.RepeatedScalarFieldContainer[_node_pb2.Scope]
    def __init__(self, scopes: _Optional[_Iterable[_Union[_node_pb2.Scope, str]]] = ...) -> None: ...

class TighterLimit(_message.Message):
    __slots__ = ("kind", "source")
    KIND_FIELD_NUMBER: _ClassVar[int]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    kind: str
    source: str
    def __init__(self, kind: _Optional[str] = ..., source: _Optional[str] = ...) -> None: ...

class ChangeDeviceResponse(_message.Message):
    __slots__ = ("device", "effective", "tighter")
    DEVICE_FIELD_NUMBER: _ClassVar[int]
    EFFECTIVE_FIELD_NUMBER: _ClassVar[int]
    TIGHTER_FIELD_NUMBER: _ClassVar[int]
    device: _devices_pb2.Device
    effective: _devices_pb2.Limits
    tighter: _containers.RepeatedCompositeFieldContainer[TighterLimit]
    def __init__(self, device: _Optional[_Union[_devices_pb2.Device, _Mapping]] = ..., effective: _Optional[_Union[_devices_pb2.Limits, _Mapping]] = ..., tighter: _Optional[_Iterable[_Union[TighterLimit, _Mapping]]] = ...) -> None: ...

class GetUsageRequest(_message.Message):
    __slots__ = ("id_prefix", "days")
    ID_PREFIX_FIELD_NUMBER: _ClassVar[int]
    DAYS_FIELD_NUMBER: _ClassVar[int]
    id_prefix: str
    days: int
    def __init__(self, id_prefix: _Optional[str] = ..., days: _Optional[int] = ...) -> None: ...

class DayOfUse(_message.Message):
    __slots__ = ("day", "generations", "prompt_tokens", "cached_tokens", "completion_tokens", "refusals")
    DAY_FIELD_NUMBER: _ClassVar[int]
    GENERATIONS_FIELD_NUMBER: _ClassVar[int]
    PROMPT_TOKENS_FIELD_NUMBER: _ClassVar[int]
    CACHED_TOKENS_FIELD_NUMBER: _ClassVar[int]
    COMPLETION_TOKENS_FIELD_NUMBER: _ClassVar[int]
    REFUSALS_FIELD_NUMBER: _ClassVar[int]
    day: str
    generations: int
    prompt_tokens: int
    cached_tokens: int
    completion_tokens: int
    refusals: int
    def __init__(self, day: _Optional[str] = ..., generations: _Optional[int] = ..., prompt_tokens: _Optional[int] = ..., cached_tokens: _Optional[int] = ..., completion_tokens: _Optional[int] = ..., refusals: _Optional[int] = ...) -> None: ...

class DeviceUse(_message.Message):
    __slots__ = ("account", "name", "role", "tokens_24h", "tokens_per_day", "running", "days", "introduced_by", "jobs")
    ACCOUNT_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    ROLE_FIELD_NUMBER: _ClassVar[int]
    TOKENS_24H_FIELD_NUMBER: _ClassVar[int]
    TOKENS_PER_DAY_FIELD_NUMBER: _ClassVar[int]
    RUNNING_FIELD_NUMBER: _ClassVar[int]
    DAYS_FIELD_NUMBER: _ClassVar[int]
    INTRODUCED_BY_FIELD_NUMBER: _ClassVar[int]
    JOBS_FIELD_NUMBER: _ClassVar[int]
    account: str
    name: str
    role: _node_pb2.DeviceRole
    tokens_24h: int
    tokens_per_day: int
    running: int
    days: _containers.RepeatedCompositeFieldContainer[DayOfUse]
    introduced_by: str
    jobs: int
    def __init__(self, account: _Optional[str] = ..., name: _Optional[str] = ..., role: _Optional[_Union[_node_pb2.DeviceRole, str]] = ..., tokens_24h: _Optional[int] = ..., tokens_per_day: _Optional[int] = ..., running: _Optional[int] = ..., days: _Optional[_Iterable[_Union[DayOfUse, _Mapping]]] = ..., introduced_by: _Optional[str] = ..., jobs: _Optional[int] = ...) -> None: ...

class GetUsageResponse(_message.Message):
    __slots__ = ("devices",)
    DEVICES_FIELD_NUMBER: _ClassVar[int]
    devices: _containers.RepeatedCompositeFieldContainer[DeviceUse]
    def __init__(self, devices: _Optional[_Iterable[_Union[DeviceUse, _Mapping]]] = ...) -> None: ...
