"""Keys, certificates, letters, pairing, trust: what outsiders and disks hand to `crypto`."""

from __future__ import annotations

import contextlib
import dataclasses
from functools import cache
from typing import TYPE_CHECKING

from fuzz.found import wire_run
from fuzz.rows import Damaged, scratch
from fuzz.target import Target, examples, of_text, text
from homing_core.access import DeviceRole, Scope
from homing_core.addresses import Address
from homing_core.approvals import ApprovalStatement, Verdict
from homing_core.errors import HomingError
from homing_core.ids import new_approval_id, new_request_id
from homing_core.testing import FakeClock
from homing_core.tools import Place
from homing_crypto.approvals import sign_approval, verify_approval
from homing_crypto.audit.chain import Draft
from homing_crypto.audit.store import AuditFile, Filter
from homing_crypto.certificates import check_certificate, check_pem_certificate
from homing_crypto.identity import IDENTITY_FILE, DeviceIdentity
from homing_crypto.identity_file import load_keys
from homing_crypto.keys import HPKE_SUITE, parse_hpke_public_key
from homing_crypto.letter import split
from homing_crypto.mailbox import Cursor, Recipient, open_letter, seal_letter
from homing_crypto.node_book import SqliteNodeBook
from homing_crypto.nodes import KnownNode, PendingPairing
from homing_crypto.pairing.code_claim import Claiming, read_claiming
from homing_crypto.pairing.code_keys import CodeKeys
from homing_crypto.pairing.link import PairingLink, new_secret, parse_link
from homing_crypto.recovery_secret import new_recovery_secret, read_recovery_secret
from homing_crypto.testing import MemoryKeyring, paired_device, throwaway_identity
from homing_crypto.truststore import SqliteTrustStore
from homing_crypto.vault.directory import DirectoryVault
from homing_crypto.vault.keyring import KeyringVault
from homing_crypto.vault.passphrase import Cost, PassphraseVault
from homing_proto.codec.approvals import decode_signed_approval, encode_signed_approval
from homing_proto.v1 import tool_pb2
from support.wire_strategies import arbitrary

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

_NOW = 1_800_000_000.0
_WORDS = "correct horse battery staple"
_CHEAP = Cost(memory_kib=1024, passes=1, lanes=1)


@cache
def _ann() -> DeviceIdentity:
    return throwaway_identity()


@cache
def _bob() -> DeviceIdentity:
    return throwaway_identity()


@cache
def _keyring() -> MemoryKeyring:
    return MemoryKeyring()


def _letter() -> bytes:
    to = Recipient(_bob().certificate, _bob().hpke.public_bytes)
    return seal_letter(
        _ann(), to, kind="job.result", sequence=1, expires_at=_NOW + 9, now=_NOW, payload=b"hi"
    )


def _plain() -> bytes:
    ids = bytes.fromhex(_ann().device_id) + bytes.fromhex(_bob().device_id)
    info = b"homing mailbox v1\x00" + ids + b"job.result"
    return HPKE_SUITE.decrypt(_letter()[4:], _bob().hpke.private_key, info)


def _open(data: bytes) -> object:
    return open_letter(
        _bob(), _ann().certificate, data, kind="job.result", now=_NOW, cursor=Cursor()
    )


def _reveal(data: bytes) -> object:
    return DirectoryVault(_WORDS, _keyring()).reveal(data)


def _protected() -> list[bytes]:
    return [
        PassphraseVault(_WORDS, _CHEAP).protect(b"key"),
        KeyringVault(_keyring()).protect(b"key"),
        b'{"homing_vault": 1}',
    ]


@cache
def _identity_folder() -> Path:
    folder = scratch() / "id"
    DeviceIdentity.load_or_create(folder, FakeClock())
    return folder


def _load(data: bytes) -> object:
    (_identity_folder() / IDENTITY_FILE).write_bytes(data)
    return load_keys(_identity_folder(), FakeClock())


def _identity() -> list[bytes]:
    folder = scratch() / "id"
    DeviceIdentity.load_or_create(folder, FakeClock())
    return [(folder / IDENTITY_FILE).read_bytes()]


def _approval(data: bytes) -> object:
    return wire_run(
        tool_pb2.SignedApproval,
        lambda message: verify_approval(decode_signed_approval(message), _ann().certificate, _NOW),
    )(data)


def _approvals() -> list[bytes]:
    statement = ApprovalStatement(
        new_approval_id(),
        new_request_id(),
        1,
        "0a" * 32,
        "0b" * 32,
        Verdict.ALLOW,
        _ann().device_id,
        int(_NOW) + 60,
    )
    signed = encode_signed_approval(sign_approval(_ann(), statement))
    wire = arbitrary(tool_pb2.SignedApproval).map(lambda found: found.SerializeToString())
    return [signed.SerializeToString(), *examples(wire, 6)]


def _trust_store(path: Path) -> Callable[[], object]:
    store = SqliteTrustStore(path, FakeClock())
    store.add(paired_device(_ann()), "aa" * 16)
    store.add(dataclasses.replace(paired_device(_bob()), introduced_by=_ann().device_id))

    def read() -> None:
        for device in (_ann(), _bob()):
            try:
                store.lookup(device.device_id)
                store.link_used("aa" * 16)
            except HomingError:
                continue
        store.devices()
        store.roots_pem()

    return read


def _node_book(path: Path) -> Callable[[], object]:
    book = SqliteNodeBook(path)
    node = KnownNode(
        _ann().device_id,
        _ann().certificate.der,
        _ann().hpke.public_bytes,
        "den",
        Place.HOME,
        DeviceRole.OWNER,
        frozenset(Scope),
        addresses=("192.168.1.2:4711",),
    )
    book.add(node)
    book.begin_pairing(PendingPairing("aa" * 16, "homing://x", "phone", _NOW))

    def read() -> None:
        with contextlib.suppress(HomingError):
            book.get(node.id)
        book.nodes()
        book.pending_pairings()

    return read


def _audit(path: Path) -> Callable[[], object]:
    log = AuditFile(path)
    drafts = [Draft.of(_NOW, "paired", "console", _ann().device_id, {"role": "owner"})] * 3
    log.append(drafts, _bob(), int(_NOW * 1000))

    def read() -> None:
        with contextlib.suppress(HomingError):
            log.check()
        with contextlib.suppress(HomingError):
            log.newest(5, Filter())

    return read


def _link() -> bytes:
    link = PairingLink((Address("192.168.1.2", 4711),), b"\x01" * 32, new_secret(), int(_NOW))
    return link.to_text().encode()


def _claiming() -> bytes:
    claiming = Claiming(
        attempt_id="aa" * 16,
        known_as=_ann().device_id,
        at="192.168.1.2:4711",
        certificate_der=_bob().certificate.der,
        hpke_public_key=_bob().hpke.public_bytes,
        name="den",
        said=b"said",
        keys=CodeKeys(bytes(32), bytes(32), bytes(32)),
        addresses=("192.168.1.2:4711",),
    )
    return claiming.to_text().encode()


TARGETS = [
    Target("crypto.certificate.der", check_certificate, seeds=lambda: [_ann().certificate.der]),
    Target("crypto.certificate.pem", check_pem_certificate, seeds=lambda: [_ann().certificate.pem]),
    Target(
        "crypto.hpke_key",
        parse_hpke_public_key,
        ("homing_crypto.keys.parse_hpke_public_key",),
        lambda: [_ann().hpke.public_bytes],
    ),
    Target("crypto.approval", _approval, seeds=_approvals),
    Target("crypto.letter.sealed", _open, seeds=lambda: [_letter()]),
    Target("crypto.letter.inside", split, seeds=lambda: [_plain()]),
    Target("crypto.vault", _reveal, seeds=_protected, quick=150),
    Target("crypto.identity_file", _load, seeds=_identity, quick=150),
    Target(
        "crypto.trust_store",
        Damaged(_trust_store, "trust.db"),
        seeds=lambda: [b"\x04owner"],
        quick=60,
    ),
    Target(
        "crypto.node_book", Damaged(_node_book, "nodes.db"), seeds=lambda: [b"\x04home"], quick=60
    ),
    Target("crypto.audit", Damaged(_audit, "audit.db"), seeds=lambda: [b"\x02paired"], quick=60),
    Target(
        "crypto.pairing_link",
        lambda data: parse_link(text(data)),
        ("homing_crypto.pairing.link.parse_link",),
        lambda: [_link()],
    ),
    of_text("crypto.recovery_secret", read_recovery_secret, new_recovery_secret()),
    Target("crypto.claiming", lambda data: read_claiming(text(data)), seeds=lambda: [_claiming()]),
]
