"""Whether two shapes have no value in common: `oneOf` can be held to only where that is plain."""

from __future__ import annotations

from typing import TYPE_CHECKING

from homing_inference.grammar.scalars import type_names
from homing_inference.grammar.shapes import (
    Anything,
    Arrays,
    Literals,
    Nothing,
    Numbers,
    Objects,
    Reference,
    Shape,
    Strings,
    Union,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


def disjoint(options: Sequence[Shape], definitions: Mapping[str, Shape]) -> bool:
    """Whether no value can be of two of the shapes, as far as can be told."""
    return all(
        _apart(one, other, definitions)
        for place, one in enumerate(options)
        for other in options[place + 1 :]
    )


def _apart(one: Shape, other: Shape, definitions: Mapping[str, Shape]) -> bool:
    one, other = (
        definitions.get(shape.name, shape) if isinstance(shape, Reference) else shape
        for shape in (one, other)
    )
    if _kinds(one, definitions).isdisjoint(_kinds(other, definitions)):
        return True
    if isinstance(one, Literals) and isinstance(other, Literals):
        return not any(value in other.values for value in one.values)
    if not (isinstance(one, Objects) and isinstance(other, Objects)):
        return False
    mine, theirs = ({member.name: member for member in each.members} for each in (one, other))
    for first, second, names in ((one, other, theirs), (other, one, mine)):
        # An object of the first kind never has a name that the second kind must have.
        own = {member.name for member in first.members}
        if first.extra is None and any(m.required and m.name not in own for m in second.members):
            return True
        for member in first.members:
            twin = names.get(member.name)
            if (
                twin is not None
                and member.required
                and twin.required
                and isinstance(member.shape, Literals)
                and isinstance(twin.shape, Literals)
                and _apart(member.shape, twin.shape, definitions)
            ):
                return True
    return False


def _kinds(  # noqa: C901, PLR0911  # one case for each kind of shape
    shape: Shape, definitions: Mapping[str, Shape]
) -> set[str]:
    """The JSON types that a shape allows; integers count as numbers."""
    match shape:
        case Anything():
            return {"object", "array", "string", "number", "boolean", "null"}
        case Nothing():
            return set()
        case Literals():
            return {kind for value in shape.values for kind in type_names(value)} - {"integer"}
        case Strings():
            return {"string"}
        case Numbers():
            return {"number"}
        case Arrays():
            return {"array"}
        case Objects():
            return {"object"}
        case Union():
            return {kind for one in shape.options for kind in _kinds(one, definitions)}
        case Reference():
            target = definitions.get(shape.name)
            if target is None or target == shape:
                return _kinds(Anything(), definitions)
            return _kinds(target, definitions)
