from __future__ import annotations

import os
import stat
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest
from homing_agent.tools.icalfile import append_entry, put, read_entries
from homing_core.errors import HomingError, InternalError, InvalidDataError
from hypothesis import given, settings
from hypothesis import strategies as st
from icalendar import Todo

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

FOREIGN = (
    "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:-//Some Phone//App 1.0//DE\r\n"
    "X-WR-CALNAME:Meine Aufgaben\r\n"
    "BEGIN:VTIMEZONE\r\nTZID:Europe/Berlin\r\nBEGIN:STANDARD\r\nDTSTART:19701025T030000\r\n"
    "TZOFFSETFROM:+0200\r\nTZOFFSETTO:+0100\r\nEND:STANDARD\r\nEND:VTIMEZONE\r\n"
    "BEGIN:VTODO\r\nUID:foreign-1\r\nSUMMARY;LANGUAGE=de:Zahnarzt\\, dringend\r\n"
    'DUE;TZID=Europe/Berlin:20261203T090000\r\nX-ODD;X-P="a:b":kept as it is\r\n'
    "END:VTODO\r\nEND:VCALENDAR\r\n"
)


def todo(uid: str = "uid-1", summary: str = "call mum") -> Todo:
    entry = Todo()
    put(entry, "uid", uid)
    put(entry, "summary", summary)
    return entry


def summaries(path: Path) -> list[str]:
    return [str(entry.get("SUMMARY", "")) for entry in read_entries(path, "VTODO")]


def test_a_new_file_is_a_whole_calendar_and_private(tmp_path: Path) -> None:
    path = tmp_path / "data" / "reminders.ics"
    append_entry(path, todo())
    text = path.read_bytes().decode()
    assert text.startswith("BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:")
    assert text.endswith("END:VCALENDAR\r\n")
    assert summaries(path) == ["call mum"]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


@pytest.mark.parametrize(
    "foreign",
    [FOREIGN, FOREIGN.replace("\r\n", "\n"), FOREIGN.rstrip(), "\ufeff" + FOREIGN, FOREIGN * 2],
    ids=["crlf", "lf", "no last line end", "byte order mark", "two calendars"],
)
def test_foreign_entries_stay_byte_for_byte(tmp_path: Path, foreign: str) -> None:
    path = tmp_path / "reminders.ics"
    path.write_bytes(foreign.encode())
    before = summaries(path)
    append_entry(path, todo())
    assert summaries(path) == [*before, "call mum"]
    body = foreign.removeprefix("\ufeff").rstrip().removesuffix("END:VCALENDAR")
    assert path.read_bytes().decode().startswith(body)


def test_a_repeat_of_the_same_entry_adds_nothing(tmp_path: Path) -> None:
    path = tmp_path / "reminders.ics"
    append_entry(path, todo())
    once = path.read_bytes()
    append_entry(path, todo())
    assert path.read_bytes() == once


@pytest.mark.parametrize(
    "damaged",
    [
        b"hello",
        b"BEGIN:VCALENDAR\r\nVERSION:2.0\r\nBEGIN:VTODO\r\nSUMMARY:half a f",
        b"BEGIN:VCALENDAR\r\nBEGIN:VTODO\r\nEND:VCALENDAR\r\nEND:VTODO\r\n",
        b"BEGIN:VCALENDAR\r\nno colon here\r\nEND:VCALENDAR\r\n",
        b"BEGIN:VCALENDAR\r\nEND:VCALENDAR\r\nrubbish\r\n",
        b"BEGIN:VCARD\r\nEND:VCARD\r\n",
        b"\xff\xfe\x00broken",
        b"\x00" * 100,
    ],
)
def test_a_damaged_file_is_named_and_never_overwritten(tmp_path: Path, damaged: bytes) -> None:
    path = tmp_path / "reminders.ics"
    path.write_bytes(damaged)
    works: list[Callable[[], object]] = [
        lambda: append_entry(path, todo()),
        lambda: read_entries(path, "VTODO"),
    ]
    for work in works:
        with pytest.raises(InvalidDataError, match=r"reminders\.ics"):
            work()
    assert path.read_bytes() == damaged
    assert {entry.name for entry in tmp_path.iterdir()} == {".lock", "reminders.ics"}


@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=120), st.integers(0, 300), st.integers(0, 300))
def test_any_damage_is_one_kind_of_error(
    tmp_path_factory: pytest.TempPathFactory, noise: bytes, start: int, end: int
) -> None:
    path = tmp_path_factory.mktemp("ics") / "reminders.ics"
    whole = FOREIGN.encode()
    path.write_bytes(whole[:start] + noise + whole[end:])
    before = path.read_bytes()
    try:
        append_entry(path, todo())
    except HomingError:
        assert path.read_bytes() == before  # damage may also be harmless
    else:
        assert "call mum" in summaries(path)


texts = st.text(max_size=200).filter(lambda text: "\x00" not in text)


@settings(max_examples=100, deadline=None)
@given(texts)
def test_any_text_survives_or_is_refused(
    tmp_path_factory: pytest.TempPathFactory, text: str
) -> None:
    path = tmp_path_factory.mktemp("ics") / "reminders.ics"
    append_entry(path, todo("first", "first"))
    try:
        append_entry(path, todo("second", text))
    except (HomingError, UnicodeEncodeError):
        assert summaries(path) == ["first"]  # the tools clean their text before
    else:
        assert len(summaries(path)) == 2


def test_many_writers_lose_nothing(tmp_path: Path) -> None:
    path = tmp_path / "reminders.ics"

    def write(number: int) -> None:
        append_entry(path, todo(f"uid-{number}", f"entry {number}"))

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(write, range(24)))
    assert sorted(summaries(path)) == sorted(f"entry {n}" for n in range(24))


def test_a_failed_write_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "reminders.ics"
    append_entry(path, todo())
    before = path.read_bytes()

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(InternalError, match="No space left"):
        append_entry(path, todo("uid-2"))
    assert path.read_bytes() == before
    assert {entry.name for entry in tmp_path.iterdir()} == {".lock", "reminders.ics"}


def test_a_link_into_a_synced_folder_stays_a_link(tmp_path: Path) -> None:
    synced = tmp_path / "synced"
    synced.mkdir()
    target = synced / "tasks.ics"
    target.write_bytes(FOREIGN.encode())
    target.chmod(0o640)
    path = tmp_path / "reminders.ics"
    path.symlink_to(target)
    append_entry(path, todo())
    assert path.is_symlink()
    assert summaries(target) == ["Zahnarzt, dringend", "call mum"]
    assert stat.S_IMODE(target.stat().st_mode) == 0o640


def test_a_folder_that_cannot_be_made_is_reported(tmp_path: Path) -> None:
    blocker = tmp_path / "file"
    blocker.write_text("in the way")
    with pytest.raises(InternalError):
        append_entry(blocker / "reminders.ics", todo())


def test_what_cannot_be_read_is_reported(tmp_path: Path) -> None:
    folder = tmp_path / "reminders.ics"
    folder.mkdir()
    with pytest.raises(InternalError, match="cannot be used"):
        read_entries(folder, "VTODO")
    large = tmp_path / "large.ics"
    with large.open("wb") as file:
        file.truncate((16 << 20) + 1)
    with pytest.raises(InvalidDataError, match="too large"):
        read_entries(large, "VTODO")
