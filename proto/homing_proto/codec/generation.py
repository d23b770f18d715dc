"""What is asked of a model."""

from __future__ import annotations

from homing_core.generation import GenerateRequest, Priority, Sampling, Thinking
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
from homing_proto.codec.messages import decode_message, encode_message
from homing_proto.codec.tools import decode_tool_spec, encode_tool_spec
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
    """What is asked of a model."""
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
    )


def decode_generate_request(message: wire.GenerateRequest) -> GenerateRequest:
    """Raises `InvalidDataError`.

    Besides its fields it checks that tool names are unique, and that there is an assistant message
    to continue where that is asked.
    """
    max_items(message.messages, limits.MAX_MESSAGES, "messages")
    max_items(message.tools, limits.MAX_TOOLS, "tools")
    messages = tuple(decode_message(turn) for turn in message.messages)
    tools = tuple(decode_tool_spec(tool) for tool in message.tools)
    if len({tool.name for tool in tools}) != len(tools):
        refuse("two tools have the same name")
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
    )
