"""A request in OpenAI's form, with the extras that each program knows. No I/O."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from homing_core.errors import InvalidDataError, NotFoundError, UsageError
from homing_core.generation import Thinking, ToolChoice
from homing_core.messages import Message, Role, TextPart, ThinkingPart, ToolCallPart

from homing_inference.answers.choosing import check_sampling
from homing_inference.formats.conversation import to_messages, to_tools
from homing_inference.upstream.served import Kind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from homing_core.generation import GenerateRequest, Sampling
    from homing_core.tools import ToolSpec

    from homing_inference.upstream.served import Served

Body = dict[str, Any]
"""JSON to be sent."""

MAX_LOGPROBS: Final = 20
"""OpenAI's own limit for `top_logprobs`."""
MAX_SAMPLES: Final = 64
_KEEP_THOUGHTS: Final = frozenset({Kind.LLAMA_SERVER, Kind.VLLM})


def chat_body(request: GenerateRequest, served: Served) -> Body:
    """A streaming chat completion for one answer.

    Raises:
        UsageError: sampling out of range, or something that this server cannot do.
        NotFoundError: the server has no such adapter.
        InvalidDataError: only an assistant's message can be continued.
    """
    _check(request, served)
    sampling = request.sampling
    body: Body = {
        "model": request.adapter or served.model,
        "messages": chat_messages(request.messages, served.kind),
        "stream": True,
        "stream_options": {"include_usage": True},
        **_sampling(sampling, served.kind),
        **thinking_fields(request.thinking, served.kind),
    }
    if request.tools:
        body["tools"] = to_tools(request.tools)
        body["tool_choice"] = _tool_choice(request, served.kind)
    if request.thinking is Thinking.ON and request.thinking_budget and served.kind.thinking_budget:
        body[served.kind.thinking_budget] = request.thinking_budget
    if request.logprobs:
        body["logprobs"] = True
        body["top_logprobs"] = min(request.logprobs, MAX_LOGPROBS)
    if request.continue_last:
        body["continue_final_message"] = True
        body["add_generation_prompt"] = False
    return body


def warm_body(
    messages: Sequence[Message], tools: Sequence[ToolSpec], thinking: Thinking, served: Served
) -> Body:
    """The shortest request whose prompt begins with these system messages and tools."""
    leading: list[Message] = []
    for message in messages:
        if message.role is not Role.SYSTEM:
            break
        leading.append(message)
    body: Body = {
        "model": served.model,
        "messages": [*chat_messages(leading, served.kind), {"role": "user", "content": "."}],
        "max_tokens": 1,
        "temperature": 0,
        **thinking_fields(thinking, served.kind),
    }
    if tools:
        body["tools"] = to_tools(tools)
        body["tool_choice"] = "auto"
    return body


def thinking_fields(thinking: Thinking, kind: Kind) -> Body:
    """How a program is told whether to think."""
    on = thinking is Thinking.ON
    if kind is Kind.OLLAMA:
        return {} if on else {"reasoning_effort": "none"}
    return {"chat_template_kwargs": {"enable_thinking": on}}


def chat_messages(messages: Sequence[Message], kind: Kind) -> list[Body]:
    """Messages in OpenAI's form; texts that look like control marks are broken up.

    Calls get ids of nine letters and digits, numbered through the conversation: some templates
    take no others, and equal conversations give equal prompts, which a server's cache needs.
    """
    plain = to_messages(messages)
    ids: dict[str, str] = {}
    for message in plain:
        thought = message.pop("reasoning_content", "")
        if thought and kind in _KEEP_THOUGHTS:
            message["reasoning_content"] = thought
        for call in message.get("tool_calls", ()):
            call["id"] = ids.setdefault(call["id"], f"call{len(ids):05d}")
            function = call["function"]
            function["arguments"] = json.dumps(function["arguments"], ensure_ascii=False)
        if "tool_call_id" in message:
            given = message["tool_call_id"]
            message["tool_call_id"] = ids.setdefault(given, f"call{len(ids):05d}")
            if not message["name"]:
                del message["name"]
    return plain


def continued_text(request: GenerateRequest) -> str:
    """The words behind which the answer goes on; empty for a new turn."""
    return request.messages[-1].text if request.continue_last and request.messages else ""


def _sampling(sampling: Sampling, kind: Kind) -> Body:
    """Every program has defaults of its own, so what we do not want is said as well."""
    fields: Body = {"temperature": sampling.temperature, "top_p": sampling.top_p}
    if kind in {Kind.LLAMA_SERVER, Kind.LLAMA_CPP_PYTHON}:
        fields |= {"top_k": sampling.top_k, "min_p": 0.0}
    elif kind is Kind.VLLM:
        fields |= {"top_k": sampling.top_k or -1, "min_p": 0.0}
    elif sampling.top_k:
        fields["top_k"] = sampling.top_k
    if sampling.seed:
        fields["seed"] = sampling.seed
    if sampling.max_tokens:
        fields["max_tokens"] = sampling.max_tokens
    if sampling.stop:
        fields["stop"] = [word for word in sampling.stop if word]
    return fields


def _tool_choice(request: GenerateRequest, kind: Kind) -> object:
    if (
        kind is Kind.LLAMA_CPP_PYTHON
        and request.tool_choice is ToolChoice.REQUIRED
        and len(request.tools) == 1
    ):  # it reads "required" as "auto", but holds itself to a named tool
        return {"type": "function", "function": {"name": request.tools[0].name}}
    return request.tool_choice.value


def _check(request: GenerateRequest, served: Served) -> None:
    check_sampling(request.sampling)
    if not 0 <= request.samples <= MAX_SAMPLES:
        msg = f"{request.samples} answers are more than can be written at once"
        raise UsageError(msg, f"Ask for at most {MAX_SAMPLES}.")
    if request.adapter and request.adapter not in served.adapters:
        msg = "the model server has no such adapter"
        raise NotFoundError(msg, "Choose one that it lists, or leave it out.")
    if request.tool_choice is ToolChoice.REQUIRED and not request.tools:
        msg = "a call is required, but no tool is offered"
        raise UsageError(msg, "Offer a tool, or do not require a call.")
    if request.continue_last:
        _check_continued(request, served.kind)


def _check_continued(request: GenerateRequest, kind: Kind) -> None:
    if not request.messages or request.messages[-1].role is not Role.ASSISTANT:
        msg = "only an assistant's message can be continued"
        raise InvalidDataError(msg, "Leave out continue_last, or add the partial answer.")
    parts = request.messages[-1].parts
    texts = any(isinstance(part, TextPart) and part.text for part in parts)
    thoughts = any(isinstance(part, ThinkingPart) and part.text for part in parts)
    calls = any(isinstance(part, ToolCallPart) for part in parts)
    able = texts or (thoughts and kind is Kind.LLAMA_SERVER)
    if not kind.continues or calls or not able:
        msg = "this model server cannot go on with a partial answer like this"
        raise UsageError(msg, "Ask again from the start, without continue_last.")
