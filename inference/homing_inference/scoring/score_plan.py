"""What a scoring computes: a prompt, the opening of a call, and the names that may follow."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from homing_core.errors import UsageError

from homing_inference.formats.marks import THINK_END
from homing_inference.scoring.call_opening import call_opening

if TYPE_CHECKING:
    from collections.abc import Iterable

    from homing_inference.answers.prompts import TokenizedPrompt
    from homing_inference.formats.base import ChatFormat
    from homing_inference.scoring.call_opening import CallOpening, Tokenizer
    from homing_inference.scoring.names import NameTrie, NameTries

LOOKED_AT: Final = 0.01
"""Share of all names' mass from which on a branch is looked at."""
_NO_THOUGHT: Final = f"\n{THINK_END}\n\n"
"""Closes a think block in which nothing was thought, as templates write it for "off"."""


@dataclass(frozen=True, slots=True)
class ScorePlan:
    """What to score.

    Attributes:
        prompt: its tokens, at least one.
        trie: the names.
        opening: tokens that open a call to any of them.
        floor: share of all names' mass from which on a branch is looked at.
    """

    prompt: tuple[int, ...]
    trie: NameTrie
    opening: CallOpening
    floor: float = LOOKED_AT

    @property
    def tokens(self) -> tuple[int, ...]:
        """What to compute first: the prompt and the opening."""
        return (*self.prompt, *self.opening.tokens)

    @property
    def call_at(self) -> range:
        """Indexes into `tokens` whose scores say how likely the mark's tokens are.

        There are several only where the mark is not a token of its own.
        """
        first, last = self.opening.mark
        before = len(self.prompt) - 1
        return range(before + first, before + last)

    @property
    def name_at(self) -> int:
        """Index into `tokens` whose scores say how the names begin."""
        return len(self.prompt) + len(self.opening.tokens) - 1


class ScorePlanner:
    """Makes plans for one model.

    Args:
        chat: its chat format.
        vocabulary: its tokens.
        tries: made from them.
    """

    def __init__(self, chat: ChatFormat, vocabulary: Tokenizer, tries: NameTries) -> None:
        """Keep them."""
        self._chat = chat
        self._vocabulary = vocabulary
        self._tries = tries

    def plan(
        self, prompt: TokenizedPrompt, names: Iterable[str], floor: float = LOOKED_AT
    ) -> ScorePlan:
        """What to compute. Where the prompt opens a think block, it is closed again first.

        Args:
            prompt: the conversation, up to where the model would write.
            names: the tools.
            floor: share of all names' mass from which on a branch is looked at.

        Raises:
            UsageError: there are no tools, or the model has no form for calls.
        """
        syntax = self._chat.call_syntax
        if syntax is None:
            msg = "this model's chat template knows no tools"
            raise UsageError(msg, "Choose a model that was made for tool calls.")
        trie = self._tries.trie(names, syntax.closing)
        if not trie.names:
            msg = "there are no tools to score"
            raise UsageError(msg, "Offer at least one tool.")
        lead = _NO_THOUGHT if prompt.starts_in_thinking else ""
        return ScorePlan(
            prompt.tokens, trie, call_opening(trie, syntax, self._vocabulary, lead), floor
        )
