"""Strings in GBNF, which knows no complement: what a string must not hold is spelt out.

Where that would take too many rules they are narrower than the schema; see `gbnf`.
"""

from __future__ import annotations

from typing import Final, NoReturn

from homing_core.errors import UsageError

from homing_inference.grammar.escapes import escaped_json
from homing_inference.grammar.expressions import (
    Alt,
    Chars,
    Form,
    Lit,
    Node,
    Rep,
    Seq,
    Text,
    alt,
    chars,
    inverted,
    one_of,
    optional,
    seq,
    without,
)
from homing_inference.grammar.measures import expanded_size, length_bounds

MAX_REPEATED: Final = 2000
"""llama.cpp's own limit of a counted repetition."""
_MAX_NESTED: Final = 400
"""Characters of a pattern with repetitions in repetitions: each way is followed on its own."""
_HINT: Final = "Install llguidance, turn call_grammar off, or change the tool's schema."

_HEX: Final = chars((0x30, 0x39), (0x41, 0x46), (0x61, 0x66))
_UNICODE: Final = seq(
    Lit("u"),
    alt(
        [
            seq(without(_HEX, one_of("dD")), Rep(_HEX, 3, 3)),
            seq(one_of("dD"), chars((0x30, 0x37)), Rep(_HEX, 2, 2)),
        ]
    ),
)
_ESCAPE: Final = seq(Lit("\\"), alt([one_of('"\\/bfnrt'), _UNICODE]))
_PLAIN: Final = inverted(chars((1, 0x1F), (0x22, 0x22), (0x5C, 0x5C)))
_LESS: Final = one_of("<")
_MARKED: Final = one_of("<pft")
_BLANKS: Final = chars(
    (1, 0x20),
    (0x7F, 0xA0),
    (0x2000, 0x200F),
    (0x2028, 0x202F),
    (0x3000, 0x3000),
    (0x1680, 0x1680),
    (0x205F, 0x205F),
    (0xFEFF, 0xFEFF),
)
_WORDS: Final = ("true", "false", "null", "True", "False", "None", "NaN", "Infinity")
_NUMERIC: Final = one_of("0123456789.eE+-")


def text_rule(text: Text) -> Node:
    """A string as rules that hold no `Text`.

    Raises:
        UsageError: GBNF has no form for its bounds.
    """
    if text.patterns:
        return _patterned(text)
    most = text.most
    if most is not None:
        most = min(most, MAX_REPEATED)
    if text.least > MAX_REPEATED:
        refuse("asks for a longer string")
    bounded = text.least > 0 or most is not None
    match text.form:
        case Form.JSON:
            body: Node = Rep(alt([_PLAIN, _ESCAPE]), text.least, most)
        case Form.JSON_IN_MARKS:
            plain = without(_PLAIN, _LESS)
            body = (
                Rep(alt([plain, _ESCAPE]), text.least, most)
                if bounded
                else _markless(plain, [_ESCAPE])
            )
        case Form.RAW | Form.RAW_AMONG_JSON:
            return _raw(text, most, bounded=bounded)
    return seq(Lit('"'), body, Lit('"'))


def _raw(text: Text, most: int | None, *, bounded: bool) -> Node:
    least = text.least
    plain = inverted(_LESS)
    if not bounded and text.form is Form.RAW:
        return seq(Lit(text.start), _markless(plain, []), Lit(text.end))
    rest = Rep(plain, max(least - 1, 0), None if most is None else max(most - 1, 0))
    first = without(plain, chars(*_BLANKS.ranges, *one_of('"').ranges))
    body: Node
    if text.form is Form.RAW:
        body = seq(first, rest)
    elif bounded:  # nothing that could begin JSON
        first = without(first, one_of("{[-0123456789tfnTFNI"))
        body = seq(first, rest)
    else:
        body = _unlike_json(first)
    body = body if least else optional(body)
    if most == 0:
        body = Lit("")
    escaped_first = seq(Lit('"\\'), _UNICODE)
    char = alt([without(_PLAIN, one_of("<>")), _ESCAPE])
    tail = Rep(char, max(least - 1, 0), None if most is None else max(most - 1, 0))
    escaped = seq(escaped_first, tail, Lit('"'))
    options = [body] if most == 0 else [body, escaped]
    return seq(Lit(text.start), alt(options), Lit(text.end))


def _patterned(text: Text) -> Node:
    pattern = text.patterns[0]
    least, most = length_bounds(pattern)
    short_enough = text.most is None or (most is not None and most <= text.most)
    if len(text.patterns) > 1 or least < text.least or not short_enough:
        refuse("bounds a string by more, beside a pattern,")
    nested, empty = _repetitions(pattern)
    if empty or expanded_size(pattern) > (_MAX_NESTED if nested else MAX_REPEATED):
        refuse("repeats more in a pattern")
    match text.form:
        case Form.JSON:
            return seq(Lit('"'), escaped_json(pattern), Lit('"'))
        case Form.JSON_IN_MARKS:
            return seq(Lit('"'), escaped_json(_narrowed(pattern, _LESS)), Lit('"'))
        case Form.RAW:  # without `\\`, nothing reads as the escaped form
            return seq(Lit(text.start), _narrowed(pattern, one_of("<\\")), Lit(text.end))
        case Form.RAW_AMONG_JSON:
            return refuse("bounds by a pattern what may be something other than a string, more")


def _repetitions(node: Node, *, within: bool = False) -> tuple[bool, bool]:
    """Whether a repetition holds another one, and whether one repeats what may be empty.

    Of the latter llama.cpp tries every split: a hundred letters would take it hours.
    """
    match node:
        case Rep():
            counts = node.most != 1
            empty = counts and length_bounds(node.part)[0] == 0
            inner_nested, inner_empty = _repetitions(node.part, within=within or counts)
            return (within and counts) or inner_nested, empty or inner_empty
        case Seq() | Alt():
            parts = node.parts if isinstance(node, Seq) else node.options
            found = [_repetitions(one, within=within) for one in parts]
            return any(one for one, _ in found), any(one for _, one in found)
        case _:
            return False, False


def _markless(plain: Chars, others: list[Node]) -> Node:
    """Any text in which no `<` stands before a p, f or t, with or without a slash between."""
    after = without(plain, chars(*_MARKED.ranges, *one_of("/").ranges))
    behind_slash = without(plain, _MARKED)
    less = Rep(Lit("<"), 1, None)
    part = alt(
        [
            plain,
            *others,
            seq(less, alt([after, *others])),
            seq(less, Lit("/"), alt([behind_slash, *others])),
        ]
    )
    return seq(Rep(part), optional(seq(less, optional(Lit("/")))))


def _unlike_json(first: Chars) -> Node:
    """Raw text that does not read as JSON or as a word for a value, with `first` at its start."""
    plain = inverted(_LESS)
    anything = Rep(plain)
    starts = one_of("{[-0123456789" + "".join({word[0] for word in _WORDS}))
    odd = without(without(plain, _NUMERIC), _BLANKS)
    numeric = seq(
        optional(Lit("-")), chars((0x30, 0x39)), Rep(_NUMERIC), Rep(_BLANKS), odd, anything
    )
    dash = seq(Lit("-"), optional(seq(without(plain, one_of("0123456789I")), anything)))
    options: list[Node] = [seq(without(first, starts), anything), numeric, dash]
    return alt([*options, _no_word(_WORDS, top=True)])


def _no_word(words: tuple[str, ...], *, top: bool = False) -> Node:
    """A text that begins as some of the words do but is none of them, blanks behind ignored."""
    plain = inverted(_LESS)
    options: list[Node] = []
    nexts = sorted({word[0] for word in words if word})
    ended = "" in words
    if not top:
        other = without(plain, chars(*one_of("".join(nexts) or "<").ranges, *_BLANKS.ranges))
        options.append(seq(other, Rep(plain)))
        after_blank = seq(Rep(_BLANKS, 1, None), without(plain, _BLANKS), Rep(plain))
        options.append(after_blank if ended else seq(_BLANKS, Rep(plain)))
        if not ended:
            options.append(Lit(""))
    for char in nexts:
        rest = tuple(word[1:] for word in words if word[:1] == char)
        options.append(seq(Lit(char), _no_word(rest)))
    return alt(options)


def _narrowed(node: Node, removed: Chars) -> Node:
    """The same with some characters taken out of every class that has others."""
    match node:
        case Chars():
            kept = without(node, removed)
            return kept if kept.ranges else node
        case Seq():
            return Seq(tuple(_narrowed(one, removed) for one in node.parts))
        case Alt():
            return alt(_narrowed(one, removed) for one in node.options)
        case Rep():
            return Rep(_narrowed(node.part, removed), node.least, node.most)
        case _:
            return node


def refuse(what: str) -> NoReturn:
    """Say what only the other backend can do.

    Raises:
        UsageError: always.
    """
    msg = f"a schema {what} than llama.cpp's grammars can"
    raise UsageError(msg, _HINT)
