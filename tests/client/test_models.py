"""Which model the phone takes, with the real engine and a tiny model that knows nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from homing_inference.synthetic import write_qwen35
from support.phone_process import PhoneRig, answer, objects, one_line
from support.templates import HERMES

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_qwen35(tmp_path_factory.mktemp("models") / "tiny.gguf", HERMES)


@pytest.fixture(scope="module")
def whole(tiny: Path) -> bytes:
    return tiny.read_bytes()


async def test_a_file_of_ones_own_answers_and_the_process_is_started_for_it(
    rig: PhoneRig, tiny: Path
) -> None:
    done, last = await rig.ask("--model", tiny, "--route", "phone", "hello")
    assert done.status == last["exit_status"], done.err
    assert (last["event"], last["route"], last["model"]) == ("answer", "phone", "tiny")
    assert last["stand_in"] is False
    (status,) = objects((await rig.run("serve", "--status", "--json")).out)
    assert (status["model"], status["ready"], status["error"]) == ("tiny", True, None)


async def test_a_relative_path_is_meant_from_where_one_stands(rig: PhoneRig, tiny: Path) -> None:
    (rig.folder / "mine.gguf").symlink_to(tiny)
    _, last = await rig.ask("--model", "mine.gguf", "--route", "phone", "hello")
    assert last["model"] == "mine"


async def test_whoever_waits_sees_what_for(rig: PhoneRig, tiny: Path) -> None:
    arguments = ("--model", tiny, "--route", "phone", "hello")
    async with rig.terminal("ask", *arguments) as screen:
        await screen.expect("tiny")  # "checking", "loading", with how much of it is done
        assert "%" in screen.text or "loading" in screen.text
    await rig.kill_resident()
    async with rig.started("ask", "--data-dir", rig.data_dir, *arguments) as process:
        assert process.stderr is not None
        line = (await process.stderr.readline()).decode()
        assert line.startswith("The phone's model: ")


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("missing.gguf", "does not exist"),
        ("text.gguf", "not a usable GGUF file"),
        ("short.gguf", "truncated"),
        ("no-such-model", "no model called 'no-such-model'"),
    ],
)
@pytest.mark.parametrize("route", ["phone", "auto"])
async def test_a_model_that_cannot_be_had_is_one_line_and_1(
    rig: PhoneRig, whole: bytes, name: str, words: str, route: str
) -> None:
    (rig.folder / "text.gguf").write_text("this is no model", "utf-8")
    (rig.folder / "short.gguf").write_bytes(whole[:-5000])
    done = await rig.run("ask", "--quiet", "--model", name, "--route", route, "hello")
    assert done.status == 1
    assert words in one_line(done)
    assert done.out == ""


@pytest.mark.parametrize("route", ["phone", "auto"])
async def test_a_model_that_the_hub_does_not_give_names_the_stand_in(
    rig: PhoneRig, route: str
) -> None:
    done = await rig.run("ask", "--quiet", "--route", route, "hello")
    assert done.status == 1
    assert "--stand-in" in one_line(done)
    spoken = await rig.run("serve", "--status")
    assert "botpsy-0.8b:q4_k_m, not available" in spoken.out
    assert "--stand-in" in spoken.out


async def test_another_model_can_be_chosen_while_it_runs(rig: PhoneRig, tiny: Path) -> None:
    await rig.run("tools")  # started with the product's own, which cannot be had here
    before = rig.resident_pid()
    done = await rig.run("ask", "--model", tiny, "--route", "phone", "hello")
    assert "starting anew with the model that was asked for" in done.err
    assert rig.resident_pid() not in {0, before}
    now = rig.resident_pid()
    _, last = await rig.ask("--model", tiny, "--route", "phone", "hello")  # it has it already
    assert (last["model"], rig.resident_pid()) == ("tiny", now)
    await rig.run("tools")  # who names none takes what is there
    assert rig.resident_pid() == now


async def test_a_model_is_not_taken_away_from_a_request(rig: PhoneRig, tiny: Path) -> None:
    long = "a start that is long enough to be shown, "
    async with (
        rig.scripted(answer(long, {"gate": "go"}, "done")) as resident,
        rig.started("ask", "--data-dir", rig.data_dir, "count") as process,
    ):
        assert process.stdout is not None
        await process.stdout.readexactly(len(long))
        done = await rig.run("ask", "--model", tiny, "hello")
        assert done.status == 1
        assert "at work with scripted" in one_line(done)
        await resident.open_gate("go")
        out, _ = await process.communicate()
        assert out == b"done\n"


async def test_who_runs_it_by_hand_sees_how_it_gets_on(rig: PhoneRig, tiny: Path) -> None:
    async with rig.terminal("serve", "--model", tiny) as screen:
        await screen.expect("Homing is here; ask it from any terminal.")
        await screen.expect("tiny is ready.")
        screen.type("\x03")
        await screen.expect("Homing has left.")
        assert await screen.end() == 0
