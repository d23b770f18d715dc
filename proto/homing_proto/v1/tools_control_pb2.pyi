from homing_proto.v1 import tool_pb2 as _tool_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class ToolOffer(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    TOOL_OFFER_UNSPECIFIED: _ClassVar[ToolOffer]
    TOOL_OFFER_OFFERED: _ClassVar[ToolOffer]
    TOOL_OFFER_OFF: _ClassVar[ToolOffer]
    TOOL_OFFER_UNAVAILABLE: _ClassVar[ToolOffer]
    TOOL_OFFER_WITHHELD: _ClassVar[ToolOffer]
    TOOL_OFFER_UNUSABLE: _ClassVar[ToolOffer]
TOOL_OFFER_UNSPECIFIED: ToolOffer
TOOL_OFFER_OFFERED: ToolOffer
TOOL_OFFER_OFF: ToolOffer
TOOL_OFFER_UNAVAILABLE: ToolOffer
TOOL_OFFER_WITHHELD: ToolOffer
TOOL_OFFER_UNUSABLE: ToolOffer

class NodeTool(_message.Message):
    __slots__ = ("server", "name", "description", "effect", "idempotent", "offer", "reason", "changed", "before", "parameters", "parameters_before", "hash")
    SERVER_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    DESCRIPTION_FIELD_NUMBER: _ClassVar[int]
    EFFECT_FIELD_NUMBER: _ClassVar[int]
    IDEMPOTENT_FIELD_NUMBER: _ClassVar[int]
    OFFER_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    CHANGED_FIELD_NUMBER: _ClassVar[int]
    BEFORE_FIELD_NUMBER: _ClassVar[int]
    PARAMETERS_FIELD_NUMBER: _ClassVar[int]
    PARAMETERS_BEFORE_FIELD_NUMBER: _ClassVar[int]
    HASH_FIELD_NUMBER: _ClassVar[int]
    server: str
    name: str
    description: str
    effect: _tool_pb2.EffectClass
    idempotent: bool
    offer: ToolOffer
    reason: str
    changed: bool
    before: str
    parameters: str
    parameters_before: str
    hash: str
    def __init__(self, server: _Optional[str] = ..., name: _Optional[str] = ..., description: _Optional[str] = ..., effect: _Optional[_Union[_tool_pb2.EffectClass, str]] = ..., idempotent: _Optional[bool] = ..., offer: _Optional[_Union[ToolOffer, str]] = ..., reason: _Optional[str] = ..., changed: _Optional[bool] = ..., before: _Optional[str] = ..., parameters: _Optional[str] = ..., parameters_before: _Optional[str] = ..., hash: _Optional[str] = ...) -> None: ...

class NodeToolServer(_message.Message):
    __slots__ = ("name", "kind", "state", "tools", "withheld", "failures", "last_error", "protocol")
    NAME_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    TOOLS_FIELD_NUMBER: _ClassVar[int]
    WITHHELD_FIELD_NUMBER: _ClassVar[int]
    FAILURES_FIELD_NUMBER: _ClassVar[int]
    LAST_ERROR_FIELD_NUMBER: _ClassVar[int]
    PROTOCOL_FIELD_NUMBER: _ClassVar[int]
    name: str
    kind: str
    state: str
    tools: int
    withheld: int
    failures: int
    last_error: str
    protocol: str
    def __init__(self, name: _Optional[str] = ..., kind: _Optional[str] = ..., state: _Optional[str] = ..., tools: _Optional[int] = ..., withheld: _Optional[int] = ..., failures: _Optional[int] = ..., last_error: _Optional[str] = ..., protocol: _Optional[str] = ...) -> None: ...

class ListNodeToolsRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class ListNodeToolsResponse(_message.Message):
    __slots__ = ("tools", "servers")
    TOOLS_FIELD_NUMBER: _ClassVar[int]
    SERVERS_FIELD_NUMBER: _ClassVar[int]
    tools: _containers.RepeatedCompositeFieldContainer[NodeTool]
    servers: _containers.RepeatedCompositeFieldContainer[NodeToolServer]
    def __init__(self, tools: _Optional[_Iterable[_Union[NodeTool, _Mapping]]] = ..., servers: _Optional[_Iterable[_Union[NodeToolServer, _Mapping]]] = ...) -> None: ...

class AllowNodeToolsRequest(_message.Message):
    __slots__ = ("server", "tool", "shown")
    SERVER_FIELD_NUMBER: _ClassVar[int]
    TOOL_FIELD_NUMBER: _ClassVar[int]
    SHOWN_FIELD_NUMBER: _ClassVar[int]
    server: str
    tool: str
    shown: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, server: _Optional[str] = ..., tool: _Optional[str] = ..., shown: _Optional[_Iterable[str]] = ...) -> None: ...

class AllowNodeToolsResponse(_message.Message):
    __slots__ = ("names",)
    NAMES_FIELD_NUMBER: _ClassVar[int]
    names: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, names: _Optional[_Iterable[str]] = ...) -> None: ...

class RetryNodeServerRequest(_message.Message):
    __slots__ = ("server",)
    SERVER_FIELD_NUMBER: _ClassVar[int]
    server: str
    def __init__(self, server: _Optional[str] = ...) -> None: ...

class RetryNodeServerResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...
