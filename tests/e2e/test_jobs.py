"""Jobs as people have them: long work at home that survives whoever started it, and the node."""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING

import pytest
from homing_core.ids import new_request_id
from support.household import Phone
from support.jobs_household import JobsHousehold, SlowTool, make_den, watching
from support.programs import objects, one_line
from support.scripted_den import ANSWER
from support.slow_tool import PICTURE

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

QUESTION = ("--route", "home", "please do it slowly")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("jobs")


@pytest.fixture(scope="module")
def household(folder: Path, tiny_model: Path) -> Iterator[JobsHousehold]:
    tools = folder / "tools"
    tools.mkdir()
    tool = SlowTool(tools)
    den = make_den(folder / "den", tools)
    model = {"name": str(tiny_model), "context_tokens": 8192}
    phone = Phone.make(folder / "pocket", model)
    with JobsHousehold(den, phone, tool) as made:
        phone.pair(den)
        yield made
    tool.close()


@pytest.fixture
def home(household: JobsHousehold) -> JobsHousehold:
    """A node with a slow tool and a phone, paired and up."""
    household.node.ensure_up()
    return household


@pytest.fixture
def guest(home: JobsHousehold, folder: Path, tiny_model: Path) -> Iterator[Phone]:
    """Somebody else's phone, which may use every tool of the node."""
    phone = Phone.make(folder / "guest", {"name": str(tiny_model), "context_tokens": 8192})
    phone.pair(home.node, "--role", "guest")
    (device,) = [one for one in objects(home.node("devices", "--json")) if one["role"] == "guest"]
    granted = home.node("devices", "grant", device["id"], "--scopes", "inference,tools,jobs")
    assert granted.status == 0, granted.err
    yield phone
    phone.close()


def test_a_job_is_started_watched_and_its_files_go_into_a_chosen_folder(
    home: JobsHousehold, tmp_path: Path
) -> None:
    runs = len(home.tool.runs)
    job = home.start("paint", "a cat")
    with home.watching(job) as watched:
        first = watched.event("progress", done=1.0, total=3.0)
        assert (first["job"], first["node"], first["state"]) == (job, "den", "running")
        home.tool.say("2 of 3")
        watched.event("progress", done=2.0)
        home.tool.say("end")
        assert watched.event("job")["state"] == "succeeded"
        assert watched.end() == 0
    seen = [event["seq"] for event in watched.seen if event["event"] == "progress"]
    assert seen == list(range(1, len(seen) + 1))
    assert home.tool.runs[runs:] == ["a cat"]
    done = home.phone("jobs", "result", job)
    assert (done.status, "made of a cat" in done.out) == (0, True)
    assert list(tmp_path.iterdir()) == []
    done = home.phone("jobs", "result", job, "--to", tmp_path)
    assert (tmp_path / "picture.bin").read_bytes() == PICTURE
    assert f"{tmp_path / 'picture.bin'}  2 kB" in done.err
    refused = home.phone("jobs", "result", job, "--to", tmp_path)
    assert (refused.status, "--replace" in one_line(refused)) == (1, True)


def test_the_phone_is_gone_for_the_whole_job(home: JobsHousehold) -> None:
    job = home.start("slow", "alone")
    with home.watching(job) as watched:
        watched.event("progress", done=1.0)
        home.phone.close()
        watched.process.kill()
    home.tool.say("end")
    home.node_has(job, "succeeded")
    back = home.phone("jobs", "watch", job)
    assert (back.status, "done" in back.err) == (0, True)
    texts = {home.phone("jobs", "result", job).out for _ in range(2)}
    assert len(texts) == 1
    assert "made of alone" in texts.pop()
    assert home.tool.runs.count("alone") == 1
    delivered = home.node_has(job, "succeeded")
    assert (delivered["result_bytes"], bool(delivered["delivered_at"])) == (None, True)


@pytest.mark.parametrize("killed", ["resident", "command", "ctrl-c"])
def test_who_asked_goes_away_in_the_middle_and_one_job_goes_on(
    home: JobsHousehold, killed: str
) -> None:
    request = ("--request-id", new_request_id(), *QUESTION)
    before = len(home.tool.runs)
    resident = home.phone.pid()
    with home.phone.asking(*request) as asking:
        progress = asking.event("progress", state="running")
        match killed:
            case "resident":
                os.kill(resident, signal.SIGKILL)
                asking.event("restart")
            case "command":
                asking.end(signal.SIGKILL)
            case _:
                assert asking.end(signal.SIGINT) == 130
                left = asking.seen[-1]
                assert (left["event"], left["job"]) == ("left", progress["job"])
    with home.phone.asking(*request) as again:
        again.event("progress")
        home.tool.say("end")
        answer = again.event("answer")
        assert again.end() == 0
    assert answer["text"] == ANSWER
    (call,) = answer["tool_calls"]
    assert (call["name"], call["where"], call["is_error"]) == ("slow", "home", False)
    assert len(home.tool.runs) == before + 1
    assert [one["job"] for one in home.jobs() if one["request_id"] == request[1]] == [
        progress["job"]
    ]
    assert home.phone.ask(*request)[-1] == answer


def test_the_node_is_killed_in_the_middle_and_the_job_goes_on(home: JobsHousehold) -> None:
    job = home.start("slow", "twice")
    with home.watching(job) as watched:
        watched.event("progress", done=1.0)
        home.node.end(signal.SIGKILL)
        home.node.start()
        watched.until(lambda event: event.get("seq", 0) > 2, "an event of the second attempt")
        home.tool.say("end")
        assert watched.event("job")["state"] == "succeeded"
        assert watched.end() == 0
    assert home.tool.runs.count("twice") == 2  # it only reads


def test_nobody_knows_whether_it_happened_and_a_person_says_so(home: JobsHousehold) -> None:
    job = home.start("paint", "once")
    with home.watching(job) as watched:
        watched.event("progress", done=1.0)
        home.node.end(signal.SIGKILL)
        home.node.start()
        watched.event("progress", state="unknown_effect")
        assert watched.end() == 1
    assert home.tool.runs.count("once") == 1
    known = home.phone("jobs", "settle", job)
    assert "paint at den" in known.err
    (said,) = objects(home.phone("jobs", "settle", job, "--happened", "--json"))
    assert (said["event"], said["job"]) == ("settled", job)
    with home.watching(job) as watched:
        assert watched.event("job")["state"] == "succeeded"
    assert home.tool.runs.count("once") == 1


@pytest.mark.attack
def test_a_guests_job_waits_for_the_owner_of_the_computer(
    home: JobsHousehold, guest: Phone, tmp_path: Path
) -> None:
    started = guest("jobs", "start", "paint", "text=a dog", "--allow", "--json")
    assert started.status == 0, started.err
    job = objects(started)[0]["job"]
    with watching(guest, job) as watched:
        watched.event("progress", state="waiting_approval")
        (asked,) = objects(home.phone("jobs", "approvals", "--json"))
        own = guest("jobs", "approve", asked["approval_id"], "--yes")
        assert own.status != 0
        assert home.phone("jobs", "approve", job, "--yes").status != 0  # the guest chose that id
        assert home.tool.runs.count("a dog") == 0
        assert (asked["tool"], asked["arguments"]) == ("paint", {"text": "a dog"})
        assert asked["device_name"] == "guest"
        shown = home.phone("jobs", "approve", asked["approval_id"], "--yes")
        assert shown.status == 0, shown.err
        assert 'text: "a dog"' in shown.err
        home.tool.say("end")
        assert watched.event("job")["state"] == "succeeded"
    assert home.jobs() == [one for one in home.jobs() if one["job"] != job]
    assert guest("jobs", "result", job, "--to", tmp_path).status == 0
    assert (tmp_path / "picture.bin").read_bytes() == PICTURE
