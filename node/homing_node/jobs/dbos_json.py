"""How DBOS keeps ids and numbers: as JSON, so that nothing which is read back can run.

Its own default is a pickle: readable on disk, and whoever could write to a shared Postgres would
have code of theirs run. Importing this imports DBOS.
"""

from __future__ import annotations

import json
from typing import Any

from dbos import Serializer


class JsonSerializer(Serializer):
    """See the module."""

    def serialize(self, data: Any) -> str:  # noqa: ANN401  # as its base
        """As JSON; of an error only the type, for its text may speak of what a job is about."""
        return json.dumps(data, default=_plain)

    def deserialize(self, serialized_data: str) -> Any:  # noqa: ANN401  # as its base
        """From JSON."""
        return json.loads(serialized_data)

    def name(self) -> str:
        """What stands beside each row."""
        return "homing_json"


def json_serializer() -> Serializer:
    """What DBOS is given."""
    return JsonSerializer()


def _plain(value: object) -> str:
    return type(value).__name__
