"""What models, model files, model servers and tool schemas hand to `inference`."""

from __future__ import annotations

import io
import json
import zipfile
from functools import cache
from typing import TYPE_CHECKING, cast

from fuzz.rows import scratch
from fuzz.target import Target, of_text, text
from homing_core.errors import HomingError, InvalidDataError
from homing_core.tools import EffectClass, ToolSpec
from homing_inference.catalog.gguf_header import read_header
from homing_inference.catalog.sidecar import Sidecar, read_sidecar, write_sidecar
from homing_inference.catalog.wheel_file import read_pieces
from homing_inference.formats.parser import AnswerParser
from homing_inference.formats.template import ChatTemplate
from homing_inference.formats.values import load_json, read_key, read_value
from homing_inference.grammar.calls import CallGrammars, Opened, Syntax
from homing_inference.grammar.gbnf import write_gbnf
from homing_inference.grammar.patterns import PatternError, parse_pattern
from homing_inference.states import state_file
from homing_inference.states.prefixes import Prefix
from homing_inference.synthetic import write_qwen35
from homing_inference.upstream.calls import CallPieces
from homing_inference.upstream.chunks import read_chunk, read_counts
from homing_inference.upstream.served import (
    read_lm_studio,
    read_models,
    read_ollama,
    read_props,
)
from homing_inference.upstream.vectors import read_vectors
from homing_inference.upstream.wire import object_of, read_json
from support.templates import HERMES

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from homing_core.canonical import JsonValue

_KEY = bytes(32)
_SECRET = bytes(range(32))
_PROPERTIES: dict[str, JsonValue] = {
    "text": {"type": "string"},
    "count": {"type": "integer"},
    "on": {"type": "boolean"},
    "list": {"type": "array", "items": {"type": "number"}},
    "more": {"type": "object"},
}
_TOOLS = (
    ToolSpec(
        name="note",
        description="Write a note.",
        parameters={"type": "object", "properties": _PROPERTIES},
        effect=EffectClass.WRITE,
    ),
)
_XML = (
    "<tool_call>\n<function=note>\n<parameter=text>\nmilk\n</parameter>\n</function>\n</tool_call>"
)
_JSON = '<tool_call>\n{"name": "note", "arguments": {"text": "milk", "list": [1.5]}}\n</tool_call>'


def _answer(data: bytes) -> object:
    """Fed in pieces whose sizes the input says itself."""
    words = text(data[1:]).encode("utf-8", "replace").decode("utf-8", "replace")
    step = 1 + (data[0] % 32 if data else 0)
    parser = AnswerParser(_TOOLS)
    for at in range(0, len(words), step):
        parser.feed(words[at : at + step])
    return parser.finish(end_of_turn=bool(data and data[0] & 0x80))


def _answers() -> list[bytes]:
    bare = _JSON.split("\n")[1]
    shown = [_XML, _JSON, bare, f"```json\n{bare}\n```", f"<think>\nhm\n</think>\n{_XML}", "Hello."]
    return [b"\x00" + one.encode() for one in shown] + [b"\x9f" + _XML.encode()]


def _schema(data: bytes) -> object:
    """A tool whose schema comes from an MCP server, made a grammar."""
    schema = _json(data)
    if not isinstance(schema, dict):
        return None
    spec = ToolSpec(name="t", description="", parameters=schema, effect=EffectClass.READ)
    calls = CallGrammars((spec,), Syntax.JSON)
    return write_gbnf(calls.grammar(Opened.MARK))


def _schemas() -> list[bytes]:
    shown: list[JsonValue] = [
        {"type": "object", "properties": _PROPERTIES, "required": ["text"]},
        {"type": "object", "properties": {"a": {"enum": ["x", 1, None]}, "b": {"const": 5}}},
        {"type": "object", "properties": {"a": {"anyOf": [{"type": "string"}, {"type": "null"}]}}},
        {"type": "object", "properties": {"a": {"type": "string", "pattern": "^[a-z]{2,5}$"}}},
        {"type": "object", "properties": {"a": {"type": "integer", "minimum": -5, "maximum": 900}}},
        {"type": "object", "properties": {"a": {"$ref": "#/$defs/x"}}, "$defs": {"x": {}}},
        {"type": "object", "properties": {"a": {"type": "string", "format": "date-time"}}},
        {"type": "object", "properties": {"a": {"type": "array", "minItems": 1, "maxItems": 3}}},
    ]
    return [json.dumps(one).encode() for one in shown]


def _json(data: bytes) -> JsonValue:
    try:
        return cast("JsonValue", json.loads(data))
    except (ValueError, RecursionError) as error:
        msg = "no JSON"
        raise InvalidDataError(msg) from error


def _gguf(data: bytes) -> object:
    return read_header(io.BytesIO(data), 1 << 33, "model.gguf")


def _ggufs() -> list[bytes]:
    path = write_qwen35(scratch() / "tiny.gguf", HERMES)
    return [path.read_bytes()[:20_000], path.read_bytes()[:400]]


@cache
def _file(name: str) -> Path:
    return scratch() / name


def _wheel(data: bytes) -> object:
    _file("a.whl").write_bytes(data)
    return sum(len(piece) for piece in read_pieces(_file("a.whl"), "part", 1 << 20))


def _wheels() -> list[bytes]:
    shown: list[bytes] = []
    for how in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        made = io.BytesIO()
        with zipfile.ZipFile(made, "w", how) as archive:
            archive.writestr("part/data/a.bin", b"a" * 300)
            archive.writestr("part/__init__.py", "")
        shown.append(made.getvalue())
    return shown


def _sidecar(data: bytes) -> object:
    _file("m.json").write_bytes(data)
    return read_sidecar(_file("m.json"))


def _sidecars() -> list[bytes]:
    write_sidecar(_file("made.json"), Sidecar("0a" * 32, 5, 6, "Q4_K_M", "hub"))
    return [_file("made.json").read_bytes()]


def _state(data: bytes) -> object:
    size = state_file.HEADER_BYTES
    header = state_file.read_header(data[:size], _KEY, len(data))
    if header is None:
        return None
    tokens = data[size : size + header.token_bytes]
    return state_file.decode(header, tokens, data[size + header.token_bytes :], _SECRET)


def _states() -> list[bytes]:
    prefix = Prefix((1, 2, 3), "0a" * 32, b"state")
    return [b"".join(state_file.encode(prefix, _KEY, _SECRET))]


def _upstream(read: Callable[[object], object]) -> Callable[[bytes], object]:
    return lambda data: read(read_json(data))


def _served(body: object) -> object:
    found = read_models(body, "", "the server")
    read_props(found, body)
    read_lm_studio(found, body)
    return read_ollama(found, body, body)


def _chunk(data: bytes) -> object:
    calls = CallPieces()
    for line in text(data).split("\n\n"):
        for choice in read_chunk(line, "the server").choices:
            calls.add(choice.calls)
    return calls.finish(allowed=True, complete=True)


_CHUNK = (
    '{"choices":[{"index":0,"delta":{"content":"hi","tool_calls":[{"index":0,"id":"a",'
    '"function":{"name":"note","arguments":"{}"}}]},"finish_reason":"stop"}],'
    '"usage":{"prompt_tokens":5,"completion_tokens":2}}'
)
_MODELS = '{"object":"list","data":[{"id":"m","owned_by":"vllm","max_model_len":4096}]}'

TARGETS = [
    Target("model.answer", _answer, seeds=_answers),
    of_text(
        "model.json",
        load_json,
        '{"a": [1, 2.5, "x", null, true]}',
        allowed=(HomingError, ValueError),
    ),
    of_text("model.value", lambda found: read_value(found, frozenset({"integer"})), "5", "[1]"),
    of_text("model.key", read_key, "text", '"a b"'),
    of_text(
        "model.template",
        lambda found: ChatTemplate(found, "<s>", "</s>", None),
        HERMES,
        "{% for m in messages %}{{ m.content }}{% endfor %}",
        quick=80,
    ),
    of_text(
        "model.pattern",
        parse_pattern,
        "^[a-z]{2,5}$",
        "(a|b)*c+",
        covers=("homing_inference.grammar.patterns.parse_pattern",),
        allowed=(PatternError,),
    ),
    Target("model.schema", _schema, seeds=_schemas, quick=150),
    Target("model.gguf", _gguf, seeds=_ggufs),
    Target("model.wheel", _wheel, seeds=_wheels, quick=150),
    Target("model.sidecar", _sidecar, seeds=_sidecars, quick=150),
    Target("model.state_file", _state, seeds=_states),
    Target("upstream.chunk", _chunk, seeds=lambda: [_CHUNK.encode()]),
    Target("upstream.served", _upstream(_served), seeds=lambda: [_MODELS.encode()]),
    Target(
        "upstream.counts",
        _upstream(lambda body: read_counts(object_of(body), whole=True)),
        seeds=lambda: [b'{"usage":{"prompt_tokens":5,"completion_tokens":2}}'],
    ),
    Target(
        "upstream.vectors",
        _upstream(lambda body: read_vectors(body, 1)),
        seeds=lambda: [b'{"data":[{"index":0,"embedding":[0.5,1e3]}]}'],
    ),
]
