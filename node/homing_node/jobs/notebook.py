"""What a tool notes of a job, and how far it says to be: kept as it goes, and never too often."""

from __future__ import annotations

import asyncio
import json
import math
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from homing_core.canonical import canonical_json
from homing_core.errors import HomingError, InvalidDataError, UsageError
from homing_core.jobs import JobProgress, JobState
from homing_core.labels import clean_label

from homing_node.jobs.outputs import is_a
from homing_node.jobs.store import Entry, LostJobError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from homing_core.canonical import JsonValue
    from homing_core.clock import Clock

    from homing_node.jobs.records import Records
    from homing_node.jobs.sealed import JobCipher
    from homing_node.jobs.store import Fence

LEAST_S: Final = 0.1
"""Between two events with progress, in seconds; a job that takes long may say less often."""
_SLOWER: Final = 1 / 600
"""A job of an hour then has three thousand events and not forty thousand."""
_MOST_NOTE_BYTES: Final = 4 << 20
_NOTE_CHARS: Final = 200
_UNIT_CHARS: Final = 24
_OWN: Final = "homing/"
_TOOLS: Final = "tool/"


class JobNotebook:
    """A `homing_agent.tool.Notebook` in the job store, encrypted under the job's key.

    Args:
        records: where jobs are kept.
        fence: the attempt.
        cipher: the job's own.
        kept: what earlier attempts noted.
    """

    def __init__(
        self, records: Records, fence: Fence, cipher: JobCipher, kept: Mapping[str, bytes]
    ) -> None:
        """Open it."""
        self._records = records
        self._fence = fence
        self._cipher = cipher
        self._kept = dict(kept)
        self._closed = False

    def get(self, name: str) -> JsonValue:
        """See `Notebook.get`."""
        return self._get(_TOOLS + name)

    async def put(self, name: str, value: JsonValue) -> None:
        """See `Notebook.put`; raises `LostJobError` once the attempt is over."""
        await self._put(_TOOLS + name, value)

    def own(self, name: str) -> JsonValue:
        """What the runner itself noted."""
        return self._get(_OWN + name)

    async def put_own(self, name: str, value: JsonValue) -> None:
        """The same for what the runner itself notes, also after the tool has ended."""
        await self._put(_OWN + name, value, own=True)

    def close(self) -> None:
        """The tool's time is over: a tool that goes on regardless notes nothing more."""
        self._closed = True

    def _get(self, name: str) -> JsonValue:
        blob = self._kept.get(self._cipher.label(name))
        if blob is None:
            return None
        value: JsonValue = json.loads(self._cipher.open(f"note/{name}", blob))
        return value

    async def _put(self, name: str, value: JsonValue, *, own: bool = False) -> None:
        if self._closed and not own:
            msg = "this attempt at the job is over"
            raise LostJobError(msg)
        try:
            plain = canonical_json(value)
        except (TypeError, ValueError, RecursionError) as error:
            msg = "a tool notes something that has no form in JSON"
            raise InvalidDataError(msg) from error
        if len(plain) > _MOST_NOTE_BYTES:
            msg = "a tool notes more at once than can be kept"
            raise UsageError(msg, "Note it in parts.")
        label, blob = self._cipher.label(name), self._cipher.seal(f"note/{name}", plain)
        await self._records.call(self._records.store.put_note, self._fence, label, blob)
        self._kept[label] = blob


class Reporter:
    """Keeps the newest progress of an attempt: often enough to be watched, the last always.

    Args:
        records: where jobs are kept.
        fence: the attempt.
        clock: for events.
        on_lost: told if another attempt has the job.
    """

    def __init__(
        self, records: Records, fence: Fence, clock: Clock, on_lost: Callable[[], None]
    ) -> None:
        """Nothing was said yet."""
        self._records = records
        self._fence = fence
        self._clock = clock
        self._on_lost = on_lost
        self._loop = asyncio.get_running_loop()
        self._began = clock.monotonic()
        self._newest: JobProgress | None = None
        self._written: JobProgress | None = None
        self._news = asyncio.Event()
        self._closed = False
        self._task = asyncio.create_task(self._run())

    @property
    def newest(self) -> JobProgress | None:
        """What was said last."""
        return self._newest

    def report(self, progress: JobProgress) -> None:
        """See `ToolContext.report`; from any thread. What is no progress is not kept."""
        tidy = tidy_progress(progress)
        if tidy is None or self._closed:
            return
        try:
            here = asyncio.get_running_loop() is self._loop
        except RuntimeError:
            here = False
        if here:
            self._take(tidy)
        else:
            self._loop.call_soon_threadsafe(self._take, tidy)

    async def close(self) -> None:
        """Keep what was said last."""
        self._closed = True
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)
        await self._write()

    def _take(self, progress: JobProgress) -> None:
        self._newest = progress
        self._news.set()

    async def _run(self) -> None:
        while True:
            await self._news.wait()
            self._news.clear()
            # Not to be torn from a write that is under way: `close` would write it twice.
            await asyncio.shield(self._write())
            gone = self._clock.monotonic() - self._began
            await asyncio.sleep(max(LEAST_S, gone * _SLOWER))

    async def _write(self) -> None:
        progress = self._newest
        if progress is None or progress == self._written:
            return
        self._written = progress
        entry = Entry(self._clock.now(), JobState.RUNNING, progress)
        store = self._records.store
        try:
            await self._records.change(self._fence.key, store.append, self._fence, entry)
        except LostJobError:
            self._on_lost()
        except HomingError:
            return  # the next one may be kept; a job does not fail for what it says of itself


def tidy_progress(progress: JobProgress) -> JobProgress | None:
    """Progress as it is kept: finite numbers, one clean line; None if it is none."""
    numbers = (progress.done, progress.total)
    if not all(type(number) in {int, float} and math.isfinite(number) for number in numbers):
        return None
    if not all(is_a(word, str) for word in (progress.unit, progress.note)):
        return None
    return replace(
        progress,
        done=max(float(progress.done), 0.0),
        total=max(float(progress.total), 0.0),
        unit=clean_label(progress.unit, _UNIT_CHARS, fallback=""),
        note=clean_label(progress.note, _NOTE_CHARS, fallback=""),
    )
