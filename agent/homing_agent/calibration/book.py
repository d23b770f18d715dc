"""Where calibrations are kept: a folder with a file for each model, prompt and set of tools."""

from __future__ import annotations

import os
import re
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol

from homing_core.errors import HomingError, InternalError

from homing_agent.calibration.file import MAX_BYTES, calibration_text, decode_calibration
from homing_agent.runtime.logs import get_logger

if TYPE_CHECKING:
    from homing_agent.calibration.file import Calibration, Ties

_log = get_logger(__name__)
_UNSAFE: Final = re.compile(r"[^\w.-]+")
_HASH_CHARS: Final = 12
_MOST_CHARS: Final = 200


class Calibrations(Protocol):
    """Calibrations that are known."""

    def find(self, ties: Ties) -> Calibration | None:
        """The one that holds for a model, prompt and set of tools; None if there is none."""
        ...


class CalibrationBook:
    """`Calibrations` in a folder.

    Args:
        folder: made when one is saved.
    """

    def __init__(self, folder: Path) -> None:
        """Nothing is read yet."""
        self._folder = folder

    def find(self, ties: Ties) -> Calibration | None:
        """As in `Calibrations`; a file that cannot be used is logged and passed over."""
        return next((one for one in self.all() if one.ties.holds_for(ties)), None)

    def all(self) -> tuple[Calibration, ...]:
        """Every one that can be used, the newest first."""
        found = filter(None, map(_read, sorted(self._folder.glob("*.json"))))
        return tuple(sorted(found, key=lambda kept: -kept.made_at))

    def save(self, kept: Calibration) -> Path:
        """Keep one, instead of the one with the same ties.

        Raises:
            InternalError: it cannot be written.
        """
        path = self._folder / self.name(kept.ties)
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            descriptor, partial = tempfile.mkstemp(dir=self._folder)
            with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                file.write(calibration_text(kept))
                file.flush()
                os.fsync(file.fileno())
            Path(partial).replace(path)
        except OSError as error:
            msg = f"{path} cannot be written: {error.strerror or 'the system refused it'}"
            raise InternalError(msg, "Make room, or look at the folder's permissions.") from error
        return path

    @staticmethod
    def name(ties: Ties) -> str:
        """The file's name."""
        name = f"{ties.model}-{ties.prefix_sha256[:_HASH_CHARS]}"
        return f"{_UNSAFE.sub('-', name)[:_MOST_CHARS].lstrip('.')}.json"


def _read(path: Path) -> Calibration | None:
    try:
        if path.stat().st_size > MAX_BYTES:
            _log.warning("calibration.too_large", file=path.name)
            return None
        return decode_calibration(path.read_text("utf-8"))
    except HomingError as error:
        _log.warning("calibration.unusable", file=path.name, what=error.what)
    except (OSError, UnicodeDecodeError):
        _log.warning("calibration.unreadable", file=path.name)
    return None
