"""`Workflows` through DBOS, which is imported and launched with the first job.

DBOS keeps a row for each attempt: ids and a number, never what a job is about, as JSON and never as
a pickle. After kill -9 it calls the body again at its next launch; the body finds that the attempt
is not the present one, and leaves. DBOS is one to a process, so only one node in a process may run
its jobs through it. It is driven from a thread without an event loop: within one it would replace
that loop's thread pool by its own, which goes when DBOS is stopped.
"""

from __future__ import annotations

import asyncio
import functools
import logging
import threading
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeVar

from homing_agent.runtime.logs import get_logger
from homing_core.errors import HomingError, UnavailableError
from homing_core.ids import DeviceId, JobId

from homing_node.jobs.store import JobKey

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from pathlib import Path

    from homing_node.jobs.workflows import Body

T = TypeVar("T")

WORKFLOWS_FILE: Final = "workflows.db"
APPLICATION_VERSION: Final = "homing-jobs-1"
"""Kept over upgrades: DBOS recovers only what has the version that runs."""
_NAME: Final = "homing-job"
_SCHEMA: Final = "homing_workflows"
_PAGE: Final = 500
_MS: Final = 1000
_SETTLE_S: Final = 5.0
_LOOK_S: Final = 0.01
_log = get_logger(__name__)


class _Owner:
    """Whose DBOS it is."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.current: DbosWorkflows | None = None


_OWNER: Final = _Owner()


class DbosWorkflows:
    """See `Workflows`. Belongs to one event loop.

    Args:
        folder: where its file lies, if it has one.
        database: URL of a Postgres; empty for a file.
        executor: name of this daemon, the same after each restart.
    """

    def __init__(self, folder: Path, database: str, executor: str) -> None:
        """Nothing is imported yet."""
        self._file = None if database else folder / WORKFLOWS_FILE
        self._url = _postgres(database) or f"sqlite:///{self._file}"
        self._executor = executor
        self._body: Body | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="workflows")
        self._launched = False
        self._begun: set[tuple[JobKey, int]] = set()

    async def launch(self, body: Body) -> None:
        """See `Workflows.launch`."""
        if self._launched:
            return
        self._body, self._loop = body, asyncio.get_running_loop()
        await self._off_loop(self._launch)
        self._launched = True

    async def start(self, key: JobKey, attempt: int) -> None:
        """See `Workflows.start`."""
        self._begun.add((key, attempt))
        try:
            await self._off_loop(partial(_start, key, attempt))
        except BaseException:
            self._begun.discard((key, attempt))
            raise

    async def tidy(self, before: float) -> None:
        """See `Workflows.tidy`."""
        if self._launched:
            await self._off_loop(partial(_tidy, before))

    async def stop(self) -> None:
        """See `Workflows.stop`."""
        if self._launched:
            self._launched = False
            await self._settled()
            self._body = None
            await asyncio.get_running_loop().run_in_executor(self._thread, self._destroy)
        self._thread.shutdown(wait=False)

    async def run(self, key: JobKey, attempt: int) -> None:
        """Call the body on the node's loop, from DBOS's own. Never raises for what a job did."""
        body, loop = self._body, self._loop
        try:
            if body is not None and loop is not None:
                await asyncio.wrap_future(
                    asyncio.run_coroutine_threadsafe(_quietly(body, key, attempt), loop)
                )
        finally:
            self._begun.discard((key, attempt))

    async def _settled(self) -> None:
        """Wait until what was begun has ended, as its attempts have.

        A thread of DBOS that hands its loop something while that is stopped waits for ever, and the
        process could not end.
        """
        loop = asyncio.get_running_loop()
        until = loop.time() + _SETTLE_S
        while self._begun and loop.time() < until:  # noqa: ASYNC110  # it ends in another loop
            await asyncio.sleep(_LOOK_S)

    async def _off_loop(self, work: Callable[[], T]) -> T:
        loop = asyncio.get_running_loop()
        try:
            return await loop.run_in_executor(self._thread, work)
        except HomingError:
            raise
        except Exception as error:
            _log.warning("jobs.workflows_failed", error_type=type(error).__name__)
            msg = "the node cannot note that a job begins: its workflow database does not answer"
            raise UnavailableError(msg, "See that it can be reached, and is not locked.") from error

    def _launch(self) -> None:
        with _OWNER.lock:
            if _OWNER.current not in {None, self}:
                msg = "another node in this process runs its jobs through DBOS"
                raise UnavailableError(msg, "Run each node in a process of its own.")
            _OWNER.current = self
        try:
            if self._file is not None:  # made here, closed to others: its log takes its mode
                self._file.touch(0o600)
            _launched(self._url, self._executor)
        except BaseException:
            self._destroy()
            raise

    def _destroy(self) -> None:
        from dbos import DBOS  # noqa: PLC0415  # heavy, and only where jobs run

        try:
            DBOS.destroy()
        except Exception as error:  # noqa: BLE001  # the process goes on without it
            _log.warning("jobs.workflows_not_stopped", error_type=type(error).__name__)
        with _OWNER.lock:
            if _OWNER.current is self:
                _OWNER.current = None


async def _quietly(body: Body, key: JobKey, attempt: int) -> None:
    """What went wrong stays out of DBOS's tables: it may speak of what the job is about."""
    try:
        await body(key, attempt)
    except Exception as error:  # noqa: BLE001  # the job's row says what comes next
        _log.error("job.attempt_failed", job=key.id, exc_info=error)


def _postgres(database: str) -> str:
    if database.startswith("postgresql://"):
        return database.replace("postgresql://", "postgresql+psycopg://", 1)
    return database


def _launched(url: str, executor: str) -> None:
    logger = logging.getLogger("dbos")
    if not logger.handlers:  # otherwise it adds one that writes to the terminal
        logger.addHandler(logging.NullHandler())
    logger.setLevel(logging.CRITICAL)
    from dbos import DBOS, DBOSConfig  # noqa: PLC0415  # heavy, and only where jobs run

    from homing_node.jobs.dbos_json import json_serializer  # noqa: PLC0415  # as above

    config: DBOSConfig = {
        "name": "homing-node",
        "system_database_url": url,
        "application_version": APPLICATION_VERSION,
        "executor_id": executor,
        "serializer": json_serializer(),
        "log_level": "CRITICAL",
        "dbos_system_schema": _SCHEMA,
    }
    DBOS(config=config)
    _workflow()
    DBOS.launch()


def _start(key: JobKey, attempt: int) -> None:
    from dbos import DBOS, SetWorkflowID  # noqa: PLC0415  # heavy, and only where jobs run

    with SetWorkflowID(f"{key.account}:{key.id}:{attempt}"):
        DBOS.start_workflow(_workflow(), key.account, key.id, attempt)


def _tidy(before: float) -> None:
    import datetime as dt  # noqa: PLC0415  # as the others here

    from dbos import DBOS  # noqa: PLC0415  # heavy, and only where jobs run

    until = dt.datetime.fromtimestamp(before, dt.UTC).isoformat()
    while True:
        ended = DBOS.list_workflows(
            name=_NAME,
            status=["SUCCESS", "ERROR", "CANCELLED"],
            end_time=until,
            limit=_PAGE,
            load_input=False,
            load_output=False,
        )
        if ended:
            DBOS.delete_workflows([one.workflow_id for one in ended])
        if len(ended) < _PAGE:
            return


@functools.cache
def _workflow() -> Callable[[str, str, int], Coroutine[Any, Any, None]]:
    """The one workflow, registered once in a process."""
    from dbos import DBOS  # noqa: PLC0415  # heavy, and only where jobs run

    @DBOS.workflow(name=_NAME)
    async def attempt_job(account: str, job: str, attempt: int) -> None:
        owner = _OWNER.current
        if owner is not None:
            await owner.run(JobKey(DeviceId(account), JobId(job)), attempt)

    return attempt_job
