"""What went wrong at a server, as one of our errors.

A server's own words are read but never repeated: they may hold the prompt, or the key.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Final

from homing_core.errors import (
    ConfigError,
    HomingError,
    InvalidDataError,
    NotFoundError,
    OverloadedError,
    RefusedError,
    TooLongError,
    UnavailableError,
    UsageError,
)

from homing_inference.upstream.wire import count_of, object_of, text_of

if TYPE_CHECKING:
    from collections.abc import Mapping

_MAX_DELAY_MS: Final = 3_600_000
_TOO_LONG: Final = re.compile(
    r"context[ _](?:length|size|window)|exceed_context|maximum input length|prompt is too long",
    re.IGNORECASE,
)
_LIMIT: Final = re.compile(
    r"(?:context length is (?:only )?|context window of |context size \()(\d{1,9})", re.IGNORECASE
)
_PROMPT: Final = re.compile(
    r"(\d{1,9}) (?:in the (?:messages|prompt)|input tokens)|"
    r"(?:Requested tokens|request) \((\d{1,9})",
    re.IGNORECASE,
)


class AnsweredError(Exception):
    """A server answered with an error.

    Attributes:
        status: of HTTP; 0 for an error inside a stream.
        said: the server's words; for decisions, never to be shown.
        error: ours.
        prompt_tokens: how many the prompt takes, where it is the length; otherwise 0.
        context_tokens: how many the model holds, likewise.
    """

    def __init__(
        self, status: int, said: str, error: HomingError, *, prompt: int = 0, context: int = 0
    ) -> None:
        """Keep all of it apart; the text of this exception says nothing."""
        super().__init__(status)
        self.status = status
        self.said = said
        self.error = error
        self.prompt_tokens = prompt
        self.context_tokens = context


def answered(status: int, body: object, headers: Mapping[str, str], place: str) -> AnsweredError:
    """What an HTTP answer other than 2xx means.

    Args:
        status: of HTTP, or 0 for an error object inside a stream.
        body: the JSON that came with it, or its text.
        headers: of the answer, names in lower case.
        place: host and port.
    """
    whole = object_of(body)
    inner = object_of(whole.get("error")) or whole
    said = " ".join(
        text_of(word)
        for word in (
            inner.get("message"), inner.get("type"), inner.get("code"), inner.get("param"),
            whole.get("error"), whole.get("detail"), body,
        )
        if isinstance(word, str)
    )  # fmt: skip
    too_long = _too_long(status, said, inner)
    if too_long is not None:
        return too_long
    return AnsweredError(status, said, _error(status or _inner_status(inner), headers, place))


def too_long(prompt: int, context: int) -> TooLongError:
    """The request is longer than the model's context; the counts are 0 where unknown."""
    hint = "Shorten it, offer fewer tools, or start a new conversation."
    if prompt and context:
        msg = f"the request would take {prompt} tokens, but the model holds {context}, "
        return TooLongError(f"{msg}answer included", hint)
    return TooLongError("the request does not fit the model's context", hint)


def cut_off() -> UnavailableError:
    """The stream ended before the answer."""
    return UnavailableError("the model server broke off in the middle of the answer", "Ask again.")


def closed() -> UnavailableError:
    """`close` was called."""
    return UnavailableError("the engine was closed", "Start it again.")


def _too_long(status: int, said: str, inner: Mapping[str, object]) -> AnsweredError | None:
    if not _TOO_LONG.search(said) or status in {401, 403, 404, 429}:
        return None
    limit, prompt = _LIMIT.search(said), _PROMPT.search(said)
    context = count_of(inner.get("n_ctx")) or (int(limit[1]) if limit else 0)
    found = count_of(inner.get("n_prompt_tokens"))
    if prompt and not found:
        found = int(prompt[1] or prompt[2])
    return AnsweredError(status, said, too_long(found, context), prompt=found, context=context)


def _error(status: int, headers: Mapping[str, str], place: str) -> HomingError:
    delay = _delay_ms(headers.get("retry-after", ""))
    error: HomingError
    if 300 <= status < 400:  # noqa: PLR2004  # HTTP's own classes
        msg = f"the model server at {place} sends requests elsewhere"
        error = ConfigError(msg, "Write the address that it sends them to as its url.")
    elif status in {401, 402, 403}:
        msg = f"the model server at {place} refuses the request"
        error = RefusedError(msg, "Check api_key, and what that key may do.")
    elif status == 404:  # noqa: PLR2004
        msg = f"the model server at {place} does not know the model or the path"
        error = NotFoundError(msg, "Check url and model.")
    elif status == 429 or (status == 503 and delay):  # noqa: PLR2004
        msg = f"the model server at {place} is overloaded"
        error = OverloadedError(msg, "Try again a little later.", delay)
    elif status in {405, 501}:
        error = UsageError(f"the model server at {place} cannot do that", "Ask another one.")
    elif status == 408 or status >= 500 or status == 0:  # noqa: PLR2004
        msg = f"the model server at {place} failed"
        error = UnavailableError(msg, "Try again; the server's own log says more.")
    else:
        msg = f"the model server at {place} does not accept the request"
        error = InvalidDataError(msg, "The server's own log says why.")
    return error


def _inner_status(inner: Mapping[str, object]) -> int:
    code = inner.get("code")
    if isinstance(code, str) and code.isascii() and code.isdecimal():
        code = int(code[:3])
    status = count_of(code)
    return status if 400 <= status < 600 else 0  # noqa: PLR2004  # HTTP's own classes


def _delay_ms(header: str) -> int:
    """`Retry-After` in milliseconds: seconds or a date (RFC 9110, 10.2.3); 0 if it says nothing."""
    word = header.strip()[:64]
    if re.fullmatch(r"\d{1,9}(?:\.\d{1,9})?", word):
        return min(int(float(word) * 1000), _MAX_DELAY_MS)
    try:
        when = parsedate_to_datetime(word)
    except (ValueError, TypeError, OverflowError):
        return 0
    when = when if when.tzinfo else when.replace(tzinfo=UTC)
    left = (when - datetime.now(UTC)).total_seconds() * 1000
    return int(min(max(left, 0), _MAX_DELAY_MS))
