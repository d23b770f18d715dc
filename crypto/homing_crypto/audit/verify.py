"""Whether a record is whole, and whether it goes on from where somebody saw it last. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

from homing_core.errors import HomingError

from homing_crypto.audit.chain import GENESIS, entry_hash
from homing_crypto.audit.head import check_head
from homing_crypto.audit.records import AuditKind
from homing_crypto.audit.rotation import CERTIFICATE, follow_key, is_node_key_change

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from homing_core.audit import Entry, Head, SignedHead

    from homing_crypto.certificates import CheckedCertificate

BROKEN: Final = "broken"
"""In an entry GAP: what the node found wrong with its record when it started."""
OTHER_KEY: Final = "another key than the record names signed its head"


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """What stands for entries that were removed because they were old.

    Attributes:
        seq: number of the last one that was removed.
        hash: its hash, hex: the chain goes on from it.
    """

    seq: int
    hash: str


@dataclass(frozen=True, slots=True)
class Verified:
    """The record is whole.

    Attributes:
        seq: number of its last entry; 0 if there is none.
        hash: its hash; `GENESIS` if there is none.
        removed: how many entries were removed as too old, openly.
        lost: how many could not be written at their time, as entries say themselves.
        unvouched: entries from which on another key ran the node without the old one's word.
    """

    seq: int
    hash: str
    removed: int = 0
    lost: int = 0
    unvouched: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Broken:
    """It is not.

    Attributes:
        seq: where.
        why: for a person, such as "entry 57 was altered".
        noted: whether the entries that are there now are whole, but one of them says what the node
            found at a start.
    """

    seq: int
    why: str
    noted: bool = False


Verdict: TypeAlias = Verified | Broken


def verify(
    entries: Iterable[Entry],
    *,
    checkpoint: Checkpoint | None = None,
    signed: tuple[SignedHead, CheckedCertificate] | None = None,
    heads: Sequence[Head] = (),
) -> Verdict:
    """Follow the whole chain.

    Args:
        entries: all that are there, in order.
        checkpoint: what stands for those that were removed.
        signed: the head that lies beside the record, which must be its very end, and whose it is.
        heads: heads that others kept; the record must pass through each.
    """
    start = (checkpoint.seq, checkpoint.hash) if checkpoint else (0, GENESIS)
    walk = _Walk(*start)
    wanted = {head.seq: head for head in heads}
    for entry in entries:
        broken = walk.step(entry)
        if broken is not None:
            return broken
        head = wanted.get(entry.seq)
        if head is not None and not head.names(entry.seq, entry.hash):
            return Broken(
                entry.seq,
                f"entry {entry.seq} is another one than was noted elsewhere: "
                "the record was written anew",
            )
    if checkpoint is not None and walk.removed != start:
        return Broken(
            checkpoint.seq,
            f"entries up to {checkpoint.seq} are missing, and the record does not say that they "
            "were removed as too old",
        )
    ends = [_reaches(head, walk, checkpoint) for head in heads]
    if signed is not None:
        ends.append(_signed_end(walk, *signed))
    for broken in (*ends, walk.noted):
        if broken is not None:
            return broken
    return Verified(
        walk.seq,
        walk.hash,
        removed=checkpoint.seq if checkpoint else 0,
        lost=walk.lost,
        unvouched=tuple(walk.unvouched),
    )


def extends(kept: Head, entries: Iterable[Entry]) -> Verdict:
    """Whether entries follow, one after the other, on the head that somebody kept.

    Args:
        kept: the head, its hash whole.
        entries: all that come after it.
    """
    walk = _Walk(kept.seq, kept.hash)
    for entry in entries:
        broken = walk.step(entry)
        if broken is not None:
            return broken
    return Verified(walk.seq, walk.hash, lost=walk.lost, unvouched=tuple(walk.unvouched))


class _Walk:
    """Where the walk along the chain is."""

    def __init__(self, seq: int, digest: str) -> None:
        self.seq = seq
        self.hash: str = digest
        self.removed: tuple[object, object] | None = None
        self.lost = 0
        self.signer = ""
        self.unvouched: list[int] = []
        self.noted: Broken | None = None

    def step(self, entry: Entry) -> Broken | None:
        due = self.seq + 1
        if entry.seq != due:
            return Broken(due, f"entry {due} is missing")
        try:
            computed = entry_hash(entry)
        except HomingError:
            computed = ""
        if computed != entry.hash:
            return Broken(due, f"entry {due} was altered")
        if entry.previous != self.hash:
            return Broken(due, f"entry {due} does not follow entry {self.seq}: one was replaced")
        self.seq, self.hash = entry.seq, entry.hash
        return self._meaning(entry)

    def _meaning(self, entry: Entry) -> Broken | None:
        facts = entry.facts
        match entry.kind:
            case AuditKind.GAP.value:
                lost = facts.get("lost")
                self.lost += lost if isinstance(lost, int) else 0
                if self.noted is None and facts.get(BROKEN):
                    why = f"{facts[BROKEN]} (noted at a start of the node, in entry {entry.seq})"
                    self.noted = Broken(entry.seq, why, noted=True)
            case AuditKind.CHECKPOINT.value:
                self.removed = (facts.get("up_to"), facts.get("hash"))
            case AuditKind.STARTED.value if facts.get(CERTIFICATE):
                certificate = str(facts[CERTIFICATE])
                if self.signer and certificate != self.signer:
                    self.unvouched.append(entry.seq)
                self.signer = certificate
            case AuditKind.KEY_ROTATED.value if is_node_key_change(facts):
                try:
                    self.signer = follow_key(facts, self.signer)
                except HomingError as error:
                    return Broken(entry.seq, f"entry {entry.seq}: {error.what}")
            case _:
                pass
        return None


def _reaches(head: Head, walk: _Walk, checkpoint: Checkpoint | None) -> Broken | None:
    if head.seq > walk.seq:
        return Broken(
            walk.seq + 1,
            f"the log ends at {walk.seq}, but its head says {head.seq}: its tail was cut",
        )
    if checkpoint is None or head.seq > checkpoint.seq:
        return None
    if head.seq < checkpoint.seq:
        return Broken(
            head.seq,
            f"entries up to {checkpoint.seq} were removed as too old, so that what was noted of "
            f"entry {head.seq} cannot be compared",
        )
    if head.names(checkpoint.seq, checkpoint.hash):
        return None
    return Broken(head.seq, f"entry {head.seq} was another one than was noted elsewhere")


def _signed_end(walk: _Walk, signed: SignedHead, certificate: CheckedCertificate) -> Broken | None:
    try:
        check_head(signed, certificate)
    except HomingError as error:
        return Broken(signed.head.seq, error.what)
    if walk.signer and certificate.sha256.hex() != walk.signer:
        return Broken(signed.head.seq, OTHER_KEY)
    head = signed.head
    if head.seq > walk.seq:
        return _reaches(head, walk, None)
    if head.seq < walk.seq:
        return Broken(
            head.seq + 1, f"the head ends at {head.seq}, but the log goes on: it was added to"
        )
    if head.hash != walk.hash:
        return Broken(head.seq, f"entry {head.seq} is another one than its head names")
    return None
