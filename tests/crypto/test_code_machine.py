"""Pairing by short code: both sides as pure machines, without a network."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import pytest
from homing_core.access import DeviceRole, Scope
from homing_core.errors import (
    ConflictError,
    HomingError,
    IntegrityError,
    InvalidDataError,
    NotFoundError,
    OverloadedError,
    RefusedError,
)
from homing_core.tools import Place
from homing_crypto.devices import scopes_for
from homing_crypto.pairing.code_claim import Claiming, is_claiming, read_claiming
from homing_crypto.pairing.code_client import (
    Asking,
    accept_entry,
    accept_recognition,
    accept_reply,
    start_by_code,
)
from homing_crypto.pairing.code_keys import MESSAGE_BYTES, PhoneExchange, node_exchange
from homing_crypto.pairing.code_machine import (
    ANSWER_S,
    MAX_STARTS,
    MAX_STARTS_OF_ONE,
    MAX_UNFINISHED,
    confirm,
    decide,
    ended,
    enter,
    entry_for,
    start,
    taken,
)
from homing_crypto.pairing.code_outcomes import (
    Admitted,
    CodeBurned,
    CodeDeclined,
    CodeExpired,
    CodeRefusal,
    CodeTaken,
    Recognised,
    StartAgain,
    Waiting,
    WrongCode,
    code_refusal,
)
from homing_crypto.pairing.code_proof import CodeReply, CodeStart, Entry, Recognition
from homing_crypto.pairing.code_window import CodeWindow
from homing_crypto.pairing.machine import MAX_GUESSES, NodeSide
from homing_crypto.testing import MemoryTrustStore, paired_device, throwaway_identity
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

if TYPE_CHECKING:
    from homing_crypto.identity import DeviceIdentity

NOW = 1_800_000_000.0
CODE, WRONG = "48217736", "48217737"
NODE, PHONE, OTHER = (throwaway_identity() for _ in range(3))
SIDE = NodeSide.of(NODE, "den", ("192.168.1.20:7443",))
AT = "192.168.1.20:40123"
Changes = dict[str, Any]


def window(role: DeviceRole = DeviceRole.MEMBER) -> CodeWindow:
    return CodeWindow(CODE, SIDE, role, NOW + 180)


def asking(code: str = CODE, who: DeviceIdentity = PHONE, name: str = "Pixel 8") -> Asking:
    return start_by_code(code, who, NODE.certificate, name, AT)


def claiming_in(
    state: CodeWindow, code: str = CODE, who: DeviceIdentity = PHONE
) -> tuple[CodeWindow, Claiming]:
    """An attempt up to the node's reply."""
    one = asking(code, who)
    state, reply = start(state, one.start, NOW)
    assert isinstance(reply, CodeReply)
    return state, accept_reply(one, reply)


def recognised_in(state: CodeWindow) -> tuple[CodeWindow, Claiming, Recognised]:
    state, claim = claiming_in(state)
    state, outcome = confirm(state, claim.attempt_id, claim.confirmation, NOW)
    assert isinstance(outcome, Recognised)
    return state, accept_recognition(claim, outcome.recognition), outcome


def test_a_device_that_knows_the_code_comes_in_when_a_person_says_yes() -> None:
    state, claim, outcome = recognised_in(window())
    assert (outcome.device.id, outcome.device.name) == (PHONE.device_id, "Pixel 8")
    assert outcome.device.scopes == scopes_for(DeviceRole.MEMBER)
    state, waits = enter(state, claim.attempt_id, NOW)
    assert waits == Waiting()
    state = decide(state, claim.attempt_id, allow=True)
    assert state.paired is None  # a yes alone stores nothing: the phone has to come
    state, admitted = enter(state, claim.attempt_id, NOW)
    assert isinstance(admitted, Admitted)
    stored = MemoryTrustStore().add(admitted.device)
    node = accept_entry(claim, entry_for(state, stored), NOW)
    assert (node.id, node.certificate_der) == (NODE.device_id, NODE.certificate.der)
    assert node.hpke_public_key == NODE.hpke.public_bytes
    assert (node.name, node.place, node.role) == ("den", Place.HOME, DeviceRole.MEMBER)
    assert node.addresses == SIDE.addresses
    assert node.known_as == PHONE.device_id


def test_every_message_may_be_repeated() -> None:
    one = asking()
    state, reply = start(window(), one.start, NOW)
    assert start(state, one.start, NOW) == (state, reply)
    assert isinstance(reply, CodeReply)
    claim = accept_reply(one, reply)
    state, first = confirm(state, claim.attempt_id, claim.confirmation, NOW)
    assert isinstance(first, Recognised)
    same, again = confirm(state, claim.attempt_id, claim.confirmation, NOW)
    assert (same, again) == (state, dataclasses.replace(first, again=True))
    claim = accept_recognition(claim, first.recognition)
    state = decide(state, claim.attempt_id, allow=True)
    assert decide(state, claim.attempt_id, allow=False) == state  # the first answer stands
    state, _ = enter(state, claim.attempt_id, NOW)
    late = NOW + 10_000
    for closed in (state, ended(state)):
        assert isinstance(enter(closed, claim.attempt_id, late)[1], Admitted)
        outcome = confirm(closed, claim.attempt_id, claim.confirmation, late)[1]
        assert isinstance(outcome, Recognised)
        assert outcome.again


def test_a_phone_goes_on_from_what_it_wrote_down() -> None:
    state, claim = claiming_in(window())
    assert CODE not in claim.to_text()
    assert is_claiming(claim.to_text())
    claim = read_claiming(claim.to_text())
    state, outcome = confirm(state, claim.attempt_id, claim.confirmation, NOW)
    assert isinstance(outcome, Recognised)
    claim = read_claiming(accept_recognition(claim, outcome.recognition).to_text())
    state = decide(state, claim.attempt_id, allow=True)
    state, admitted = enter(state, claim.attempt_id, NOW)
    assert isinstance(admitted, Admitted)
    entry = entry_for(state, admitted.device)
    assert accept_entry(claim, entry, NOW).id == NODE.device_id


@pytest.mark.parametrize(
    "text", ["", "homing-code:", "homing-code:{}", "homing-code:[]", 'homing-code:{"at": 1}']
)
def test_what_was_written_down_and_is_damaged_is_said(text: str) -> None:
    with pytest.raises(InvalidDataError, match="damaged"):
        read_claiming(text)


@given(st.data())
def test_any_damage_to_it_is_an_error_or_another_value(data: st.DataObject) -> None:
    text = WRITTEN
    at = data.draw(st.integers(0, len(text) - 1))
    cut = data.draw(st.integers(0, 3))
    damaged = text[:at] + data.draw(st.text(max_size=3)) + text[at + cut :]
    try:
        claim = read_claiming(damaged)
    except InvalidDataError:
        return
    assert isinstance(claim, Claiming)


WRITTEN = claiming_in(window())[1].to_text()


@pytest.mark.attack
def test_three_wrong_codes_burn_it_even_for_the_right_one() -> None:
    state = window()
    for left in (2, 1, 0):
        state, claim = claiming_in(state, WRONG, OTHER)
        state, outcome = confirm(state, claim.attempt_id, claim.confirmation, NOW)
        assert outcome == WrongCode(left)
        # Asked again, it is no further guess.
        assert confirm(state, claim.attempt_id, claim.confirmation, NOW) == (state, outcome)
    assert start(state, asking().start, NOW) == (state, CodeBurned())


@pytest.mark.attack
def test_a_start_before_the_code_burned_is_burned_with_it() -> None:
    state, right = claiming_in(window())
    for _ in range(MAX_GUESSES):
        state, claim = claiming_in(state, WRONG, OTHER)
        state, _ = confirm(state, claim.attempt_id, claim.confirmation, NOW)
    assert confirm(state, right.attempt_id, right.confirmation, NOW) == (state, CodeBurned())


@pytest.mark.attack
def test_unfinished_starts_are_no_guesses_and_are_bounded() -> None:
    state = window()
    for number in range(MAX_STARTS):
        state, reply = start(state, asking(WRONG, OTHER).start, NOW, f"10.0.0.{number}")
        assert isinstance(reply, CodeReply)
    assert len(state.unfinished) == MAX_UNFINISHED
    assert state.guesses_left == MAX_GUESSES
    with pytest.raises(OverloadedError) as told:
        start(state, asking().start, NOW, "10.0.1.1")
    assert "link" in told.value.hint


@pytest.mark.attack
def test_one_address_alone_does_not_use_up_the_starts() -> None:
    state = window()
    for _ in range(MAX_STARTS_OF_ONE):
        state, _ = start(state, asking(WRONG, OTHER).start, NOW, "10.6.6.6")
    with pytest.raises(OverloadedError):
        start(state, asking(WRONG, OTHER).start, NOW, "10.6.6.6")
    assert isinstance(start(state, asking().start, NOW, "10.0.0.1")[1], CodeReply)


def test_an_attempt_that_was_pushed_out_starts_again() -> None:
    state, claim = claiming_in(window())
    for _ in range(MAX_UNFINISHED):
        state, _ = claiming_in(state, WRONG, OTHER)
    assert confirm(state, claim.attempt_id, claim.confirmation, NOW) == (state, StartAgain())


@pytest.mark.attack
def test_while_one_is_asked_about_nobody_else_comes() -> None:
    state, second = claiming_in(window(), CODE, OTHER)
    state, claim, _ = recognised_in(state)
    assert confirm(state, second.attempt_id, second.confirmation, NOW) == (state, CodeTaken())
    assert start(state, asking().start, NOW) == (state, CodeTaken())
    assert enter(state, second.attempt_id, NOW) == (state, CodeTaken())
    state = decide(state, claim.attempt_id, allow=True)
    assert enter(state, second.attempt_id, NOW)[1] == CodeTaken()


def test_a_no_of_the_person_ends_it_for_everyone() -> None:
    state, claim, _ = recognised_in(window())
    state = decide(state, claim.attempt_id, allow=False)
    assert decide(state, claim.attempt_id, allow=True) == state
    assert enter(state, claim.attempt_id, NOW) == (state, CodeDeclined())
    assert confirm(state, claim.attempt_id, claim.confirmation, NOW)[1] == CodeDeclined()
    assert start(state, asking().start, NOW) == (state, CodeDeclined())


def test_the_deadline_is_the_nodes_but_a_person_has_a_minute() -> None:
    end = NOW + 180
    state, early = claiming_in(window())
    assert start(state, asking().start, end) == (state, CodeExpired())
    assert confirm(state, early.attempt_id, early.confirmation, end) == (state, CodeExpired())
    state, outcome = confirm(state, early.attempt_id, early.confirmation, end - 1)
    assert isinstance(outcome, Recognised)
    last = end - 1 + ANSWER_S
    assert enter(state, early.attempt_id, last - 1)[1] == Waiting()
    state = decide(state, early.attempt_id, allow=True)
    assert isinstance(enter(state, early.attempt_id, last - 1)[1], Admitted)
    assert enter(state, early.attempt_id, last)[1] == CodeExpired()
    assert enter(ended(state), early.attempt_id, last - 1)[1] == CodeExpired()


@pytest.mark.attack
def test_the_link_ends_the_code_at_any_stage() -> None:
    fresh = taken(window(), OTHER.device_id)
    assert start(fresh, asking().start, NOW)[1] == CodeTaken()
    state, claim, _ = recognised_in(window())
    state = decide(state, claim.attempt_id, allow=True)
    state = taken(state, OTHER.device_id)
    assert enter(state, claim.attempt_id, NOW) == (state, CodeTaken())
    assert confirm(state, claim.attempt_id, claim.confirmation, NOW)[1] == CodeTaken()
    with pytest.raises(ConflictError):
        decide(state, claim.attempt_id, allow=True)


def test_an_answer_for_nobody_is_refused() -> None:
    with pytest.raises(ConflictError):
        decide(window(), "code-unknown", allow=True)
    with pytest.raises(ConflictError):
        entry_for(window(), paired_device(PHONE))
    assert enter(window(), "code-unknown", NOW)[1] == StartAgain()


@pytest.mark.attack
def test_one_id_stands_for_one_message() -> None:
    one = asking()
    state, _ = start(window(), one.start, NOW)
    other = dataclasses.replace(asking(CODE, OTHER).start, attempt_id=one.start.attempt_id)
    with pytest.raises(ConflictError):
        start(state, other, NOW)


@pytest.mark.attack
def test_a_device_that_was_paired_before_keeps_its_role() -> None:
    store = MemoryTrustStore()
    store.add(paired_device(PHONE, DeviceRole.GUEST))
    state, claim, _ = recognised_in(window(DeviceRole.OWNER))
    state, admitted = enter(decide(state, claim.attempt_id, allow=True), claim.attempt_id, NOW)
    assert isinstance(admitted, Admitted)
    entry = entry_for(state, store.add(admitted.device))
    assert accept_entry(claim, entry, NOW).role is DeviceRole.GUEST


@pytest.mark.parametrize(
    ("outcome", "kind", "words"),
    [
        (WrongCode(2), RefusedError, "2 tries left"),
        (WrongCode(1), RefusedError, "one try left"),
        (WrongCode(0), RefusedError, "too many"),
        (CodeBurned(), RefusedError, "too many"),
        (CodeTaken(), ConflictError, "another device"),
        (CodeExpired(), RefusedError, "expired"),
        (CodeDeclined(), RefusedError, "said no"),
        (StartAgain(), NotFoundError, "no such"),
    ],
)
def test_each_refusal_says_what_to_try(
    outcome: CodeRefusal, kind: type[HomingError], words: str
) -> None:
    error = code_refusal(outcome)
    assert type(error) is kind
    assert words in error.what
    assert error.hint


GOOD = asking().start
MALFORMED: dict[str, Changes] = {
    "version": {"version": 2},
    "certificate": {"certificate_der": GOOD.certificate_der[:-1]},
    "another's certificate": {"certificate_der": OTHER.certificate.der},
    "hpke key": {"hpke_public_key": b"short"},
    "hpke signature": {"hpke_signature": OTHER.hpke_signature},
    "nonce": {"nonce": b"short"},
    "long name": {"name": "x" * 65},
    "surrogate": {"name": "\ud800"},
    "no id": {"attempt_id": ""},
    "long id": {"attempt_id": "x" * 65},
    "no message": {"message": b""},
    "own side": {"message": b"B" + GOOD.message[1:]},
    "no point": {"message": b"A" + b"\x02" + bytes(31)},
    "neutral point": {"message": b"A" + b"\x01" + bytes(31)},
    "small order": {"message": b"A" + bytes(32)},
    "longer": {"message": GOOD.message + b"\x00"},
}


@pytest.mark.attack
@pytest.mark.parametrize("name", MALFORMED)
def test_a_malformed_start_is_refused_and_counts_for_nothing(name: str) -> None:
    state = window()
    with pytest.raises((InvalidDataError, IntegrityError)):
        start(state, dataclasses.replace(GOOD, **MALFORMED[name]), NOW)
    assert state == dataclasses.replace(window(), code=CODE)


@given(st.binary(max_size=40))
def test_no_bytes_for_a_message_do_more_than_fail(message: bytes) -> None:
    with pytest.raises(InvalidDataError):
        node_exchange(CODE, b"a", b"b", message)
    with pytest.raises(InvalidDataError):
        PhoneExchange(CODE, b"a", b"b").finish(message)


@pytest.mark.attack
def test_a_phone_takes_one_reply_and_no_second() -> None:
    """Each more would be a guess for whoever sends it."""
    one = asking()
    replies = [start(window(), one.start, NOW)[1] for _ in range(2)]
    assert all(isinstance(reply, CodeReply) for reply in replies)
    accept_reply(one, replies[0])  # type: ignore[arg-type]
    with pytest.raises(InvalidDataError):
        accept_reply(one, replies[1])  # type: ignore[arg-type]


START_CHANGES: dict[str, Changes] = {
    "attempt_id": {"attempt_id": "code-other"},
    "keys": {
        "certificate_der": OTHER.certificate.der,
        "hpke_public_key": OTHER.hpke.public_bytes,
        "hpke_signature": OTHER.hpke_signature,
    },
    "hpke": {
        "hpke_public_key": OTHER.hpke.public_bytes,
        "hpke_signature": OTHER.sign(b""),
    },
    "name": {"name": "Pixel 9"},
    "nonce": {"nonce": bytes(32)},
    "message": {"message": asking().start.message},
}
REPLY_CHANGES: dict[str, Changes] = {
    "certificate": {"certificate_der": OTHER.certificate.der},
    "hpke": {"hpke_public_key": OTHER.hpke.public_bytes},
    "hpke_signature": {"hpke_signature": OTHER.hpke_signature},
    "name": {"name": "attic"},
    "role": {"role": DeviceRole.OWNER},
    "nonce": {"nonce": bytes(32)},
    "message": {"message": node_exchange(CODE, b"", b"", asking().start.message)[0]},
}


@pytest.mark.attack
@pytest.mark.parametrize("field", START_CHANGES)
def test_no_field_of_the_phones_half_can_be_changed_on_its_way(field: str) -> None:
    one = asking()
    changed = dataclasses.replace(one.start, **START_CHANGES[field])
    _refused_somewhere(one, changed, {})


@pytest.mark.attack
@pytest.mark.parametrize("field", REPLY_CHANGES)
def test_no_field_of_the_nodes_half_can_be_changed_on_its_way(field: str) -> None:
    one = asking()
    _refused_somewhere(one, one.start, REPLY_CHANGES[field])


@pytest.mark.attack
@settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(
    st.sampled_from(["start", "reply"]),
    st.sampled_from(["nonce", "message", "name", "attempt_id", "hpke_signature"]),
    st.data(),
)
def test_no_bytes_of_the_transcript_can_be_changed(
    side: str, field: str, data: st.DataObject
) -> None:
    """Any bit of what is free to choose; what is not is refused by its own form."""
    one = asking()
    _, reply = start(window(), one.start, NOW)
    assert isinstance(reply, CodeReply)
    if side == "reply" and field == "attempt_id":
        return
    value = getattr(one.start if side == "start" else reply, field)
    if isinstance(value, bytes):
        at = data.draw(st.integers(0, 8 * len(value) - 1))
        flipped = bytearray(value)
        flipped[at // 8] ^= 1 << at % 8
        new: Any = bytes(flipped)
    else:
        new = data.draw(st.text(min_size=1, max_size=64).filter(lambda text: text != value))
    if side == "start":
        _refused_somewhere(one, dataclasses.replace(one.start, **{field: new}), {})
    else:
        _refused_somewhere(one, one.start, {field: new})


def _refused_somewhere(one: Asking, sent: CodeStart, changes: Changes) -> None:
    """Run the pairing with what arrives changed: somebody must notice before it is believed."""
    try:
        state, reply = start(window(), sent, NOW)
        assert isinstance(reply, CodeReply)
        claim = accept_reply(one, dataclasses.replace(reply, **changes))
    except HomingError:
        return
    _, outcome = confirm(state, sent.attempt_id, claim.confirmation, NOW)
    assert outcome == WrongCode(MAX_GUESSES - 1)


RECOGNITION_CHANGES: tuple[Changes, ...] = (
    {"addresses": ("6.6.6.6:1",)},
    {"addresses": ()},
    {"addresses": ("a:1",) * 9},
    {"addresses": ("\ud800",)},
    {"confirmation": b""},
    {"confirmation": bytes(32)},
)
ENTRY_CHANGES: tuple[Changes, ...] = (
    {"role": DeviceRole.OWNER},
    {"scopes": frozenset(Scope)},
    {"scopes": frozenset[Scope]()},
    {"addresses": ("6.6.6.6:1",)},
    {"addresses": ("a:1",) * 9},
    {"confirmation": b""},
)


@pytest.mark.attack
@pytest.mark.parametrize("change", RECOGNITION_CHANGES)
def test_an_altered_recognition_is_not_believed(change: Changes) -> None:
    state, claim = claiming_in(window())
    _, outcome = confirm(state, claim.attempt_id, claim.confirmation, NOW)
    assert isinstance(outcome, Recognised)
    with pytest.raises((IntegrityError, InvalidDataError)):
        accept_recognition(claim, dataclasses.replace(outcome.recognition, **change))


@pytest.mark.attack
@pytest.mark.parametrize("change", ENTRY_CHANGES)
def test_an_altered_entry_is_not_believed(change: Changes) -> None:
    state, claim, _ = recognised_in(window())
    state, admitted = enter(decide(state, claim.attempt_id, allow=True), claim.attempt_id, NOW)
    assert isinstance(admitted, Admitted)
    entry = entry_for(state, admitted.device)
    assert accept_entry(claim, entry, NOW)
    with pytest.raises((IntegrityError, InvalidDataError)):
        accept_entry(claim, dataclasses.replace(entry, **change), NOW)


@pytest.mark.attack
def test_an_entry_before_the_node_was_recognised_is_not_believed() -> None:
    state, claim = claiming_in(window())
    state, _ = confirm(state, claim.attempt_id, claim.confirmation, NOW)
    state, admitted = enter(decide(state, claim.attempt_id, allow=True), claim.attempt_id, NOW)
    assert isinstance(admitted, Admitted)
    with pytest.raises(IntegrityError):
        accept_entry(claim, entry_for(state, admitted.device), NOW)


@pytest.mark.attack
def test_no_confirmation_passes_as_another() -> None:
    state, claim = claiming_in(window())
    mine = claim.confirmation
    with pytest.raises(IntegrityError):
        accept_recognition(claim, Recognition(SIDE.addresses, mine))
    state, outcome = confirm(state, claim.attempt_id, mine, NOW)
    assert isinstance(outcome, Recognised)
    claim = accept_recognition(claim, outcome.recognition)
    theirs = outcome.recognition.confirmation
    entry = Entry(DeviceRole.MEMBER, scopes_for(DeviceRole.MEMBER), SIDE.addresses, theirs)
    with pytest.raises(IntegrityError):
        accept_entry(claim, entry, NOW)


@pytest.mark.attack
def test_a_node_that_does_not_know_the_code_learns_one_guess_and_is_not_believed() -> None:
    wrong = dataclasses.replace(window(), code=WRONG)
    one = asking()
    state, reply = start(wrong, one.start, NOW)
    assert isinstance(reply, CodeReply)
    claim = accept_reply(one, reply)
    assert confirm(state, claim.attempt_id, claim.confirmation, NOW)[1] == WrongCode(2)
    with pytest.raises(IntegrityError, match="does not know the code"):
        accept_recognition(claim, Recognition(SIDE.addresses, bytes(32)))


def test_both_sides_agree_on_keys_only_with_the_same_code_and_names() -> None:
    def agree(code: str, names: tuple[bytes, bytes]) -> bool:
        phone = PhoneExchange(CODE, b"phone", b"node")
        message, theirs = node_exchange(code, *names, phone.message)
        assert len(phone.message) == len(message) == MESSAGE_BYTES
        return phone.finish(message) == theirs

    assert agree(CODE, (b"phone", b"node"))
    assert not agree(WRONG, (b"phone", b"node"))
    assert not agree(CODE, (b"other", b"node"))
    assert not agree(CODE, (b"phone", b"other"))


def test_secrets_are_not_shown() -> None:
    state, claim = claiming_in(window())
    shown = repr(state) + repr(claim) + repr(asking())
    assert CODE not in shown
    assert repr(claim.keys.phone) not in shown


@pytest.mark.attack
@settings(max_examples=30, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["start", "confirm", "yes", "no", "enter", "link", "wait"]),
            st.sampled_from(["right", "other", "wrong"]),
        ),
        max_size=20,
    )
)
def test_whatever_the_order_at_most_one_device_and_three_guesses(
    events: list[tuple[str, str]],
) -> None:
    state, now = window(), NOW
    attempts = {"right": asking(), "other": asking(CODE, OTHER), "wrong": asking(WRONG)}
    claims: dict[str, Claiming] = {}
    let_in: set[str] = set()
    wrong = 0
    answered: set[str] = set()
    for what, who in events:
        one = attempts[who]
        attempt = one.start.attempt_id
        match what:
            case "start" if who not in claims:
                state, reply = start(state, one.start, now)
                if isinstance(reply, CodeReply):
                    claims[who] = accept_reply(one, reply)
            case "confirm" if who in claims:
                before = state.guesses_left
                state, outcome = confirm(state, attempt, claims[who].confirmation, now)
                wrong += before - state.guesses_left
                assert not isinstance(outcome, Recognised) or who != "wrong"
            case "yes" | "no":
                try:
                    state = decide(state, attempt, allow=what == "yes")
                    answered.add(who)
                except ConflictError:
                    pass
            case "enter":
                state, entered = enter(state, attempt, now)
                if isinstance(entered, Admitted):
                    assert who in answered
                    let_in.add(entered.device.id)
            case "link" if state.paired is None:
                state = taken(state, "f" * 64)  # type: ignore[arg-type]  # some device
                let_in.add("f" * 64)
            case _:
                now += 30
    assert len(let_in) <= 1
    assert wrong <= MAX_GUESSES
