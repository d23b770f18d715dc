"""While nothing comes, a person sees that a request goes on."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, cast

import pytest
from homing_agent.events import Note, RouteChosen, TextDelta
from homing_client.cli import asking, silence
from homing_client.cli.report import TextReporter
from homing_client.cli.silence import or_silence
from homing_core.tools import Place
from rich.console import Console

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from homing_client.cli.report import Reporter
    from homing_client.rpc.phone_calls import AskStream
    from homing_client.sessions import Shown


class Told:
    """A reporter that only counts; a stream that speaks once somebody heard of the silence."""

    def __init__(self) -> None:
        self.seconds: list[float] = []
        self._heard = asyncio.Event()

    def silent(self, seconds: float) -> None:
        self.seconds.append(seconds)
        self._heard.set()

    async def events(self) -> AsyncGenerator[Shown, None]:
        yield Note("begun")
        await self._heard.wait()
        yield Note("done")


async def test_silence_is_told_of_until_something_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asking, "_TICK_S", 0.01)
    monkeypatch.setattr(asking, "_SILENCE_S", 0.02)
    told = Told()
    lively = asking.with_sign_of_life(cast("AskStream", told), cast("Reporter", told), lambda: True)
    assert [event async for event in lively] == [Note("begun"), Note("done")]
    assert told.seconds[0] == pytest.approx(0.02)


async def test_an_error_comes_through_and_whoever_leaves_ends_the_stream() -> None:
    ended: list[str] = []

    async def events() -> AsyncGenerator[int, None]:
        try:
            yield 1
            await asyncio.Event().wait()
        finally:
            ended.append("ended")

    async def fails() -> AsyncGenerator[int, None]:
        yield 1
        msg = "broken"
        raise ValueError(msg)

    watched = or_silence(events(), 0.01)
    assert [await anext(watched), await anext(watched)] == [1, None]
    await watched.aclose()
    assert ended == ["ended"]
    with pytest.raises(ValueError, match="broken"):
        [event async for event in or_silence(fails(), 1.0)]


@pytest.mark.parametrize(
    ("before", "shown"),
    [
        ([], "phone is working, 7 s"),
        ([RouteChosen(Place.HOME, "den", "it is long", "large")], "home (den) is working, 7 s"),
        ([TextDelta("Once upon")], ""),
    ],
)
def test_a_terminal_shows_where_it_is_worked(
    before: list[Shown], shown: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    screen = Console(force_terminal=True, width=80, record=True, stderr=True)
    monkeypatch.setattr(silence, "err", screen)
    reporter = TextReporter()
    for event in before:
        reporter.show(event)
    reporter.silent(7.2)
    reporter.pause()
    text = screen.export_text()
    assert shown in text if shown else not text.strip()


def test_a_pipe_gets_no_sign_of_life(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(silence, "err", Console(force_terminal=False, stderr=True))
    TextReporter().silent(7.2)
    assert capsys.readouterr().err == ""
