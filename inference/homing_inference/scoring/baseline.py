"""How a model leans to each tool before anybody has said anything.

Small models favour tools by their position and by what they were trained on. The same scores after
a request without content show that leaning, so that it can be taken off. The request is "N/A", one
of those that "Calibrate Before Use" (arXiv:2102.09690) tried: taking its scores off told requests
that fit a tool from others at an AUC of 0.89, against 0.56 without (best name, 0.5B stand-in, 115
cases of BFCL). An average over several such requests would cost a prefill for each.
"""

from __future__ import annotations

import dataclasses
from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from homing_core.messages import Role, user
from homing_core.scoring import CONTENT_FREE

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from homing_core.messages import Message
    from homing_core.scoring import ToolScores

BASELINE_FLOOR: Final = 1e-4
"""Share of the mass from which on a branch is looked at. Lower than for a request: a name that is
rare here may be likely there, and this is computed only once a prefix."""
_KEPT: Final = 64


@dataclass(frozen=True, slots=True)
class BaselineKey:
    """What a baseline depends on.

    Attributes:
        prefix_sha256: of the rendered system message and tools, hex.
        adapter: name of a LoRA adapter; empty for none.
        names: the scored tools, sorted.
    """

    prefix_sha256: str
    adapter: str
    names: tuple[str, ...]

    @classmethod
    def of(cls, prefix_sha256: str, adapter: str, names: Iterable[str]) -> BaselineKey:
        """The key for names in whatever order they come."""
        return cls(prefix_sha256, adapter, tuple(sorted(set(names))))


@dataclass(frozen=True, slots=True)
class Baseline:
    """The scores after a request without content. Logarithms are natural.

    Attributes:
        names: of each tool, among all of them; an upper bound for one that is very unlikely.
        call: that the answer begins with a call.
    """

    names: Mapping[str, float]
    call: float

    @classmethod
    def of(cls, scores: ToolScores) -> Baseline:
        """What was scored after `content_free`."""
        return cls({name.name: name.logprob for name in scores.names}, scores.call_logprob)

    def added_to(self, scores: ToolScores) -> ToolScores:
        """The scores of a request, with this beside them."""
        names = tuple(
            dataclasses.replace(name, baseline=self.names.get(name.name)) for name in scores.names
        )
        return dataclasses.replace(scores, names=names, call_baseline=self.call)


class Baselines:
    """The baselines of the prefixes used last. In memory only: they are cheap to compute again."""

    def __init__(self, kept: int = _KEPT) -> None:
        """None is known; at most `kept` will be."""
        self._kept: Final = kept
        self._known: Final[OrderedDict[BaselineKey, Baseline]] = OrderedDict()

    def get(self, key: BaselineKey) -> Baseline | None:
        """A baseline, which counts as used now."""
        if key not in self._known:
            return None
        self._known.move_to_end(key)
        return self._known[key]

    def put(self, key: BaselineKey, baseline: Baseline) -> None:
        """Keep one; the least recently used makes room."""
        self._known[key] = baseline
        self._known.move_to_end(key)
        while len(self._known) > self._kept:
            self._known.popitem(last=False)


def content_free(messages: Sequence[Message]) -> tuple[Message, ...]:
    """The conversation whose scores are the baseline: leading system messages, and no request."""
    leading: list[Message] = []
    for message in messages:
        if message.role is not Role.SYSTEM:
            break
        leading.append(message)
    return (*leading, user(CONTENT_FREE))
