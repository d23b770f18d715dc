"""Every public `decode_*` and `parse_*`, found in the source; most become targets by themselves.

What a function reads is seen from the annotation of its one argument: a wire message, several of
them, a text, bytes, a number. What needs more is written by hand (`targets`), and a test sees to it
that nothing is forgotten.
"""

from __future__ import annotations

import ast
import importlib
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fuzz.samples import samples
from fuzz.target import Target, examples, joined, pieces, text
from google.protobuf.message import DecodeError, Message
from homing_core.errors import InvalidDataError
from hypothesis import strategies as st
from support.codecs import CODECS, Codec
from support.commands import ROOT, project_files
from support.wire_strategies import arbitrary

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

PREFIXES = ("decode_", "parse_")
_PACKAGES = ("core", "proto", "crypto", "discovery", "inference", "agent", "node", "client")
_MANY = re.compile(r"(?:Collection|Sequence|Iterable)\[(.+)\]")


@dataclass(frozen=True)
class Reader:
    """A function that reads outside data.

    Attributes:
        module: of it.
        name: of it.
        argument: annotation of its one required argument; empty if it needs more than one.
        imports: names in its module, and where each comes from.
    """

    module: str
    name: str
    argument: str
    imports: dict[str, str]

    @property
    def full(self) -> str:
        return f"{self.module}.{self.name}"


def readers() -> list[Reader]:
    """All of them."""
    files = project_files(*(f"{package}/*.py" for package in _PACKAGES))
    return [
        reader
        for path in files
        if "_pb2" not in path.name and path.name != "testing.py"
        for reader in _in_module(path)
    ]


def automatic() -> list[Target]:
    """A target for each that needs no hand."""
    found = [_target(reader) for reader in readers()]
    return [target for target in found if target is not None]


def wire_run(kind: type[Message], run: Callable[[Any], object]) -> Callable[[bytes], object]:
    """The bytes as a message, then what reads it. Bytes that are none are the guard's business."""

    def both(data: bytes) -> object:
        return run(_message(kind, data))

    return both


def _message(kind: type[Message], data: bytes) -> Message:
    try:
        return kind.FromString(data)
    except DecodeError as error:
        msg = "no message"
        raise InvalidDataError(msg) from error


def _target(reader: Reader) -> Target | None:  # noqa: PLR0911  # one for each kind of argument
    function = getattr(importlib.import_module(reader.module), reader.name)
    name = reader.full.removeprefix("homing_")
    covers = (reader.full,)
    match reader.argument:
        case "bytes":
            return Target(name, function, covers, structured=st.binary(max_size=200))
        case "str":
            return Target(name, lambda data: function(text(data)), covers)
        case "int":
            return Target(
                name, lambda data: function(int.from_bytes(data[:5], signed=True)), covers, quick=60
            )
        case "Collection[int]":
            return Target(name, lambda data: function(list(data)), covers)
        case "Collection[str]":
            return Target(name, lambda data: function([text(one) for one in pieces(data)]), covers)
        case "Mapping[str, str]":
            return Target(
                name, lambda data: function({text(one): text(one) for one in pieces(data)}), covers
            )
        case _:
            return _wire_target(reader, function, name, covers)


def _wire_target(
    reader: Reader, function: Callable[[Any], object], name: str, covers: tuple[str, ...]
) -> Target | None:
    many = _MANY.fullmatch(reader.argument)
    kind = _wire_class(many[1] if many else reader.argument, reader.imports)
    if kind is None:
        return None
    one = arbitrary(kind).map(lambda message: message.SerializeToString())
    if many:
        several = st.lists(one, max_size=4).map(joined)

        def read_several(data: bytes) -> object:
            return function([_message(kind, part) for part in pieces(data)])

        def several_seeds() -> list[bytes]:
            good = samples(kind, lambda message: function([message]))
            return [joined([raw]) for raw in good] + [joined(good[:3])]

        return Target(name, read_several, covers, several_seeds, structured=several)
    valid = _VALID.get(reader.full, one)

    def seeds() -> list[bytes]:
        return samples(kind, function) + examples(valid, 6)

    return Target(name, wire_run(kind, function), covers, seeds, structured=one)


def _full_name(function: Callable[..., object]) -> str:
    return f"{function.__module__}.{function.__name__}"


def _encoded(codec: Codec) -> st.SearchStrategy[bytes]:
    return codec.value.map(codec.encode).map(lambda message: message.SerializeToString())


_VALID = {_full_name(codec.decode): _encoded(codec) for codec in CODECS}
"""What encoders write, for those decoders that have one in the codecs' own tests."""


def _wire_class(annotation: str, imports: dict[str, str]) -> type[Message] | None:
    start, _, rest = annotation.partition(".")
    origin = imports.get(start, "")
    if not origin.startswith("homing_proto.v1"):
        return None
    try:
        if rest:
            found = getattr(importlib.import_module(origin), rest)
        else:
            module, _, name = origin.rpartition(".")
            found = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError):
        return None
    return found if isinstance(found, type) and issubclass(found, Message) else None


def _in_module(path: Path) -> Iterator[Reader]:
    tree = ast.parse((ROOT / path).read_text("utf-8"))
    module = ".".join(path.with_suffix("").parts[1:]).removesuffix(".__init__")
    imports = {
        alias.asname or alias.name: f"{node.module}.{alias.name}"
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module
        for alias in node.names
    }
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.name.startswith(PREFIXES):
            yield Reader(module, node.name, _argument(node.args), imports)


def _argument(found: ast.arguments) -> str:
    every = [*found.posonlyargs, *found.args]
    required = every[: len(every) - len(found.defaults)]
    needed = [
        one
        for one, default in zip(found.kwonlyargs, found.kw_defaults, strict=True)
        if default is None
    ]
    if len(required) != 1 or needed or required[0].annotation is None:
        return ""
    return ast.unparse(required[0].annotation)
