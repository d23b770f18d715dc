"""`homing ask`: real processes and a real socket; the model plays a script."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

import pytest
from homing_core.ids import new_request_id
from support.phone_process import PhoneRig, answer, call, objects, one_line, phone_rig

if TYPE_CHECKING:
    from pathlib import Path

ASKED = "remind me to call mom tomorrow at 9"
LONG = "a start that is long enough to be shown, "
REMIND = call("set_reminder", text="call mom", when="tomorrow at 9")


def reminders(rig: PhoneRig) -> int:
    """How many are in the file."""
    file = rig.data_dir / "data" / "reminders.ics"
    return file.read_text("utf-8").count("BEGIN:VTODO") if file.exists() else 0


async def test_the_last_line_keeps_the_contract(rig: PhoneRig) -> None:
    async with rig.scripted(answer(REMIND)):
        done, last = await rig.ask("--allow", "set_reminder", ASKED)
    assert done.status == 0, done.err
    assert last["event"] == "answer"
    assert last["route"] == "phone"
    assert last["node"] == ""
    assert isinstance(last["reason"], str)
    assert 0 <= last["confidence"] <= 1
    assert last["model"] == "scripted"
    assert last["stand_in"] is True
    assert 0 <= last["ttft_ms"] <= last["total_ms"]
    assert "call mom" in last["text"]
    (made,) = last["tool_calls"]
    assert made["name"] == "set_reminder"
    assert made["arguments"] == {"text": "call mom", "when": "tomorrow at 9"}
    assert (made["where"], made["approved_by"]) == ("phone", "--allow")
    assert last["exit_status"] == 0
    assert last["error"] is None
    assert reminders(rig) == 1
    # Before it: where, the call before and after it ran, the words.
    names = [found["event"] for found in objects(done.out)]
    assert names == ["route", "tool", "tool", "text", "answer"]


async def test_a_person_reads_the_answer_alone_on_standard_output(rig: PhoneRig) -> None:
    async with rig.scripted(answer("It is ", "noon.")):
        done = await rig.run("ask", "what time is it?")
    assert (done.status, done.out) == (0, "It is noon.\n")
    facts = done.err.splitlines()[-1]
    assert facts.startswith("phone · scripted (stand-in) · first token ")


async def test_quiet_prints_nothing_else(rig: PhoneRig) -> None:
    async with rig.scripted(answer("It is ", "noon.")):
        done = await rig.run("ask", "--quiet", "what time is it?")
    assert (done.status, done.out, done.err) == (0, "It is noon.\n", "")


async def test_explain_shows_what_the_decision_saw(rig: PhoneRig) -> None:
    async with rig.scripted(answer("It is noon.")):
        done = await rig.run("ask", "--explain", "what time is it?")
    assert "prompt_tokens = " in done.err


async def test_without_permission_and_nobody_to_ask_nothing_happens(rig: PhoneRig) -> None:
    async with rig.scripted(answer(REMIND)):
        done, last = await rig.ask(ASKED)
        spoken = await rig.run("ask", ASKED)
    assert (done.status, last["exit_status"], last["error"]["code"]) == (3, 3, "refused")
    assert "--allow set_reminder" in one_line(done)
    (made,) = last["tool_calls"]
    assert made["approved_by"] == "refused"
    assert spoken.status == 3
    assert 'set_reminder(text="call mom", when="tomorrow at 9") was not allowed' in spoken.err
    assert reminders(rig) == 0


@pytest.mark.attack
async def test_money_health_and_other_people_need_a_person_whatever_is_allowed(
    rig: PhoneRig,
) -> None:
    add = call("add_contact", name="Bo", phone="5551234")
    async with rig.scripted(answer(add)):
        done, last = await rig.ask("--allow", "add_contact", "save Bo's number 5551234")
    assert (done.status, last["error"]["code"]) == (3, "refused")
    assert not (rig.data_dir / "data" / "contacts.vcf").exists()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--allow", "fly_away", "hi"), "no tool named fly_away"),
        (("",), "there is no question"),
        (("   ",), "there is no question"),
        (("--route", "mars", "hi"), "--route takes one of auto, phone, home"),
        (("--sensitivity", "secret", "hi"), "--sensitivity takes one of phone_only"),
        (("--request-id", "7", "hi"), "--request-id: that is not a req id"),
        (("--conversation", "7", "hi"), "--conversation: that is not a conv id"),
        (("--frobnicate", "hi"), "No such option: --frobnicate"),
    ],
)
async def test_wrong_usage_is_one_line_and_2(
    rig: PhoneRig, arguments: tuple[str, ...], words: str
) -> None:
    async with rig.scripted():
        done = await rig.run("ask", *arguments)
    assert done.status == 2
    assert words in one_line(done)
    assert done.out == ""


async def test_with_json_an_error_is_an_object_too(rig: PhoneRig) -> None:
    async with rig.scripted():
        done = await rig.run("ask", "--json", "--allow", "fly_away", "hi")
    (found,) = objects(done.out)
    assert (found["event"], found["code"], found["exit_status"]) == ("error", "usage", 2)
    assert "homing tools" in found["hint"]


async def test_a_repeated_request_is_done_once(rig: PhoneRig) -> None:
    asked = ("--request-id", new_request_id(), "--allow", "set_reminder", ASKED)
    async with rig.scripted(answer(REMIND)) as resident:
        _, first = await rig.ask(*asked)
        again, second = await rig.ask(*asked)
        assert second == first
        await resident.kill()
    async with rig.scripted(answer(REMIND)):  # what was recorded outlives the process
        later, third = await rig.ask(*asked)
    assert third == first
    assert (again.status, later.status) == (0, 0), again.err + later.err
    assert reminders(rig) == 1


async def test_a_request_id_belongs_to_one_question(rig: PhoneRig) -> None:
    request = new_request_id()
    async with rig.scripted(answer("It is noon.")):
        await rig.ask("--request-id", request, "what time is it?")
        done = await rig.run("ask", "--request-id", request, "delete everything")
    assert done.status == 1
    assert "used for something else" in one_line(done)


async def test_the_question_may_come_from_standard_input(rig: PhoneRig) -> None:
    async with rig.scripted(answer("Bonjour.", when="good morning")):
        done = await rig.run("ask", "-", stdin=b"in French: good morning\n")
        empty = await rig.run("ask", "-", stdin=b" \n")
        garbage = await rig.run("ask", "-", stdin=b"\xff\xfe")
    assert done.out == "Bonjour.\n"
    assert (empty.status, "there is no question" in one_line(empty)) == (2, True)
    assert (garbage.status, "not UTF-8" in one_line(garbage)) == (2, True)


async def test_a_conversation_goes_on(rig: PhoneRig) -> None:
    async with rig.scripted(answer("Noon."), answer("No.")):
        _, first = await rig.ask("what time is it?")
        _, second = await rig.ask("--conversation", first["conversation_id"], "sure?")
    assert second["conversation_id"] == first["conversation_id"]


@pytest.mark.attack
async def test_a_model_cannot_command_the_terminal(rig: PhoneRig) -> None:
    nasty = "\x1b]0;owned\x07\x1b[2Jred\u202egreen\r\nok"
    async with rig.scripted(answer(nasty)):
        done = await rig.run("ask", "say something")
        _, last = await rig.ask("say something")
    assert done.out == "]0;owned[2Jredgreen\nok\n"
    assert "\x1b" not in done.err
    assert last["text"] == nasty  # JSON carries it escaped


async def test_a_terminal_that_knows_few_letters_gets_others(rig: PhoneRig) -> None:
    rig.env["PYTHONIOENCODING"] = "ascii"
    async with rig.scripted(answer("Füße")):
        done = await rig.run("ask", "feet in German?")
    assert (done.status, done.out) == (0, "F??e\n")


async def test_a_reader_that_leaves_early_is_no_bug(rig: PhoneRig) -> None:
    async with (
        rig.scripted(answer(LONG, {"gate": "go"}, "two")) as resident,
        rig.started("ask", "--data-dir", rig.data_dir, "count") as process,
    ):
        assert process.stdout is not None
        assert process.stderr is not None
        assert await process.stdout.readexactly(len(LONG)) == LONG.encode()
        process.stdout._transport.close()  # type: ignore[attr-defined]  # noqa: SLF001  # no public way
        await resident.open_gate("go")
        assert "Homing" not in (await process.stderr.read()).decode()
        assert await process.wait() == 1


async def test_ctrl_c_ends_the_request_at_the_resident_process(rig: PhoneRig) -> None:
    async with (
        rig.scripted(answer(LONG, {"gate": "never"}, REMIND)),
        rig.started("ask", "--data-dir", rig.data_dir, "--allow", "set_reminder", "x") as process,
    ):
        assert process.stdout is not None
        assert await process.stdout.readexactly(len(LONG)) == LONG.encode()
        process.send_signal(signal.SIGINT)
        _, err = await process.communicate()
        assert process.returncode == 130
        assert "interrupted; the request was ended" in err.decode()
        (status,) = objects((await rig.run("serve", "--status", "--json")).out)
        assert status["running"] == 0
    assert reminders(rig) == 0


async def test_an_answer_survives_the_resident_process(rig: PhoneRig) -> None:
    """Android ends background processes; whoever waits for an answer must not lose it."""
    script = answer(LONG, {"gate": "go"}, "and an end", when="count")
    async with rig.started("ask", "--data-dir", rig.data_dir, "count") as process:
        process.send_signal(signal.SIGSTOP)
        async with rig.scripted(script) as resident:
            process.send_signal(signal.SIGCONT)
            assert process.stdout is not None
            assert await process.stdout.readexactly(len(LONG)) == LONG.encode()
            process.send_signal(signal.SIGSTOP)
            await resident.kill()
        async with rig.scripted(script) as resident:
            process.send_signal(signal.SIGCONT)
            await resident.open_gate("go")
            out, err = await process.communicate()
    assert (process.returncode, out) == (0, b"and an end\n")
    assert "going on with a new one" in err.decode()


async def test_folders_of_any_name_work(tmp_path: Path) -> None:
    folder = tmp_path / "my phone, 100% %41 #1?"
    folder.mkdir()
    async with phone_rig(folder) as odd, odd.scripted(answer("It is noon.")):
        done = await odd.run("ask", "what time is it?")
    assert (done.status, done.out) == (0, "It is noon.\n")


async def test_a_request_for_home_without_a_node_says_what_to_do(rig: PhoneRig) -> None:
    async with rig.scripted(answer("I am only the phone.")):
        done, last = await rig.ask("--route", "home", "why is the sky blue?")
    assert (done.status, last["route"]) == (0, "phone")
    notes = [found["text"] for found in objects(done.out) if found["event"] == "note"]
    assert any("paired with no node" in note for note in notes)
    assert "home cannot be reached" in last["reason"]
