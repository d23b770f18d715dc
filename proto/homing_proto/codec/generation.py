"""What is asked of a model."""

from __future__ import annotations

from homing_core.generation import (
    CallGrammar,
    GenerateRequest,
    Priority,
    Sampling,
    Thinking,
    ToolChoice,
)
from homing_core.ids import parse_generation_id
from homing_core.messages import Role

from homing_proto.codec import limits
from homing_proto.codec.fields import (
    EnumTable,
    encoder,
    finite,
    max_bytes,
    max_chars,
    max_items,
    probability,
    refuse,
)
from homing_proto.codec.messages import decode_messages, encode_message
from homing_proto.codec.tools import decode_tool_specs, encode_tool_spec
from homing_proto.v1 import inference_pb2 as wire

THINKING = EnumTable(
    "thinking",
    {Thinking.OFF: wire.THINKING_OFF, Thinking.ON: wire.THINKING_ON},
    strictest=Thinking.OFF,
)
PRIORITIES = EnumTable(
    "priority",
    {Priority.INTERACTIVE: wire.PRIORITY_INTERACTIVE, Priority.JOB: wire.PRIORITY_JOB},
    strictest=Priority.JOB,
)
TOOL_CHOICES = EnumTable(
    "tool choice",
    {
        ToolChoice.AUTO: wire.TOOL_CHOICE_AUTO,
        ToolChoice.REQUIRED: wire.TOOL_CHOICE_REQUIRED,
        ToolChoice.NONE: wire.TOOL_CHOICE_NONE,
    },
    strictest=ToolChoice.AUTO,  # what every sender meant before it could say so
)
CALL_GRAMMARS = EnumTable(
    "call grammar",
    {CallGrammar.ON: wire.CALL_GRAMMAR_ON, CallGrammar.OFF: wire.CALL_GRAMMAR_OFF},
    strictest=CallGrammar.ON,
)


def encode_thinking(value: Thinking) -> wire.Thinking:
    """Whether the model thinks first."""
    return THINKING.encode(value)


def decode_thinking(number: int) -> Thinking:
    """Whether the model thinks first; what is not said is off."""
    return THINKING.decode(number)


@encoder
def encode_sampling(value: Sampling) -> wire.Sampling:
    """How tokens are chosen."""
    return wire.Sampling(
        temperature=value.temperature,
        top_p=value.top_p,
        top_k=value.top_k,
        seed=value.seed,
        max_tokens=value.max_tokens,
        stop=value.stop,
    )


def decode_sampling(message: wire.Sampling) -> Sampling:
    """Raises `InvalidDataError`. An absent one is greedy, as long as the context allows."""
    max_items(message.stop, limits.MAX_STOPS, "stop strings")
    stop = tuple(max_bytes(text, limits.MAX_STOP_BYTES, "stop string") for text in message.stop)
    if "" in stop:
        refuse("a stop string is empty")
    if not 0 <= finite(message.temperature, "temperature") <= limits.MAX_TEMPERATURE:
        refuse(f"the temperature is not in 0 to {limits.MAX_TEMPERATURE:g}")
    return Sampling(
        temperature=message.temperature,
        top_p=probability(message.top_p, "nucleus mass") or 1.0,
        top_k=message.top_k,
        seed=message.seed,
        max_tokens=message.max_tokens,
        stop=stop,
    )


@encoder
def encode_generate_request(value: GenerateRequest) -> wire.GenerateRequest:
    """What is asked of a model, all but its owner: the other side knows who asks it."""
    return wire.GenerateRequest(
        generation_id=value.id,
        model=value.model,
        messages=[encode_message(message) for message in value.messages],
        tools=[encode_tool_spec(tool) for tool in value.tools],
        thinking=THINKING.encode(value.thinking),
        sampling=encode_sampling(value.sampling),
        continue_last=value.continue_last,
        priority=PRIORITIES.encode(value.priority),
        deadline_ms=value.deadline_ms,
        max_context_tokens=value.max_context_tokens,
        samples=value.samples,
        thinking_budget=value.thinking_budget,
        tool_choice=TOOL_CHOICES.encode(value.tool_choice),
        call_grammar=CALL_GRAMMARS.encode(value.call_grammar),
        logprobs=value.logprobs,
        adapter=value.adapter,
        early_names=value.early_names,
    )


def decode_generate_request(message: wire.GenerateRequest) -> GenerateRequest:
    """Raises `InvalidDataError`.

    Besides its fields it checks that tool names are unique, that there is an assistant message to
    continue where that is asked, and a tool to call where that is required. The owner is empty:
    nobody says in whose name it asks.
    """
    messages = decode_messages(message.messages)
    tools = decode_tool_specs(message.tools)
    tool_choice = TOOL_CHOICES.decode(message.tool_choice)
    if tool_choice is ToolChoice.REQUIRED and not tools:
        refuse("a call is required, but there is no tool")
    if message.samples > limits.MAX_SAMPLES:
        refuse(f"more than {limits.MAX_SAMPLES} answers")
    if message.logprobs > limits.MAX_LOGPROBS:
        refuse(f"more than {limits.MAX_LOGPROBS} alternatives for a token")
    if message.continue_last and not (messages and messages[-1].role is Role.ASSISTANT):
        refuse("there is no assistant message to continue")
    return GenerateRequest(
        id=parse_generation_id(message.generation_id),
        messages=messages,
        model=max_chars(message.model, limits.MAX_NAME_CHARS, "model's name"),
        tools=tools,
        thinking=THINKING.decode(message.thinking),
        sampling=decode_sampling(message.sampling),
        continue_last=message.continue_last,
        priority=PRIORITIES.decode(message.priority),
        deadline_ms=message.deadline_ms,
        max_context_tokens=message.max_context_tokens,
        samples=message.samples or 1,
        thinking_budget=message.thinking_budget,
        tool_choice=tool_choice,
        call_grammar=CALL_GRAMMARS.decode(message.call_grammar),
        logprobs=message.logprobs,
        adapter=max_chars(message.adapter, limits.MAX_NAME_CHARS, "adapter's name"),
        early_names=message.early_names,
    )
