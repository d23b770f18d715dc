"""What a small model leaves out of a call, or takes from elsewhere, though the person said it.

It writes "at 8" where the request says "tomorrow morning at 8", or a time of its own. A tool that
can read such words finds them in the request by itself: the longest stretch around what the model
wrote that it understands; and where the model's own words were not said, the only stretch that it
understands at all.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, Protocol, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Callable

    from homing_core.canonical import JsonObject

_TOKEN: Final = re.compile(r"\S+")
_MOST_TOKENS: Final = 60
"""Longer requests are left as they are."""
_MOST_SPAN: Final = 9
_TRIMMED: Final = " .,;:!?()\"'"


@runtime_checkable
class Completing(Protocol):
    """A tool that reads some of its arguments out of the person's own words."""

    def complete(self, arguments: JsonObject, request: str) -> JsonObject:
        """The arguments, completed; as they were where nothing is to be done."""
        ...


def with_completed(
    arguments: JsonObject, name: str, request: str, reads: Callable[[str], bool]
) -> JsonObject:
    """The arguments with one of them completed; it stays absent where nothing is found."""
    written = arguments.get(name, "")
    if not isinstance(written, str):
        return arguments
    words = completed(written, request, reads)
    return arguments if words == written else {**arguments, name: words}


def completed(written: str, request: str, reads: Callable[[str], bool]) -> str:
    """The words for an argument.

    Args:
        written: as the model wrote it; empty if it wrote nothing.
        request: what the person said.
        reads: whether the tool understands some words.

    Returns:
        What the request says, or `written` where it says nothing else for certain.
    """
    spans = [match.span() for match in _TOKEN.finditer(request)]
    if not spans or len(spans) > _MOST_TOKENS:
        return written
    found = _stretches(request, spans, reads)
    around = _around(written, request, spans, found)
    if around is not None:
        return around
    if written and _plain(written) in _plain(request):
        return written
    return _text(request, spans, found[0]) if len(found) == 1 else written


def _stretches(
    request: str, spans: list[tuple[int, int]], reads: Callable[[str], bool]
) -> list[tuple[int, int]]:
    """The longest stretches that are understood, first and last token; none within another."""
    found: list[tuple[int, int]] = []
    start = 0
    while start < len(spans):
        last = min(start + _MOST_SPAN, len(spans))
        end = next(
            (end for end in range(last, start, -1) if reads(_text(request, spans, (start, end)))),
            start,
        )
        if end > start:
            found.append((start, end))
        start = max(end, start + 1)
    return found


def _around(
    written: str, request: str, spans: list[tuple[int, int]], found: list[tuple[int, int]]
) -> str | None:
    """The stretch that holds what the model wrote."""
    wanted = _plain(written)
    if not wanted:
        return None
    texts = [_text(request, spans, stretch) for stretch in found]
    holding = [text for text in texts if wanted in _plain(text)]
    return holding[0] if len(holding) == 1 else None


def _text(request: str, spans: list[tuple[int, int]], stretch: tuple[int, int]) -> str:
    first, last = stretch
    return request[spans[first][0] : spans[last - 1][1]].strip(_TRIMMED)


def _plain(text: str) -> str:
    return " ".join(text.casefold().split()).strip(_TRIMMED)
