"""The record's chain and head: whatever is changed, added or cut shows, and where."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from homing_core.audit import Entry, Head
from homing_core.errors import IntegrityError, UsageError
from homing_crypto.audit.chain import GENESIS, Draft, entry_hash
from homing_crypto.audit.head import check_head, parse_head, sign_head
from homing_crypto.audit.rotation import node_key_changed
from homing_crypto.audit.verify import Broken, Checkpoint, Verified, extends, verify
from homing_crypto.testing import throwaway_identity
from hypothesis import given
from hypothesis import strategies as st

NODE, OTHER = throwaway_identity(), throwaway_identity()
FIELDS = ("seq", "at_ms", "kind", "actor", "device", "detail", "previous", "hash")


def chain(*drafts: Draft) -> list[Entry]:
    found: list[Entry] = []
    seq, digest = 0, GENESIS
    for draft in drafts:
        entry = draft.after(seq, digest)
        found.append(entry)
        seq, digest = entry.seq, entry.hash
    return found


def record(count: int = 6) -> list[Entry]:
    kinds = ("started", "paired", "granted")
    return chain(
        *(
            Draft.of(1000 + n, kinds[n % 3], "console", f"{n:064x}", {"name": f"phone {n}"})
            for n in range(count)
        )
    )


def head_of(entries: list[Entry]) -> Head:
    return Head(entries[-1].seq, entries[-1].hash, entries[-1].at_ms)


def test_a_whole_record_is_whole() -> None:
    entries = record()
    signed = (sign_head(NODE, head_of(entries)), NODE.certificate)
    found = verify(entries, signed=signed, heads=[Head(3, entries[2].hash)])
    assert found == Verified(6, entries[-1].hash)
    assert verify([]) == Verified(0, GENESIS)


@pytest.mark.attack
@given(st.integers(0, 5), st.sampled_from(FIELDS), st.data())
def test_any_altered_field_shows_at_its_entry(at: int, name: str, data: st.DataObject) -> None:
    entries = record()
    before = getattr(entries[at], name)
    new = data.draw(
        st.integers(0, 1 << 40)
        if isinstance(before, int)
        else st.text("0123456789abc", max_size=70)
    )
    if new == before:
        return
    change: dict[str, Any] = {name: new}
    entries[at] = dataclasses.replace(entries[at], **change)
    found = verify(entries)
    assert isinstance(found, Broken)
    assert found.seq == at + 1


@pytest.mark.attack
def test_an_entry_that_is_altered_with_its_hash_breaks_the_next() -> None:
    entries = record()
    forged = dataclasses.replace(entries[2], actor=OTHER.device_id)
    entries[2] = dataclasses.replace(forged, hash=entry_hash(forged))
    assert verify(entries) == Broken(4, "entry 4 does not follow entry 3: one was replaced")


@pytest.mark.attack
@pytest.mark.parametrize("gone", [1, 3, 5])
def test_a_missing_entry_shows(gone: int) -> None:
    entries = [entry for entry in record() if entry.seq != gone]
    assert verify(entries) == Broken(gone, f"entry {gone} is missing")


@pytest.mark.attack
def test_a_cut_tail_shows_against_the_head() -> None:
    entries = record()
    kept = head_of(entries)
    cut = entries[:4]
    words = "the log ends at 4, but its head says 6: its tail was cut"
    assert verify(cut, heads=[kept]) == Broken(5, words)
    assert verify(cut, signed=(sign_head(NODE, kept), NODE.certificate)) == Broken(5, words)
    assert isinstance(verify(cut), Verified)  # without the head, nobody could tell


@pytest.mark.attack
def test_a_record_that_was_written_anew_does_not_pass_through_the_kept_head() -> None:
    kept = head_of(record(4))
    anew = chain(*(Draft.of(2000 + n, "paired", "console", f"{n:064x}") for n in range(9)))
    found = verify(anew, heads=[kept])
    assert isinstance(found, Broken)
    assert found.seq == 4
    assert "written anew" in found.why
    assert isinstance(extends(kept, anew[4:]), Broken)


@pytest.mark.attack
def test_what_was_added_behind_the_signed_head_shows() -> None:
    entries = record()
    signed = sign_head(NODE, head_of(entries[:5]))
    found = verify(entries, signed=(signed, NODE.certificate))
    assert found == Broken(6, "the head ends at 5, but the log goes on: it was added to")


@pytest.mark.attack
def test_a_head_that_somebody_else_signed_is_not_believed() -> None:
    entries = record()
    theirs = sign_head(OTHER, head_of(entries))
    with pytest.raises(IntegrityError):
        check_head(theirs, NODE.certificate)
    posing = dataclasses.replace(theirs, node=NODE.device_id)
    with pytest.raises(IntegrityError):
        check_head(posing, NODE.certificate)
    moved = dataclasses.replace(
        sign_head(NODE, head_of(entries)), head=Head(7, entries[-1].hash, entries[-1].at_ms)
    )
    with pytest.raises(IntegrityError):
        check_head(moved, NODE.certificate)
    assert isinstance(verify(entries, signed=(theirs, NODE.certificate)), Broken)


def test_words_cannot_move_from_one_field_to_the_next() -> None:
    one = Draft(0, "paired", "ab", "c", "{}").after(0, GENESIS)
    two = Draft(0, "paired", "a", "bc", "{}").after(0, GENESIS)
    assert one.hash != two.hash


def test_what_was_removed_is_said_by_the_record_itself() -> None:
    old = record(6)
    said = Draft.of(2000, "checkpoint", "node", detail={"up_to": 4, "hash": old[3].hash})
    entries = [*old[4:], said.after(6, old[5].hash)]
    checkpoint = Checkpoint(4, old[3].hash)
    assert verify(entries, checkpoint=checkpoint) == Verified(7, entries[-1].hash, removed=4)
    assert isinstance(
        verify(entries, checkpoint=checkpoint, heads=[Head(4, old[3].hash)]), Verified
    )
    earlier = verify(entries, checkpoint=checkpoint, heads=[Head(2, old[1].hash)])
    assert isinstance(earlier, Broken)
    assert "removed as too old" in earlier.why


@pytest.mark.attack
def test_a_beginning_that_was_cut_without_a_word_shows() -> None:
    old = record(6)
    found = verify(old[4:], checkpoint=Checkpoint(4, old[3].hash))
    assert isinstance(found, Broken)
    assert "does not say" in found.why
    assert verify(old[4:]) == Broken(1, "entry 1 is missing")


def test_the_record_follows_a_change_of_the_nodes_key() -> None:
    started = Draft.of(1, "started", "node", detail={"certificate": NODE.certificate.sha256.hex()})
    word = node_key_changed(NODE, OTHER.certificate)
    entries = chain(started, Draft.of(2, "key_rotated", "console", detail=word))
    signed = (sign_head(OTHER, head_of(entries)), OTHER.certificate)
    assert verify(entries, signed=signed) == Verified(2, entries[-1].hash)
    by_the_old = (sign_head(NODE, head_of(entries)), NODE.certificate)
    assert isinstance(verify(entries, signed=by_the_old), Broken)


@pytest.mark.attack
def test_a_change_of_key_without_the_old_keys_word_shows() -> None:
    started = Draft.of(1, "started", "node", detail={"certificate": NODE.certificate.sha256.hex()})
    forged = node_key_changed(OTHER, OTHER.certificate)
    found = verify(chain(started, Draft.of(2, "key_rotated", "node", detail=forged)))
    assert isinstance(found, Broken)
    assert "did not sign" in found.why
    altered = dict(node_key_changed(NODE, OTHER.certificate), new_certificate="00" * 32)
    for detail in (altered, {"of": "node"}):
        assert isinstance(
            verify(chain(started, Draft.of(2, "key_rotated", "node", detail=detail))), Broken
        )


def test_a_node_that_came_back_with_another_key_is_named() -> None:
    starts = [
        Draft.of(n, "started", "node", detail={"certificate": who.certificate.sha256.hex()})
        for n, who in enumerate((NODE, NODE, OTHER))
    ]
    found = verify(chain(*starts))
    assert isinstance(found, Verified)
    assert found.unvouched == (3,)


@pytest.mark.parametrize(
    ("detail", "kept"),
    [
        ({"text": "x" * 5000}, '{"left_out":"it was too long"}'),
        ({"number": float("nan")}, '{"left_out":"it has no form as JSON"}'),
        ({"b": 1, "a": "\ud800"}, '{"a":"???","b":1}'),
    ],
)
def test_no_detail_is_too_strange_to_be_recorded(detail: dict[str, object], kept: str) -> None:
    draft = Draft.of(1, "paired", "node", detail=detail)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    (entry,) = chain(draft)
    assert entry.detail.replace("\N{REPLACEMENT CHARACTER}", "?") == kept
    assert isinstance(verify([entry]), Verified)


def test_a_typed_head() -> None:
    digest = "AB" * 32
    assert parse_head(f" 120:{digest} ") == Head(120, digest.lower())
    assert parse_head("7:0123456789abcdef").names(7, "0123456789abcdef" + "0" * 48)
    assert Head(120, "ab" * 32).to_text() == f"120:{'ab' * 32}"


@pytest.mark.parametrize("text", ["", "120", ":ab", "x:" + "a" * 64, "1:abc", "-1:" + "a" * 64])
def test_what_is_no_head(text: str) -> None:
    with pytest.raises(UsageError):
        parse_head(text)
