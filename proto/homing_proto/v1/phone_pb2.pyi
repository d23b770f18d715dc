from homing_proto.v1 import common_pb2 as _common_pb2
from homing_proto.v1 import job_pb2 as _job_pb2
from homing_proto.v1 import node_pb2 as _node_pb2
from homing_proto.v1 import own_limits_pb2 as _own_limits_pb2
from homing_proto.v1 import tool_pb2 as _tool_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class RoutePreference(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    ROUTE_PREFERENCE_UNSPECIFIED: _ClassVar[RoutePreference]
    ROUTE_PREFERENCE_PHONE: _ClassVar[RoutePreference]
    ROUTE_PREFERENCE_HOME: _ClassVar[RoutePreference]
ROUTE_PREFERENCE_UNSPECIFIED: RoutePreference
ROUTE_PREFERENCE_PHONE: RoutePreference
ROUTE_PREFERENCE_HOME: RoutePreference

class Question(_message.Message):
    __slots__ = ("request_id", "text", "conversation_id", "route", "allowed_tools", "interactive", "sensitivity", "thinking")
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    CONVERSATION_ID_FIELD_NUMBER: _ClassVar[int]
    ROUTE_FIELD_NUMBER: _ClassVar[int]
    ALLOWED_TOOLS_FIELD_NUMBER: _ClassVar[int]
    INTERACTIVE_FIELD_NUMBER: _ClassVar[int]
    SENSITIVITY_FIELD_NUMBER: _ClassVar[int]
    THINKING_FIELD_NUMBER: _ClassVar[int]
    request_id: str
    text: str
    conversation_id: str
    route: RoutePreference
    allowed_tools: _containers.RepeatedScalarFieldContainer[str]
    interactive: bool
    sensitivity: _common_pb2.Sensitivity
    thinking: bool
    def __init__(self, request_id: _Optional[str] = ..., text: _Optional[str] = ..., conversation_id: _Optional[str] = ..., route: _Optional[_Union[RoutePreference, str]] = ..., allowed_tools: _Optional[_Iterable[str]] = ..., interactive: _Optional[bool] = ..., sensitivity: _Optional[_Union[_common_pb2.Sensitivity, str]] = ..., thinking: _Optional[bool] = ...) -> None: ...

class ConsentAnswer(_message.Message):
    __slots__ = ("approval_id", "verdict", "remember")
    APPROVAL_ID_FIELD_NUMBER: _ClassVar[int]
    VERDICT_FIELD_NUMBER: _ClassVar[int]
    REMEMBER_FIELD_NUMBER: _ClassVar[int]
    approval_id: str
    verdict: _tool_pb2.Verdict
    remember: bool
    def __init__(self, approval_id: _Optional[str] = ..., verdict: _Optional[_Union[_tool_pb2.Verdict, str]] = ..., remember: _Optional[bool] = ...) -> None: ...

class AskRequest(_message.Message):
    __slots__ = ("question", "consent", "cancel")
    QUESTION_FIELD_NUMBER: _ClassVar[int]
    CONSENT_FIELD_NUMBER: _ClassVar[int]
    CANCEL_FIELD_NUMBER: _ClassVar[int]
    question: Question
    consent: ConsentAnswer
    cancel: bool
    def __init__(self, question: _Optional[_Union[Question, _Mapping]] = ..., consent: _Optional[_Union[ConsentAnswer, _Mapping]] = ..., cancel: _Optional[bool] = ...) -> None: ...

class RouteNote(_message.Message):
    __slots__ = ("place", "node", "reason", "model")
    PLACE_FIELD_NUMBER: _ClassVar[int]
    NODE_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    MODEL_FIELD_NUMBER: _ClassVar[int]
    place: _common_pb2.Place
    node: str
    reason: str
    model: str
    def __init__(self, place: _Optional[_Union[_common_pb2.Place, str]] = ..., node: _Optional[str] = ..., reason: _Optional[str] = ..., model: _Optional[str] = ...) -> None: ...

class ConsentQuestion(_message.Message):
    __slots__ = ("approval_id", "tool", "call", "reason", "expires_at", "preview", "may_remember", "request_id", "step")
    APPROVAL_ID_FIELD_NUMBER: _ClassVar[int]
    TOOL_FIELD_NUMBER: _ClassVar[int]
    CALL_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    EXPIRES_AT_FIELD_NUMBER: _ClassVar[int]
    PREVIEW_FIELD_NUMBER: _ClassVar[int]
    MAY_REMEMBER_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    STEP_FIELD_NUMBER: _ClassVar[int]
    approval_id: str
    tool: _tool_pb2.ToolSpec
    call: _tool_pb2.ToolCall
    reason: str
    expires_at: int
    preview: str
    may_remember: bool
    request_id: str
    step: int
    def __init__(self, approval_id: _Optional[str] = ..., tool: _Optional[_Union[_tool_pb2.ToolSpec, _Mapping]] = ..., call: _Optional[_Union[_tool_pb2.ToolCall, _Mapping]] = ..., reason: _Optional[str] = ..., expires_at: _Optional[int] = ..., preview: _Optional[str] = ..., may_remember: _Optional[bool] = ..., request_id: _Optional[str] = ..., step: _Optional[int] = ...) -> None: ...

class ToolStep(_message.Message):
    __slots__ = ("call", "place", "approved_by", "result")
    CALL_FIELD_NUMBER: _ClassVar[int]
    PLACE_FIELD_NUMBER: _ClassVar[int]
    APPROVED_BY_FIELD_NUMBER: _ClassVar[int]
    RESULT_FIELD_NUMBER: _ClassVar[int]
    call: _tool_pb2.ToolCall
    place: _common_pb2.Place
    approved_by: str
    result: _tool_pb2.ToolResult
    def __init__(self, call: _Optional[_Union[_tool_pb2.ToolCall, _Mapping]] = ..., place: _Optional[_Union[_common_pb2.Place, str]] = ..., approved_by: _Optional[str] = ..., result: _Optional[_Union[_tool_pb2.ToolResult, _Mapping]] = ...) -> None: ...

class Answer(_message.Message):
    __slots__ = ("request_id", "place", "node", "reason", "confidence", "model", "stand_in", "ttft_ms", "total_ms", "text", "tool_steps", "conversation_id", "exit_status", "error", "features", "asks")
    class FeaturesEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: float
        def __init__(self, key: _Optional[str] = ..., value: _Optional[float] = ...) -> None: ...
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    PLACE_FIELD_NUMBER: _ClassVar[int]
    NODE_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    CONFIDENCE_FIELD_NUMBER: _ClassVar[int]
    MODEL_FIELD_NUMBER: _ClassVar[int]
    STAND_IN_FIELD_NUMBER: _ClassVar[int]
    TTFT_MS_FIELD_NUMBER: _ClassVar[int]
    TOTAL_MS_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    TOOL_STEPS_FIELD_NUMBER: _ClassVar[int]
    CONVERSATION_ID_FIELD_NUMBER: _ClassVar[int]
    EXIT_STATUS_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    FEATURES_FIELD_NUMBER: _ClassVar[int]
    ASKS_FIELD_NUMBER: _ClassVar[int]
    request_id: str
    place: _common_pb2.Place
    node: str
    reason: str
    confidence: float
    model: str
    stand_in: bool
    ttft_ms: float
    total_ms: float
    text: str
    tool_steps: _containers.RepeatedCompositeFieldContainer[ToolStep]
    conversation_id: str
    exit_status: int
    error: _common_pb2.Error
    features: _containers.ScalarMap[str, float]
    asks: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, request_id: _Optional[str] = ..., place: _Optional[_Union[_common_pb2.Place, str]] = ..., node: _Optional[str] = ..., reason: _Optional[str] = ..., confidence: _Optional[float] = ..., model: _Optional[str] = ..., stand_in: _Optional[bool] = ..., ttft_ms: _Optional[float] = ..., total_ms: _Optional[float] = ..., text: _Optional[str] = ..., tool_steps: _Optional[_Iterable[_Union[ToolStep, _Mapping]]] = ..., conversation_id: _Optional[str] = ..., exit_status: _Optional[int] = ..., error: _Optional[_Union[_common_pb2.Error, _Mapping]] = ..., features: _Optional[_Mapping[str, float]] = ..., asks: _Optional[_Iterable[str]] = ...) -> None: ...

class ToolProgress(_message.Message):
    __slots__ = ("call_id", "job_id", "node", "event")
    CALL_ID_FIELD_NUMBER: _ClassVar[int]
    JOB_ID_FIELD_NUMBER: _ClassVar[int]
    NODE_FIELD_NUMBER: _ClassVar[int]
    EVENT_FIELD_NUMBER: _ClassVar[int]
    call_id: str
    job_id: str
    node: str
    event: _job_pb2.JobEvent
    def __init__(self, call_id: _Optional[str] = ..., job_id: _Optional[str] = ..., node: _Optional[str] = ..., event: _Optional[_Union[_job_pb2.JobEvent, _Mapping]] = ...) -> None: ...

class AskResponse(_message.Message):
    __slots__ = ("route", "text", "thinking", "tool", "consent", "note", "answer", "progress")
    ROUTE_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    THINKING_FIELD_NUMBER: _ClassVar[int]
    TOOL_FIELD_NUMBER: _ClassVar[int]
    CONSENT_FIELD_NUMBER: _ClassVar[int]
    NOTE_FIELD_NUMBER: _ClassVar[int]
    ANSWER_FIELD_NUMBER: _ClassVar[int]
    PROGRESS_FIELD_NUMBER: _ClassVar[int]
    route: RouteNote
    text: str
    thinking: str
    tool: ToolStep
    consent: ConsentQuestion
    note: str
    answer: Answer
    progress: ToolProgress
    def __init__(self, route: _Optional[_Union[RouteNote, _Mapping]] = ..., text: _Optional[str] = ..., thinking: _Optional[str] = ..., tool: _Optional[_Union[ToolStep, _Mapping]] = ..., consent: _Optional[_Union[ConsentQuestion, _Mapping]] = ..., note: _Optional[str] = ..., answer: _Optional[_Union[Answer, _Mapping]] = ..., progress: _Optional[_Union[ToolProgress, _Mapping]] = ...) -> None: ...

class GetStatusRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class GetStatusResponse(_message.Message):
    __slots__ = ("version", "pid", "model", "stand_in", "ready", "activity", "error", "device_id", "idle_seconds", "running", "wanted_model", "stand_in_allowed")
    VERSION_FIELD_NUMBER: _ClassVar[int]
    PID_FIELD_NUMBER: _ClassVar[int]
    MODEL_FIELD_NUMBER: _ClassVar[int]
    STAND_IN_FIELD_NUMBER: _ClassVar[int]
    READY_FIELD_NUMBER: _ClassVar[int]
    ACTIVITY_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    DEVICE_ID_FIELD_NUMBER: _ClassVar[int]
    IDLE_SECONDS_FIELD_NUMBER: _ClassVar[int]
    RUNNING_FIELD_NUMBER: _ClassVar[int]
    WANTED_MODEL_FIELD_NUMBER: _ClassVar[int]
    STAND_IN_ALLOWED_FIELD_NUMBER: _ClassVar[int]
    version: str
    pid: int
    model: str
    stand_in: bool
    ready: bool
    activity: str
    error: _common_pb2.Error
    device_id: str
    idle_seconds: int
    running: int
    wanted_model: str
    stand_in_allowed: bool
    def __init__(self, version: _Optional[str] = ..., pid: _Optional[int] = ..., model: _Optional[str] = ..., stand_in: _Optional[bool] = ..., ready: _Optional[bool] = ..., activity: _Optional[str] = ..., error: _Optional[_Union[_common_pb2.Error, _Mapping]] = ..., device_id: _Optional[str] = ..., idle_seconds: _Optional[int] = ..., running: _Optional[int] = ..., wanted_model: _Optional[str] = ..., stand_in_allowed: _Optional[bool] = ...) -> None: ...

class PairNodeRequest(_message.Message):
    __slots__ = ("link", "device_name")
    LINK_FIELD_NUMBER: _ClassVar[int]
    DEVICE_NAME_FIELD_NUMBER: _ClassVar[int]
    link: str
    device_name: str
    def __init__(self, link: _Optional[str] = ..., device_name: _Optional[str] = ...) -> None: ...

class PairNodeResponse(_message.Message):
    __slots__ = ("node",)
    NODE_FIELD_NUMBER: _ClassVar[int]
    node: KnownNode
    def __init__(self, node: _Optional[_Union[KnownNode, _Mapping]] = ...) -> None: ...

class KnownNode(_message.Message):
    __slots__ = ("node_id", "name", "place", "reachable", "address", "last_verified_at", "round_trip_ms", "role", "models", "error", "introduced_by", "introduced_by_name", "lease_expires_at", "limits")
    NODE_ID_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    PLACE_FIELD_NUMBER: _ClassVar[int]
    REACHABLE_FIELD_NUMBER: _ClassVar[int]
    ADDRESS_FIELD_NUMBER: _ClassVar[int]
    LAST_VERIFIED_AT_FIELD_NUMBER: _ClassVar[int]
    ROUND_TRIP_MS_FIELD_NUMBER: _ClassVar[int]
    ROLE_FIELD_NUMBER: _ClassVar[int]
    MODELS_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    INTRODUCED_BY_FIELD_NUMBER: _ClassVar[int]
    INTRODUCED_BY_NAME_FIELD_NUMBER: _ClassVar[int]
    LEASE_EXPIRES_AT_FIELD_NUMBER: _ClassVar[int]
    LIMITS_FIELD_NUMBER: _ClassVar[int]
    node_id: str
    name: str
    place: _common_pb2.Place
    reachable: bool
    address: str
    last_verified_at: int
    round_trip_ms: float
    role: _node_pb2.DeviceRole
    models: _containers.RepeatedCompositeFieldContainer[_node_pb2.ServedModel]
    error: _common_pb2.Error
    introduced_by: str
    introduced_by_name: str
    lease_expires_at: int
    limits: _own_limits_pb2.OwnLimits
    def __init__(self, node_id: _Optional[str] = ..., name: _Optional[str] = ..., place: _Optional[_Union[_common_pb2.Place, str]] = ..., reachable: _Optional[bool] = ..., address: _Optional[str] = ..., last_verified_at: _Optional[int] = ..., round_trip_ms: _Optional[float] = ..., role: _Optional[_Union[_node_pb2.DeviceRole, str]] = ..., models: _Optional[_Iterable[_Union[_node_pb2.ServedModel, _Mapping]]] = ..., error: _Optional[_Union[_common_pb2.Error, _Mapping]] = ..., introduced_by: _Optional[str] = ..., introduced_by_name: _Optional[str] = ..., lease_expires_at: _Optional[int] = ..., limits: _Optional[_Union[_own_limits_pb2.OwnLimits, _Mapping]] = ...) -> None: ...

class ListNodesRequest(_message.Message):
    __slots__ = ("check",)
    CHECK_FIELD_NUMBER: _ClassVar[int]
    check: bool
    def __init__(self, check: _Optional[bool] = ...) -> None: ...

class ListNodesResponse(_message.Message):
    __slots__ = ("nodes",)
    NODES_FIELD_NUMBER: _ClassVar[int]
    nodes: _containers.RepeatedCompositeFieldContainer[KnownNode]
    def __init__(self, nodes: _Optional[_Iterable[_Union[KnownNode, _Mapping]]] = ...) -> None: ...

class ListPhoneToolsRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class ListPhoneToolsResponse(_message.Message):
    __slots__ = ("tools", "unavailable")
    TOOLS_FIELD_NUMBER: _ClassVar[int]
    UNAVAILABLE_FIELD_NUMBER: _ClassVar[int]
    tools: _containers.RepeatedCompositeFieldContainer[_tool_pb2.ToolSpec]
    unavailable: _containers.RepeatedCompositeFieldContainer[UnavailableTool]
    def __init__(self, tools: _Optional[_Iterable[_Union[_tool_pb2.ToolSpec, _Mapping]]] = ..., unavailable: _Optional[_Iterable[_Union[UnavailableTool, _Mapping]]] = ...) -> None: ...

class UnavailableTool(_message.Message):
    __slots__ = ("name", "reason")
    NAME_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    name: str
    reason: str
    def __init__(self, name: _Optional[str] = ..., reason: _Optional[str] = ...) -> None: ...

class StopRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class StopResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...
