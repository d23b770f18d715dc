from homing_proto.v1 import common_pb2 as _common_pb2
from homing_proto.v1 import tool_pb2 as _tool_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Role(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    ROLE_UNSPECIFIED: _ClassVar[Role]
    ROLE_SYSTEM: _ClassVar[Role]
    ROLE_USER: _ClassVar[Role]
    ROLE_ASSISTANT: _ClassVar[Role]
    ROLE_TOOL: _ClassVar[Role]

class ToolChoice(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    TOOL_CHOICE_UNSPECIFIED: _ClassVar[ToolChoice]
    TOOL_CHOICE_AUTO: _ClassVar[ToolChoice]
    TOOL_CHOICE_REQUIRED: _ClassVar[ToolChoice]
    TOOL_CHOICE_NONE: _ClassVar[ToolChoice]

class CallGrammar(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    CALL_GRAMMAR_UNSPECIFIED: _ClassVar[CallGrammar]
    CALL_GRAMMAR_ON: _ClassVar[CallGrammar]
    CALL_GRAMMAR_OFF: _ClassVar[CallGrammar]

class Thinking(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    THINKING_UNSPECIFIED: _ClassVar[Thinking]
    THINKING_OFF: _ClassVar[Thinking]
    THINKING_ON: _ClassVar[Thinking]

class Priority(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    PRIORITY_UNSPECIFIED: _ClassVar[Priority]
    PRIORITY_INTERACTIVE: _ClassVar[Priority]
    PRIORITY_JOB: _ClassVar[Priority]

class FinishReason(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    FINISH_REASON_UNSPECIFIED: _ClassVar[FinishReason]
    FINISH_REASON_STOP: _ClassVar[FinishReason]
    FINISH_REASON_LENGTH: _ClassVar[FinishReason]
    FINISH_REASON_TOOL_CALLS: _ClassVar[FinishReason]
    FINISH_REASON_CANCELLED: _ClassVar[FinishReason]
ROLE_UNSPECIFIED: Role
ROLE_SYSTEM: Role
ROLE_USER: Role
ROLE_ASSISTANT: Role
ROLE_TOOL: Role
TOOL_CHOICE_UNSPECIFIED: ToolChoice
TOOL_CHOICE_AUTO: ToolChoice
TOOL_CHOICE_REQUIRED: ToolChoice
TOOL_CHOICE_NONE: ToolChoice
CALL_GRAMMAR_UNSPECIFIED: CallGrammar
CALL_GRAMMAR_ON: CallGrammar
CALL_GRAMMAR_OFF: CallGrammar
THINKING_UNSPECIFIED: Thinking
THINKING_OFF: Thinking
THINKING_ON: Thinking
PRIORITY_UNSPECIFIED: Priority
PRIORITY_INTERACTIVE: Priority
PRIORITY_JOB: Priority
FINISH_REASON_UNSPECIFIED: FinishReason
FINISH_REASON_STOP: FinishReason
FINISH_REASON_LENGTH: FinishReason
FINISH_REASON_TOOL_CALLS: FinishReason
FINISH_REASON_CANCELLED: FinishReason

class Part(_message.Message):
    __slots__ = ("provenance", "text", "thinking", "tool_call", "tool_result")
    PROVENANCE_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    THINKING_FIELD_NUMBER: _ClassVar[int]
    TOOL_CALL_FIELD_NUMBER: _ClassVar[int]
    TOOL_RESULT_FIELD_NUMBER: _ClassVar[int]
    provenance: _common_pb2.Provenance
    text: str
    thinking: str
    tool_call: _tool_pb2.ToolCall
    tool_result: _tool_pb2.ToolResult
    def __init__(self, provenance: _Optional[_Union[_common_pb2.Provenance, _Mapping]] = ..., text: _Optional[str] = ..., thinking: _Optional[str] = ..., tool_call: _Optional[_Union[_tool_pb2.ToolCall, _Mapping]] = ..., tool_result: _Optional[_Union[_tool_pb2.ToolResult, _Mapping]] = ...) -> None: ...

class Message(_message.Message):
    __slots__ = ("role", "parts")
    ROLE_FIELD_NUMBER: _ClassVar[int]
    PARTS_FIELD_NUMBER: _ClassVar[int]
    role: Role
    parts: _containers.RepeatedCompositeFieldContainer[Part]
    def __init__(self, role: _Optional[_Union[Role, str]] = ..., parts: _Optional[_Iterable[_Union[Part, _Mapping]]] = ...) -> None: ...

class Sampling(_message.Message):
    __slots__ = ("temperature", "top_p", "top_k", "seed", "max_tokens", "stop")
    TEMPERATURE_FIELD_NUMBER: _ClassVar[int]
    TOP_P_FIELD_NUMBER: _ClassVar[int]
    TOP_K_FIELD_NUMBER: _ClassVar[int]
    SEED_FIELD_NUMBER: _ClassVar[int]
    MAX_TOKENS_FIELD_NUMBER: _ClassVar[int]
    STOP_FIELD_NUMBER: _ClassVar[int]
    temperature: float
    top_p: float
    top_k: int
    seed: int
    max_tokens: int
    stop: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, temperature: _Optional[float] = ..., top_p: _Optional[float] = ..., top_k: _Optional[int] = ..., seed: _Optional[int] = ..., max_tokens: _Optional[int] = ..., stop: _Optional[_Iterable[str]] = ...) -> None: ...

class GenerateRequest(_message.Message):
    __slots__ = ("generation_id", "model", "messages", "tools", "thinking", "sampling", "continue_last", "priority", "deadline_ms", "max_context_tokens", "samples", "thinking_budget", "tool_choice", "call_grammar", "logprobs", "adapter", "early_names")
    GENERATION_ID_FIELD_NUMBER: _ClassVar[int]
    MODEL_FIELD_NUMBER: _ClassVar[int]
    MESSAGES_FIELD_NUMBER: _ClassVar[int]
    TOOLS_FIELD_NUMBER: _ClassVar[int]
    THINKING_FIELD_NUMBER: _ClassVar[int]
    SAMPLING_FIELD_NUMBER: _ClassVar[int]
    CONTINUE_LAST_FIELD_NUMBER: _ClassVar[int]
    PRIORITY_FIELD_NUMBER: _ClassVar[int]
    DEADLINE_MS_FIELD_NUMBER: _ClassVar[int]
    MAX_CONTEXT_TOKENS_FIELD_NUMBER: _ClassVar[int]
    SAMPLES_FIELD_NUMBER: _ClassVar[int]
    THINKING_BUDGET_FIELD_NUMBER: _ClassVar[int]
    TOOL_CHOICE_FIELD_NUMBER: _ClassVar[int]
    CALL_GRAMMAR_FIELD_NUMBER: _ClassVar[int]
    LOGPROBS_FIELD_NUMBER: _ClassVar[int]
    ADAPTER_FIELD_NUMBER: _ClassVar[int]
    EARLY_NAMES_FIELD_NUMBER: _ClassVar[int]
    generation_id: str
    model: str
    messages: _containers.RepeatedCompositeFieldContainer[Message]
    tools: _containers.RepeatedCompositeFieldContainer[_tool_pb2.ToolSpec]
    thinking: Thinking
    sampling: Sampling
    continue_last: bool
    priority: Priority
    deadline_ms: int
    max_context_tokens: int
    samples: int
    thinking_budget: int
    tool_choice: ToolChoice
    call_grammar: CallGrammar
    logprobs: int
    adapter: str
    early_names: bool
    def __init__(self, generation_id: _Optional[str] = ..., model: _Optional[str] = ..., messages: _Optional[_Iterable[_Union[Message, _Mapping]]] = ..., tools: _Optional[_Iterable[_Union[_tool_pb2.ToolSpec, _Mapping]]] = ..., thinking: _Optional[_Union[Thinking, str]] = ..., sampling: _Optional[_Union[Sampling, _Mapping]] = ..., continue_last: _Optional[bool] = ..., priority: _Optional[_Union[Priority, str]] = ..., deadline_ms: _Optional[int] = ..., max_context_tokens: _Optional[int] = ..., samples: _Optional[int] = ..., thinking_budget: _Optional[int] = ..., tool_choice: _Optional[_Union[ToolChoice, str]] = ..., call_grammar: _Optional[_Union[CallGrammar, str]] = ..., logprobs: _Optional[int] = ..., adapter: _Optional[str] = ..., early_names: _Optional[bool] = ...) -> None: ...

class NameProbability(_message.Message):
    __slots__ = ("name", "probability")
    NAME_FIELD_NUMBER: _ClassVar[int]
    PROBABILITY_FIELD_NUMBER: _ClassVar[int]
    name: str
    probability: float
    def __init__(self, name: _Optional[str] = ..., probability: _Optional[float] = ...) -> None: ...

class CallSignals(_message.Message):
    __slots__ = ("call_probability", "name_probability", "name_margin", "lowest_argument_probability", "grammar_share", "argument_decile", "argument_median", "names")
    CALL_PROBABILITY_FIELD_NUMBER: _ClassVar[int]
    NAME_PROBABILITY_FIELD_NUMBER: _ClassVar[int]
    NAME_MARGIN_FIELD_NUMBER: _ClassVar[int]
    LOWEST_ARGUMENT_PROBABILITY_FIELD_NUMBER: _ClassVar[int]
    GRAMMAR_SHARE_FIELD_NUMBER: _ClassVar[int]
    ARGUMENT_DECILE_FIELD_NUMBER: _ClassVar[int]
    ARGUMENT_MEDIAN_FIELD_NUMBER: _ClassVar[int]
    NAMES_FIELD_NUMBER: _ClassVar[int]
    call_probability: float
    name_probability: float
    name_margin: float
    lowest_argument_probability: float
    grammar_share: float
    argument_decile: float
    argument_median: float
    names: _containers.RepeatedCompositeFieldContainer[NameProbability]
    def __init__(self, call_probability: _Optional[float] = ..., name_probability: _Optional[float] = ..., name_margin: _Optional[float] = ..., lowest_argument_probability: _Optional[float] = ..., grammar_share: _Optional[float] = ..., argument_decile: _Optional[float] = ..., argument_median: _Optional[float] = ..., names: _Optional[_Iterable[_Union[NameProbability, _Mapping]]] = ...) -> None: ...

class ToolCallEvent(_message.Message):
    __slots__ = ("call", "signals")
    CALL_FIELD_NUMBER: _ClassVar[int]
    SIGNALS_FIELD_NUMBER: _ClassVar[int]
    call: _tool_pb2.ToolCall
    signals: CallSignals
    def __init__(self, call: _Optional[_Union[_tool_pb2.ToolCall, _Mapping]] = ..., signals: _Optional[_Union[CallSignals, _Mapping]] = ...) -> None: ...

class ToolNamed(_message.Message):
    __slots__ = ("name", "signals")
    NAME_FIELD_NUMBER: _ClassVar[int]
    SIGNALS_FIELD_NUMBER: _ClassVar[int]
    name: str
    signals: CallSignals
    def __init__(self, name: _Optional[str] = ..., signals: _Optional[_Union[CallSignals, _Mapping]] = ...) -> None: ...

class TokenSignals(_message.Message):
    __slots__ = ("first_probability", "mean_logprob", "tokens")
    FIRST_PROBABILITY_FIELD_NUMBER: _ClassVar[int]
    MEAN_LOGPROB_FIELD_NUMBER: _ClassVar[int]
    TOKENS_FIELD_NUMBER: _ClassVar[int]
    first_probability: float
    mean_logprob: float
    tokens: int
    def __init__(self, first_probability: _Optional[float] = ..., mean_logprob: _Optional[float] = ..., tokens: _Optional[int] = ...) -> None: ...

class TokenAlternative(_message.Message):
    __slots__ = ("text", "logprob")
    TEXT_FIELD_NUMBER: _ClassVar[int]
    LOGPROB_FIELD_NUMBER: _ClassVar[int]
    text: str
    logprob: float
    def __init__(self, text: _Optional[str] = ..., logprob: _Optional[float] = ...) -> None: ...

class TokenLogprob(_message.Message):
    __slots__ = ("text", "logprob", "top")
    TEXT_FIELD_NUMBER: _ClassVar[int]
    LOGPROB_FIELD_NUMBER: _ClassVar[int]
    TOP_FIELD_NUMBER: _ClassVar[int]
    text: str
    logprob: float
    top: _containers.RepeatedCompositeFieldContainer[TokenAlternative]
    def __init__(self, text: _Optional[str] = ..., logprob: _Optional[float] = ..., top: _Optional[_Iterable[_Union[TokenAlternative, _Mapping]]] = ...) -> None: ...

class TokenLogprobs(_message.Message):
    __slots__ = ("tokens",)
    TOKENS_FIELD_NUMBER: _ClassVar[int]
    tokens: _containers.RepeatedCompositeFieldContainer[TokenLogprob]
    def __init__(self, tokens: _Optional[_Iterable[_Union[TokenLogprob, _Mapping]]] = ...) -> None: ...

class Usage(_message.Message):
    __slots__ = ("prompt_tokens", "cached_tokens", "completion_tokens", "prefill_ms", "decode_ms")
    PROMPT_TOKENS_FIELD_NUMBER: _ClassVar[int]
    CACHED_TOKENS_FIELD_NUMBER: _ClassVar[int]
    COMPLETION_TOKENS_FIELD_NUMBER: _ClassVar[int]
    PREFILL_MS_FIELD_NUMBER: _ClassVar[int]
    DECODE_MS_FIELD_NUMBER: _ClassVar[int]
    prompt_tokens: int
    cached_tokens: int
    completion_tokens: int
    prefill_ms: float
    decode_ms: float
    def __init__(self, prompt_tokens: _Optional[int] = ..., cached_tokens: _Optional[int] = ..., completion_tokens: _Optional[int] = ..., prefill_ms: _Optional[float] = ..., decode_ms: _Optional[float] = ...) -> None: ...

class Done(_message.Message):
    __slots__ = ("reason",)
    REASON_FIELD_NUMBER: _ClassVar[int]
    reason: FinishReason
    def __init__(self, reason: _Optional[_Union[FinishReason, str]] = ...) -> None: ...

class GenerationEvent(_message.Message):
    __slots__ = ("seq", "text", "thinking", "tool_call", "token_signals", "usage", "done", "failed", "token_logprobs", "tool_named", "sample")
    SEQ_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    THINKING_FIELD_NUMBER: _ClassVar[int]
    TOOL_CALL_FIELD_NUMBER: _ClassVar[int]
    TOKEN_SIGNALS_FIELD_NUMBER: _ClassVar[int]
    USAGE_FIELD_NUMBER: _ClassVar[int]
    DONE_FIELD_NUMBER: _ClassVar[int]
    FAILED_FIELD_NUMBER: _ClassVar[int]
    TOKEN_LOGPROBS_FIELD_NUMBER: _ClassVar[int]
    TOOL_NAMED_FIELD_NUMBER: _ClassVar[int]
    SAMPLE_FIELD_NUMBER: _ClassVar[int]
    seq: int
    text: str
    thinking: str
    tool_call: ToolCallEvent
    token_signals: TokenSignals
    usage: Usage
    done: Done
    failed: _common_pb2.Error
    token_logprobs: TokenLogprobs
    tool_named: ToolNamed
    sample: int
    def __init__(self, seq: _Optional[int] = ..., text: _Optional[str] = ..., thinking: _Optional[str] = ..., tool_call: _Optional[_Union[ToolCallEvent, _Mapping]] = ..., token_signals: _Optional[_Union[TokenSignals, _Mapping]] = ..., usage: _Optional[_Union[Usage, _Mapping]] = ..., done: _Optional[_Union[Done, _Mapping]] = ..., failed: _Optional[_Union[_common_pb2.Error, _Mapping]] = ..., token_logprobs: _Optional[_Union[TokenLogprobs, _Mapping]] = ..., tool_named: _Optional[_Union[ToolNamed, _Mapping]] = ..., sample: _Optional[int] = ...) -> None: ...

class GenerateResponse(_message.Message):
    __slots__ = ("event",)
    EVENT_FIELD_NUMBER: _ClassVar[int]
    event: GenerationEvent
    def __init__(self, event: _Optional[_Union[GenerationEvent, _Mapping]] = ...) -> None: ...

class ResumeRequest(_message.Message):
    __slots__ = ("generation_id", "after_seq")
    GENERATION_ID_FIELD_NUMBER: _ClassVar[int]
    AFTER_SEQ_FIELD_NUMBER: _ClassVar[int]
    generation_id: str
    after_seq: int
    def __init__(self, generation_id: _Optional[str] = ..., after_seq: _Optional[int] = ...) -> None: ...

class ResumeResponse(_message.Message):
    __slots__ = ("event",)
    EVENT_FIELD_NUMBER: _ClassVar[int]
    event: GenerationEvent
    def __init__(self, event: _Optional[_Union[GenerationEvent, _Mapping]] = ...) -> None: ...

class AckRequest(_message.Message):
    __slots__ = ("generation_id", "up_to_seq")
    GENERATION_ID_FIELD_NUMBER: _ClassVar[int]
    UP_TO_SEQ_FIELD_NUMBER: _ClassVar[int]
    generation_id: str
    up_to_seq: int
    def __init__(self, generation_id: _Optional[str] = ..., up_to_seq: _Optional[int] = ...) -> None: ...

class AckResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class CancelRequest(_message.Message):
    __slots__ = ("generation_id",)
    GENERATION_ID_FIELD_NUMBER: _ClassVar[int]
    generation_id: str
    def __init__(self, generation_id: _Optional[str] = ...) -> None: ...

class CancelResponse(_message.Message):
    __slots__ = ("was_running",)
    WAS_RUNNING_FIELD_NUMBER: _ClassVar[int]
    was_running: bool
    def __init__(self, was_running: _Optional[bool] = ...) -> None: ...
