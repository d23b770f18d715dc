from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import pytest
from homing_core.access import DeviceRole, Scope
from homing_core.addresses import Address
from homing_core.errors import (
    ConflictError,
    HomingError,
    IntegrityError,
    InvalidDataError,
    RefusedError,
)
from homing_core.tools import Place
from homing_crypto.certificates import CheckedCertificate, check_certificate
from homing_crypto.devices import scopes_for
from homing_crypto.pairing.client import PhoneSide, accept_answer, start_pairing
from homing_crypto.pairing.link import PairingLink, new_secret
from homing_crypto.pairing.machine import (
    MAX_GUESSES,
    MAX_PAIRING_S,
    NodeSide,
    Pairing,
    answer_to,
    open_pairing,
    step,
)
from homing_crypto.pairing.outcomes import (
    Accepted,
    AlreadyUsed,
    Burned,
    Expired,
    Outcome,
    WrongProof,
    refusal,
)
from homing_crypto.pairing.proof import device_proof, node_proof
from homing_crypto.testing import MemoryTrustStore, paired_device, throwaway_identity
from hypothesis import given
from hypothesis import strategies as st

if TYPE_CHECKING:
    from homing_core.pairing import PairAnswer, PairAttempt

NOW = 1_800_000_000.0
NODE, PHONE, OTHER = (throwaway_identity() for _ in range(3))
SECRET = new_secret()
SIDE = NodeSide.of(NODE, "attic", ("192.168.1.20:7443",))


def link(secret: bytes = SECRET) -> PairingLink:
    address = Address("192.168.1.20", 50123)
    return PairingLink(
        (address,), NODE.certificate.sha256, secret, int(NOW) + 180, (Address("attic", 7443),)
    )


def pairing(role: DeviceRole = DeviceRole.MEMBER) -> Pairing:
    return open_pairing(SIDE, role, SECRET, NOW)


RIGHT = start_pairing(link(), PHONE, NODE.certificate, "Ada's phone")
WRONG = start_pairing(link(new_secret()), PHONE, NODE.certificate, "guesser")


def test_the_right_proof_pairs_the_device() -> None:
    after, outcome = step(pairing(), RIGHT.attempt, NOW)
    assert isinstance(outcome, Accepted)
    assert not outcome.again
    device = outcome.device
    assert (device.id, device.name, device.role) == (
        PHONE.device_id,
        "Ada's phone",
        DeviceRole.MEMBER,
    )
    assert device.scopes == scopes_for(DeviceRole.MEMBER)
    assert device.paired_at == NOW
    assert device.hpke_public_key == PHONE.hpke.public_bytes
    assert after.paired == PHONE.device_id


def test_both_sides_end_with_each_others_keys() -> None:
    after, outcome = step(pairing(), RIGHT.attempt, NOW)
    assert isinstance(outcome, Accepted)
    answer = answer_to(after, RIGHT.attempt, MemoryTrustStore().add(outcome.device))
    node = accept_answer(RIGHT, answer, NOW)
    assert (node.id, node.certificate_der) == (NODE.device_id, NODE.certificate.der)
    assert node.hpke_public_key == NODE.hpke.public_bytes
    assert (node.name, node.place, node.role) == ("attic", Place.HOME, DeviceRole.MEMBER)
    assert node.addresses == ("192.168.1.20:7443", "attic:7443")
    assert node.paired_at == NOW


def test_a_lost_reply_can_be_asked_for_again_by_the_same_device_only() -> None:
    after, first = step(pairing(), RIGHT.attempt, NOW)
    fresh = start_pairing(link(), PHONE, NODE.certificate, "Ada's phone")  # another nonce
    for attempt in (RIGHT.attempt, fresh.attempt):
        same, again = step(after, attempt, NOW + 500)  # even after the deadline
        assert same == after
        assert isinstance(first, Accepted)
        assert isinstance(again, Accepted)
        assert again.again
        assert dataclasses.replace(again.device, paired_at=NOW) == first.device
    stranger = start_pairing(link(), OTHER, NODE.certificate, "second phone")
    assert step(after, stranger.attempt, NOW) == (after, AlreadyUsed())
    assert step(after, WRONG.attempt, NOW) == (after, AlreadyUsed())


@pytest.mark.attack
def test_a_device_that_was_paired_before_keeps_its_role() -> None:
    store = MemoryTrustStore()
    store.add(paired_device(PHONE, DeviceRole.GUEST))
    after, outcome = step(pairing(DeviceRole.OWNER), RIGHT.attempt, NOW)
    assert isinstance(outcome, Accepted)
    answer = answer_to(after, RIGHT.attempt, store.add(outcome.device))
    assert accept_answer(RIGHT, answer, NOW).role is DeviceRole.GUEST


@pytest.mark.attack
def test_three_wrong_guesses_burn_the_link_even_for_the_right_secret() -> None:
    state = pairing()
    for left in (2, 1, 0):
        state, outcome = step(state, WRONG.attempt, NOW)
        assert outcome == WrongProof(left)
    assert step(state, RIGHT.attempt, NOW) == (state, Burned())


def test_the_deadline_is_the_nodes() -> None:
    state = pairing()
    assert isinstance(step(state, RIGHT.attempt, NOW + MAX_PAIRING_S - 1)[1], Accepted)
    assert step(state, RIGHT.attempt, NOW + MAX_PAIRING_S) == (state, Expired())
    assert step(state, WRONG.attempt, NOW + MAX_PAIRING_S) == (state, Expired())


@pytest.mark.parametrize(("seconds", "ends"), [(0, 180), (-5, 180), (60, 60), (10_000, 180)])
def test_no_pairing_is_open_for_more_than_three_minutes(seconds: int, ends: int) -> None:
    opened = open_pairing(SIDE, DeviceRole.GUEST, SECRET, NOW, seconds=seconds)
    assert opened.expires_at == NOW + ends


def test_a_short_secret_is_refused() -> None:
    with pytest.raises(InvalidDataError):
        open_pairing(SIDE, DeviceRole.GUEST, b"1234", NOW)


@pytest.mark.attack
def test_a_replayed_link_is_told_that_it_was_used_and_costs_no_guess() -> None:
    state = pairing()
    assert step(state, WRONG.attempt, NOW, used_before=True) == (state, AlreadyUsed())


@pytest.mark.parametrize(
    ("outcome", "kind", "words"),
    [
        (WrongProof(2), RefusedError, "not the one that is open"),
        (WrongProof(0), RefusedError, "too many"),
        (Burned(), RefusedError, "too many"),
        (AlreadyUsed(), ConflictError, "already used"),
        (Expired(), RefusedError, "expired"),
    ],
)
def test_each_refusal_says_what_to_try(
    outcome: WrongProof | AlreadyUsed | Expired | Burned, kind: type[HomingError], words: str
) -> None:
    error = refusal(outcome)
    assert type(error) is kind
    assert words in error.what
    assert error.hint


def malformed() -> dict[str, PairAttempt]:
    good = RIGHT.attempt
    change = dataclasses.replace
    return {
        "version": change(good, version=2),
        "certificate": change(good, certificate_der=good.certificate_der[:-1]),
        "no certificate": change(good, certificate_der=b""),
        "hpke key": change(good, hpke_public_key=b"short"),
        "hpke signature": change(good, hpke_signature=OTHER.hpke_signature),
        "nonce": change(good, nonce=b"short"),
        "name": change(good, name="x" * 65),
        "surrogate": change(good, name="\ud800"),
    }


@pytest.mark.parametrize("name", malformed())
def test_a_malformed_attempt_is_no_guess(name: str) -> None:
    with pytest.raises((InvalidDataError, IntegrityError)):
        step(pairing(), malformed()[name], NOW)


def changed(**fields: Any) -> PairAttempt:  # noqa: ANN401  # any field's type
    return dataclasses.replace(RIGHT.attempt, **fields)


@pytest.mark.attack
@given(st.sampled_from(["link_id", "name", "nonce", "certificate", "hpke", "proof"]), st.data())
def test_the_proof_covers_everything_that_is_sent(part: str, data: st.DataObject) -> None:
    good = RIGHT.attempt
    match part:
        case "link_id" | "name":
            text = data.draw(st.text(max_size=20).filter(lambda text: text != good.name))
            altered = changed(**{part: text})
        case "nonce":
            altered = dataclasses.replace(
                good, nonce=data.draw(st.binary(min_size=32, max_size=32))
            )
        case "certificate":  # an attacker puts in all of its own keys
            altered = dataclasses.replace(
                good,
                certificate_der=OTHER.certificate.der,
                hpke_public_key=OTHER.hpke.public_bytes,
                hpke_signature=OTHER.hpke_signature,
            )
        case "hpke":
            pair = throwaway_identity().hpke.public_bytes
            altered = dataclasses.replace(good, hpke_public_key=pair)
        case _:
            altered = dataclasses.replace(good, proof=data.draw(st.binary(max_size=40)))
    if altered == good:
        return
    try:
        _, outcome = step(pairing(), altered, NOW)
    except (InvalidDataError, IntegrityError):
        return
    assert outcome == WrongProof(MAX_GUESSES - 1)


@pytest.mark.attack
def test_a_proof_for_another_node_does_not_fit() -> None:
    elsewhere = start_pairing(link(), PHONE, OTHER.certificate, "Ada's phone")
    assert step(pairing(), elsewhere.attempt, NOW)[1] == WrongProof(2)


def good_answer() -> PairAnswer:
    after, outcome = step(pairing(), RIGHT.attempt, NOW)
    assert isinstance(outcome, Accepted)
    return answer_to(after, RIGHT.attempt, outcome.device)


ANSWER = good_answer()


@pytest.mark.attack
@pytest.mark.parametrize(
    "change",
    [
        {"certificate_der": OTHER.certificate.der},
        {"hpke_public_key": OTHER.hpke.public_bytes},
        {"name": "another"},
        {"role": DeviceRole.OWNER},
        {"scopes": frozenset(Scope)},
        {"addresses": ("6.6.6.6:7443",)},
        {"addresses": ()},
        {"proof": b""},
        {"proof": RIGHT.attempt.proof},
        {"name": "x" * 65},
        {"addresses": ("a:1",) * 9},
        {"name": "\ud800"},
    ],
)
def test_an_altered_answer_is_not_believed(change: dict[str, Any]) -> None:
    with pytest.raises((IntegrityError, InvalidDataError)):
        accept_answer(RIGHT, dataclasses.replace(ANSWER, **change), NOW)


@pytest.mark.attack
def test_an_hpke_key_that_the_node_did_not_sign_is_not_believed() -> None:
    unsigned = dataclasses.replace(ANSWER, hpke_public_key=OTHER.hpke.public_bytes)
    proof = node_proof(SECRET, RIGHT.attempt, unsigned)
    with pytest.raises(IntegrityError, match="signature"):
        accept_answer(RIGHT, dataclasses.replace(unsigned, proof=proof), NOW)


@pytest.mark.attack
def test_an_answer_to_another_attempt_is_not_believed() -> None:
    fresh = start_pairing(link(), PHONE, NODE.certificate, "Ada's phone")
    with pytest.raises(IntegrityError):
        accept_answer(fresh, ANSWER, NOW)


@pytest.mark.attack
def test_neither_sides_proof_can_be_sent_back_as_the_others() -> None:
    assert device_proof(SECRET, RIGHT.attempt, NODE.certificate.der) != ANSWER.proof


def test_an_address_that_cannot_be_read_here_is_left_out() -> None:
    odd = dataclasses.replace(ANSWER, addresses=("[fe80::1%eth0]:7443", "10.0.0.7:7443"))
    proven = dataclasses.replace(odd, proof=node_proof(SECRET, RIGHT.attempt, odd))
    assert accept_answer(RIGHT, proven, NOW).addresses == ("10.0.0.7:7443", "attic:7443")


def sides() -> dict[str, PhoneSide]:
    """Every combination of device and secret, by name."""
    bad = link(new_secret())
    return {
        f"{who} {'right' if what.secret == SECRET else 'wrong'}": start_pairing(
            what, identity, NODE.certificate, who
        )
        for who, identity in (("phone", PHONE), ("other", OTHER))
        for what in (link(), bad)
    }


SIDES = sides()


@pytest.mark.attack
@given(st.lists(st.tuples(st.sampled_from(sorted(SIDES)), st.integers(-5, 100)), max_size=12))
def test_whatever_the_order_at_most_one_device_and_three_guesses(
    events: list[tuple[str, int]],
) -> None:
    state, now = pairing(), NOW
    let_in: set[str] = set()
    wrong = 0
    for name, seconds in events:
        now += seconds
        before = state
        outcome: Outcome
        state, outcome = step(state, SIDES[name].attempt, now)
        if isinstance(outcome, Accepted):
            assert name.endswith("right")
            assert outcome.again or (now < state.expires_at and wrong < MAX_GUESSES)
            let_in.add(outcome.device.id)
        elif isinstance(outcome, WrongProof):
            wrong += 1
            assert name.endswith("wrong")
        else:
            assert state == before
    assert len(let_in) <= 1
    assert wrong <= MAX_GUESSES


def test_secrets_are_not_shown() -> None:
    assert repr(SECRET) not in repr(pairing())
    assert isinstance(check_certificate(NODE.certificate.der), CheckedCertificate)
