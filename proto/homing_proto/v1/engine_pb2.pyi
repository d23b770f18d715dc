from homing_proto.v1 import common_pb2 as _common_pb2
from homing_proto.v1 import inference_pb2 as _inference_pb2
from homing_proto.v1 import tool_pb2 as _tool_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class EngineLoad(_message.Message):
    __slots__ = ("model_path", "model_name", "context_tokens", "threads", "gpu_layers")
    MODEL_PATH_FIELD_NUMBER: _ClassVar[int]
    MODEL_NAME_FIELD_NUMBER: _ClassVar[int]
    CONTEXT_TOKENS_FIELD_NUMBER: _ClassVar[int]
    THREADS_FIELD_NUMBER: _ClassVar[int]
    GPU_LAYERS_FIELD_NUMBER: _ClassVar[int]
    model_path: str
    model_name: str
    context_tokens: int
    threads: int
    gpu_layers: int
    def __init__(self, model_path: _Optional[str] = ..., model_name: _Optional[str] = ..., context_tokens: _Optional[int] = ..., threads: _Optional[int] = ..., gpu_layers: _Optional[int] = ...) -> None: ...

class EngineWarm(_message.Message):
    __slots__ = ("ticket", "messages", "tools", "thinking")
    TICKET_FIELD_NUMBER: _ClassVar[int]
    MESSAGES_FIELD_NUMBER: _ClassVar[int]
    TOOLS_FIELD_NUMBER: _ClassVar[int]
    THINKING_FIELD_NUMBER: _ClassVar[int]
    ticket: int
    messages: _containers.RepeatedCompositeFieldContainer[_inference_pb2.Message]
    tools: _containers.RepeatedCompositeFieldContainer[_tool_pb2.ToolSpec]
    thinking: _inference_pb2.Thinking
    def __init__(self, ticket: _Optional[int] = ..., messages: _Optional[_Iterable[_Union[_inference_pb2.Message, _Mapping]]] = ..., tools: _Optional[_Iterable[_Union[_tool_pb2.ToolSpec, _Mapping]]] = ..., thinking: _Optional[_Union[_inference_pb2.Thinking, str]] = ...) -> None: ...

class EngineCommand(_message.Message):
    __slots__ = ("load", "generate", "cancel", "warm")
    LOAD_FIELD_NUMBER: _ClassVar[int]
    GENERATE_FIELD_NUMBER: _ClassVar[int]
    CANCEL_FIELD_NUMBER: _ClassVar[int]
    WARM_FIELD_NUMBER: _ClassVar[int]
    load: EngineLoad
    generate: _inference_pb2.GenerateRequest
    cancel: str
    warm: EngineWarm
    def __init__(self, load: _Optional[_Union[EngineLoad, _Mapping]] = ..., generate: _Optional[_Union[_inference_pb2.GenerateRequest, _Mapping]] = ..., cancel: _Optional[str] = ..., warm: _Optional[_Union[EngineWarm, _Mapping]] = ...) -> None: ...

class EngineReady(_message.Message):
    __slots__ = ("quantization", "context_tokens", "chat_format", "can_think", "architecture")
    QUANTIZATION_FIELD_NUMBER: _ClassVar[int]
    CONTEXT_TOKENS_FIELD_NUMBER: _ClassVar[int]
    CHAT_FORMAT_FIELD_NUMBER: _ClassVar[int]
    CAN_THINK_FIELD_NUMBER: _ClassVar[int]
    ARCHITECTURE_FIELD_NUMBER: _ClassVar[int]
    quantization: str
    context_tokens: int
    chat_format: str
    can_think: bool
    architecture: str
    def __init__(self, quantization: _Optional[str] = ..., context_tokens: _Optional[int] = ..., chat_format: _Optional[str] = ..., can_think: _Optional[bool] = ..., architecture: _Optional[str] = ...) -> None: ...

class EngineEvent(_message.Message):
    __slots__ = ("generation_id", "event")
    GENERATION_ID_FIELD_NUMBER: _ClassVar[int]
    EVENT_FIELD_NUMBER: _ClassVar[int]
    generation_id: str
    event: _inference_pb2.GenerationEvent
    def __init__(self, generation_id: _Optional[str] = ..., event: _Optional[_Union[_inference_pb2.GenerationEvent, _Mapping]] = ...) -> None: ...

class EngineWarmed(_message.Message):
    __slots__ = ("ticket", "tokens", "prefix_sha256", "error")
    TICKET_FIELD_NUMBER: _ClassVar[int]
    TOKENS_FIELD_NUMBER: _ClassVar[int]
    PREFIX_SHA256_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    ticket: int
    tokens: int
    prefix_sha256: str
    error: _common_pb2.Error
    def __init__(self, ticket: _Optional[int] = ..., tokens: _Optional[int] = ..., prefix_sha256: _Optional[str] = ..., error: _Optional[_Union[_common_pb2.Error, _Mapping]] = ...) -> None: ...

class EngineLoading(_message.Message):
    __slots__ = ("progress",)
    PROGRESS_FIELD_NUMBER: _ClassVar[int]
    progress: float
    def __init__(self, progress: _Optional[float] = ...) -> None: ...

class EngineReport(_message.Message):
    __slots__ = ("ready", "load_failed", "event", "warmed", "loading")
    READY_FIELD_NUMBER: _ClassVar[int]
    LOAD_FAILED_FIELD_NUMBER: _ClassVar[int]
    EVENT_FIELD_NUMBER: _ClassVar[int]
    WARMED_FIELD_NUMBER: _ClassVar[int]
    LOADING_FIELD_NUMBER: _ClassVar[int]
    ready: EngineReady
    load_failed: _common_pb2.Error
    event: EngineEvent
    warmed: EngineWarmed
    loading: EngineLoading
    def __init__(self, ready: _Optional[_Union[EngineReady, _Mapping]] = ..., load_failed: _Optional[_Union[_common_pb2.Error, _Mapping]] = ..., event: _Optional[_Union[EngineEvent, _Mapping]] = ..., warmed: _Optional[_Union[EngineWarmed, _Mapping]] = ..., loading: _Optional[_Union[EngineLoading, _Mapping]] = ...) -> None: ...
