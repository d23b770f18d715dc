from homing_proto.v1 import common_pb2 as _common_pb2
from homing_proto.v1 import inference_pb2 as _inference_pb2
from homing_proto.v1 import tool_pb2 as _tool_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class EngineAdapter(_message.Message):
    __slots__ = ("name", "path")
    NAME_FIELD_NUMBER: _ClassVar[int]
    PATH_FIELD_NUMBER: _ClassVar[int]
    name: str
    path: str
    def __init__(self, name: _Optional[str] = ..., path: _Optional[str] = ...) -> None: ...

class EngineLoad(_message.Message):
    __slots__ = ("model_path", "model_name", "context_tokens", "threads", "gpu_layers", "max_sequences", "cache_tokens", "file_sha256", "state_folder", "state_bytes", "checkpoint_bytes", "max_waiting", "adapters", "cores")
    MODEL_PATH_FIELD_NUMBER: _ClassVar[int]
    MODEL_NAME_FIELD_NUMBER: _ClassVar[int]
    CONTEXT_TOKENS_FIELD_NUMBER: _ClassVar[int]
    THREADS_FIELD_NUMBER: _ClassVar[int]
    GPU_LAYERS_FIELD_NUMBER: _ClassVar[int]
    MAX_SEQUENCES_FIELD_NUMBER: _ClassVar[int]
    CACHE_TOKENS_FIELD_NUMBER: _ClassVar[int]
    FILE_SHA256_FIELD_NUMBER: _ClassVar[int]
    STATE_FOLDER_FIELD_NUMBER: _ClassVar[int]
    STATE_BYTES_FIELD_NUMBER: _ClassVar[int]
    CHECKPOINT_BYTES_FIELD_NUMBER: _ClassVar[int]
    MAX_WAITING_FIELD_NUMBER: _ClassVar[int]
    ADAPTERS_FIELD_NUMBER: _ClassVar[int]
    CORES_FIELD_NUMBER: _ClassVar[int]
    model_path: str
    model_name: str
    context_tokens: int
    threads: int
    gpu_layers: int
    max_sequences: int
    cache_tokens: int
    file_sha256: str
    state_folder: str
    state_bytes: int
    checkpoint_bytes: int
    max_waiting: int
    adapters: _containers.RepeatedCompositeFieldContainer[EngineAdapter]
    cores: int
    def __init__(self, model_path: _Optional[str] = ..., model_name: _Optional[str] = ..., context_tokens: _Optional[int] = ..., threads: _Optional[int] = ..., gpu_layers: _Optional[int] = ..., max_sequences: _Optional[int] = ..., cache_tokens: _Optional[int] = ..., file_sha256: _Optional[str] = ..., state_folder: _Optional[str] = ..., state_bytes: _Optional[int] = ..., checkpoint_bytes: _Optional[int] = ..., max_waiting: _Optional[int] = ..., adapters: _Optional[_Iterable[_Union[EngineAdapter, _Mapping]]] = ..., cores: _Optional[int] = ...) -> None: ...

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

class EngineScore(_message.Message):
    __slots__ = ("ticket", "messages", "tools", "thinking", "priority", "adapter")
    TICKET_FIELD_NUMBER: _ClassVar[int]
    MESSAGES_FIELD_NUMBER: _ClassVar[int]
    TOOLS_FIELD_NUMBER: _ClassVar[int]
    THINKING_FIELD_NUMBER: _ClassVar[int]
    PRIORITY_FIELD_NUMBER: _ClassVar[int]
    ADAPTER_FIELD_NUMBER: _ClassVar[int]
    ticket: int
    messages: _containers.RepeatedCompositeFieldContainer[_inference_pb2.Message]
    tools: _containers.RepeatedCompositeFieldContainer[_tool_pb2.ToolSpec]
    thinking: _inference_pb2.Thinking
    priority: _inference_pb2.Priority
    adapter: str
    def __init__(self, ticket: _Optional[int] = ..., messages: _Optional[_Iterable[_Union[_inference_pb2.Message, _Mapping]]] = ..., tools: _Optional[_Iterable[_Union[_tool_pb2.ToolSpec, _Mapping]]] = ..., thinking: _Optional[_Union[_inference_pb2.Thinking, str]] = ..., priority: _Optional[_Union[_inference_pb2.Priority, str]] = ..., adapter: _Optional[str] = ...) -> None: ...

class EngineEmbed(_message.Message):
    __slots__ = ("ticket", "texts")
    TICKET_FIELD_NUMBER: _ClassVar[int]
    TEXTS_FIELD_NUMBER: _ClassVar[int]
    ticket: int
    texts: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, ticket: _Optional[int] = ..., texts: _Optional[_Iterable[str]] = ...) -> None: ...

class EngineCommand(_message.Message):
    __slots__ = ("load", "generate", "cancel", "warm", "score", "embed", "forget", "owner")
    LOAD_FIELD_NUMBER: _ClassVar[int]
    GENERATE_FIELD_NUMBER: _ClassVar[int]
    CANCEL_FIELD_NUMBER: _ClassVar[int]
    WARM_FIELD_NUMBER: _ClassVar[int]
    SCORE_FIELD_NUMBER: _ClassVar[int]
    EMBED_FIELD_NUMBER: _ClassVar[int]
    FORGET_FIELD_NUMBER: _ClassVar[int]
    OWNER_FIELD_NUMBER: _ClassVar[int]
    load: EngineLoad
    generate: _inference_pb2.GenerateRequest
    cancel: str
    warm: EngineWarm
    score: EngineScore
    embed: EngineEmbed
    forget: str
    owner: str
    def __init__(self, load: _Optional[_Union[EngineLoad, _Mapping]] = ..., generate: _Optional[_Union[_inference_pb2.GenerateRequest, _Mapping]] = ..., cancel: _Optional[str] = ..., warm: _Optional[_Union[EngineWarm, _Mapping]] = ..., score: _Optional[_Union[EngineScore, _Mapping]] = ..., embed: _Optional[_Union[EngineEmbed, _Mapping]] = ..., forget: _Optional[str] = ..., owner: _Optional[str] = ...) -> None: ...

class EngineReady(_message.Message):
    __slots__ = ("quantization", "context_tokens", "chat_format", "can_think", "architecture", "max_sequences")
    QUANTIZATION_FIELD_NUMBER: _ClassVar[int]
    CONTEXT_TOKENS_FIELD_NUMBER: _ClassVar[int]
    CHAT_FORMAT_FIELD_NUMBER: _ClassVar[int]
    CAN_THINK_FIELD_NUMBER: _ClassVar[int]
    ARCHITECTURE_FIELD_NUMBER: _ClassVar[int]
    MAX_SEQUENCES_FIELD_NUMBER: _ClassVar[int]
    quantization: str
    context_tokens: int
    chat_format: str
    can_think: bool
    architecture: str
    max_sequences: int
    def __init__(self, quantization: _Optional[str] = ..., context_tokens: _Optional[int] = ..., chat_format: _Optional[str] = ..., can_think: _Optional[bool] = ..., architecture: _Optional[str] = ..., max_sequences: _Optional[int] = ...) -> None: ...

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

class EngineNameScore(_message.Message):
    __slots__ = ("name", "logprob", "baseline", "exact")
    NAME_FIELD_NUMBER: _ClassVar[int]
    LOGPROB_FIELD_NUMBER: _ClassVar[int]
    BASELINE_FIELD_NUMBER: _ClassVar[int]
    EXACT_FIELD_NUMBER: _ClassVar[int]
    name: str
    logprob: float
    baseline: float
    exact: bool
    def __init__(self, name: _Optional[str] = ..., logprob: _Optional[float] = ..., baseline: _Optional[float] = ..., exact: _Optional[bool] = ...) -> None: ...

class EngineScored(_message.Message):
    __slots__ = ("ticket", "names", "call_logprob", "call_baseline", "prompt_tokens", "cached_tokens", "scored_tokens", "error")
    TICKET_FIELD_NUMBER: _ClassVar[int]
    NAMES_FIELD_NUMBER: _ClassVar[int]
    CALL_LOGPROB_FIELD_NUMBER: _ClassVar[int]
    CALL_BASELINE_FIELD_NUMBER: _ClassVar[int]
    PROMPT_TOKENS_FIELD_NUMBER: _ClassVar[int]
    CACHED_TOKENS_FIELD_NUMBER: _ClassVar[int]
    SCORED_TOKENS_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    ticket: int
    names: _containers.RepeatedCompositeFieldContainer[EngineNameScore]
    call_logprob: float
    call_baseline: float
    prompt_tokens: int
    cached_tokens: int
    scored_tokens: int
    error: _common_pb2.Error
    def __init__(self, ticket: _Optional[int] = ..., names: _Optional[_Iterable[_Union[EngineNameScore, _Mapping]]] = ..., call_logprob: _Optional[float] = ..., call_baseline: _Optional[float] = ..., prompt_tokens: _Optional[int] = ..., cached_tokens: _Optional[int] = ..., scored_tokens: _Optional[int] = ..., error: _Optional[_Union[_common_pb2.Error, _Mapping]] = ...) -> None: ...

class EngineVector(_message.Message):
    __slots__ = ("values",)
    VALUES_FIELD_NUMBER: _ClassVar[int]
    values: _containers.RepeatedScalarFieldContainer[float]
    def __init__(self, values: _Optional[_Iterable[float]] = ...) -> None: ...

class EngineEmbedded(_message.Message):
    __slots__ = ("ticket", "vectors", "error")
    TICKET_FIELD_NUMBER: _ClassVar[int]
    VECTORS_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    ticket: int
    vectors: _containers.RepeatedCompositeFieldContainer[EngineVector]
    error: _common_pb2.Error
    def __init__(self, ticket: _Optional[int] = ..., vectors: _Optional[_Iterable[_Union[EngineVector, _Mapping]]] = ..., error: _Optional[_Union[_common_pb2.Error, _Mapping]] = ...) -> None: ...

class EnginePinned(_message.Message):
    __slots__ = ("tokens", "prefix_sha256")
    TOKENS_FIELD_NUMBER: _ClassVar[int]
    PREFIX_SHA256_FIELD_NUMBER: _ClassVar[int]
    tokens: int
    prefix_sha256: str
    def __init__(self, tokens: _Optional[int] = ..., prefix_sha256: _Optional[str] = ...) -> None: ...

class EngineBusy(_message.Message):
    __slots__ = ("running", "waiting", "decode_tokens_per_second", "prefill_tokens_per_second", "memory_bytes", "warm")
    RUNNING_FIELD_NUMBER: _ClassVar[int]
    WAITING_FIELD_NUMBER: _ClassVar[int]
    DECODE_TOKENS_PER_SECOND_FIELD_NUMBER: _ClassVar[int]
    PREFILL_TOKENS_PER_SECOND_FIELD_NUMBER: _ClassVar[int]
    MEMORY_BYTES_FIELD_NUMBER: _ClassVar[int]
    WARM_FIELD_NUMBER: _ClassVar[int]
    running: int
    waiting: int
    decode_tokens_per_second: float
    prefill_tokens_per_second: float
    memory_bytes: int
    warm: _containers.RepeatedCompositeFieldContainer[EnginePinned]
    def __init__(self, running: _Optional[int] = ..., waiting: _Optional[int] = ..., decode_tokens_per_second: _Optional[float] = ..., prefill_tokens_per_second: _Optional[float] = ..., memory_bytes: _Optional[int] = ..., warm: _Optional[_Iterable[_Union[EnginePinned, _Mapping]]] = ...) -> None: ...

class EngineLoading(_message.Message):
    __slots__ = ("progress",)
    PROGRESS_FIELD_NUMBER: _ClassVar[int]
    progress: float
    def __init__(self, progress: _Optional[float] = ...) -> None: ...

class EngineReport(_message.Message):
    __slots__ = ("ready", "load_failed", "event", "warmed", "loading", "scored", "embedded", "busy")
    READY_FIELD_NUMBER: _ClassVar[int]
    LOAD_FAILED_FIELD_NUMBER: _ClassVar[int]
    EVENT_FIELD_NUMBER: _ClassVar[int]
    WARMED_FIELD_NUMBER: _ClassVar[int]
    LOADING_FIELD_NUMBER: _ClassVar[int]
    SCORED_FIELD_NUMBER: _ClassVar[int]
    EMBEDDED_FIELD_NUMBER: _ClassVar[int]
    BUSY_FIELD_NUMBER: _ClassVar[int]
    ready: EngineReady
    load_failed: _common_pb2.Error
    event: EngineEvent
    warmed: EngineWarmed
    loading: EngineLoading
    scored: EngineScored
    embedded: EngineEmbedded
    busy: EngineBusy
    def __init__(self, ready: _Optional[_Union[EngineReady, _Mapping]] = ..., load_failed: _Optional[_Union[_common_pb2.Error, _Mapping]] = ..., event: _Optional[_Union[EngineEvent, _Mapping]] = ..., warmed: _Optional[_Union[EngineWarmed, _Mapping]] = ..., loading: _Optional[_Union[EngineLoading, _Mapping]] = ..., scored: _Optional[_Union[EngineScored, _Mapping]] = ..., embedded: _Optional[_Union[EngineEmbedded, _Mapping]] = ..., busy: _Optional[_Union[EngineBusy, _Mapping]] = ...) -> None: ...
