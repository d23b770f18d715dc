"""Embeddings from a server."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Final

from homing_core.errors import InvalidDataError, UsageError

from homing_inference.upstream.faults import AnsweredError
from homing_inference.upstream.patience import Patience
from homing_inference.upstream.wire import list_of, number_of, object_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from homing_inference.upstream.transport import Transport

Vector = tuple[float, ...]

_BATCH: Final = 32
_MAX_DIMENSIONS: Final = 65_536
_CANNOT: Final = re.compile(r"embedding=True|--embeddings?|not support embedding", re.IGNORECASE)


async def embed(transport: Transport, model: str, texts: Sequence[str]) -> tuple[Vector, ...]:
    """A vector of length 1 for each text.

    Raises:
        UsageError: the server cannot do it.
        TooLongError: a text does not fit.
        InvalidDataError: what it sent are no vectors.
        UnavailableError: it cannot be reached.
    """
    vectors: list[Vector] = []
    for start in range(0, len(texts), _BATCH):
        batch = list(texts[start : start + _BATCH])
        try:
            body = await transport.post(
                "/v1/embeddings", {"model": model, "input": batch}, Patience()
            )
        except AnsweredError as refusal:
            if refusal.status in {404, 405, 501} or _CANNOT.search(refusal.said):
                msg = "this model server cannot turn texts into vectors"
                raise UsageError(msg, "Use a server that serves an embedding model.") from None
            raise refusal.error from None
        vectors += read_vectors(body, len(batch))
    if len({len(vector) for vector in vectors}) > 1:
        raise _no_vectors()
    return tuple(vectors)


def read_vectors(body: object, count: int) -> list[Vector]:
    """The vectors of one answer, in the order of the texts, each brought to length 1.

    Raises:
        InvalidDataError: not exactly so many vectors of finite numbers with a length.
    """
    entries = [object_of(entry) for entry in list_of(object_of(body).get("data"))]
    placed: dict[int, Mapping[str, object]] = {}
    for place, entry in enumerate(entries):
        index = entry.get("index", place)
        placed[index if isinstance(index, int) else -1] = entry
    if len(entries) != count or set(placed) != set(range(count)):
        raise _no_vectors()
    return [_unit(list_of(placed[place].get("embedding"))) for place in range(count)]


def _unit(values: Sequence[object]) -> Vector:
    numbers = [number for value in values if (number := number_of(value)) is not None]
    length = math.hypot(*numbers)
    if len(numbers) != len(values) or len(values) > _MAX_DIMENSIONS or not 0 < length < math.inf:
        raise _no_vectors()
    return tuple(number / length for number in numbers)


def _no_vectors() -> InvalidDataError:
    msg = "the model server sent something else than one vector for each text"
    return InvalidDataError(msg, "Check that it serves an embedding model.")
