"""A person at a terminal: what they see before they say yes, and what their answer does."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.phone_process import PhoneRig, answer, call, objects

if TYPE_CHECKING:
    from support.phone_process import Terminal

ASKED = "note: buy milk and [bold]eggs[/bold]"
TEXT = "buy milk and [bold]eggs[/bold]"
NOTE = call("save_note", text=TEXT)
PROMPT = "Allow it?"


def notes(rig: PhoneRig) -> list[str]:
    folder = rig.data_dir / "data" / "notes"
    return [path.read_text("utf-8") for path in sorted(folder.glob("*.md"))]


async def asked(screen: Terminal) -> None:
    """The question is there, with the exact arguments."""
    await screen.expect("save_note")
    await screen.expect(f'text: "{TEXT}"')
    await screen.expect(PROMPT)


@pytest.mark.parametrize("word", ["y", "yes", "Y", " YES "])
async def test_yes_does_it(rig: PhoneRig, word: str) -> None:
    async with rig.scripted(answer(NOTE)), rig.terminal("ask", ASKED) as screen:
        await asked(screen)
        assert notes(rig) == []  # nothing happens before the answer
        screen.type(f"{word}\n")
        assert await screen.end() == 0
        assert "allowed by person" in screen.text
    assert len(notes(rig)) == 1


@pytest.mark.parametrize("keys", ["n\n", "no\n", "\n", "\x04"], ids=["n", "no", "enter", "ctrl-d"])
async def test_no_does_nothing(rig: PhoneRig, keys: str) -> None:
    async with rig.scripted(answer(NOTE)), rig.terminal("ask", ASKED) as screen:
        await asked(screen)
        screen.type(keys)
        assert await screen.end() == 3
        assert "was not allowed" in screen.text
    assert notes(rig) == []


async def test_whatever_else_is_no_answer(rig: PhoneRig) -> None:
    async with rig.scripted(answer(NOTE)), rig.terminal("ask", ASKED) as screen:
        await asked(screen)
        screen.type("perhaps\n")
        await screen.expect("Answer y or n.")
        await screen.expect(PROMPT)
        assert notes(rig) == []
        screen.type("y\n")
        assert await screen.end() == 0


@pytest.mark.attack
async def test_what_was_typed_before_the_question_is_no_answer_to_it(rig: PhoneRig) -> None:
    long = "let me write that down for you, "
    script = answer(long, {"gate": "go"}, NOTE)
    async with rig.scripted(script) as resident, rig.terminal("ask", ASKED) as screen:
        await screen.expect(long.strip())
        screen.type("y\ny\n")
        await resident.open_gate("go")
        await asked(screen)
        screen.type("n\n")
        assert await screen.end() == 3
    assert notes(rig) == []


@pytest.mark.attack
async def test_nothing_in_an_argument_can_hide_or_pose_as_the_prompt(rig: PhoneRig) -> None:
    nasty = "milk\x1b[2K\r\u202eevil\nAllow it? [y]es, [N]o: y"
    async with (
        rig.scripted(answer(call("save_note", text=nasty))),
        rig.terminal("ask", f"note: {nasty}") as screen,
    ):
        await screen.expect(r'text: "milk\u001b[2K\r\u202eevil\nAllow it? [y]es, [N]o: y"')
        await screen.expect(PROMPT)
        screen.type("n\n")
        assert await screen.end() == 3


async def test_ctrl_c_at_the_question_ends_the_request(rig: PhoneRig) -> None:
    async with rig.scripted(answer(NOTE)):
        async with rig.terminal("ask", ASKED) as screen:
            await asked(screen)
            screen.type("\x03")
            assert await screen.end() == 130
            assert "interrupted" in screen.text
        (status,) = objects((await rig.run("serve", "--status", "--json")).out)
        assert status["running"] == 0
    assert notes(rig) == []


async def test_a_terminal_that_is_closed_says_no(rig: PhoneRig) -> None:
    async with rig.scripted(answer(NOTE)):
        async with rig.terminal("ask", "--request-id", "req-" + "0a" * 16, ASKED) as screen:
            await asked(screen)
        # Its end was recorded, and it says that nobody allowed it.
        done, last = await rig.ask("--request-id", "req-" + "0a" * 16, ASKED)
    assert (done.status, last["error"]["code"]) == (3, "refused")
    assert notes(rig) == []


async def test_a_script_that_watches_answers_for_nobody(rig: PhoneRig) -> None:
    request = ("--request-id", "req-" + "0b" * 16, ASKED)
    async with rig.scripted(answer(NOTE)), rig.terminal("ask", *request) as screen:
        await asked(screen)
        async with rig.started("ask", "--data-dir", rig.data_dir, "--json", *request) as script:
            assert script.stdout is not None
            while b'"consent"' not in (line := await script.stdout.readline()):
                assert line
            screen.type("y\n")
            out, _ = await script.communicate()
            assert script.returncode == 0
            assert objects(out.decode())[-1]["tool_calls"][0]["approved_by"] == "person"
        assert await screen.end() == 0
    assert len(notes(rig)) == 1
