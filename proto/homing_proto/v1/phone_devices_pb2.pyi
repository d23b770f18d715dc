from homing_proto.v1 import devices_pb2 as _devices_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class ListNodeDevicesRequest(_message.Message):
    __slots__ = ("node",)
    NODE_FIELD_NUMBER: _ClassVar[int]
    node: str
    def __init__(self, node: _Optional[str] = ...) -> None: ...

class ListNodeDevicesResponse(_message.Message):
    __slots__ = ("devices", "node", "own_id")
    DEVICES_FIELD_NUMBER: _ClassVar[int]
    NODE_FIELD_NUMBER: _ClassVar[int]
    OWN_ID_FIELD_NUMBER: _ClassVar[int]
    devices: _containers.RepeatedCompositeFieldContainer[_devices_pb2.Device]
    node: str
    own_id: str
    def __init__(self, devices: _Optional[_Iterable[_Union[_devices_pb2.Device, _Mapping]]] = ..., node: _Optional[str] = ..., own_id: _Optional[str] = ...) -> None: ...

class RevokeNodeDeviceRequest(_message.Message):
    __slots__ = ("node", "id_prefix", "recovery_secret")
    NODE_FIELD_NUMBER: _ClassVar[int]
    ID_PREFIX_FIELD_NUMBER: _ClassVar[int]
    RECOVERY_SECRET_FIELD_NUMBER: _ClassVar[int]
    node: str
    id_prefix: str
    recovery_secret: str
    def __init__(self, node: _Optional[str] = ..., id_prefix: _Optional[str] = ..., recovery_secret: _Optional[str] = ...) -> None: ...

class RevokeNodeDeviceResponse(_message.Message):
    __slots__ = ("devices", "node")
    DEVICES_FIELD_NUMBER: _ClassVar[int]
    NODE_FIELD_NUMBER: _ClassVar[int]
    devices: _containers.RepeatedCompositeFieldContainer[_devices_pb2.Device]
    node: str
    def __init__(self, devices: _Optional[_Iterable[_Union[_devices_pb2.Device, _Mapping]]] = ..., node: _Optional[str] = ...) -> None: ...

class NameList(_message.Message):
    __slots__ = ("names",)
    NAMES_FIELD_NUMBER: _ClassVar[int]
    names: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, names: _Optional[_Iterable[str]] = ...) -> None: ...

class LimitChange(_message.Message):
    __slots__ = ("tokens_per_day", "concurrent_streams", "jobs", "models", "tools", "expires_at", "hours")
    TOKENS_PER_DAY_FIELD_NUMBER: _ClassVar[int]
    CONCURRENT_STREAMS_FIELD_NUMBER: _ClassVar[int]
    JOBS_FIELD_NUMBER: _ClassVar[int]
    MODELS_FIELD_NUMBER: _ClassVar[int]
    TOOLS_FIELD_NUMBER: _ClassVar[int]
    EXPIRES_AT_FIELD_NUMBER: _ClassVar[int]
    HOURS_FIELD_NUMBER: _ClassVar[int]
    tokens_per_day: int
    concurrent_streams: int
    jobs: int
    models: NameList
    tools: NameList
    expires_at: int
    hours: str
    def __init__(self, tokens_per_day: _Optional[int] = ..., concurrent_streams: _Optional[int] = ..., jobs: _Optional[int] = ..., models: _Optional[_Union[NameList, _Mapping]] = ..., tools: _Optional[_Union[NameList, _Mapping]] = ..., expires_at: _Optional[int] = ..., hours: _Optional[str] = ...) -> None: ...

class LimitNodeDeviceRequest(_message.Message):
    __slots__ = ("node", "id_prefix", "change", "recovery_secret")
    NODE_FIELD_NUMBER: _ClassVar[int]
    ID_PREFIX_FIELD_NUMBER: _ClassVar[int]
    CHANGE_FIELD_NUMBER: _ClassVar[int]
    RECOVERY_SECRET_FIELD_NUMBER: _ClassVar[int]
    node: str
    id_prefix: str
    change: LimitChange
    recovery_secret: str
    def __init__(self, node: _Optional[str] = ..., id_prefix: _Optional[str] = ..., change: _Optional[_Union[LimitChange, _Mapping]] = ..., recovery_secret: _Optional[str] = ...) -> None: ...

class LimitNodeDeviceResponse(_message.Message):
    __slots__ = ("device", "node")
    DEVICE_FIELD_NUMBER: _ClassVar[int]
    NODE_FIELD_NUMBER: _ClassVar[int]
    device: _devices_pb2.Device
    node: str
    def __init__(self, device: _Optional[_Union[_devices_pb2.Device, _Mapping]] = ..., node: _Optional[str] = ...) -> None: ...
