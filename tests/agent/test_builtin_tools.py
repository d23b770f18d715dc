from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

import pytest
from homing_agent.alarms.base import AlarmKind
from homing_agent.registry import Registry
from homing_agent.testing import FakeAlarms
from homing_agent.tool import AskPersonError, ToolContext, ToolOutput
from homing_agent.tools.builtin import builtin_tools, local_zone
from homing_agent.tools.notes import file_stem
from homing_agent.tools.vcard import Card, parse_cards, write_card
from homing_core.canonical import canonical_json
from homing_core.errors import InvalidDataError
from homing_core.ids import new_request_id, new_tool_call_id
from homing_core.provenance import Trust
from homing_core.testing import FakeClock
from homing_core.tools import EffectClass, ToolCall, Topic
from hypothesis import given
from hypothesis import strategies as st
from icalendar import Calendar, Component

if TYPE_CHECKING:
    from pathlib import Path

    from homing_core.canonical import JsonValue

BERLIN = ZoneInfo("Europe/Berlin")
NOW = datetime(2026, 11, 30, 16, 56, tzinfo=BERLIN)  # a Monday


class Desk:
    """The built-in tools over a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.clock = FakeClock(NOW.timestamp())
        self.alarms = FakeAlarms()
        self.registry = Registry(builtin_tools(folder, self.clock, self.alarms, BERLIN))

    def preview(self, name: str, /, **arguments: JsonValue) -> str:
        call = ToolCall(new_tool_call_id(), name, arguments)
        return self.registry.check(call).preview(arguments)

    async def run(self, name: str, /, **arguments: JsonValue) -> ToolOutput:
        call = ToolCall(new_tool_call_id(), name, arguments)
        context = ToolContext(new_request_id(), call.id)
        return await self.registry.check(call).run(arguments, context)


def entries(path: Path) -> list[Component]:
    """What stands in a calendar file, as another program reads it."""
    return Calendar.from_ical(path.read_text()).subcomponents


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path / "data")


async def test_a_reminder_is_in_the_file_with_its_alarm(desk: Desk) -> None:
    output = await desk.run("set_reminder", text="call mum; it matters, ok", when="tomorrow at 9")
    assert "Tuesday 1 December 2026, 09:00" in output.content
    assert "Tuesday 1 December 2026, 09:00" in output.say
    (todo,) = entries(desk.folder / "reminders.ics")
    assert str(todo["SUMMARY"]) == "call mum; it matters, ok"
    assert todo.decoded("DUE") == datetime(2026, 12, 1, 8, 0, tzinfo=UTC)
    (alarm,) = todo.subcomponents
    assert alarm.name == "VALARM"
    assert alarm["TRIGGER"].params["RELATED"] == "END"
    (set_alarm,) = desk.alarms.pending()
    assert set_alarm.kind is AlarmKind.REMINDER
    assert set_alarm.due == datetime(2026, 12, 1, 8, 0, tzinfo=UTC).timestamp()


def test_a_person_is_shown_the_resolved_time_before(desk: Desk) -> None:
    shown = desk.preview("set_reminder", text="call mum", when="next friday 5pm")
    assert shown == "Remind you on Friday 4 December 2026, 17:00: call mum"


def test_a_time_that_has_passed_asks_and_writes_nothing(desk: Desk) -> None:
    with pytest.raises(AskPersonError, match="has passed"):
        desk.preview("set_reminder", text="call mum", when="today at 9am")
    assert not desk.folder.exists()


async def test_reminders_are_listed_by_time_without_those_done(desk: Desk) -> None:
    assert (await desk.run("list_reminders")).say == "You have no reminders."
    await desk.run("set_reminder", text="second", when="friday")
    await desk.run("set_reminder", text="first", when="in 20 minutes")
    path = desk.folder / "reminders.ics"
    done = "BEGIN:VTODO\r\nUID:x\r\nSUMMARY:old\r\nSTATUS:COMPLETED\r\nEND:VTODO\r\n"
    undated = "BEGIN:VTODO\r\nUID:y\r\nSUMMARY:some\x1b[31mday\r\nEND:VTODO\r\n"
    text = path.read_text()
    path.write_text(text.replace("END:VCALENDAR", f"{done}{undated}END:VCALENDAR"))
    output = await desk.run("list_reminders")
    assert output.say.splitlines() == [
        "Your reminders:",
        "- Monday 30 November 2026, 17:16: first",
        "- Friday 4 December 2026, 09:00: second",
        "- some[31mday",
    ]
    assert output.content == output.say


async def test_an_event_has_a_length_and_warns_before(desk: Desk) -> None:
    output = await desk.run("add_event", title="dentist", when="friday 3pm", duration="30 minutes")
    assert "Friday 4 December 2026, 15:00, for 30 minutes" in output.say
    (event,) = entries(desk.folder / "calendar.ics")
    assert event.decoded("DTSTART") == datetime(2026, 12, 4, 14, 0, tzinfo=UTC)
    assert event.decoded("DTEND") == datetime(2026, 12, 4, 14, 30, tzinfo=UTC)
    assert desk.alarms.pending()[0].due == datetime(2026, 12, 4, 13, 50, tzinfo=UTC).timestamp()


async def test_an_event_on_a_day_lasts_all_day(desk: Desk) -> None:
    await desk.run("add_event", title="holiday", when="24 december")
    (event,) = entries(desk.folder / "calendar.ics")
    assert str(event.decoded("DTSTART")) == "2026-12-24"
    assert str(event.decoded("DTEND")) == "2026-12-25"
    assert desk.alarms.pending() == ()
    with pytest.raises(InvalidDataError, match="time of day"):
        desk.preview("add_event", title="x", when="friday", duration="2 hours")
    with pytest.raises(AskPersonError, match="has passed"):
        desk.preview("add_event", title="x", when="yesterday")


async def test_events_are_listed_from_now_or_for_a_day(desk: Desk) -> None:
    await desk.run("add_event", title="dentist", when="friday 3pm")
    await desk.run("add_event", title="walk", when="tomorrow at 10am")
    path = desk.folder / "calendar.ics"
    foreign = (
        "BEGIN:VEVENT\r\nUID:a\r\nSUMMARY:past\r\nDTSTART:20200101T100000Z\r\nEND:VEVENT\r\n"
        "BEGIN:VEVENT\r\nUID:b\r\nSUMMARY:standup\r\nDTSTART:20200106T090000Z\r\n"
        "RRULE:FREQ=WEEKLY\r\nEND:VEVENT\r\n"
    )
    path.write_text(path.read_text().replace("END:VCALENDAR", f"{foreign}END:VCALENDAR"))
    assert (await desk.run("list_events")).say.splitlines() == [
        "Your events:",
        "- standup (repeats, first on Monday 6 January 2020)",
        "- Tuesday 1 December 2026, 10:00: walk",
        "- Friday 4 December 2026, 15:00: dentist",
    ]
    on_friday = await desk.run("list_events", day="friday")
    assert "dentist" in on_friday.say
    assert "walk" not in on_friday.say
    path.unlink()
    assert (await desk.run("list_events", day="tomorrow")).say == (
        "You have no events on Tuesday 1 December 2026."
    )


async def test_events_of_every_shape_are_shown(desk: Desk) -> None:
    desk.folder.mkdir()
    (desk.folder / "calendar.ics").write_text(
        "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:x\r\n"
        "BEGIN:VEVENT\r\nUID:1\r\nSUMMARY:floating\r\nDTSTART:20261201T100000\r\nEND:VEVENT\r\n"
        "BEGIN:VEVENT\r\nUID:2\r\nSUMMARY:whole day\r\nDTSTART;VALUE=DATE:20261201\r\n"
        "END:VEVENT\r\n"
        "BEGIN:VEVENT\r\nUID:3\r\nSUMMARY:week\r\nDTSTART;VALUE=DATE:20261128\r\n"
        "DTEND;VALUE=DATE:20261205\r\nEND:VEVENT\r\n"
        "BEGIN:VEVENT\r\nUID:4\r\nSUMMARY:broken\r\nDTSTART:whenever\r\nEND:VEVENT\r\n"
        "BEGIN:VEVENT\r\nUID:5\r\nSUMMARY:year one\r\nDTSTART:00010101T000000Z\r\nEND:VEVENT\r\n"
        "END:VCALENDAR\r\n"
    )
    assert (await desk.run("list_events", day="tomorrow")).say.splitlines() == [
        "Your events on Tuesday 1 December 2026:",
        "- Saturday 28 November 2026: week",
        "- Tuesday 1 December 2026: whole day",
        "- Tuesday 1 December 2026, 10:00: floating",
    ]


async def test_long_lists_are_cut(desk: Desk) -> None:
    for number in range(25):
        await desk.run("set_reminder", text=f"n{number}", when=f"in {number + 1} hours")
    assert (await desk.run("list_reminders")).say.splitlines()[-1] == "and 5 more."


async def test_notes_never_overwrite(desk: Desk) -> None:
    first = await desk.run("save_note", text="milk\nand eggs", title="Shopping/../list")
    second = await desk.run("save_note", text="bread", title="Shopping/../list")
    folder = desk.folder / "notes"
    assert (first.source, second.source) == ("Shopping list.md", "Shopping list 2.md")
    assert (folder / "Shopping list.md").read_text() == "# Shopping/../list\n\nmilk\nand eggs\n"
    assert (folder / "Shopping list 2.md").read_text().endswith("bread\n")
    assert [path.name for path in desk.folder.iterdir()] == ["notes"]


async def test_a_note_without_a_title_takes_its_first_words(desk: Desk) -> None:
    output = await desk.run("save_note", text="the wifi password is on the fridge door")
    assert output.source == "the wifi password is on the.md"


async def test_notes_are_found_by_their_words(desk: Desk) -> None:
    assert (await desk.run("search_notes")).say == "You have no notes."
    await desk.run("save_note", text="The Wi-Fi password is fish", title="Wifi")
    await desk.run("save_note", text="Buy fish", title="Shopping")
    (desk.folder / "notes" / "broken.md").write_bytes(b"\xff\xfe fish")
    found = await desk.run("search_notes", query="FISH password")
    assert found.say.splitlines() == [
        "Your notes with “FISH password”:",
        "- Wifi: The Wi-Fi password is fish",
    ]
    assert "no notes with" in (await desk.run("search_notes", query="cheese")).say


@given(st.text(max_size=200))
def test_any_title_is_a_safe_file_name(title: str) -> None:
    stem = file_stem(title)
    assert stem
    assert stem == stem.strip()
    assert "/" not in stem
    assert "\0" not in stem
    assert not stem.startswith(".")
    assert len(f"{stem} 999.md".encode()) < 255
    assert stem.casefold() not in {"con", "nul", "com1"}


async def test_contacts_are_kept_and_found(desk: Desk) -> None:
    await desk.run("add_contact", name="Anna Müller", phone="+49 170 1234567")
    await desk.run("add_contact", name="Ben", email="ben@example.org")
    found = await desk.run("find_contact", name="müller")
    assert found.say.splitlines()[1:] == ["- Anna Müller: +49 170 1234567"]
    assert "no contact named “Zoe”" in (await desk.run("find_contact", name="Zoe")).say


async def test_foreign_cards_stay_byte_for_byte(desk: Desk) -> None:
    desk.folder.mkdir()
    path = desk.folder / "contacts.vcf"
    foreign = (
        "BEGIN:VCARD\nVERSION:2.1\nN:Müller;Jörg;;;\nTEL;HOME;VOICE:030 123\n"
        "item1.EMAIL;type=INTERNET:j@example.org\nPHOTO;ENCODING=b;TYPE=JPEG:AAAA\n  BBBB\n"
        "X-ODD:a\\;b\nEND:VCARD"
    )
    path.write_text(foreign)
    await desk.run("add_contact", name="Ben", phone="112")
    assert path.read_text().startswith(foreign)
    found = await desk.run("find_contact", name="jörg")
    assert "Jörg Müller: 030 123, j@example.org" in found.say


@pytest.mark.parametrize(
    "damaged", ["hello", "BEGIN:VCARD\nFN:x", "END:VCARD", "BEGIN:VCARD\nBEGIN:VCARD\nEND:VCARD"]
)
async def test_a_damaged_contacts_file_is_named_and_kept(desk: Desk, damaged: str) -> None:
    desk.folder.mkdir()
    path = desk.folder / "contacts.vcf"
    path.write_text(damaged)
    with pytest.raises(InvalidDataError, match=r"contacts\.vcf"):
        await desk.run("add_contact", name="Ben", phone="112")
    with pytest.raises(InvalidDataError, match=r"contacts\.vcf"):
        await desk.run("find_contact", name="Ben")
    assert path.read_text() == damaged


def test_contact_details_are_checked(desk: Desk) -> None:
    for arguments in ({"phone": "call me"}, {"phone": "-n 1"}, {"email": "nowhere"}):
        with pytest.raises(InvalidDataError):
            desk.preview("add_contact", name="Ben", **arguments)
    with pytest.raises(AskPersonError, match="Ben"):
        desk.preview("add_contact", name="Ben")


def test_other_peoples_data_is_marked(desk: Desk) -> None:
    marked = {spec.name for spec in desk.registry.offered() if Topic.OTHER_PEOPLE in spec.topics}
    assert marked == {"add_contact", "find_contact"}


names = st.text(st.characters(exclude_categories=["Cs", "Cc", "Cn", "Zl", "Zp"]), min_size=1).map(
    lambda text: " ".join(text.split())
)


@given(names.filter(bool))
def test_a_card_comes_back_as_it_was(name: str) -> None:
    card = Card(name, ("+49 170;1",), ("a,b@example.org",))
    text = write_card(card, "urn:x")
    assert parse_cards(text) == [card]
    assert all(len(line.encode()) <= 75 for line in text.split("\r\n"))


@given(st.text(max_size=300))
def test_any_contacts_file_is_read_or_refused(text: str) -> None:
    try:
        cards = parse_cards(f"BEGIN:VCARD\n{text}\nEND:VCARD\n")
    except InvalidDataError as error:
        assert error.what  # noqa: PT017  # either is right
    else:
        assert cards


async def test_timers_are_set_and_listed(desk: Desk) -> None:
    assert (await desk.run("list_timers")).say == "No timer is running."
    output = await desk.run("set_timer", duration="10 minutes", label="pasta")
    assert output.say == "Timer for pasta started: 10 minutes, until 17:06:00."
    await desk.run("set_timer", duration="1h")
    desk.clock.advance(61)
    assert (await desk.run("list_timers")).say.splitlines() == [
        "Your timers:",
        "- pasta: 8 minutes 59 seconds left",
        "- timer: 58 minutes 59 seconds left",
    ]
    assert desk.preview("set_timer", duration="5 min") == "Start a timer: 5 minutes"
    with pytest.raises(InvalidDataError):
        desk.preview("set_timer", duration="forever")


async def test_the_time_is_told(desk: Desk) -> None:
    assert (await desk.run("current_time")).say == "It is Monday 30 November 2026, 16:56."


async def test_empty_and_endless_arguments_are_refused(desk: Desk) -> None:
    with pytest.raises(InvalidDataError, match="'text' is empty"):
        desk.preview("set_reminder", text="  \u200b ".replace("\u200b", " "), when="tomorrow")
    with pytest.raises(InvalidDataError, match="longer than"):
        desk.preview("set_reminder", text="x" * 5000, when="tomorrow")


async def test_control_characters_do_not_reach_the_files(desk: Desk) -> None:
    await desk.run("set_reminder", text="a\x1b[31mb\r\nEND:VCALENDAR\ud800", when="tomorrow")
    text = (desk.folder / "reminders.ics").read_text()
    assert "\x1b" not in text
    assert text.count("\nEND:VCALENDAR") == 1


def test_what_others_may_have_written_is_untrusted(desk: Desk) -> None:
    untrusted = {
        spec.name for spec in desk.registry.offered() if spec.output_trust is Trust.UNTRUSTED
    }
    assert untrusted == {"list_reminders", "list_events", "search_notes", "find_contact"}


def test_effects_are_declared(desk: Desk) -> None:
    reads = {spec.name for spec in desk.registry.offered() if spec.effect is EffectClass.READ}
    assert reads == {
        "list_reminders",
        "list_timers",
        "list_events",
        "search_notes",
        "find_contact",
        "current_time",
    }


def test_the_offer_stays_small(desk: Desk) -> None:
    # About four bytes a token: the phone pays for each of these words on every cold start.
    shown: list[JsonValue] = [
        {"name": spec.name, "description": spec.description, "parameters": spec.parameters}
        for spec in desk.registry.offered()
    ]
    assert len(canonical_json(shown)) < 3200


def test_the_system_has_a_time_zone() -> None:
    assert datetime.now(local_zone()).utcoffset() is not None
