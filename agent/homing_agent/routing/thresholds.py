"""Every number of the routing rule, in one place.

None of them is calibrated: they are first guesses from a few dozen requests that were tried by hand
on the 0.5B stand-in at four bits, and say nothing about an error rate. A calibrated rule replaces
`MarginRule`, not this table's readers.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Thresholds:
    """Below these the phone's own model counts as doubtful. Probabilities are in [0, 1].

    Attributes:
        call_probability: of the token that opened the call. A small model that wants to call a tool
            spreads its belief over several ways to begin, so this is well below its wish to call.
        name_probability: of the whole tool name.
        name_margin: between the best and second-best token of the name.
        argument_probability: of the least likely token in the arguments.
        grammar_share: of the probability that a grammar left over.
        said_share: of an argument's words, how many the person said, for a tool that acts.
        said_share_read: the same for a tool that only reads.
        text_first_probability: of the first token of a text.
        text_token_probability: geometric mean over the first tokens of a text.
        failures: this many failed attempts and the phone gives up.
        context_share: of the phone's context, how much a prompt may fill.
        second_look_overlap: share of a tool's own words that a request has, from which on words
            give way to a call that is tried.
        fitting_probability: of the whole name of a tool whose probability fell by what was asked.
    """

    call_probability: float = 0.3
    name_probability: float = 0.5
    name_margin: float = 0.2
    argument_probability: float = 0.1
    grammar_share: float = 0.2
    said_share: float = 0.5
    said_share_read: float = 0.25
    text_first_probability: float = 0.1
    text_token_probability: float = 0.7
    failures: int = 2
    context_share: float = 0.75
    second_look_overlap: float = 0.3
    fitting_probability: float = 0.4


DEFAULT_THRESHOLDS = Thresholds()
