"""What the words of a request tell without any model. Pure.

None of them decides by itself: they are features that a learned rule weighs.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from homing_agent.routing.grounding import words_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from homing_core.tools import ToolSpec

_JOINS: Final = re.compile(
    r"\b(?:and then|and|then|afterwards|after that|also|plus|und|et|y|e|en|i|och|og)\b|[;&]",
    re.IGNORECASE,
)
_LINK: Final = re.compile(
    r"https?://|www\.|\b[\w-]+\.(?:com|org|net|example|de|io)\b", re.IGNORECASE
)
_FILE: Final = re.compile(
    r"\.(?:pdf|docx?|odt|txt|md|xlsx?|csv|html?)\b|[~/][\w-]+/", re.IGNORECASE
)
_WORK: Final = re.compile(
    r"\b(?:write|compose|draft|explain|compare|summari[sz]e|translate|analy[sz]e|plan|research"
    r"|essay|story|poem|speech|letter|recipe|code|program|script|list|ideas?|documents?|folder"
    r"|schreib\w*|erklär\w*|vergleich\w*|übersetz\w*|écri\w*|explique\w*|resum\w*)\b",
    re.IGNORECASE,
)
_HARM: Final = re.compile(
    r"\b(?:kill|murder|hurt|harm|attack|beat up|stab|shoot|poison|laxatives?|bomb|weapons?|burglary"
    r"|burgle|rob|steal|stolen|blackmail|threaten|threat|extort|forge|counterfeit|fake|hack|stalk"
    r"|spy|scam|phish\w*|suicide|racist|hate|revenge|drugs?|cocaine|heroin|password of)\b",
    re.IGNORECASE,
)
_REPEATS: Final = re.compile(
    r"\b(?:every|each|daily|weekly|monthly|yearly|jeden|jede|cada|chaque)\b", re.IGNORECASE
)
_STEM: Final = 4
_LONG_WORD: Final = 3


@dataclass(frozen=True, slots=True)
class Clues:
    """Of one request.

    Attributes:
        words: how many words and numbers it has.
        joins: how many words join parts of it ("and", "then").
        question: 1 if it holds a question mark.
        link: 1 if it names a web address or a file.
        digits: how many numbers it has.
        foreign: share of its characters that are not ASCII.
        work: how many words ask for a longer piece of work ("write", "compare").
        repeats: 1 if it asks for something that repeats.
        harm: 1 if a word of violence or crime is in it; many such requests are harmless.
    """

    words: int = 0
    joins: int = 0
    question: float = 0.0
    link: float = 0.0
    digits: int = 0
    foreign: float = 0.0
    work: int = 0
    repeats: float = 0.0
    harm: float = 0.0

    def numbers(self) -> dict[str, float]:
        """The same by name."""
        return {
            "request_words": float(min(self.words, 60)),
            "request_joins": float(min(self.joins, 6)),
            "request_question": self.question,
            "request_link": self.link,
            "request_digits": float(min(self.digits, 6)),
            "request_foreign": self.foreign,
            "request_work": float(min(self.work, 3)),
            "request_repeats": self.repeats,
            "request_harm": self.harm,
        }


def clues(request: str) -> Clues:
    """What a request's words tell."""
    words = words_of(request)
    return Clues(
        words=len(words),
        joins=len(_JOINS.findall(request)),
        question=float("?" in request),
        link=float(bool(_LINK.search(request) or _FILE.search(request))),
        digits=sum(word.isdigit() for word in words),
        foreign=sum(not one.isascii() for one in request) / max(len(request), 1),
        work=len(_WORK.findall(request)),
        repeats=float(bool(_REPEATS.search(request))),
        harm=float(bool(_HARM.search(request))),
    )


def overlap(request: str, tool: ToolSpec) -> float:
    """Share of a tool's own words (of its name and description) that a request has, in [0, 1]."""
    return _share(_stems(words_of(tool.name + " " + tool.description)), _stems(words_of(request)))


def best_rival(request: str, tools: Sequence[ToolSpec], chosen: str) -> float:
    """The highest `overlap` of any tool but the chosen one; 0 if there is no other."""
    return max((overlap(request, tool) for tool in tools if tool.name != chosen), default=0.0)


def _stems(words: Iterable[str]) -> frozenset[str]:
    return frozenset(word[:_STEM] for word in words if len(word) > _LONG_WORD)


def _share(of: frozenset[str], among: frozenset[str]) -> float:
    return len(of & among) / len(of) if of else 0.0
