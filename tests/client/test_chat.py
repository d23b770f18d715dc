"""`homing chat`, on a terminal and in a pipe."""

from __future__ import annotations

import asyncio
import contextlib

import pytest
from support.phone_process import PhoneRig, answer, call

LONG = "a start that is long enough to be shown, "
PROMPT = "> "


def notes(rig: PhoneRig) -> int:
    return len(list((rig.data_dir / "data" / "notes").glob("*.md")))


async def test_a_talk_is_one_conversation(rig: PhoneRig) -> None:
    milk, eggs = call("save_note", text="buy milk"), call("save_note", text="buy eggs")
    script = (answer(milk, when="milk"), answer(eggs, when="eggs"))
    async with rig.scripted(*script), rig.terminal("chat") as screen:
        await screen.expect("/quit to leave")
        await screen.expect(PROMPT)
        screen.type("note: buy milk\n")
        await screen.expect("[a]lways in this conversation")
        screen.type("a\n")
        await screen.expect("allowed by person")
        await screen.expect(PROMPT)
        screen.type("note: buy eggs\n")  # not asked again
        await screen.expect("allowed by person")
        await screen.expect(PROMPT)
        assert notes(rig) == 2
        screen.type("/new\n")  # what was allowed belongs to the conversation
        await screen.expect("A new conversation.")
        screen.type("note: buy milk\n")
        await screen.expect("[a]lways in this conversation")
        screen.type("n\n")
        await screen.expect("was not allowed")
        await screen.expect(PROMPT)
        assert notes(rig) == 2
        screen.type("/quit\n")
        assert await screen.end() == 0


@pytest.mark.parametrize("keys", ["\n", "/quit\n", "/exit\n", "\x04", "\x03"])
async def test_it_is_left_in_any_usual_way(rig: PhoneRig, keys: str) -> None:
    async with rig.scripted(answer("Noon.")), rig.terminal("chat") as screen:
        await screen.expect(PROMPT)
        ended = asyncio.ensure_future(screen.end())
        screen.type(keys)
        # Python's line editor overlooks a Ctrl-C in the moment between its prompt and its waiting.
        while keys == "\x03" and not (await asyncio.wait({ended}, timeout=1.0))[0]:
            screen.type(keys)
        assert await ended == 0
        assert "Homing" not in screen.text


async def test_ctrl_c_ends_an_answer_and_not_the_talk(rig: PhoneRig) -> None:
    script = (answer(LONG, {"gate": "never"}, when="long"), answer("Noon.", when="time"))
    async with rig.scripted(*script), rig.terminal("chat") as screen:
        await screen.expect(PROMPT)
        screen.type("something long\n")
        await screen.expect(LONG.strip())
        screen.type("\x03")
        await screen.expect("interrupted")
        await screen.expect(PROMPT)
        screen.type("what time is it?\n")
        await screen.expect("Noon.")
        await screen.expect(PROMPT)
        screen.type("/quit\n")
        assert await screen.end() == 0


async def test_the_way_can_be_chosen(rig: PhoneRig) -> None:
    async with rig.scripted(answer("Noon.")), rig.terminal("chat") as screen:
        await screen.expect(PROMPT)
        screen.type("/home\n")
        await screen.expect("--route home")
        screen.type("what time is it?\n")
        await screen.expect("home cannot be reached")
        await screen.expect("Noon.")
        screen.type("/phone\n")
        await screen.expect("--route phone")
        screen.type("/what\n")
        await screen.expect("/quit to leave")
        screen.type("/quit\n")
        assert await screen.end() == 0


async def test_it_outlives_the_resident_process(rig: PhoneRig) -> None:
    async with contextlib.AsyncExitStack() as stack:
        async with rig.scripted(answer("One.")) as resident:
            screen = await stack.enter_async_context(rig.terminal("chat"))
            await screen.expect(PROMPT)
            screen.type("first\n")
            await screen.expect("One.")
            await screen.expect(PROMPT)
            await resident.kill()
        async with rig.scripted(answer("Two.")):
            screen.type("second\n")
            await screen.expect("Two.")
            screen.type("/quit\n")
            assert await screen.end() == 0


async def test_in_a_pipe_only_the_answers_are_on_standard_output(rig: PhoneRig) -> None:
    script = (answer("One.", when="first"), answer("Two.", when="second"))
    async with rig.scripted(*script):
        done = await rig.run("chat", stdin=b"first\n\nsecond\n")
    assert (done.status, done.out) == (0, "One.\nTwo.\n"), done.err


async def test_in_a_pipe_the_last_answer_decides_the_status(rig: PhoneRig) -> None:
    note = call("save_note", text="buy milk")
    async with rig.scripted(answer(note, when="milk"), answer("Noon.", when="time")):
        refused = await rig.run("chat", stdin=b"note: buy milk\n")
        well = await rig.run("chat", stdin=b"note: buy milk\nwhat time is it?\n")
        garbage = await rig.run("chat", stdin=b"\xff\xfe\n")
    assert (refused.status, well.status, garbage.status) == (3, 0, 2)
    assert "not UTF-8" in garbage.err
    assert notes(rig) == 0
