"""Opening a sealed result with whichever of this phone's keys it was sealed for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from homing_core.errors import HomingError, IntegrityError
from homing_crypto.result_opener import ResultOpener
from homing_crypto.results import LENGTH_BYTES, MAX_LETTER_BYTES, open_result_letter

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from homing_core.clock import Clock
    from homing_core.jobs import JobResult
    from homing_crypto.certificates import CheckedCertificate
    from homing_crypto.identity import DeviceIdentity

    from homing_client.jobs.entry import JobEntry

_PIECE_BYTES: Final = 1 << 18


class KeyedOpener:
    """Implements `homing_client.jobs.fetching.Opener`.

    Args:
        identities: this phone's keys, the present one first.
        clock: wall time.
    """

    def __init__(self, identities: Callable[[], tuple[DeviceIdentity, ...]], clock: Clock) -> None:
        """Keep where the keys are."""
        self._identities = identities
        self._clock = clock

    def __call__(
        self, entry: JobEntry, sender: CheckedCertificate, sealed: Path, folder: Path
    ) -> tuple[JobResult, str]:
        """See `Opener`."""
        with sealed.open("rb") as file:
            size = int.from_bytes(file.read(LENGTH_BYTES))
            if size > MAX_LETTER_BYTES:
                msg = "that is no sealed result"
                raise IntegrityError(msg, "Fetch it again.")
            identity = self._recipient(entry, sender, file.read(size))
            file.seek(0)
            now = self._clock.now()
            with ResultOpener(identity, sender, entry.id, now, folder) as opener:
                while piece := file.read(_PIECE_BYTES):
                    opener.feed(piece)
                opened = opener.finish()
        return opened.result, opened.sha256

    def _recipient(
        self, entry: JobEntry, sender: CheckedCertificate, letter: bytes
    ) -> DeviceIdentity:
        """Whose letter it is: the key's at submission most likely."""
        found = sorted(self._identities(), key=lambda one: one.device_id != entry.key)
        problem: HomingError = IntegrityError("this phone has no key", "")
        for identity in found:
            try:
                open_result_letter(identity, sender, entry.id, letter, self._clock.now())
            except IntegrityError as error:
                problem = error
                continue
            return identity
        raise problem
