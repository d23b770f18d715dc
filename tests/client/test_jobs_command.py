"""`homing jobs` as a person or a script uses it, over a phone whose node is played by hand."""

from __future__ import annotations

import asyncio
import signal
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import pytest
from homing_client.cli.job_arguments import typed_arguments
from homing_client.cli.job_tool import choose_tool
from homing_client.jobs.ports import NodeTools
from homing_client.testing import FakePhoneJobs
from homing_core.errors import (
    ConflictError,
    HomingError,
    NotFoundError,
    RefusedError,
    UnavailableError,
    UsageError,
)
from homing_core.ids import DeviceId, new_approval_id, new_request_id
from homing_core.jobs import JobProgress, JobState, Settlement
from homing_core.provenance import Sensitivity
from homing_core.tools import EffectClass, Place, ToolSpec
from support.phone_desk import phone_desk
from support.phone_process import DEADLINE_S, PhoneRig, objects, one_line

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from homing_core.ids import JobId

SUMMARISE = ToolSpec(
    "summarise",
    "Summarise a folder.",
    {
        "type": "object",
        "properties": {
            "folder": {"type": "string"},
            "deep": {"type": "boolean"},
            "most": {"type": "integer", "minimum": 1},
            "share": {"type": "number"},
            "words": {"type": "array", "items": {"type": "string"}},
            "sizes": {"type": "array", "items": {"type": "integer"}},
            "more": {"type": "object", "additionalProperties": True},
            "either": {"type": ["integer", "null"]},
        },
        "required": ["folder"],
    },
    effect=EffectClass.READ,
    server="documents",
)
RESIZE = ToolSpec(
    "resize",
    "Make pictures smaller.",
    {"type": "object", "properties": {"width": {"type": "integer"}}},
    effect=EffectClass.WRITE,
    server="recipes",
)


@dataclass
class Desk:
    """A phone with a fake of its jobs, and a hand that plays the node."""

    rig: PhoneRig
    node: FakePhoneJobs

    async def start(self, tool: str = "summarise", **arguments: Any) -> JobId:  # noqa: ANN401  # any
        job = await self.node.start(
            tool,
            arguments or {"folder": "notes"},
            node="",
            sensitivity=Sensitivity.HOME_ONLY,
            request_id=new_request_id(),
            allowed=True,
        )
        return job.id

    async def state(self, job: JobId) -> JobState:
        (found,) = [one for one in await self.node.list(refresh=False) if one.id == job]
        return found.state


@pytest.fixture
async def desk(rig: PhoneRig) -> AsyncIterator[Desk]:
    node = FakePhoneJobs(SUMMARISE, RESIZE)
    async with phone_desk(rig.paths, node):
        yield Desk(rig, node)


def short(job: JobId) -> str:
    return job.removeprefix("job-")[:6]


async def test_a_list_says_where_each_stands_and_what_waits_for_a_person(desk: Desk) -> None:
    done = await desk.rig.run("jobs")
    assert (done.status, "No jobs." in done.err) == (0, True)
    runs = await desk.start(folder="notes")
    desk.node.say(runs, progress=JobProgress(17, 40, "files", "notes/\x1b[2Ja.md"))
    asks = await desk.start("resize", width=8)
    asked = desk.node.question(asks)
    unknown = await desk.start("resize", width=9)
    desk.node.say(unknown, JobState.UNKNOWN_EFFECT)
    away = await desk.start()
    desk.node.trouble(away, UnavailableError("attic cannot be reached"))
    done = await desk.rig.run("jobs")
    lines = done.out.splitlines()
    assert done.status == 0
    assert "\x1b" not in done.out
    for job, words in (
        (runs, "folder=notes attic runs 17 of 40 files (42%)"),
        (asks, "waits for your word"),
        (unknown, "unknown: did this happen?"),
        (away, "attic cannot be reached"),
    ):
        (line,) = [" ".join(line.split()) for line in lines if line.startswith(short(job))]
        assert words in line
    assert f"jobs approve {asked[5:11]}" in done.err
    assert f"jobs settle {short(unknown)}" in done.err
    listed = objects((await desk.rig.run("jobs", "list", "--json")).out)
    assert [one["job"] for one in listed] == [away, unknown, asks, runs]
    assert listed[0]["error"]["what"] == "attic cannot be reached"
    assert listed[3]["progress"] == {
        "done": 17.0,
        "total": 40.0,
        "unit": "files",
        "note": "notes/\x1b[2Ja.md",
    }


async def test_an_owner_hears_that_other_devices_wait(desk: Desk) -> None:
    job = await desk.start("resize", width=8)
    desk.node.question(job, device_name="Bob's phone")
    await desk.node.cancel(job)
    await desk.node.forget(job)
    done = await desk.rig.run("jobs")
    assert "Of other devices 1 question waits for your word: homing jobs approvals" in done.err


async def test_a_narrow_screen_gets_lines_that_fit(desk: Desk) -> None:
    desk.rig.env["COLUMNS"] = "40"
    job = await desk.start()
    desk.node.say(job, progress=JobProgress(17, 40, "files", "a-very-long-name " * 5))
    done = await desk.rig.run("jobs", "--no-check")
    assert done.out.splitlines()[0] == f"{short(job)} summarise at attic"
    assert max(map(len, done.out.splitlines())) <= 40
    assert "runs, 17 of 40 files (42%)" in done.out


async def test_a_job_is_watched_to_its_end_by_a_script(desk: Desk) -> None:
    job = await desk.start()
    async with desk.rig.started(
        "jobs", "watch", short(job), "--json", "--data-dir", desk.rig.data_dir
    ) as watching:
        assert watching.stdout is not None
        assert b'"queued"' in await asyncio.wait_for(watching.stdout.readline(), DEADLINE_S)
        desk.node.say(job, progress=JobProgress(1, 2, "files"))
        desk.node.end(job, "all done")
        out, err = await asyncio.wait_for(watching.communicate(), DEADLINE_S)
    first, second, last = objects(out.decode())
    assert (watching.returncode, err) == (0, b"")
    assert (first["event"], first["seq"], first["done"], first["total"]) == ("progress", 2, 1, 2)
    assert (second["state"], second["seq"]) == ("succeeded", 3)
    assert (last["event"], last["state"], last["delivered"]) == ("job", "succeeded", True)


@pytest.mark.parametrize("as_json", [False, True])
async def test_whoever_watches_is_told_that_the_node_is_away_and_sees_the_rest(
    desk: Desk,
    as_json: bool,  # noqa: FBT001  # a case
) -> None:
    job = await desk.start()
    words = ("jobs", "watch", short(job), *(["--json"] if as_json else ()))
    async with desk.rig.started(*words, "--data-dir", desk.rig.data_dir) as watching:
        assert watching.stdout is not None
        assert watching.stderr is not None
        lines = watching.stdout if as_json else watching.stderr
        await asyncio.wait_for(lines.readline(), DEADLINE_S)
        desk.node.trouble(job, UnavailableError("attic cannot be reached"))
        said = (await asyncio.wait_for(lines.readline(), DEADLINE_S)).decode()
        desk.node.trouble(job, None)
        desk.node.end(job, "done")
        await asyncio.wait_for(watching.communicate(), DEADLINE_S)
    assert "attic cannot be reached" in said
    assert ('"event": "away"' in said) == as_json
    assert watching.returncode == 0


async def test_a_question_for_somebody_else_is_not_put_to_this_person(desk: Desk) -> None:
    job = await desk.start("resize", width=8)
    desk.node.say(job, JobState.WAITING_APPROVAL, approval=new_approval_id())
    done = await desk.rig.run("jobs")
    assert "waits for the word of an owner of attic" in " ".join(done.out.split())
    assert "jobs approve" not in done.err
    async with desk.rig.terminal("jobs", "watch", short(job)) as screen:
        await screen.expect("only an owner of attic can answer")
        screen.type("\x03")
        assert await screen.end() == 130


@pytest.mark.parametrize(
    ("how", "status", "words"),
    [("failed", 1, "no such folder"), ("cancelled", 1, "cancelled"), ("refused", 3, "not allowed")],
)
async def test_how_a_job_ended_is_the_exit_status_of_watching_it(
    desk: Desk, how: str, status: int, words: str
) -> None:
    job = await desk.start()
    if how == "cancelled":
        await desk.node.cancel(job)
    else:
        desk.node.say(job, JobState.FAILED, note="no such folder")
    if how == "refused":
        desk.node.trouble(job, RefusedError("that is not allowed"))
    done = await desk.rig.run("jobs", "watch", short(job))
    assert done.status == status
    assert words in done.err.splitlines()[-1]


async def test_watching_on_a_terminal_shows_rate_and_time_left_and_ctrl_c_leaves(
    desk: Desk,
) -> None:
    desk.rig.env["COLUMNS"] = "80"
    job = await desk.start()
    for done in (0, 10, 20):
        desk.node.say(job, progress=JobProgress(done, 40, "files", f"file {done}"))
    async with desk.rig.terminal("jobs", "watch", short(job)) as screen:
        await screen.expect("summarise at attic")
        await screen.expect("50% · 20 of 40 files · 10/s · 2 s left")
        screen.type("\x03")
        assert await screen.end() == 130
        assert f"The job goes on at attic. Come back: homing jobs watch {short(job)}" in screen.text
    assert await desk.state(job) is JobState.RUNNING


async def test_watching_stops_where_only_a_person_can_help(desk: Desk) -> None:
    job = await desk.start("resize", width=8)
    desk.node.say(job, JobState.UNKNOWN_EFFECT)
    await desk.node.settle(job, Settlement.RUN_AGAIN)
    desk.node.say(job, JobState.UNKNOWN_EFFECT, note="begun, no end was recorded")
    done = await desk.rig.run("jobs", "watch", short(job))
    assert done.status == 1
    assert f"unknown: did this happen? Say what you know: homing jobs settle {short(job)}" in (
        done.err
    )


async def test_a_result_is_text_and_its_files_go_where_they_are_wanted(desk: Desk) -> None:
    job = await desk.start()
    desk.node.end(job, "for the model", say="Three \x1b[2Jletters.", files={"a.pdf": b"x" * 1200})
    done = await desk.rig.run("jobs", "result", short(job))
    assert (done.status, done.out) == (0, "Three [2Jletters.\n")
    assert "a.pdf  1.2 kB" in done.err
    assert "--to FOLDER" in done.err
    folder = desk.rig.folder / "chosen"
    folder.mkdir()
    done = await desk.rig.run("jobs", "result", short(job), "--to", folder)
    assert (done.status, f"{folder / 'a.pdf'}  1.2 kB" in done.err) == (0, True)
    assert (folder / "a.pdf").read_bytes() == b"x" * 1200
    (folder / "a.pdf").write_bytes(b"mine")
    done = await desk.rig.run("jobs", "result", short(job), "--to", folder)
    assert (done.status, "--replace" in one_line(done)) == (1, True)
    assert (folder / "a.pdf").read_bytes() == b"mine"
    done = await desk.rig.run("jobs", "result", short(job), "--to", folder, "--replace", "--json")
    (found,) = objects(done.out)
    assert (found["text"], found["trust"]) == ("for the model", "untrusted")
    assert found["saved"] == [str(folder / "a.pdf")]
    assert (folder / "a.pdf").read_bytes() == b"x" * 1200


async def test_a_failed_job_has_no_result_on_standard_output(desk: Desk) -> None:
    job = await desk.start()
    desk.node.end(job, "there is no folder\x1b[2J called notes", is_error=True)
    done = await desk.rig.run("jobs", "result", short(job))
    assert (done.status, done.out) == (1, "")
    assert "summarise at attic failed: there is no folder[2J called notes" in done.err


async def test_a_job_is_ended_and_then_forgotten(desk: Desk) -> None:
    job = await desk.start()
    done = await desk.rig.run("jobs", "cancel", short(job))
    assert (done.status, "Cancelled: summarise at attic." in done.err) == (0, True)
    done = await desk.rig.run("jobs", "forget", short(job))
    assert (done.status, "--yes" in one_line(done)) == (2, True)
    (gone,) = objects((await desk.rig.run("jobs", "forget", short(job), "--yes", "--json")).out)
    assert gone == {"event": "forgotten", "job": job}
    assert await desk.node.list(refresh=False) == ()


async def test_a_tool_is_started_once_under_one_id(desk: Desk) -> None:
    request = new_request_id()
    words = ("jobs", "start", "summarise", "folder=notes", "deep=yes", "words=a", "words=b")
    once = await desk.rig.run(*words, "--request-id", request, "--json")
    (started,) = objects(once.out)
    assert started["arguments"] == {"folder": "notes", "deep": True, "words": ["a", "b"]}
    assert (started["event"], started["request_id"]) == ("started", request)
    again = await desk.rig.run(*words, "--request-id", request, "--json")
    assert objects(again.out)[0]["job"] == started["job"]
    for other in (("summarise", "folder=other"), ("count", "folder=notes")):
        done = await desk.rig.run("jobs", "start", *other, "--request-id", request)
        assert done.status == 1
        assert "used for something else" in one_line(done)
    assert len(await desk.node.list(refresh=False)) == 1


async def test_starting_can_be_watched(desk: Desk) -> None:
    words = ("jobs", "start", "summarise", "folder=n", "--watch", "--data-dir", desk.rig.data_dir)
    async with desk.rig.started(*words) as starting:
        assert starting.stderr is not None
        await asyncio.wait_for(starting.stderr.readline(), DEADLINE_S)
        (job,) = await desk.node.list(refresh=False)
        desk.node.end(job.id, "done")
        out, err = await asyncio.wait_for(starting.communicate(), DEADLINE_S)
    assert starting.returncode == 0
    assert b"summarise at attic: done." in err
    assert out == b"done\n"


@pytest.mark.attack
async def test_what_changes_something_starts_only_with_a_persons_word(desk: Desk) -> None:
    done = await desk.rig.run("jobs", "start", "resize", "width=8")
    assert done.status == 3
    assert "writes files" in one_line(done)
    assert await desk.node.list(refresh=False) == ()
    for key, status, started in (("n", 3, 0), ("y", 0, 1)):
        async with desk.rig.terminal("jobs", "start", "resize", "width=8") as screen:
            await screen.expect("resize at attic")
            await screen.expect("width: 8")
            await screen.expect("Allow it?")
            screen.type(f"{key}\n")
            assert await screen.end() == status
        assert len(await desk.node.list(refresh=False)) == started


@pytest.mark.attack
async def test_a_question_shows_the_exact_step_and_who_asks(desk: Desk) -> None:
    job = await desk.start("resize", width=8, name="a\x1b[2K\n\u202eb")
    approval = desk.node.question(job, device_name="Bob's phone", preview="writes 1 picture")
    (listed,) = objects((await desk.rig.run("jobs", "approvals", "--json")).out)
    assert (listed["approval_id"], listed["device_name"]) == (approval, "Bob's phone")
    shown = (await desk.rig.run("jobs", "approvals")).err
    for part in (
        "resize at attic, for Bob's phone",
        "width: 8",
        r'name: "a\u001b[2K\n\u202eb"',
        "writes 1 picture",
        "Why: it changes something at home",
        f"homing jobs approve {approval[5:11]}",
    ):
        assert part in shown
    for words in ((approval,), (short(job), "--yes"), (job, "--yes")):  # nobody can be asked
        done = await desk.rig.run("jobs", "approve", *words)
        assert done.status in {1, 2}
    assert (done.status, await desk.state(job)) == (2, JobState.WAITING_APPROVAL)
    async with desk.rig.terminal("jobs", "approve", approval[:12]) as screen:
        await screen.expect("width: 8")
        await screen.expect("Allow exactly this")
        screen.type("y\n")
        assert await screen.end() == 0
    assert await desk.state(job) is JobState.RUNNING


async def test_a_question_is_denied(desk: Desk) -> None:
    job = await desk.start("resize", width=8)
    approval = desk.node.question(job)
    (said,) = objects((await desk.rig.run("jobs", "deny", approval[5:11], "--json")).out)
    assert (said["verdict"], said["job"]) == ("deny", job)
    assert await desk.state(job) is JobState.FAILED


async def test_what_is_known_is_said_before_a_person_settles_it(desk: Desk) -> None:
    job = await desk.start("resize", width=8)
    desk.node.say(job, JobState.UNKNOWN_EFFECT, note="begun at 12:03")
    done = await desk.rig.run("jobs", "settle", short(job))
    assert done.status == 0
    for part in ("resize at attic", "width: 8", "begun at 12:03", "--happened", "--run-again"):
        assert part in done.err
    assert await desk.state(job) is JobState.UNKNOWN_EFFECT
    done = await desk.rig.run("jobs", "settle", short(job), "--happened", "--give-up")
    assert done.status == 2
    (said,) = objects((await desk.rig.run("jobs", "settle", short(job), "--give-up", "--json")).out)
    assert (said["event"], said["state"]) == ("settled", "failed")


async def test_tools_of_home_are_listed_with_their_place(desk: Desk) -> None:
    found = {one["name"]: one for one in objects((await desk.rig.run("tools", "--json")).out)}
    assert (found["resize"]["node"], found["resize"]["effect"]) == ("attic", "write")
    assert (found["resize"]["asks"], found["summarise"]["asks"]) == (True, False)
    assert found["vibrate"]["available"] is False
    table = (await desk.rig.run("tools")).out
    assert "only reads" in table
    assert "writes files" in table


async def test_what_cannot_be_meant_is_one_line(desk: Desk) -> None:
    for words, status, part in (
        (("watch", "zz"), 2, "beginning of a job's id"),
        (("result", "00000000"), 1, "no such job"),
        (("start", "summarise"), 2, "'folder' is missing"),
    ):
        done = await desk.rig.run("jobs", *words)
        assert done.status == status
        assert part in one_line(done)


async def test_a_script_that_watches_is_told_that_it_was_interrupted(desk: Desk) -> None:
    job = await desk.start()
    async with desk.rig.started(
        "jobs", "watch", short(job), "--json", "--data-dir", desk.rig.data_dir
    ) as watching:
        assert watching.stdout is not None
        await asyncio.wait_for(watching.stdout.readline(), DEADLINE_S)
        watching.send_signal(signal.SIGINT)
        out, _ = await asyncio.wait_for(watching.communicate(), DEADLINE_S)
    assert watching.returncode == 130
    assert objects(out.decode())[-1] == {"event": "left", "job": job, "node": "attic"}


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (["folder=a=b"], {"folder": "a=b"}),
        (["folder="], {"folder": ""}),
        (["folder=17", "most=17"], {"folder": "17", "most": 17}),
        (["folder=a", "share=0.5", "deep=NO"], {"folder": "a", "share": 0.5, "deep": False}),
        (["folder=a", "sizes=1", "sizes=2"], {"folder": "a", "sizes": [1, 2]}),
        (["folder=a", "sizes=[1, 2]"], {"folder": "a", "sizes": [1, 2]}),
        (["folder=a", 'more={"b": null}'], {"folder": "a", "more": {"b": None}}),
        (["folder=a", "either=null"], {"folder": "a", "either": None}),
    ],
)
def test_arguments_are_typed_by_the_schema(words: list[str], found: dict[str, Any]) -> None:
    assert typed_arguments(words, None, SUMMARISE) == found


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (["folder"], "key=value"),
        (["=a"], "key=value"),
        (["nope=1"], "there is no parameter 'nope'"),
        (["folder=a", "most=x"], "'most' must be a whole number"),
        (["folder=a", "most=0"], "at least 1"),
        (["folder=a", "most=NaN"], "whole number"),
        (["folder=a", "deep=maybe"], "yes or no"),
        (["folder=a", "sizes=x"], "whole number"),
        (["folder=a", "more=" + "[" * 100_000], "JSON object"),
        ([], "'folder' is missing"),
    ],
)
def test_arguments_that_do_not_fit_are_told_with_those_that_do(words: list[str], part: str) -> None:
    with pytest.raises(UsageError, match=part) as caught:
        typed_arguments(words, None, SUMMARISE)
    assert "folder (text)" in caught.value.hint


@pytest.mark.parametrize("text", ["", "[]", "{", '{"folder": NaN}', '{"folder": "a", "folder": 1}'])
def test_json_that_cannot_be_read_is_wrong_usage(text: str) -> None:
    with pytest.raises(UsageError, match="--json-args"):
        typed_arguments((), text, SUMMARISE)


def _at(node: str, place: Place, *tools: ToolSpec, error: HomingError | None = None) -> NodeTools:
    number = DeviceId(("ab" if node == "attic" else "cd") * 32)
    there = tuple(replace(tool, node=number, place=place) for tool in tools)
    return NodeTools(number, node, there, error)


OTHER = ToolSpec("summarise", "Other.", {"type": "object"}, server="mine")


def test_home_comes_before_peers_and_a_name_must_be_one_tools() -> None:
    home, peer = _at("attic", Place.HOME, SUMMARISE), _at("friend", Place.PEER, SUMMARISE)
    at_home, at_peer = (home.tools[0], "attic"), (peer.tools[0], "friend")
    assert choose_tool([peer, home], "summarise", "") == at_home
    assert choose_tool([peer, home], "summarise", "Friend") == at_peer
    assert choose_tool([peer, home], "summarise", "cdcd") == at_peer
    both = _at("attic", Place.HOME, SUMMARISE, OTHER)
    assert choose_tool([both], "mine.summarise", "") == (both.tools[1], "attic")
    with pytest.raises(ConflictError, match="2 tools"):
        choose_tool([both], "summarise", "")


_CLOSED = _at("attic", Place.HOME, error=RefusedError("this device may not do that", "Ask."))
_AWAY = _at("attic", Place.HOME, error=UnavailableError("attic does not answer", "Switch it on."))
_OPEN = _at("attic", Place.HOME, SUMMARISE)


@pytest.mark.parametrize(
    ("nodes", "name", "node", "kind", "said"),
    [
        ([], "summarise", "", UnavailableError, "paired with no node. On the home"),
        ([_OPEN], "summarise", "cellar", NotFoundError, "no node called cellar. There is: attic"),
        ([_CLOSED], "summarise", "", RefusedError, "may not use tools at attic. Ask an owner"),
        ([_AWAY], "summarise", "", UnavailableError, "attic does not answer. Switch it on"),
        ([_OPEN], "sumarise", "", NotFoundError, "called sumarise. Did you mean summarise?"),
        ([_OPEN], "resize", "", NotFoundError, "called resize. There is: summarise"),
        ([_OPEN], "set_timer", "", NotFoundError, "a tool of this phone.* Say in words"),
        ([_at("attic", Place.HOME)], "resize", "", UnavailableError, "attic offers no tools"),
    ],
)
def test_why_there_is_no_such_tool_is_said(
    nodes: list[NodeTools], name: str, node: str, kind: type[HomingError], said: str
) -> None:
    with pytest.raises(kind, match=said):
        choose_tool(nodes, name, node, {"set_timer"})


def test_an_argument_that_is_said_twice_is_wrong_usage() -> None:
    with pytest.raises(UsageError, match="once more"):
        typed_arguments(["folder=b"], '{"folder": "a"}', SUMMARISE)
