"""What a person said of the phone's answers: kept on the phone, used at the next calibration.

One JSON object a line. They join the cases that the rule is fitted on, never those that its
threshold is chosen on: people correct what annoys them, so corrections are no fair sample.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from homing_core.errors import InternalError, InvalidDataError
from homing_core.strict_json import Fields
from homing_core.tools import Place
from homing_proto.codec.json_text import decode_json_object

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from homing_core.canonical import JsonObject

    from homing_agent.request import FinalAnswer

_MOST: Final = 100
_MOST_CHARS: Final = 300
_HINT: Final = "Delete that line of feedback.jsonl."


@dataclass(frozen=True, slots=True)
class Correction:
    """What a person said of one answer.

    Attributes:
        request_id: the request.
        right: whether the answer was right.
        model: the phone's model.
        words: whether it was an answer in words, and not a call or a question.
        numbers: what the routing rule saw.
    """

    request_id: str
    right: bool
    model: str
    words: bool
    numbers: Mapping[str, float]


def correction_of(answer: FinalAnswer, *, right: bool) -> Correction | None:
    """What a person's word on an answer teaches; None if nothing, for no rule judged it."""
    call, text = "said_share" in answer.features, "text_first_probability" in answer.features
    if answer.place is not Place.PHONE or not (call or text):
        return None
    return Correction(answer.request_id, right, answer.model, not call, answer.features)


class Corrections:
    """Corrections in a file.

    Args:
        path: the file; made when the first one is added.
    """

    def __init__(self, path: Path) -> None:
        """Nothing is read yet."""
        self._path = path

    def add(self, correction: Correction) -> None:
        """Keep one; a later one of the same request counts instead. On disk when this returns.

        Raises:
            InternalError: it cannot be written.
        """
        content: JsonObject = {
            "request_id": correction.request_id,
            "right": correction.right,
            "model": correction.model,
            "words": correction.words,
            "numbers": dict(correction.numbers),
        }
        try:
            descriptor = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
            with os.fdopen(descriptor, "a", encoding="utf-8") as file:
                file.write(json.dumps(content) + "\n")
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            msg = f"{self._path} cannot be written: {error.strerror or 'the system refused it'}"
            raise InternalError(msg, "Make room, or look at the folder's permissions.") from error

    def of(self, model: str) -> tuple[Correction, ...]:
        """Those of a model, one for each request. A line that is cut off is passed over.

        Raises:
            InvalidDataError: the file cannot be read, or a line is damaged.
        """
        try:
            lines = self._path.read_text("utf-8").splitlines(keepends=True)
        except FileNotFoundError:
            return ()
        except (OSError, UnicodeDecodeError) as error:
            msg = f"{self._path} cannot be read"
            raise InvalidDataError(msg, "Delete it to begin anew.") from error
        whole = (line for line in lines if line.endswith("\n"))
        found = {one.request_id: one for one in map(decode_correction, whole)}
        return tuple(one for one in found.values() if one.model == model)


def decode_correction(line: str) -> Correction:
    """Read one.

    Raises:
        InvalidDataError: this is none.
    """
    names = ("request_id", "right", "model", "words", "numbers")
    fields = Fields(decode_json_object(line, "correction"), names, "a correction", _HINT)
    return Correction(
        fields.text("request_id", _MOST_CHARS),
        fields.flag("right"),
        fields.text("model", _MOST_CHARS),
        fields.flag("words"),
        fields.numbers("numbers", _MOST),
    )
