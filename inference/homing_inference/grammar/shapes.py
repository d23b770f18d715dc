"""What a checked schema says, reduced to what a grammar can hold a value to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from fractions import Fraction

    from homing_core.canonical import JsonValue

    from homing_inference.grammar.expressions import Node


@dataclass(frozen=True, slots=True)
class Anything:
    """Any JSON value."""


@dataclass(frozen=True, slots=True)
class Nothing:
    """No value at all."""


@dataclass(frozen=True, slots=True)
class Literals:
    """One of these values."""

    values: tuple[JsonValue, ...]


@dataclass(frozen=True, slots=True)
class Strings:
    """A string of `least` to `most` characters that matches all the patterns."""

    least: int = 0
    most: int | None = None
    patterns: tuple[Node, ...] = ()


@dataclass(frozen=True, slots=True)
class Numbers:
    """A number between two bounds, which may be excluded themselves; a multiple of something."""

    integer: bool
    least: Fraction | None = None
    most: Fraction | None = None
    least_excluded: bool = False
    most_excluded: bool = False
    multiple: Fraction | None = None


@dataclass(frozen=True, slots=True)
class Arrays:
    """First the leading items, then further ones of one shape (None: no further ones)."""

    leading: tuple[Shape, ...]
    items: Shape | None
    least: int = 0
    most: int | None = None


@dataclass(frozen=True, slots=True)
class Member:
    """A declared property."""

    name: str
    shape: Shape
    required: bool


@dataclass(frozen=True, slots=True)
class Objects:
    """Declared properties in any order, and further ones of one shape (None: no further ones)."""

    members: tuple[Member, ...]
    extra: Shape | None = None


@dataclass(frozen=True, slots=True)
class Union:
    """Any one of these."""

    options: tuple[Shape, ...]


@dataclass(frozen=True, slots=True)
class Reference:
    """A definition, which may contain itself."""

    name: str


Shape: TypeAlias = (
    Anything | Nothing | Literals | Strings | Numbers | Arrays | Objects | Union | Reference
)


@dataclass(frozen=True, slots=True)
class ToolShape:
    """A tool's parameters.

    Attributes:
        parameters: the object of its arguments, or a choice of objects.
        definitions: what references name.
    """

    parameters: Shape
    definitions: Mapping[str, Shape]


def flattened(shape: Shape, definitions: Mapping[str, Shape]) -> Iterator[Shape]:
    """The shapes that a value itself may have: references followed, choices taken apart."""
    pending, seen = [shape], set[str]()
    while pending:
        one = pending.pop(0)
        if isinstance(one, Union):
            pending = [*one.options, *pending]
        elif not isinstance(one, Reference):
            yield one
        elif one.name not in seen:
            seen.add(one.name)
            pending.insert(0, definitions[one.name])


def union(options: Sequence[Shape]) -> Shape:
    """A choice of shapes, or the one that is left of them."""
    flat: list[Shape] = []
    for option in options:
        for one in option.options if isinstance(option, Union) else (option,):
            if not isinstance(one, Nothing) and one not in flat:
                flat.append(one)
    if not flat:
        return Nothing()
    return flat[0] if len(flat) == 1 else Union(tuple(flat))


def leads_to(shape: Shape, name: str, definitions: Mapping[str, Shape]) -> bool:
    """Whether a value of the shape may be, without anything around it, one of that definition."""
    pending, seen = [shape], set[str]()
    while pending:
        one = pending.pop()
        if isinstance(one, Union):
            pending += one.options
        elif isinstance(one, Reference):
            if one.name == name:
                return True
            if one.name not in seen and one.name in definitions:
                seen.add(one.name)
                pending.append(definitions[one.name])
    return False
