"""How much one request may take."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """Times in seconds, lengths in characters or tokens.

    Attributes:
        turns: model turns a request may take.
        calls: calls of one turn that are run; the rest is dropped.
        total_s: time for a request, without the time a person takes to answer.
        pick_s: time to find a node; short, since the phone's own answer waits for it.
        consent_s: time a person has to answer a question.
        tool_s: time a tool has.
        phone_tokens: new tokens a turn of the phone's model may have.
        home_tokens: new tokens a turn of home's model may have.
        hold_chars: text held back at most until it is decided where the answer is made.
        result_chars: a tool's result for the model, at most.
        job_chars: the same for a node's tool, which a model on a node reads.
        say_chars: a tool's words for the person, at most.
        say_ends: whether a tool call on the phone that succeeded and has words for the person ends
            the request with them. The call came from the model; the words are the tool's own and
            so are true, and a second turn of a small model would cost a second and could distort
            them. Without it the model words every result.
        home_tool_tokens: what the descriptions of a node's own tools may take of a prompt, by
            estimate; of more, those are offered that the request is about.
        more_tools: share of the phone's context for tools that its pinned prefix cannot hold, of
            which those are offered that the request is about.
        trims: whether optional arguments that nobody said are taken out of calls, because small
            models fill them with something plausible.
    """

    turns: int = 6
    calls: int = 8
    total_s: float = 120.0
    pick_s: float = 1.0
    consent_s: float = 120.0
    tool_s: float = 20.0
    phone_tokens: int = 512
    home_tokens: int = 2048
    hold_chars: int = 160
    result_chars: int = 4000
    job_chars: int = 16_000
    say_chars: int = 4000
    say_ends: bool = True
    home_tool_tokens: int = 3000
    more_tools: float = 0.15
    trims: bool = True
