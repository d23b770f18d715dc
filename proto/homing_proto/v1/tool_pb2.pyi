from homing_proto.v1 import common_pb2 as _common_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class EffectClass(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    EFFECT_CLASS_UNSPECIFIED: _ClassVar[EffectClass]
    EFFECT_CLASS_READ: _ClassVar[EffectClass]
    EFFECT_CLASS_READ_NETWORK: _ClassVar[EffectClass]
    EFFECT_CLASS_WRITE: _ClassVar[EffectClass]
    EFFECT_CLASS_SEND: _ClassVar[EffectClass]
    EFFECT_CLASS_SPEND: _ClassVar[EffectClass]
    EFFECT_CLASS_DELETE: _ClassVar[EffectClass]
    EFFECT_CLASS_SETTINGS: _ClassVar[EffectClass]

class Topic(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    TOPIC_UNSPECIFIED: _ClassVar[Topic]
    TOPIC_MONEY: _ClassVar[Topic]
    TOPIC_HEALTH: _ClassVar[Topic]
    TOPIC_OTHER_PEOPLE: _ClassVar[Topic]

class Verdict(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    VERDICT_UNSPECIFIED: _ClassVar[Verdict]
    VERDICT_ALLOW: _ClassVar[Verdict]
    VERDICT_DENY: _ClassVar[Verdict]
EFFECT_CLASS_UNSPECIFIED: EffectClass
EFFECT_CLASS_READ: EffectClass
EFFECT_CLASS_READ_NETWORK: EffectClass
EFFECT_CLASS_WRITE: EffectClass
EFFECT_CLASS_SEND: EffectClass
EFFECT_CLASS_SPEND: EffectClass
EFFECT_CLASS_DELETE: EffectClass
EFFECT_CLASS_SETTINGS: EffectClass
TOPIC_UNSPECIFIED: Topic
TOPIC_MONEY: Topic
TOPIC_HEALTH: Topic
TOPIC_OTHER_PEOPLE: Topic
VERDICT_UNSPECIFIED: Verdict
VERDICT_ALLOW: Verdict
VERDICT_DENY: Verdict

class ToolSpec(_message.Message):
    __slots__ = ("name", "description", "parameters_json", "effect", "place", "node", "server", "idempotent", "output_trust", "topics", "typical_ms")
    NAME_FIELD_NUMBER: _ClassVar[int]
    DESCRIPTION_FIELD_NUMBER: _ClassVar[int]
    PARAMETERS_JSON_FIELD_NUMBER: _ClassVar[int]
    EFFECT_FIELD_NUMBER: _ClassVar[int]
    PLACE_FIELD_NUMBER: _ClassVar[int]
    NODE_FIELD_NUMBER: _ClassVar[int]
    SERVER_FIELD_NUMBER: _ClassVar[int]
    IDEMPOTENT_FIELD_NUMBER: _ClassVar[int]
    OUTPUT_TRUST_FIELD_NUMBER: _ClassVar[int]
    TOPICS_FIELD_NUMBER: _ClassVar[int]
    TYPICAL_MS_FIELD_NUMBER: _ClassVar[int]
    name: str
    description: str
    parameters_json: str
    effect: EffectClass
    place: _common_pb2.Place
    node: str
    server: str
    idempotent: bool
    output_trust: _common_pb2.Trust
    topics: _containers.RepeatedScalarFieldContainer[Topic]
    typical_ms: int
    def __init__(self, name: _Optional[str] = ..., description: _Optional[str] = ..., parameters_json: _Optional[str] = ..., effect: _Optional[_Union[EffectClass, str]] = ..., place: _Optional[_Union[_common_pb2.Place, str]] = ..., node: _Optional[str] = ..., server: _Optional[str] = ..., idempotent: _Optional[bool] = ..., output_trust: _Optional[_Union[_common_pb2.Trust, str]] = ..., topics: _Optional[_Iterable[_Union[Topic, str]]] = ..., typical_ms: _Optional[int] = ...) -> None: ...

class ToolId(_message.Message):
    __slots__ = ("node", "server", "name", "schema_hash")
    NODE_FIELD_NUMBER: _ClassVar[int]
    SERVER_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    SCHEMA_HASH_FIELD_NUMBER: _ClassVar[int]
    node: str
    server: str
    name: str
    schema_hash: str
    def __init__(self, node: _Optional[str] = ..., server: _Optional[str] = ..., name: _Optional[str] = ..., schema_hash: _Optional[str] = ...) -> None: ...

class ToolCall(_message.Message):
    __slots__ = ("id", "name", "arguments_json")
    ID_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    ARGUMENTS_JSON_FIELD_NUMBER: _ClassVar[int]
    id: str
    name: str
    arguments_json: str
    def __init__(self, id: _Optional[str] = ..., name: _Optional[str] = ..., arguments_json: _Optional[str] = ...) -> None: ...

class ToolResult(_message.Message):
    __slots__ = ("call_id", "content", "is_error", "provenance")
    CALL_ID_FIELD_NUMBER: _ClassVar[int]
    CONTENT_FIELD_NUMBER: _ClassVar[int]
    IS_ERROR_FIELD_NUMBER: _ClassVar[int]
    PROVENANCE_FIELD_NUMBER: _ClassVar[int]
    call_id: str
    content: str
    is_error: bool
    provenance: _common_pb2.Provenance
    def __init__(self, call_id: _Optional[str] = ..., content: _Optional[str] = ..., is_error: _Optional[bool] = ..., provenance: _Optional[_Union[_common_pb2.Provenance, _Mapping]] = ...) -> None: ...

class ApprovalStatement(_message.Message):
    __slots__ = ("id", "request_id", "step", "tool_hash", "argument_hash", "verdict", "device", "expires_at")
    ID_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    STEP_FIELD_NUMBER: _ClassVar[int]
    TOOL_HASH_FIELD_NUMBER: _ClassVar[int]
    ARGUMENT_HASH_FIELD_NUMBER: _ClassVar[int]
    VERDICT_FIELD_NUMBER: _ClassVar[int]
    DEVICE_FIELD_NUMBER: _ClassVar[int]
    EXPIRES_AT_FIELD_NUMBER: _ClassVar[int]
    id: str
    request_id: str
    step: int
    tool_hash: str
    argument_hash: str
    verdict: Verdict
    device: str
    expires_at: int
    def __init__(self, id: _Optional[str] = ..., request_id: _Optional[str] = ..., step: _Optional[int] = ..., tool_hash: _Optional[str] = ..., argument_hash: _Optional[str] = ..., verdict: _Optional[_Union[Verdict, str]] = ..., device: _Optional[str] = ..., expires_at: _Optional[int] = ...) -> None: ...

class SignedApproval(_message.Message):
    __slots__ = ("statement", "signature")
    STATEMENT_FIELD_NUMBER: _ClassVar[int]
    SIGNATURE_FIELD_NUMBER: _ClassVar[int]
    statement: ApprovalStatement
    signature: bytes
    def __init__(self, statement: _Optional[_Union[ApprovalStatement, _Mapping]] = ..., signature: _Optional[bytes] = ...) -> None: ...
