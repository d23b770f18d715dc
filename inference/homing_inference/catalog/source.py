"""Where a model's file can come from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from homing_inference.catalog.models import ModelEntry
    from homing_inference.catalog.progress import Progress
    from homing_inference.catalog.store import Store, StoredModel


class Source(Protocol):
    """Brings one kind of origin into the store."""

    async def fetch(self, entry: ModelEntry, store: Store, progress: Progress) -> StoredModel:
        """Bring the file, going on with what an earlier try left. The caller holds the lock.

        Cancelling it stops the transfer; what has arrived stays for the next try.

        Raises:
            UnavailableError: the origin cannot be reached, or broke off too often.
            NotFoundError: the origin does not hold the file.
            RefusedError: the origin wants a licence accepted or a token.
            IntegrityError: what arrived is not what was expected.
            InvalidDataError: the origin's answer cannot be read.
            OverloadedError: the disk is too full.
        """
        ...
