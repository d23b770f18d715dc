"""Writes a grammar in llguidance's Lark notation.

Strings, numbers and literals are terminals: regular expressions that its lexer runs. Any order is a
rule with a parameter whose bits say which entries are there already.
"""

from __future__ import annotations

import json
from itertools import count
from typing import Final

from homing_inference.grammar.escapes import escaped_json
from homing_inference.grammar.expressions import (
    Alt,
    AnyOrder,
    Chars,
    Form,
    Grammar,
    Lexeme,
    Lit,
    Node,
    Ref,
    Rep,
    Seq,
    Text,
    alt,
    seq,
)

MAX_UNORDERED: Final = 60
"""Entries of which each has a bit; further optional ones come behind these, in their order."""

_HEX: Final = "[0-9a-fA-F]"
_ESCAPE: Final = rf'\\(?:["\\\/bfnrt]|u(?:[0-9a-cA-CeEfF]{_HEX}{{3}}|[dD][0-7]{_HEX}{{2}}))'
_JSON_CHAR: Final = rf'(?:[^"\\\x00-\x1f]|{_ESCAPE})'
_MARKS: Final = r"<(?:\/(?:parameter|function|tool_call)|parameter=|function=|tool_call)"
_SPACE: Final = r"[\s\x00-\x1f\x7f-\xa0]"
_LIKE_JSON: Final = (
    rf'(?:{_SPACE}|["{{\[])(?s:.)*'
    rf"|(?:-?[0-9][0-9.eE+-]*|true|false|null|True|False|None|NaN|-?Infinity){_SPACE}*"
)
_ESCAPED_FORM: Final = rf'{_SPACE}*"\\u{_HEX}{{4}}(?s:.)*'


def write_lark(grammar: Grammar) -> str:
    """The grammar's text; behind what it describes any text may follow."""
    return _Writer(grammar).write()


def regex(node: Node) -> str:  # noqa: PLR0911  # one for each kind of node
    """A regular expression for the regular parts of a grammar."""
    match node:
        case Lit():
            return "".join(map(_escaped, node.text))
        case Chars():
            inside = "".join(
                _code(first) if first == last else f"{_code(first)}-{_code(last)}"
                for first, last in node.ranges
            )
            return f"[{inside}]"
        case Seq():
            return "".join(map(regex, node.parts))
        case Alt():
            return f"(?:{'|'.join(map(regex, node.options))})"
        case Rep():
            if isinstance(node.part, Lit) and not node.part.text:
                return ""
            most = "" if node.most is None else node.most
            return f"(?:{regex(node.part)}){{{node.least},{most}}}"
        case Lexeme():
            return regex(node.part)
        case Ref() | Text() | AnyOrder():
            msg = "not a regular expression"
            raise TypeError(msg)


class _Writer:
    def __init__(self, grammar: Grammar) -> None:
        self._grammar: Final = grammar
        self._lines: list[str] = []
        self._names: dict[str, str] = {name: f"r{i}" for i, name in enumerate(grammar.rules)}
        self._terminals: dict[str, str] = {}
        self._rules: dict[Node, str] = {}
        self._count = count()

    def write(self) -> str:
        # Otherwise a mask would hold one token where a text is the only one possible: the model may
        # spell it as it likes, and what it wanted is part of the share.
        self._lines.append('%llguidance {"no_forcing": true}')
        self._lines.append(f"start: {self._rule(self._grammar.root)} TAIL")
        self._lines.append("TAIL: /(?s:.*)/")
        for name, node in self._grammar.rules.items():
            self._lines.append(f"{self._names[name]}: {self._rule(node)}")
        return "\n".join(self._lines) + "\n"

    def _rule(self, node: Node) -> str:  # noqa: C901, PLR0911  # one case for each kind of node
        match node:
            case Lit():
                return json.dumps(node.text) if node.text.isascii() else self._terminal(regex(node))
            case Chars():
                return self._terminal(regex(node))
            case Lexeme():
                if isinstance(node.part, Lit):
                    return self._rule(node.part)
                return self._terminal(regex(node))
            case Seq():
                parts = [self._rule(part) for part in node.parts if part != Lit("")]
                return " ".join(parts) or '""'
            case Alt():
                return self._named(node)
            case Rep():
                most = "" if node.most is None else node.most
                bounds = {(0, None): "*", (1, None): "+", (0, 1): "?"}.get(
                    (node.least, node.most), f"{{{node.least},{most}}}"
                )
                return f"({self._rule(node.part)}){bounds}"
            case Ref():
                return self._names[node.rule]
            case Text():
                return self._text(node)
            case AnyOrder():
                return self._any_order(node)

    def _named(self, node: Node) -> str:
        """A rule of its own, for what would otherwise be written again and again."""
        known = self._rules.get(node)
        if known is None:
            options = node.options if isinstance(node, Alt) else (node,)
            if all(isinstance(one, Lexeme) for one in options):  # one terminal, not thousands
                return self._terminal(regex(node))
            known = self._rules[node] = f"a{next(self._count)}"
            self._lines.append(f"{known}: {' | '.join(map(self._rule, options))}")
        return known

    def _terminal(self, expression: str) -> str:
        """A terminal's name; `expression` is the inside of slashes."""
        return self._definition(f"/{expression}/")

    def _definition(self, definition: str) -> str:
        known = self._terminals.get(definition)
        if known is None:
            known = self._terminals[definition] = f"T{next(self._count)}"
            self._lines.append(f"{known}: {definition}")
        return known

    def _text(self, text: Text) -> str:
        match text.form:
            case Form.JSON | Form.JSON_IN_MARKS:
                body = self._bounded(text, _JSON_CHAR, in_json=True)
                return self._definition(f'"\\"" {body} "\\""')
            case Form.RAW | Form.RAW_AMONG_JSON:
                return self._raw(text)

    def _raw(self, text: Text) -> str:
        body = self._bounded(text, "(?s:.)", in_json=False)
        start = f"{json.dumps(text.start)} " if text.start else ""
        raw = self._definition(f"{start}{body} {json.dumps(text.end)}")
        if text.patterns or text.most == 0:
            return raw
        # The escaped form of `formats.values`: for strings that cannot stand raw.
        least, most = max(text.least - 1, 0), "" if text.most is None else text.most - 1
        first = rf"\\u(?:[0-9a-cA-CeEfF]{_HEX}{{3}}|[dD][0-7]{_HEX}{{2}})"
        char = rf'(?:[^"\\\x00-\x1f<>]|{_ESCAPE})'
        escaped = self._terminal(f'"{first}{char}{{{least},{most}}}"{regex(Lit(text.end))}')
        return f"({raw} | {escaped})"

    def _bounded(self, text: Text, char: str, *, in_json: bool) -> str:
        """The terminal of a string's inside: all its bounds at once."""
        most = "" if text.most is None else text.most
        both = [f"/{char}{{{text.least},{most}}}/"]
        both += [f"/{regex(escaped_json(one) if in_json else one)}/" for one in text.patterns]
        if text.form is not Form.JSON:
            both.append(f"~/(?s:.)*{_MARKS}(?s:.)*/")
        if text.form in {Form.RAW, Form.RAW_AMONG_JSON}:
            both.append(f"~/{_ESCAPED_FORM}/")
        if text.form is Form.RAW_AMONG_JSON:
            both.append(f"~/{_LIKE_JSON}/")
        if text.excluded:
            names = alt(Lit(json.dumps(one, ensure_ascii=False)[1:-1]) for one in text.excluded)
            both.append(f"~/{regex(names)}/")
            both.append(r"/[^\\]*/")  # nor in another spelling
        return self._definition(" & ".join(both)) if len(both) > 1 else self._definition(both[0])

    def _any_order(self, node: AnyOrder) -> str:
        """`m`: nothing yet; `n::_`: the entries whose bits are set are there."""
        known = self._rules.get(node)
        if known is not None:
            return known
        name = self._rules[node] = f"m{next(self._count)}"
        entries = [self._named(one) for one in (*node.required, *node.optional)]
        unordered, ordered = entries[:MAX_UNORDERED], entries[MAX_UNORDERED:]
        required = len(node.required)
        if required > MAX_UNORDERED:
            return self._in_order(node, name)
        separator = "" if node.separator == Lit("") else f"{self._rule(node.separator)} "
        extra = None if node.extra is None else self._named(node.extra)
        tail = " ".join(f"({separator}{one})?" for one in ordered)
        first = [f"{one} {name}r::{1 << place:#x}" for place, one in enumerate(unordered)]
        rest = [
            f"{separator}{one} {name}r::set_bit({place}) %if bit_clear({place})"
            for place, one in enumerate(unordered)
        ]
        if extra is not None:
            first.append(f"{extra} {name}r::0x0")
            rest.append(f"{separator}{extra} {name}r::_")
        end = tail or '""'
        first += [] if required else ['""']
        rest.append(f"{end} %if is_ones([0:{required}])" if required else end)
        self._lines += [f"{name}: " + "\n | ".join(first), f"{name}r::_ : " + "\n | ".join(rest)]
        return name

    def _in_order(self, node: AnyOrder, name: str) -> str:
        parts = list(node.required)
        body: list[Node] = [parts[0], *(seq(node.separator, one) for one in parts[1:])]
        body += [Rep(seq(node.separator, one), 0, 1) for one in node.optional]
        self._lines.append(f"{name}: {' '.join(map(self._rule, body))}")
        return name


def _escaped(char: str) -> str:
    plain = (char.isascii() and char.isalnum()) or char in "_=,:;@!%`"
    return char if plain else _code(ord(char))


def _code(code: int) -> str:
    return f"\\x{{{code:X}}}"
