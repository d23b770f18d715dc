from homing_proto.v1 import common_pb2 as _common_pb2
from homing_proto.v1 import own_limits_pb2 as _own_limits_pb2
from homing_proto.v1 import tool_pb2 as _tool_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class DeviceRole(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    DEVICE_ROLE_UNSPECIFIED: _ClassVar[DeviceRole]
    DEVICE_ROLE_OWNER: _ClassVar[DeviceRole]
    DEVICE_ROLE_MEMBER: _ClassVar[DeviceRole]
    DEVICE_ROLE_GUEST: _ClassVar[DeviceRole]
    DEVICE_ROLE_PEER: _ClassVar[DeviceRole]

class Scope(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    SCOPE_UNSPECIFIED: _ClassVar[Scope]
    SCOPE_INFERENCE: _ClassVar[Scope]
    SCOPE_TOOLS: _ClassVar[Scope]
    SCOPE_JOBS: _ClassVar[Scope]
    SCOPE_DEVICES: _ClassVar[Scope]
    SCOPE_RELAY: _ClassVar[Scope]
    SCOPE_INTRODUCE: _ClassVar[Scope]
DEVICE_ROLE_UNSPECIFIED: DeviceRole
DEVICE_ROLE_OWNER: DeviceRole
DEVICE_ROLE_MEMBER: DeviceRole
DEVICE_ROLE_GUEST: DeviceRole
DEVICE_ROLE_PEER: DeviceRole
SCOPE_UNSPECIFIED: Scope
SCOPE_INFERENCE: Scope
SCOPE_TOOLS: Scope
SCOPE_JOBS: Scope
SCOPE_DEVICES: Scope
SCOPE_RELAY: Scope
SCOPE_INTRODUCE: Scope

class GetNodeRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class ServedModel(_message.Message):
    __slots__ = ("name", "quantization", "context_tokens", "stand_in", "loaded", "file_sha256", "chat_format", "can_think")
    NAME_FIELD_NUMBER: _ClassVar[int]
    QUANTIZATION_FIELD_NUMBER: _ClassVar[int]
    CONTEXT_TOKENS_FIELD_NUMBER: _ClassVar[int]
    STAND_IN_FIELD_NUMBER: _ClassVar[int]
    LOADED_FIELD_NUMBER: _ClassVar[int]
    FILE_SHA256_FIELD_NUMBER: _ClassVar[int]
    CHAT_FORMAT_FIELD_NUMBER: _ClassVar[int]
    CAN_THINK_FIELD_NUMBER: _ClassVar[int]
    name: str
    quantization: str
    context_tokens: int
    stand_in: bool
    loaded: bool
    file_sha256: str
    chat_format: str
    can_think: bool
    def __init__(self, name: _Optional[str] = ..., quantization: _Optional[str] = ..., context_tokens: _Optional[int] = ..., stand_in: _Optional[bool] = ..., loaded: _Optional[bool] = ..., file_sha256: _Optional[str] = ..., chat_format: _Optional[str] = ..., can_think: _Optional[bool] = ...) -> None: ...

class Load(_message.Message):
    __slots__ = ("running", "waiting", "max_sequences", "decode_tokens_per_second", "prefill_tokens_per_second")
    RUNNING_FIELD_NUMBER: _ClassVar[int]
    WAITING_FIELD_NUMBER: _ClassVar[int]
    MAX_SEQUENCES_FIELD_NUMBER: _ClassVar[int]
    DECODE_TOKENS_PER_SECOND_FIELD_NUMBER: _ClassVar[int]
    PREFILL_TOKENS_PER_SECOND_FIELD_NUMBER: _ClassVar[int]
    running: int
    waiting: int
    max_sequences: int
    decode_tokens_per_second: float
    prefill_tokens_per_second: float
    def __init__(self, running: _Optional[int] = ..., waiting: _Optional[int] = ..., max_sequences: _Optional[int] = ..., decode_tokens_per_second: _Optional[float] = ..., prefill_tokens_per_second: _Optional[float] = ...) -> None: ...

class WarmPrefix(_message.Message):
    __slots__ = ("model", "prefix_sha256", "tokens")
    MODEL_FIELD_NUMBER: _ClassVar[int]
    PREFIX_SHA256_FIELD_NUMBER: _ClassVar[int]
    TOKENS_FIELD_NUMBER: _ClassVar[int]
    model: str
    prefix_sha256: str
    tokens: int
    def __init__(self, model: _Optional[str] = ..., prefix_sha256: _Optional[str] = ..., tokens: _Optional[int] = ...) -> None: ...

class GetNodeResponse(_message.Message):
    __slots__ = ("node_id", "name", "version", "capabilities", "models", "default_model", "load", "warm_prefixes", "role", "scopes", "place", "limits")
    NODE_ID_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    CAPABILITIES_FIELD_NUMBER: _ClassVar[int]
    MODELS_FIELD_NUMBER: _ClassVar[int]
    DEFAULT_MODEL_FIELD_NUMBER: _ClassVar[int]
    LOAD_FIELD_NUMBER: _ClassVar[int]
    WARM_PREFIXES_FIELD_NUMBER: _ClassVar[int]
    ROLE_FIELD_NUMBER: _ClassVar[int]
    SCOPES_FIELD_NUMBER: _ClassVar[int]
    PLACE_FIELD_NUMBER: _ClassVar[int]
    LIMITS_FIELD_NUMBER: _ClassVar[int]
    node_id: str
    name: str
    version: str
    capabilities: _containers.RepeatedScalarFieldContainer[str]
    models: _containers.RepeatedCompositeFieldContainer[ServedModel]
    default_model: str
    load: Load
    warm_prefixes: _containers.RepeatedCompositeFieldContainer[WarmPrefix]
    role: DeviceRole
    scopes: _containers.RepeatedScalarFieldContainer[Scope]
    place: _common_pb2.Place
    limits: _own_limits_pb2.OwnLimits
    def __init__(self, node_id: _Optional[str] = ..., name: _Optional[str] = ..., version: _Optional[str] = ..., capabilities: _Optional[_Iterable[str]] = ..., models: _Optional[_Iterable[_Union[ServedModel, _Mapping]]] = ..., default_model: _Optional[str] = ..., load: _Optional[_Union[Load, _Mapping]] = ..., warm_prefixes: _Optional[_Iterable[_Union[WarmPrefix, _Mapping]]] = ..., role: _Optional[_Union[DeviceRole, str]] = ..., scopes: _Optional[_Iterable[_Union[Scope, str]]] = ..., place: _Optional[_Union[_common_pb2.Place, str]] = ..., limits: _Optional[_Union[_own_limits_pb2.OwnLimits, _Mapping]] = ...) -> None: ...

class ListToolsRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class ListToolsResponse(_message.Message):
    __slots__ = ("tools",)
    TOOLS_FIELD_NUMBER: _ClassVar[int]
    tools: _containers.RepeatedCompositeFieldContainer[_tool_pb2.ToolSpec]
    def __init__(self, tools: _Optional[_Iterable[_Union[_tool_pb2.ToolSpec, _Mapping]]] = ...) -> None: ...
