"""The node's audit log: noting never raises, and never holds up the node for long.

A thread of its own writes. Whoever notes something waits until it is on disk, but no longer than
`WAIT_S`: after that, and until the disk has caught up, nobody waits. What cannot be written stays
in memory and is tried again; what does not fit there is counted, and an entry GAP says how many
were lost.
"""

from __future__ import annotations

import threading
from collections import deque
from typing import TYPE_CHECKING, Final

import structlog
from homing_core.errors import HomingError

from homing_crypto.audit.chain import Draft
from homing_crypto.audit.gathering import Gathering
from homing_crypto.audit.opening import open_or_put_aside
from homing_crypto.audit.records import NODE, AuditKind
from homing_crypto.audit.store import Filter
from homing_crypto.audit.verify import BROKEN, OTHER_KEY, Broken

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path

    from homing_core.canonical import JsonValue
    from homing_core.clock import Clock

    from homing_crypto.identity import DeviceIdentity

WAIT_S: Final = 0.05
"""How long one call may wait for the disk, in seconds. A commit takes about 1 ms on an SSD."""
MOST_WAITING: Final = 1000
"""Entries in memory that are still to be written."""
MOST_ENTRIES: Final = 500_000
"""Above this many the oldest go, however young: about 250 MB."""
KEEP_LEAST: Final = 10_000
"""So many stay, however old: a clock that jumps ahead must not empty the record."""
_BATCH: Final = 200
_GAPS: Final = 100
_RETRY_S: Final = (0.5, 2.0, 10.0)
_PRUNE_EVERY: Final = 1000
_DAY_MS: Final = 86_400_000
_COUNTS_S: Final = 300.0
"""How often to look for counts that are due where nothing else happens."""
_CLOSE_S: Final = 5.0

_log = structlog.get_logger(__name__)


class SqliteAudit:
    """The `Audit` on disk.

    Args:
        path: the file, usually `AUDIT_FILE` in the data directory. One that is damaged is moved
            aside, since a node without a record is worse than one that begins a new record and
            says so; the owner's phone notices.
        clock: when things happen.
        signer: the node's identity at the moment of signing; called in another thread.
        keep_days: entries older than this are removed under a checkpoint; 0 keeps all that fit.

    Raises:
        HomingError: as `homing_crypto.database.Database`, but for a damaged file.
    """

    def __init__(
        self,
        path: Path,
        clock: Clock,
        signer: Callable[[], DeviceIdentity],
        keep_days: int = 0,
    ) -> None:
        """Open it and start the thread that writes."""
        self._clock = clock
        self._signer = signer
        self._keep_days = keep_days
        self.file, aside = open_or_put_aside(path, clock.now())
        self._news = threading.Condition()
        self._waiting: deque[Draft] = deque()
        self._taken = 0
        self._written = 0
        self._lost = 0
        self._behind = False
        self._closing = False
        self._since_pruning = _PRUNE_EVERY
        self._listeners: list[Callable[[], None]] = []
        self._gathering = Gathering()
        self._looked_back = threading.Event()
        self._found: Broken | None = None
        self._thread = threading.Thread(target=self._write_all, name="audit", daemon=True)
        self._thread.start()
        if aside:
            self.record(AuditKind.GAP, actor=NODE, detail={"earlier_record_damaged": aside})

    def record(
        self,
        kind: AuditKind,
        *,
        actor: str,
        device: str = "",
        detail: Mapping[str, JsonValue] | None = None,
    ) -> None:
        """See `Audit.record`."""
        try:
            draft = Draft.of(self._clock.now(), kind.value, actor, device, detail)
            self._take(draft)
        except Exception as error:  # noqa: BLE001  # what was decided takes effect all the same
            _log.error("audit.not_taken", error_type=type(error).__name__)
            with self._news:
                self._lost += 1

    def _take(self, draft: Draft) -> None:
        with self._news:
            before = self._taken
            self._put(self._gathering.take(draft, self._clock.monotonic()))
            mine = self._taken
            if mine > before and not self._behind:
                self._behind = not self._news.wait_for(lambda: self._written >= mine, WAIT_S)

    def _put(self, drafts: Iterable[Draft]) -> None:
        for draft in drafts:
            if self._closing or len(self._waiting) >= MOST_WAITING:
                self._lost += 1
                continue
            self._waiting.append(draft)
            self._taken += 1
        self._news.notify_all()

    def _tell_counts(self, *, all_of_them: bool = False) -> None:
        at_ms, now = int(self._clock.now() * 1000), self._clock.monotonic()
        self._put(self._gathering.due(at_ms, now, all_of_it=all_of_them))

    def settle(self, timeout_s: float) -> bool:
        """Wait until all that was noted is on disk; False if it is not by then."""
        with self._news:
            mine = self._taken
            return self._news.wait_for(lambda: self._written >= mine, timeout_s)

    def looked_back(self) -> Broken | None:
        """What is wrong with the record as this start found it; waits until that is known."""
        self._looked_back.wait()
        return self._found

    @property
    def lost(self) -> int:
        """How many entries could not be taken and are not yet counted in a GAP."""
        return self._lost

    def listen(self, listener: Callable[[], None]) -> Callable[[], None]:
        """Call this, in another thread, after each commit; the result ends that."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def close(self) -> None:
        """Write what is left, within a few seconds, and close the file; harmless twice."""
        with self._news:
            if not self._closing:
                self._tell_counts(all_of_them=True)
            self._closing = True
            self._news.notify_all()
        self._thread.join(_CLOSE_S)
        if self._waiting or self._lost:
            _log.error("audit.lost", count=len(self._waiting) + self._lost)
        self.file.close()

    def _look_back(self) -> None:
        """Before anything is added, which would sign a cut record's end as if it were the end."""
        try:
            found = self.file.check()
            if not isinstance(found, Broken):
                return
            self._found = found
            _log.error("audit.broken", seq=found.seq, why=found.why)
            if found.noted or self._is_known(found):
                return
            now, detail = self._clock.now(), {BROKEN: found.why}
            note = Draft.of(now, AuditKind.GAP.value, NODE, detail=detail)
            self.file.append([note], self._signer(), int(now * 1000))
        except Exception as error:  # noqa: BLE001  # the node starts without it
            _log.error("audit.not_checked", error_type=type(error).__name__)
        finally:
            self._looked_back.set()

    def _is_known(self, found: Broken) -> bool:
        """Whether an entry says it already, or the next one will: of a key that began to sign."""
        signed = self.file.signed_head() if found.why == OTHER_KEY else None
        if signed is not None and signed[1].sha256 == self._signer().certificate.sha256:
            return True
        gaps = self.file.newest(_GAPS, Filter((AuditKind.GAP.value,)))
        return any(entry.facts.get(BROKEN) == found.why for entry in gaps)

    def _write_all(self) -> None:
        self._look_back()
        failures = 0
        while True:
            with self._news:
                self._news.wait_for(lambda: self._waiting or self._closing, _COUNTS_S)
                if not self._waiting:
                    if self._closing:
                        return
                    self._tell_counts()
                    continue
                batch = [self._waiting[n] for n in range(min(len(self._waiting), _BATCH))]
                lost, closing = self._lost, self._closing
            try:
                self._commit(batch, lost)
            except Exception as error:  # noqa: BLE001  # a full disk may have room again
                _log.error("audit.not_written", error_type=type(error).__name__, count=len(batch))
                if closing:
                    return
                pause = _RETRY_S[min(failures, len(_RETRY_S) - 1)]
                failures += 1
                with self._news:
                    self._news.wait_for(lambda: self._closing, pause)
                continue
            failures = 0
            with self._news:
                for _ in batch:
                    self._waiting.popleft()
                self._written += len(batch)
                self._lost -= lost
                self._behind = self._behind and bool(self._waiting)
                self._news.notify_all()
            for listener in tuple(self._listeners):
                listener()
            self._prune(len(batch))

    def _commit(self, batch: list[Draft], lost: int) -> None:
        now = self._clock.now()
        gap = [Draft.of(now, AuditKind.GAP.value, NODE, detail={"lost": lost})] if lost else []
        self.file.append([*gap, *batch], self._signer(), int(now * 1000))

    def _prune(self, written: int) -> None:
        """Now and then, and at the start."""
        self._since_pruning += written
        if self._since_pruning < _PRUNE_EVERY:
            return
        self._since_pruning = 0
        try:
            last, now_ms = self.file.end()[0], int(self._clock.now() * 1000)
            old = self.file.older_than(now_ms - self._keep_days * _DAY_MS) if self._keep_days else 0
            up_to = max(min(old, last - KEEP_LEAST), last - MOST_ENTRIES)
            if up_to > 0 and self.file.prune(up_to, self._signer(), now_ms):
                _log.info("audit.pruned", seq=up_to)
        except HomingError as error:
            _log.error("audit.not_pruned", code=error.code.value, what=error.what)
