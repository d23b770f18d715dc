"""Which features each of the learned rules may use."""

from __future__ import annotations

from typing import Final

_REQUEST: Final = (
    "request_words",
    "request_joins",
    "request_question",
    "request_link",
    "request_digits",
    "request_foreign",
    "request_work",
    "request_repeats",
    "request_harm",
)
_NAME: Final = (
    "acts",
    "overlap",
    "overlap_lead",
    "call_probability",
    "name_log",
    "name_margin",
    "rival_probability",
    "name_gain",
    "rival_gain",
)
_OPINION: Final = (
    "opinion_own",
    "opinion_lead",
    "opinion_home",
    "opinion_words",
    "opinion_ask",
)
AT_NAME: Final = (*_REQUEST, *_OPINION, *_NAME, "must_call")
AT_CALL: Final = (
    *AT_NAME,
    "said_share",
    "arguments",
    "unused_numbers",
    "lacking",
    "argument_probability",
    "argument_decile",
    "argument_median",
    "grammar_share",
    "failures",
)
AT_TEXT: Final = (
    *_REQUEST,
    *_OPINION,
    "best_overlap",
    "text_first_probability",
    "text_token_probability",
    "failures",
)
