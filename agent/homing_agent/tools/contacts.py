"""Contacts: cards in `contacts.vcf`. They are other people's data, so a person is always asked."""

from __future__ import annotations

import asyncio
import re
import unicodedata
from typing import TYPE_CHECKING, ClassVar

from homing_core.errors import HomingError, InvalidDataError
from homing_core.labels import clean_label
from homing_core.provenance import Trust
from homing_core.tools import EffectClass, ToolSpec, Topic

from homing_agent.tool import AskPersonError, ToolContext, ToolOutput
from homing_agent.tools.arguments import optional_text, text_argument
from homing_agent.tools.base import Builtin
from homing_agent.tools.files import locked, read_text, replace_text
from homing_agent.tools.listing import listing
from homing_agent.tools.vcard import Card, parse_cards, write_card

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from homing_core.canonical import JsonObject

FILE = "contacts.vcf"
_MOST_NAME = 120
_PHONE = re.compile(r"\+?[0-9](?:[ ()./-]*[0-9]){2,19}")
_EMAIL = re.compile(r"[^@\s,;:<>\"]+@[^@\s,;:<>\"]+")
_ADD = ToolSpec(
    name="add_contact",
    description="Save a person's phone number or e-mail.",
    parameters={
        "type": "object",
        "properties": {
            "name": {"type": "string", "minLength": 1},
            "phone": {"type": "string"},
            "email": {"type": "string"},
        },
        "required": ["name"],
    },
    effect=EffectClass.WRITE,
    output_trust=Trust.TRUSTED,
    topics=frozenset({Topic.OTHER_PEOPLE}),
    typical_ms=30,
)
_FIND = ToolSpec(
    name="find_contact",
    description="Look up a person's number or e-mail in the address book.",
    parameters={
        "type": "object",
        "properties": {"name": {"type": "string", "minLength": 1}},
        "required": ["name"],
    },
    effect=EffectClass.READ,
    idempotent=True,
    topics=frozenset({Topic.OTHER_PEOPLE}),
    typical_ms=20,
)


class AddContact(Builtin):
    """Adds a card at the end of the file; nothing that is there is touched.

    Args:
        folder: the data folder.
    """

    SPEC = _ADD
    QUESTIONS: ClassVar[Mapping[str, str]] = {"name": "What is their name?"}

    def __init__(self, folder: Path) -> None:
        """Keep it."""
        self._path = folder / FILE

    def preview(self, arguments: JsonObject) -> str:
        """As in `Tool`."""
        return f"Save the contact {_say(_read(arguments))}"

    async def run(self, arguments: JsonObject, context: ToolContext) -> ToolOutput:
        """As in `Tool`."""
        card = _read(arguments)
        await asyncio.to_thread(self._append, card, f"urn:homing:{context.call_id}")
        return ToolOutput(
            content=f"Saved the contact {card.name}.",
            say=f"I saved the contact {_say(card)}.",
            source=FILE,
        )

    def _append(self, card: Card, uid: str) -> None:
        with locked(self._path.parent):
            text = read_text(self._path)
            before = read_cards(text, self._path)
            if uid in text:
                return
            line_end = "" if not text or text.endswith("\n") else "\r\n"
            grown = f"{text}{line_end}{write_card(card, uid)}"
            if len(read_cards(grown, self._path)) != len(before) + 1:
                msg = "the contact could not be written"
                raise InvalidDataError(msg, "Use a plainer name.")
            replace_text(self._path, grown)


class FindContact(Builtin):
    """Finds cards whose name holds every word asked for.

    Args:
        folder: the data folder.
    """

    SPEC = _FIND
    QUESTIONS: ClassVar[Mapping[str, str]] = {"name": "Whom shall I look up?"}

    def __init__(self, folder: Path) -> None:
        """Keep it."""
        self._path = folder / FILE

    async def run(self, arguments: JsonObject, context: ToolContext) -> ToolOutput:
        """As in `Tool`."""
        del context
        name = text_argument(arguments, "name", most=_MOST_NAME)
        text = await asyncio.to_thread(read_text, self._path)
        wanted = _folded(name).split()
        cards = [
            card
            for card in read_cards(text, self._path)
            if all(word in _folded(card.name) for word in wanted)
        ]
        asked = clean_label(name)
        return listing(
            f"Contacts named “{asked}”:",
            [_say(card) for card in cards],
            f"You have no contact named “{asked}”.",
            FILE,
        )


def read_cards(text: str, path: Path) -> list[Card]:
    """The cards of the contacts file.

    Raises:
        InvalidDataError: it is damaged; it was left as it is.
    """
    try:
        return parse_cards(text)
    except HomingError as error:
        msg = f"{path.name} is not a readable contacts file, so it was left as it is"
        hint = f"Repair {path}, or move it away to start a new one."
        raise InvalidDataError(msg, hint) from error


def _read(arguments: JsonObject) -> Card:
    name = text_argument(arguments, "name", most=_MOST_NAME)
    phone = optional_text(arguments, "phone", most=_MOST_NAME)
    email = optional_text(arguments, "email", most=_MOST_NAME)
    if phone and not _PHONE.fullmatch(phone):
        msg = "that is not a phone number"
        raise InvalidDataError(msg, "It has digits, and perhaps a leading +.")
    if email and not _EMAIL.fullmatch(email):
        msg = "that is not an e-mail address"
        raise InvalidDataError(msg, "It looks like name@example.org.")
    if not phone and not email:
        msg = f"there is no number or address for {name}"
        raise AskPersonError(msg, "Which phone number or e-mail shall I save?")
    return Card(name, (phone,) if phone else (), (email,) if email else ())


def _say(card: Card) -> str:
    facts = ", ".join(clean_label(fact, _MOST_NAME) for fact in (*card.phones, *card.emails))
    return f"{clean_label(card.name, _MOST_NAME)}: {facts or 'no number or address'}"


def _folded(text: str) -> str:
    return unicodedata.normalize("NFKC", text).casefold()
