"""What runs a node's jobs, put together."""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import shutil
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from homing_agent.runtime.logs import get_logger
from homing_core.errors import HomingError, UnavailableError
from homing_crypto.private_files import ensure_folder

from homing_node.jobs.attempt_parts import GRACE_S, STOP_S, AttemptParts, folder_of
from homing_node.jobs.closing import Closer
from homing_node.jobs.dbos_workflows import DbosWorkflows
from homing_node.jobs.desk import JobDesk
from homing_node.jobs.opening import Opener
from homing_node.jobs.outputs import RESULT_FILES
from homing_node.jobs.place import Place
from homing_node.jobs.records import Records
from homing_node.jobs.rights import JobRights
from homing_node.jobs.scheduler import Scheduler
from homing_node.jobs.sql_engine import JOBS_FILE
from homing_node.jobs.sql_store import SqlJobStore
from homing_node.jobs.submitting import DeskParts

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable
    from pathlib import Path

    from homing_core.clock import Clock
    from homing_crypto.audit.records import Audit
    from homing_crypto.identity import DeviceIdentity
    from homing_crypto.trust import TrustStore

    from homing_node.devices.desk import DeviceDesk
    from homing_node.jobs.opening import Access
    from homing_node.jobs.ports import Brains
    from homing_node.jobs.section import JobsSection
    from homing_node.jobs.store import JobStore
    from homing_node.jobs.workflows import Workflows
    from homing_node.tools import HomeTools

RUNNER_FILE: Final = "jobs-runner"
SCRATCH: Final = "jobs-work"
_NAME_BYTES: Final = 16

_log = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class JobParts:
    """What runs jobs.

    Attributes:
        desk: the one door to them.
        scheduler: runs them, between `start` and `stop`.
        rights: ends those of devices that may not have them any more.
        records: where they are kept.
        folder: where each has a folder of its own while it runs.
    """

    desk: JobDesk
    scheduler: Scheduler
    rights: JobRights
    records: Records
    folder: Path

    @contextlib.asynccontextmanager
    async def running(self, devices: DeviceDesk) -> AsyncGenerator[None]:
        """Let jobs run for the length of a block; afterwards they are left to be resumed.

        Args:
            devices: tells of changes.
        """
        devices.subscribe(self.rights.look)
        await self.start()
        looking = asyncio.create_task(self.rights.run())
        try:
            yield
        finally:
            looking.cancel()
            await asyncio.gather(looking, return_exceptions=True)
            await self.stop()

    async def start(self) -> None:
        """Bring rights up to date first, then let jobs run."""
        try:
            await self.rights.look_at_all()
        except HomingError as error:  # the looks that follow do it; the node goes on
            _log.warning("jobs.rights_not_looked_at", reason=error.what)
        await asyncio.to_thread(self._tidy)
        self.scheduler.start()

    async def stop(self) -> None:
        """Leave what runs to be resumed."""
        await self.scheduler.stop()

    def unended(self) -> Counter[str]:
        """How many jobs of each account have not ended; raises `HomingError`."""
        return Counter(row.key.account for row in self.records.store.unended())

    def _tidy(self) -> None:
        """Nothing runs yet: only files of results are of use, of jobs that have not ended."""
        try:
            unended = self.records.store.unended()
        except HomingError:
            return
        used = {folder_of(self.folder, row).name for row in unended}
        for folder in self.folder.iterdir():
            if folder.name not in used:
                shutil.rmtree(folder, ignore_errors=True)
                continue
            for left in folder.iterdir():
                if left.name != RESULT_FILES:
                    shutil.rmtree(left, ignore_errors=True)


@contextlib.asynccontextmanager
async def job_parts(  # noqa: PLR0913  # each is a boundary of its own
    folder: Path,
    *,
    section: JobsSection,
    tools: HomeTools,
    brains: Brains,
    trust: TrustStore,
    access: Access,
    identities: Callable[[], tuple[DeviceIdentity, ...]],
    audit: Audit,
    clock: Clock,
    store: JobStore | None = None,
    workflows: Workflows | None = None,
    stop_s: float = STOP_S,
    grace_s: float = GRACE_S,
) -> AsyncGenerator[JobParts]:
    """Open the store for the length of a block. Nothing runs yet, and DBOS is not imported.

    Args:
        folder: the node's data directory.
        section: `[jobs]` of the configuration.
        tools: what the node can run.
        brains: its models.
        trust: whom it knows.
        access: what holds for a device.
        identities: the node's keys, the present one first.
        audit: where it is noted.
        clock: for everything.
        store: where jobs are kept; None is as configured.
        workflows: what drives attempts; None is DBOS.
        stop_s: seconds that a tool which was cancelled may take to stop.
        grace_s: seconds that tools may go on when the node stops.

    Raises:
        HomingError: the job store cannot be opened.
    """
    runner = runner_name(folder)
    scratch = folder / SCRATCH
    ensure_folder(scratch, private=True)
    shared = bool(section.database)
    records = Records(store or SqlJobStore(section.database or folder / JOBS_FILE))
    opener = Opener(records, tools, trust, access, clock)
    closer = Closer(records, opener, lambda: identities()[0], audit, clock)
    attempts = AttemptParts(
        records, opener, closer, brains, section, clock, scratch, stop_s, grace_s
    )
    driving = workflows or DbosWorkflows(folder, section.database, runner)
    scheduler = Scheduler(attempts, driving, access, Place(runner, shared))
    desk = JobDesk(
        DeskParts(
            records=records,
            scheduler=scheduler,
            opener=opener,
            tools=tools,
            access=access,
            audit=audit,
            clock=clock,
            section=section,
            nodes=lambda: {identity.device_id for identity in identities()},
            shared=shared,
        )
    )
    rights = JobRights(
        desk,
        records.store,
        trust,
        lambda device: access.standing(device).limits,
        clock,
        shared=shared,
    )
    try:
        yield JobParts(desk, scheduler, rights, records, scratch)
    finally:
        await asyncio.to_thread(records.close)


def runner_name(folder: Path) -> str:
    """This daemon's name in the job store: its own, whatever becomes of its keys.

    Raises:
        UnavailableError: the disk does not let us.
    """
    path = folder / RUNNER_FILE
    try:
        if not path.exists():
            fresh = path.with_suffix(".new")
            fresh.write_text(f"run-{secrets.token_hex(_NAME_BYTES)}", encoding="ascii")
            fresh.chmod(0o600)
            fresh.replace(path)
        return path.read_text(encoding="ascii").strip()
    except (OSError, UnicodeError) as error:
        msg = f"the name of this node's daemon cannot be kept in {path.name}"
        raise UnavailableError(msg, "Free space on the disk, and start it again.") from error
