"""What persons say counts as they said it: once, of what they were asked, while they may say it."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from homing_agent.tool import ToolOutput, UnknownOutcomeError
from homing_core.access import DeviceRole, Limits
from homing_core.approvals import SignedApproval
from homing_core.errors import ConflictError, HomingError, UnavailableError
from homing_core.jobs import JobState, Settlement
from homing_core.tools import EffectClass
from homing_crypto.testing import MemoryTrustStore, paired_device, throwaway_identity
from homing_node.jobs.forms import Payload, digest_of, encode_payload
from homing_node.jobs.sealed import JobCipher, new_data_key
from homing_node.jobs.store import JobKey, NewJob
from homing_node.jobs.testing import MemoryJobStore
from support.job_house import WORKS, Mortal, Person, ScriptedTool, house, job, tool_spec

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from homing_agent.tool import ToolContext
    from homing_core.canonical import JsonObject
    from homing_core.jobs import JobEvent, JobSpec
    from homing_node.jobs.store import Entry, Fence, JobRow
    from support.job_house import House
WRITE = tool_spec("change", EffectClass.WRITE)
PAY = tool_spec("pay", EffectClass.SPEND)


async def in_state(
    home: House, who: Person, spec: JobSpec, state: JobState, times: int = 1
) -> list[JobEvent]:
    """Its record up to the event in which it is in a state for that time."""
    found: list[JobEvent] = []
    async with asyncio.timeout(20):
        async for event in home.parts.desk.watch(who.device, spec.id, 0):
            found.append(event)
            if [one.state for one in found].count(state) == times:
                break
    return found


def doubtful(runs: list[str], *, at_first: bool = True) -> ScriptedTool:
    """A tool of which nobody knows whether it happened: always, or the first time."""

    async def does(arguments: JsonObject, _: ToolContext) -> ToolOutput:
        runs.append(str(arguments["what"]))
        if at_first and len(runs) > 1:
            return ToolOutput("done again")
        msg = "gave no answer in time"
        raise UnknownOutcomeError(msg)

    return ScriptedTool(PAY, does)


class Interrupted(Mortal):
    """A store in which something else comes first when somebody's word is stored."""

    def __init__(self, store: MemoryJobStore) -> None:
        super().__init__(store)
        self.first: Callable[[], object] | None = None
        self.full = False

    def fails(self, name: str) -> bool:
        return self.full and name == "settle"

    def settle(
        self, fence: Fence, words: Mapping[int, bytes | None], entry: Entry, *, spend: bool
    ) -> JobRow:
        if self.full:
            msg = "the disk is full"
            raise UnavailableError(msg)
        first, self.first = self.first, None
        if first is not None:
            first()
        return self._store.settle(fence, words, entry, spend=spend)


@pytest.mark.attack
@pytest.mark.parametrize(
    ("cut_off", "said", "runs", "content"),
    [
        (Settlement.RUN_AGAIN, Settlement.HAPPENED, 1, "happened, as a person says"),
        (Settlement.HAPPENED, Settlement.RUN_AGAIN, 2, "done again"),
    ],
)
async def test_a_word_that_was_cut_off_leaves_nothing_behind_and_the_next_one_counts(
    tmp_path: Path, cut_off: Settlement, said: Settlement, runs: int, content: str
) -> None:
    ran: list[str] = []
    tool, store = doubtful(ran), Interrupted(MemoryJobStore())
    async with house(tmp_path, tool, store=store.kept) as home:
        phone, spec = home.person(), job(tool)
        await home.submit(phone, spec, phone.consents(spec))
        await in_state(home, phone, spec, JobState.UNKNOWN_EFFECT)
        store.full = True
        with pytest.raises(UnavailableError):
            await home.parts.desk.settle(phone.device, spec.id, cut_off)
        store.full = False
        await home.parts.desk.settle(phone.device, spec.id, said)
        events = await home.ended(phone, spec.id)
        result, _ = await home.result(phone, spec.id)
    assert events[-1].state is JobState.SUCCEEDED
    assert len(ran) == runs
    assert content in result.content


@pytest.mark.attack
@pytest.mark.parametrize(
    ("first", "second", "runs"),
    [
        (Settlement.HAPPENED, Settlement.RUN_AGAIN, 1),
        (Settlement.RUN_AGAIN, Settlement.HAPPENED, 2),
    ],
)
async def test_of_two_persons_who_speak_at_once_one_is_heard_and_the_other_told(
    tmp_path: Path, first: Settlement, second: Settlement, runs: int
) -> None:
    ran: list[str] = []
    tool, store = doubtful(ran), Interrupted(MemoryJobStore())
    async with house(tmp_path, tool, store=store.kept) as home:
        phone, spec = home.person(), job(tool)
        await home.submit(phone, spec, phone.consents(spec))
        await in_state(home, phone, spec, JobState.UNKNOWN_EFFECT)
        loop, key = asyncio.get_running_loop(), JobKey(phone.device.owner, spec.id)

        def at_the_console() -> JobRow:
            said = home.parts.desk.settle_any(key, first)
            return asyncio.run_coroutine_threadsafe(said, loop).result(10)

        store.first = at_the_console
        with pytest.raises(ConflictError):
            await home.parts.desk.settle(phone.device, spec.id, second)
        events = await home.ended(phone, spec.id)
    assert events[-1].state is JobState.SUCCEEDED
    assert len(ran) == runs


@pytest.mark.attack
async def test_an_owners_yes_holds_once_however_often_a_guest_wants_it_again(
    tmp_path: Path,
) -> None:
    ran: list[str] = []
    tool = doubtful(ran, at_first=False)
    async with house(tmp_path, tool) as home:
        guest, owner = home.person(DeviceRole.GUEST), home.person()
        spec = job(tool, "10 EUR")
        await home.submit(guest, spec, guest.consents(spec))
        for times in (1, 2):
            await in_state(home, guest, spec, JobState.WAITING_APPROVAL, times)
            (question,) = await home.parts.desk.pending(owner.device)
            assert ("once more" in question.reason) is (times > 1)
            await home.parts.desk.answer(owner.device, owner.says(question))
            await in_state(home, guest, spec, JobState.UNKNOWN_EFFECT, times)
            assert len(ran) == times
            await home.parts.desk.settle(guest.device, spec.id, Settlement.RUN_AGAIN)
        await in_state(home, guest, spec, JobState.WAITING_APPROVAL, 3)
    assert len(ran) == 2


@pytest.mark.attack
async def test_what_an_owner_wants_done_again_needs_no_further_yes(tmp_path: Path) -> None:
    ran: list[str] = []
    tool = doubtful(ran)
    async with house(tmp_path, tool) as home:
        guest, owner = home.person(DeviceRole.GUEST), home.person()
        spec = job(tool)
        await home.submit(guest, spec, guest.consents(spec))
        await in_state(home, guest, spec, JobState.WAITING_APPROVAL)
        (question,) = await home.parts.desk.pending(owner.device)
        await home.parts.desk.answer(owner.device, owner.says(question))
        await in_state(home, guest, spec, JobState.UNKNOWN_EFFECT)
        key = JobKey(guest.device.owner, spec.id)
        await home.parts.desk.settle_any(key, Settlement.RUN_AGAIN)
        events = await home.ended(guest, spec.id)
    assert events[-1].state is JobState.SUCCEEDED
    assert len(ran) == 2


def composite(begun: asyncio.Event, go_on: asyncio.Event) -> ScriptedTool:
    """A tool that takes its time, then calls another."""

    async def does(arguments: JsonObject, context: ToolContext) -> ToolOutput:
        inner = next(tool for tool in context.offered if tool.spec.name == "change")
        begun.set()
        await go_on.wait()
        try:
            return await inner.run(arguments, context)
        except HomingError as error:
            return ToolOutput(f"kept from it: {error.what}")

    return ScriptedTool(tool_spec("outer"), does)


def narrow(home: House, who: Person, *tools: str) -> None:
    """An owner lets a device have less."""
    home.trust.grant(who.device.id, who.device.role, WORKS, Limits(tools=tools))


def turn(home: House, who: Person, spec: JobSpec) -> None:
    """The node is open again."""
    home.access.closed = None
    home.parts.scheduler.queued(home.store.get(JobKey(who.device.owner, spec.id)))


@pytest.mark.attack
@pytest.mark.parametrize("meanwhile", ["waits", "runs"])
async def test_a_guests_yes_counts_no_longer_than_the_grant_under_which_it_was_given(
    tmp_path: Path, meanwhile: str
) -> None:
    begun, go_on = asyncio.Event(), asyncio.Event()
    outer, inner = composite(begun, go_on), ScriptedTool(WRITE)
    async with house(tmp_path, outer, inner) as home:
        guest = home.person(DeviceRole.GUEST, limits=Limits(tools=("test.outer", "test.change")))
        owner = home.person()
        go_on.set()
        spec = await home.submit(guest, job(outer))
        await in_state(home, guest, spec, JobState.WAITING_APPROVAL)
        (question,) = await home.parts.desk.pending(guest.device)
        begun.clear()
        go_on.clear()
        if meanwhile == "waits":
            home.access.closed = UnavailableError("outside its hours")
        await home.parts.desk.answer(guest.device, guest.says(question))
        if meanwhile == "runs":
            async with asyncio.timeout(10):
                await begun.wait()
        narrow(home, guest, "test.outer", "test.*")
        go_on.set()
        turn(home, guest, spec)
        await in_state(home, guest, spec, JobState.WAITING_APPROVAL, 2)
        assert inner.runs == 0
        assert await home.parts.desk.pending(guest.device) == ()
        (asked,) = await home.parts.desk.pending(owner.device)
        await home.parts.desk.answer(owner.device, owner.says(asked))
        events = await home.ended(guest, spec.id)
    assert events[-1].state is JobState.SUCCEEDED
    assert inner.runs == 1


@pytest.mark.attack
async def test_a_tool_that_is_taken_from_a_device_is_not_called_by_what_runs_already(
    tmp_path: Path,
) -> None:
    begun, go_on = asyncio.Event(), asyncio.Event()
    outer = composite(begun, go_on)
    inner = ScriptedTool(tool_spec("change"))
    async with house(tmp_path, outer, inner) as home:
        guest = home.person(DeviceRole.GUEST, limits=Limits(tools=("test.*",)))
        spec = await home.submit(guest, job(outer))
        async with asyncio.timeout(10):
            await begun.wait()
        narrow(home, guest, "test.outer")
        go_on.set()
        await home.ended(guest, spec.id)
        result, _ = await home.result(guest, spec.id)
    assert inner.runs == 0
    assert "kept from it" in result.content


@pytest.mark.attack
async def test_the_yes_of_an_owner_who_is_shut_out_before_it_is_acted_on_does_not_count(
    tmp_path: Path,
) -> None:
    tool = ScriptedTool(WRITE)
    async with house(tmp_path, tool) as home:
        guest, owner, stolen = home.person(DeviceRole.GUEST), home.person(), home.person()
        spec = job(tool)
        await home.submit(guest, spec, guest.consents(spec))
        await in_state(home, guest, spec, JobState.WAITING_APPROVAL)
        (question,) = await home.parts.desk.pending(stolen.device)
        home.access.closed = UnavailableError("outside its hours")
        await home.parts.desk.answer(stolen.device, stolen.says(question))
        home.trust.revoke(stolen.device.id)
        turn(home, guest, spec)
        await in_state(home, guest, spec, JobState.WAITING_APPROVAL, 2)
        assert tool.runs == 0
        (again,) = await home.parts.desk.pending(owner.device)
        await home.parts.desk.answer(owner.device, owner.says(again))
        events = await home.ended(guest, spec.id)
    assert events[-1].state is JobState.SUCCEEDED
    assert tool.runs == 1


@pytest.mark.attack
async def test_a_call_that_waited_for_an_owner_before_it_began_is_in_doubt_if_it_is_cut_off(
    tmp_path: Path,
) -> None:
    store, trust, node = MemoryJobStore(), MemoryTrustStore(), throwaway_identity()
    mortal, begun = Mortal(store), asyncio.Event()

    async def does(_: JsonObject, __: ToolContext) -> ToolOutput:
        begun.set()
        await asyncio.Event().wait()
        return ToolOutput("never")

    first, second = ScriptedTool(WRITE, does), ScriptedTool(WRITE)
    async with house(
        tmp_path, first, store=mortal.kept, trust=trust, node=node, stop_s=0.0
    ) as home:
        guest = home.person(DeviceRole.GUEST, limits=Limits(tools=("test.change",)))
        owner, spec = home.person(), job(first)
        home.access.closed = UnavailableError("outside its hours")
        await home.submit(guest, spec, guest.consents(spec))
        narrow(home, guest, "test.*")
        turn(home, guest, spec)
        await in_state(home, guest, spec, JobState.WAITING_APPROVAL)
        (question,) = await home.parts.desk.pending(owner.device)
        await home.parts.desk.answer(owner.device, owner.says(question))
        async with asyncio.timeout(10):
            await begun.wait()
        mortal.dead = True
    async with house(tmp_path, second, store=store, trust=trust, node=node) as home:
        await in_state(home, guest, spec, JobState.UNKNOWN_EFFECT)
    assert second.runs == 0


@pytest.mark.attack
@pytest.mark.parametrize("signer", ["nobody", "another device", "a key that was shut out"])
async def test_a_job_that_was_written_into_the_database_with_a_forged_consent_does_not_run(
    tmp_path: Path, signer: str
) -> None:
    tool = ScriptedTool(tool_spec("wipe", EffectClass.DELETE))
    async with house(tmp_path, tool) as home:
        owner, guest = home.person(), home.person(DeviceRole.GUEST)
        spec = job(tool, "everything")
        consent = owner.consents(spec)
        if signer == "nobody":
            consent = SignedApproval(consent.statement, b"forged")
        elif signer == "another device":
            consent = guest.consents(spec)
        else:
            old = throwaway_identity()
            known = paired_device(old, DeviceRole.OWNER, WORKS)
            gone = replace(known, account=owner.device.owner, revoked_at=1.0)
            consent = Person(old, home.trust.add(gone)).consents(spec)
        key, data_key = JobKey(owner.device.owner, spec.id), new_data_key()
        payload = encode_payload(Payload(spec, consent))
        row, _ = home.store.submit(
            NewJob(
                key=key,
                digest=digest_of(spec),
                device=owner.device.id,
                peer="",
                request_id=spec.request_id,
                tool=spec.tool,
                sensitivity=spec.sensitivity,
                priority=0,
                at=0.0,
                data_key=data_key,
                payload=JobCipher(key, data_key).seal("payload", payload),
                state=JobState.QUEUED,
            ),
            0,
            0,
        )
        home.parts.scheduler.queued(row)
        events = await home.ended(owner, spec.id)
    assert events[-1].state is JobState.FAILED
    assert tool.runs == 0
