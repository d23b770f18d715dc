"""Tool names by tokens: what may come next, and which names it leaves."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np
import pytest
from homing_inference.formats.base import CallSyntax
from homing_inference.formats.hermes_json import HermesJsonFormat
from homing_inference.formats.qwen35_xml import Qwen35XmlFormat
from homing_inference.llama.library import load_library
from homing_inference.llama.vocabulary import Vocabulary
from homing_inference.scoring.call_opening import call_opening
from homing_inference.scoring.names import NameTrie, NameTries, Place, written_name
from homing_inference.scoring.token_texts import TokenTexts
from hypothesis import given, settings
from hypothesis import strategies as st
from support.dreamt_model import DreamtVocabulary
from support.dreamt_names import groups_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

JSON = HermesJsonFormat.syntax or CallSyntax("", "", "")
XML = Qwen35XmlFormat.syntax or CallSyntax("", "", "")
NAMES = ("get_weather", "get_time", "set", "set_timer", "set_alarm", "Get_time", "search", "mail")
ODD = ("_x", "1st", 'a"b', "a>b", "über", "時計", "set\n", "<tool_call>", "a\\", " ", "-", "a b")


@pytest.fixture(scope="module")
def vocabulary(stand_in_phone: Path) -> Iterator[Vocabulary]:
    """The real vocabulary of 150,000 tokens, without the weights."""
    library = load_library()
    parameters = library.llama_model_default_params()
    parameters.vocab_only = True
    handle = library.llama_model_load_from_file(str(stand_in_phone).encode(), parameters)
    yield Vocabulary(library, library.llama_model_get_vocab(handle))
    library.llama_model_free(handle)


@pytest.fixture(scope="module")
def texts(vocabulary: Vocabulary) -> TokenTexts:
    return TokenTexts(vocabulary)


def _targets(trie: NameTrie) -> list[bytes]:
    return [(written_name(name, trie.closing) + trie.closing).encode() for name in trie.names]


def _check_branches(trie: NameTrie, pieces: list[bytes], place: Place) -> None:
    """Against every token of the vocabulary, one by one."""
    targets = [place.lead + target[len(place.written) :] for target in _targets(trie)]
    alive = targets[place.first : place.last]
    wanted = groups_of(pieces, b"", alive)
    branches = trie.branches(place)
    found = {
        frozenset(targets[first:last]): sorted(branches.tokens[branches.branch == branch].tolist())
        for branch, (first, last) in enumerate(branches.names)
    }
    assert found == wanted


@pytest.mark.parametrize("syntax", [JSON, XML], ids=["json", "xml"])
def test_every_token_that_can_write_a_name_is_known(
    syntax: CallSyntax, vocabulary: Vocabulary, texts: TokenTexts
) -> None:
    trie = NameTrie((*NAMES, *ODD), syntax.closing, texts)
    pieces = [vocabulary.piece(token) for token in range(vocabulary.size)]
    get = trie.after(trie.start(), b"get_")
    settled = trie.after(trie.start(), b"set")
    assert get is not None
    assert settled is not None
    for place in (trie.start(), trie.start(b'":'), get, settled):
        _check_branches(trie, pieces, place)


@pytest.mark.parametrize("syntax", [JSON, XML], ids=["json", "xml"])
def test_the_usual_tokens_of_a_call_lead_to_its_name(
    syntax: CallSyntax, vocabulary: Vocabulary, texts: TokenTexts
) -> None:
    for names in (NAMES, (*NAMES, *ODD), NAMES[:1], ("mcp__home__on", "mcp__home__off")):
        trie = NameTrie(names, syntax.closing, texts)
        opening = call_opening(trie, syntax, vocabulary)
        assert vocabulary.piece(opening.tokens[0]) == syntax.mark.encode()
        assert opening.mark == (0, 1)
        behind = '", "arguments": {}}' if syntax is JSON else ">\n<parameter=a>"
        for index, name in enumerate(trie.names):
            written = syntax.opening + written_name(name, syntax.closing) + behind
            tokens = vocabulary.tokenize(written)
            assert tuple(tokens[: len(opening.tokens)]) == opening.tokens
            place: Place | None = opening.place
            for token in tokens[len(opening.tokens) :]:
                assert place is not None
                branches = trie.branches(place)
                assert token in branches.tokens
                place = trie.follow(place, token)
                if place is not None and place.complete:
                    break
            assert place is not None
            assert place.names == (index, index + 1)
            assert place.complete


def test_what_all_names_begin_with_is_part_of_the_opening(
    vocabulary: Vocabulary, texts: TokenTexts
) -> None:
    trie = NameTrie(("mcp__home__on", "mcp__home__off"), JSON.closing, texts)
    opening = call_opening(trie, JSON, vocabulary)
    assert opening.place.written == b"mcp__home__"
    assert opening.place.names == (0, 2)
    # The name of a lone tool is not computed.
    lone = NameTrie(("mcp__home__on",), JSON.closing, texts)
    assert call_opening(lone, JSON, vocabulary).place.written == b""


def test_a_token_may_reach_from_the_opening_into_a_name(
    vocabulary: Vocabulary, texts: TokenTexts
) -> None:
    trie = NameTrie(NAMES, XML.closing, texts)
    opening = call_opening(trie, XML, vocabulary)
    assert opening.place.lead == b"="
    assert [vocabulary.piece(token) for token in opening.tokens][-1] == b"function"
    (token,) = vocabulary.tokenize("=get")
    place = trie.follow(opening.place, token)
    assert place is not None
    assert place.written == b"get"
    assert {trie.names[name] for name in range(*place.names)} == {"get_time", "get_weather"}


def test_a_call_behind_a_think_block_that_is_closed_first(
    vocabulary: Vocabulary, texts: TokenTexts
) -> None:
    trie = NameTrie(NAMES, JSON.closing, texts)
    lead = "\n</think>\n\n"
    opening = call_opening(trie, JSON, vocabulary, lead)
    first, last = opening.mark
    before = b"".join(vocabulary.piece(token) for token in opening.tokens[:first])
    assert before == lead.encode()
    assert [vocabulary.piece(token) for token in opening.tokens[first:last]] == [b"<tool_call>"]


def test_a_mark_of_several_tokens() -> None:
    vocabulary = DreamtVocabulary([b"<call", b'>{"'])
    trie = NameTrie(("a", "b"), '"', TokenTexts(vocabulary))
    opening = call_opening(trie, CallSyntax("<call>", '<call>{"', '"'), vocabulary)
    assert opening.mark == (0, 2)
    assert opening.place == trie.start()


def test_a_name_that_begins_another_ends_with_what_closes_it(texts: TokenTexts) -> None:
    trie = NameTrie(("set", "set_timer"), '"', texts)
    within = trie.after(trie.start(), b"set")
    assert within is not None
    assert within.names == (0, 2)
    assert not within.complete
    for piece in (b'"', b'",', b'":'):
        ended = trie.after(within, piece)
        assert ended is not None
        assert (trie.names[ended.first], ended.complete) == ("set", True)
    longer = trie.after(within, b"_")
    assert longer is not None
    assert (trie.names[longer.first], longer.complete) == ("set_timer", False)
    assert trie.after(within, b"x") is None
    assert trie.after(trie.start(b"="), b">") is None


def test_names_that_differ_by_case_and_repeated_ones(texts: TokenTexts) -> None:
    trie = NameTrie(("get", "Get", "GET", "get"), ">", texts)
    assert sorted(trie.names) == ["GET", "Get", "get"]
    assert {names for names in trie.branches(trie.start()).names if names[1] - names[0] == 1}


def test_names_that_a_call_must_escape_stay_apart(texts: TokenTexts) -> None:
    for closing in ('"', ">"):
        trie = NameTrie((*ODD, "\ud800", "?"), closing, texts)
        assert len(trie.names) == len(ODD) + 2
        targets = _safe_targets(trie)
        assert not any(
            other is not target and other.startswith(target)
            for target in targets
            for other in targets
        )


def _safe_targets(trie: NameTrie) -> list[bytes]:
    return [
        (written_name(name, trie.closing) + trie.closing).encode("utf-8", "surrogatepass")
        for name in trie.names
    ]


def test_512_tools_take_milliseconds(vocabulary: Vocabulary, texts: TokenTexts) -> None:
    names = [f"{verb}_{what}_{n}" for verb in NAMES for what in NAMES for n in range(8)]
    began = time.perf_counter()
    trie = NameTrie(names, '"', texts)
    opening = call_opening(trie, JSON, vocabulary)
    branches = trie.branches(opening.place)
    spent = time.perf_counter() - began
    assert len(trie.names) == 512
    assert branches.tokens.size
    assert spent < 0.25  # 0.007 s where nothing else runs
    assert trie.branches(opening.place) is branches


def test_the_same_tools_in_another_order_share_a_trie(texts: TokenTexts) -> None:
    tries = NameTries(texts)
    trie = tries.trie(("b", "a"), '"')
    assert tries.trie(("a", "b"), '"') is trie
    assert tries.trie(("a", "b"), ">") is not trie
    for number in range(40):
        tries.trie((f"tool{number}",), '"')
    assert tries.trie(("a", "b"), '"') is not trie


_NAME = st.text("ab_", min_size=1, max_size=5)
_TEXT = st.text('ab_"=,', min_size=2, max_size=4).map(str.encode)


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_branches_agree_with_a_look_at_every_token(data: st.DataObject) -> None:
    names = data.draw(st.lists(_NAME, min_size=1, max_size=6, unique=True))
    longer = data.draw(st.lists(_TEXT, max_size=20))
    vocabulary = DreamtVocabulary(longer)
    trie = NameTrie(names, '"', TokenTexts(vocabulary))
    place = trie.start(data.draw(st.sampled_from([b"", b"=", b'="'])))
    while not place.complete:
        _check_branches(trie, vocabulary.pieces, place)
        tokens = trie.branches(place).tokens.tolist()
        assert tokens
        token = data.draw(st.sampled_from(tokens))
        further = trie.follow(place, token)
        assert further is not None
        assert (
            further.complete
            or len(further.lead) < len(place.lead)
            or (len(further.written) > len(place.written))
        )
        place = further


def test_masses_are_those_of_all_tokens_of_a_branch() -> None:
    vocabulary = DreamtVocabulary([b"ab", b"ab", b"b"])
    trie = NameTrie(("aa", "ab", "b"), '"', TokenTexts(vocabulary))
    scores = np.linspace(0, 2, vocabulary.size, dtype=np.float32)
    branches = trie.branches(trie.start())
    masses = dict(zip(branches.names, branches.masses(scores, 1.0), strict=True))
    of = {
        text: np.exp(scores - 1.0)[[p == text for p in vocabulary.pieces]].sum()
        for text in (b"a", b"ab", b"b")
    }
    assert masses == pytest.approx({(0, 2): of[b"a"], (1, 2): of[b"ab"], (2, 3): of[b"b"]})
    best = branches.best(branches.names.index((1, 2)), scores)
    assert best == 258
