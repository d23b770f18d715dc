"""How sure a model was, of a call and of each token."""

from __future__ import annotations

from homing_core.generation import CallSignals, NameProbability, TokenLogprob, TokenLogprobs

from homing_proto.codec import limits
from homing_proto.codec.fields import (
    encoder,
    log_probability,
    max_chars,
    max_items,
    probability,
    readable,
)
from homing_proto.codec.tools import decode_tool_name
from homing_proto.v1 import inference_pb2 as wire


@encoder
def encode_call_signals(value: CallSignals) -> wire.CallSignals:
    """How sure the model was of a call."""
    return wire.CallSignals(
        call_probability=value.call_probability,
        name_probability=value.name_probability,
        name_margin=value.name_margin,
        lowest_argument_probability=value.lowest_argument_probability,
        grammar_share=value.grammar_share,
        argument_decile=value.argument_decile,
        argument_median=value.argument_median,
        names=[
            wire.NameProbability(name=score.name, probability=score.probability)
            for score in value.names
        ],
    )


def decode_call_signals(message: wire.CallSignals) -> CallSignals:
    """Raises `InvalidDataError`.

    Of the same tokens no decile lies below the lowest and no median below the decile. Where one
    does, the sender was of a version that did not send it, and the lower figure is what is known.
    """
    max_items(message.names, limits.MAX_TOOLS, "names of tools")
    lowest = probability(message.lowest_argument_probability, "argument probability")
    decile = max(lowest, probability(message.argument_decile, "argument decile"))
    return CallSignals(
        call_probability=probability(message.call_probability, "call probability"),
        name_probability=probability(message.name_probability, "name probability"),
        name_margin=probability(message.name_margin, "name margin"),
        lowest_argument_probability=lowest,
        grammar_share=probability(message.grammar_share, "grammar share"),
        argument_decile=decile,
        argument_median=max(decile, probability(message.argument_median, "argument median")),
        names=tuple(
            NameProbability(
                decode_tool_name(score.name), probability(score.probability, "name probability")
            )
            for score in message.names
        ),
    )


@encoder
def encode_token_logprobs(value: TokenLogprobs) -> wire.TokenLogprobs:
    """Tokens with their probabilities."""
    return wire.TokenLogprobs(
        tokens=[
            wire.TokenLogprob(
                text=_token_text(token.text),
                logprob=log_probability(token.logprob, "log-probability"),
                top=[
                    wire.TokenAlternative(
                        text=_token_text(text), logprob=log_probability(logprob, "log-probability")
                    )
                    for text, logprob in token.top
                ],
            )
            for token in value.tokens
        ]
    )


def decode_token_logprobs(message: wire.TokenLogprobs) -> TokenLogprobs:
    """Raises `InvalidDataError`."""
    max_items(message.tokens, limits.MAX_EVENT_TOKENS, "tokens in an event")
    return TokenLogprobs(tuple(_decode_token(token) for token in message.tokens))


def _token_text(text: str) -> str:
    return readable(text[: limits.MAX_TOKEN_CHARS])


def _decode_token(message: wire.TokenLogprob) -> TokenLogprob:
    max_items(message.top, limits.MAX_LOGPROBS, "alternatives for a token")
    return TokenLogprob(
        text=max_chars(message.text, limits.MAX_TOKEN_CHARS, "token"),
        logprob=log_probability(message.logprob, "log-probability"),
        top=tuple(
            (
                max_chars(other.text, limits.MAX_TOKEN_CHARS, "token"),
                log_probability(other.logprob, "log-probability"),
            )
            for other in message.top
        ),
    )
