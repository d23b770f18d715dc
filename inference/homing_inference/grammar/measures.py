"""How much a regular expression matches, and how large it is written out."""

from __future__ import annotations

from homing_inference.grammar.expressions import Alt, Lit, Node, Rep, Seq


def expanded_size(node: Node) -> int:
    """How long the expression is once its counted repetitions are written out."""
    match node:
        case Lit():
            return len(node.text)
        case Seq():
            return sum(map(expanded_size, node.parts))
        case Alt():
            return sum(map(expanded_size, node.options))
        case Rep():
            return expanded_size(node.part) * max(node.most or 0, node.least, 1)
        case _:
            return 1


def length_bounds(node: Node) -> tuple[int, int | None]:
    """The fewest and the most characters that a regular expression matches."""
    match node:
        case Lit():
            return len(node.text), len(node.text)
        case Seq() | Alt():
            bounds = [
                length_bounds(one)
                for one in (node.parts if isinstance(node, Seq) else node.options)
            ]
            limits = [most for _, most in bounds if most is not None]
            fold = sum if isinstance(node, Seq) else max
            least = sum(one for one, _ in bounds) if fold is sum else min(one for one, _ in bounds)
            return least, fold(limits) if len(limits) == len(bounds) else None
        case Rep():
            least, most = length_bounds(node.part)
            unlimited = most is None or node.most is None
            return least * node.least, None if unlimited else (most or 0) * (node.most or 0)
        case _:
            return 1, 1
