r"""Writes a grammar in llama.cpp's GBNF notation.

It knows no intersections and no complements, so some rules are narrower than the schema:

- up to `MAX_UNORDERED` properties stand in any order, more of them in the schema's;
- beside declared properties there are no further ones, even where the schema welcomes them;
- a raw string holds no `<p`, `<f`, `<t`, nor these behind `</`; one whose length is bounded holds
  no `<` at all and does not begin with a quote or white space;
- a string is at most 2,000 characters long if its length is bounded.

What cannot be narrowed is refused by name: two patterns, or a pattern and a length that it does
not keep by itself.
"""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING, Final

from homing_inference.grammar.expressions import (
    Alt,
    AnyOrder,
    Chars,
    Grammar,
    Lexeme,
    Lit,
    Node,
    Ref,
    Rep,
    Seq,
    Text,
    alt,
    optional,
    seq,
)
from homing_inference.grammar.gbnf_text import MAX_REPEATED, refuse, text_rule

if TYPE_CHECKING:
    from collections.abc import Sequence

MAX_UNORDERED: Final = 8
"""Properties in any order: a rule for each subset of them."""
_MANY_TEXTS: Final = 8
_LAST_BYTE: Final = 0xFF
_LAST_SHORT: Final = 0xFFFF


def write_gbnf(grammar: Grammar) -> str:
    """The grammar's text; behind what it describes any text may follow.

    Raises:
        UsageError: GBNF has no form for a part of it.
    """
    return _Writer(grammar).write()


class _Writer:
    def __init__(self, grammar: Grammar) -> None:
        self._grammar: Final = grammar
        self._names = {name: f"r{i}" for i, name in enumerate(grammar.rules)}
        self._rules: dict[Node, str] = {}
        self._lines: list[str] = []
        self._count = count()

    def write(self) -> str:
        self._lines.append(f"root ::= {self._rule(self._grammar.root)} [^\\x00]*")
        for name, node in self._grammar.rules.items():
            self._lines.append(f"{self._names[name]} ::= {self._rule(node)}")
        return "\n".join(self._lines) + "\n"

    def _rule(self, node: Node) -> str:  # noqa: PLR0911  # one case for each kind of node
        match node:
            case Lit():
                return f'"{"".join(map(_quoted, node.text))}"'
            case Chars():
                return _class(node)
            case Lexeme():
                return self._rule(node.part)
            case Seq():
                parts = [self._rule(part) for part in node.parts if part != Lit("")]
                return " ".join(parts) or '""'
            case Alt():
                return self._named(node)
            case Rep():
                return self._repeated(node)
            case Ref():
                return self._names[node.rule]
            case Text():
                return self._rule(text_rule(node))
            case AnyOrder():
                return self._any_order(node)

    def _named(self, node: Node) -> str:
        known = self._rules.get(node)
        if known is None:
            known = self._rules[node] = f"a{next(self._count)}"
            options = _branches(node.options) if isinstance(node, Alt) else (node,)
            self._lines.append(f"{known} ::= {' | '.join(map(self._rule, options))}")
        return known

    def _repeated(self, node: Rep) -> str:
        if node.most == 0 or node.part == Lit(""):
            return '""'
        if max(node.least, node.most or 0) > MAX_REPEATED:
            refuse("repeats something more often")
        most = "" if node.most is None else node.most
        bounds = {(0, None): "*", (1, None): "+", (0, 1): "?"}.get(
            (node.least, node.most), f"{{{node.least},{most}}}"
        )
        return f"{self._named(node.part)}{bounds}"

    # any order

    def _any_order(self, node: AnyOrder) -> str:
        known = self._rules.get(node)
        if known is None:
            known = self._rules[node] = f"m{next(self._count)}"
            entries = (*node.required, *node.optional)
            if not entries:
                self._lines.append(f"{known} ::= {self._only_extra(node)}")
            elif len(entries) > MAX_UNORDERED:
                self._in_order(node, known)
            else:
                self._subsets(node, known)
        return known

    def _only_extra(self, node: AnyOrder) -> str:
        if node.extra is None:
            return '""'
        more = Rep(seq(node.separator, node.extra), 0, None)
        return self._rule(optional(seq(node.extra, more)))

    def _subsets(self, node: AnyOrder, name: str) -> None:
        """A rule for each set of entries that are there already."""
        entries = [self._named(one) for one in (*node.required, *node.optional)]
        needed = (1 << len(node.required)) - 1
        separator = "" if node.separator == Lit("") else f"{self._named(node.separator)} "
        for there in range(1 << len(entries)):
            glue = separator if there else ""
            options = [
                f"{glue}{one} {name}s{there | 1 << place}"
                for place, one in enumerate(entries)
                if not there >> place & 1
            ]
            if there & needed == needed:
                options.append('""')
            rule = f"{name}s{there}" if there else name
            self._lines.append(f"{rule} ::= {' | '.join(options)}")

    def _in_order(self, node: AnyOrder, name: str) -> None:
        """The required entries, then the optional ones, each group as the schema has it."""
        rest: list[Node] = [optional(seq(node.separator, one)) for one in node.optional]
        if node.required:
            first, *others = node.required
            body = [first, *(seq(node.separator, one) for one in others), *rest]
            self._lines.append(f"{name} ::= {' '.join(self._rule(one) for one in body)}")
            return
        options = [
            " ".join(self._rule(part) for part in (one, *rest[place + 1 :]))
            for place, one in enumerate(node.optional)
        ]
        self._lines.append(f'{name} ::= {" | ".join(options)} | ""')


def _branches(options: Sequence[Node]) -> Sequence[Node]:
    """The same options; if they are many texts, those that begin alike are joined.

    Every option that is still possible is followed on its own: of thousands, seconds would pass.
    """
    parts = [one.part if isinstance(one, Lexeme) else one for one in options]
    texts = [part.text for part in parts if isinstance(part, Lit) and part.text]
    if len(texts) < max(len(options), _MANY_TEXTS):
        return options
    groups: dict[str, list[str]] = {}
    for text in texts:
        groups.setdefault(text[0], []).append(text)
    if len(groups) == 1:
        first, last = min(texts), max(texts)
        alike = (place for place, char in enumerate(first) if char != last[place])
        length = next(alike, len(first))
        return [seq(Lit(texts[0][:length]), alt(Lexeme(Lit(text[length:])) for text in texts))]
    return [alt(Lexeme(Lit(text)) for text in group) for group in groups.values()]


def _quoted(char: str) -> str:
    named = {"\n": "\\n", "\r": "\\r", "\t": "\\t", '"': '\\"', "\\": "\\\\"}
    return named.get(char) or (char if char.isprintable() else _code(ord(char)))


def _class(found: Chars) -> str:
    parts = (
        _code(first) if first == last else f"{_code(first)}-{_code(last)}"
        for first, last in found.ranges
    )
    return f"[{''.join(parts)}]"


def _code(code: int) -> str:
    if code <= _LAST_BYTE:
        return f"\\x{code:02X}"
    return f"\\u{code:04X}" if code <= _LAST_SHORT else f"\\U{code:08X}"
