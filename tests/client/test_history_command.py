"""`homing history`: what was said can be seen, searched and deleted."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.phone_process import answer, objects, one_line

if TYPE_CHECKING:
    from support.phone_process import PhoneRig


async def test_what_was_said_is_listed_searched_shown_and_deleted(rig: PhoneRig) -> None:
    nothing = await rig.run("history")
    assert (nothing.status, nothing.out.strip()) == (0, "Nothing was said yet.")
    async with rig.scripted(answer("It is half past nine, I think.")):
        _, asked = await rig.ask("--route", "phone", "what time is it")
        listed = await rig.run("history")
        assert "1 request" in listed.out
        assert "what time is it" in listed.out
        (found,) = objects((await rig.run("history", "search", "HALF", "past", "--json")).out)
        assert found["conversation_id"] == asked["conversation_id"]
        assert found["title"] == "what time is it"
        assert found["found"] == "It is half past nine, I think."
        none = await rig.run("history", "search", "helicopter")
        assert none.out.strip() == "Nothing was said with these words."
        shown = await rig.run("history", "show", "last")
        assert "You: what time is it" in shown.out
        assert "Homing: It is half past nine, I think." in shown.out
        said = objects((await rig.run("history", "show", "last", "--json")).out)
        assert [one["role"] for one in said] == ["user", "assistant"]
        deleted = await rig.run("history", "delete", listed.out.split()[0])
        assert deleted.out.strip() == "Deleted: 1 conversation."
        assert "yet" in (await rig.run("history")).out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("history", "show", "last"), "there is no such conversation"),
        (("history", "delete"), "say which conversation to delete, or --all"),
        (("history", "delete", "last", "--all"), "say which conversation to delete, or --all"),
        (("history", "search"), "Missing argument"),
    ],
)
async def test_what_cannot_be_done_is_said(
    rig: PhoneRig, arguments: tuple[str, ...], words: str
) -> None:
    done = await rig.run(*arguments)
    assert done.status != 0
    assert words in one_line(done)
