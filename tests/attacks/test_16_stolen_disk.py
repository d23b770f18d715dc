"""Attack 16: somebody takes a node's disk.

Expected: no word of a conversation is on it, in no file and no form, whatever went wrong while it
was said; the private keys are under a passphrase; nothing on it confirms a guessed conversation.
What the thief does get is asserted too: who is paired, under which name, and what happened when.
"""

from __future__ import annotations

import asyncio
import base64
import shutil
import signal
import sqlite3
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import grpc.aio
import numpy as np
import pytest
from homing_core.clock import SystemClock
from homing_core.errors import HomingError, IntegrityError, RefusedError
from homing_core.generation import Failed, GenerateRequest, Sampling
from homing_core.ids import GenerationId, ToolCallId, new_generation_id
from homing_core.messages import Message, Role, ToolCallPart, ToolResultPart, assistant, user
from homing_core.provenance import Origin, Provenance, Trust
from homing_core.tools import ToolCall, ToolResult, ToolSpec
from homing_crypto.audit.head import check_head
from homing_crypto.audit.log import SqliteAudit
from homing_crypto.audit.records import CONSOLE, AuditKind
from homing_crypto.audit.store import AUDIT_FILE, AuditFile, Filter
from homing_crypto.audit.verify import Verified
from homing_crypto.credentials import client_channel
from homing_crypto.identity import IDENTITY_FILE, DeviceIdentity
from homing_crypto.pairing.link import parse_link
from homing_crypto.testing import throwaway_identity
from homing_crypto.truststore import TRUST_STORE_FILE
from homing_crypto.vault.directory import DirectoryVault
from homing_inference.synthetic import write_qwen35
from homing_proto.codec.generation import encode_generate_request
from homing_proto.v1 import inference_pb2 as wire
from support.node_pairing import pair
from support.node_process import environment, finished, started
from support.node_rig import DEADLINE_S, Phone, all_events, next_event, refusal, send_raw
from support.real_node import RealNode, real_node
from support.templates import HERMES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from support.node_rig import Events

PASSPHRASE = "seven quiet herons by the mill"  # noqa: S105  # made up
JOURNAL = "journal.log"
NAME = "Anna's phone"
GENERATE = "/homing_proto.v1.InferenceService/Generate"
SAID = {
    part: f"{part}-nightingale-{n}-underground"
    for n, part in enumerate(
        ("asked", "answered", "argument", "result", "again", "long", "model", "bytes", "id", "by")
    )
}
"""Words that are planted, by where."""
TOOL = ToolSpec("open_safe", "Open the safe.", {"type": "object", "properties": {}})
OUTSIDE = Provenance(Origin.TOOL, Trust.UNTRUSTED)


@dataclass(frozen=True)
class Disk:
    """What was taken, and what the thief hopes to find in it.

    Attributes:
        folder: a copy of the data directory.
        device: id of a device that was paired.
        link_secret: of the link with which it was.
        identity: the node's, as only its owner can open it.
        prefixes: names of the files of states after each of two conversations.
    """

    folder: Path
    device: str
    link_secret: bytes
    identity: DeviceIdentity
    prefixes: tuple[frozenset[str], frozenset[str]]

    def files(self) -> Iterator[tuple[Path, bytes]]:
        for path in sorted(self.folder.rglob("*")):
            if path.is_file():
                yield path, path.read_bytes()


def generate(phone: Phone, request: GenerateRequest) -> Events:
    return phone.inference.Generate(encode_generate_request(request), timeout=DEADLINE_S)


def asking(*messages: Message, max_tokens: int = 4) -> GenerateRequest:
    return GenerateRequest(
        new_generation_id(),
        messages,
        tools=(TOOL,),
        sampling=Sampling(max_tokens=max_tokens),
    )


def conversation() -> tuple[Message, ...]:
    call = ToolCall(ToolCallId("call-" + "0" * 32), TOOL.name, {"why": SAID["argument"]})
    result = ToolResult(call.id, SAID["result"], is_error=False, provenance=OUTSIDE)
    return (
        user(SAID["asked"]),
        Message(Role.ASSISTANT, (ToolCallPart(call),)),
        Message(Role.TOOL, (ToolResultPart(result),)),
        assistant(SAID["answered"]),
        user(SAID["again"]),
    )


async def everything_goes_wrong(node: RealNode, phone: Phone) -> None:
    """Requests that fail in each way that could end in a log."""
    (*_, failed) = await all_events(generate(phone, asking(user(SAID["long"] * 2000))))
    assert isinstance(failed.event, Failed)
    await refusal(generate(phone, replace(asking(user("hello")), model=SAID["model"])))
    wrong = replace(asking(user("hello")), id=GenerationId(f"gen-{SAID['id']}"))
    await refusal(generate(phone, wrong))
    with pytest.raises(grpc.aio.AioRpcError):
        await send_raw(phone.channel, GENERATE, SAID["bytes"].encode() * 9, stream=True)
    inference = phone.inference
    for call in (
        inference.Cancel(wire.CancelRequest(generation_id=SAID["id"]), timeout=DEADLINE_S),
        inference.Ack(wire.AckRequest(generation_id=SAID["id"]), timeout=DEADLINE_S),
    ):
        await refusal(call)
    assert node.certificate is not None
    strange = throwaway_identity()
    async with client_channel(node.address, strange, node.certificate) as channel:
        with pytest.raises(grpc.aio.AioRpcError):
            await next_event(generate(Phone(strange, channel), asking(user(SAID["by"]))))


async def wrong_guess(node: RealNode) -> None:
    """A pairing that is refused, and one that nobody comes to."""
    async with started("pair", "--json", *node.places, env=node.env) as shown:
        link = parse_link((await shown.event("opened"))["link"])
        with pytest.raises(HomingError):
            await pair(replace(link, secret=bytes(16)), throwaway_identity())
        await shown.event("wrong_guess")


def state_files(folder: Path) -> frozenset[str]:
    return frozenset(path.name for path in folder.rglob("*.prefix"))


def sockets(folder: str, names: list[str]) -> list[str]:
    return [name for name in names if (Path(folder) / name).is_socket()]


async def live(folder: Path, model: Path) -> Disk:
    """A node's life, up to the moment at which its plug is pulled."""
    words = folder / "words"
    words.touch(0o600)
    words.write_text(PASSPHRASE)
    protect = ("keys", "protect", "--with", "passphrase", "--new-passphrase-file", words)
    done = await finished(*protect, "--data-dir", folder / "d", env=environment(folder))
    assert done.status == 0, done.err
    env = {"HOMING_NODE_PASSPHRASE_FILE": str(words)}
    async with real_node(folder, model, env) as node:
        phone, link = await node.phone()
        member, _ = await node.phone("--role", "member")
        await wrong_guess(node)
        await all_events(generate(phone, asking(*conversation())))
        first = state_files(folder / "d")
        await all_events(generate(phone, asking(user("good morning"))))
        second = state_files(folder / "d")
        await everything_goes_wrong(node, phone)
        under_way = generate(member, asking(user(SAID["asked"]), max_tokens=1500))
        await next_event(under_way)
        revoked = await finished(
            "devices", "revoke", member.identity.device_id, *node.places, env=node.env
        )
        assert revoked.status == 0, revoked.err
        last = generate(phone, asking(user(SAID["asked"]), max_tokens=1500))
        await next_event(last)
        node.process.process.send_signal(signal.SIGKILL)
        log = await node.process.rest()  # as a service manager's journal would have it
        vault = DirectoryVault(PASSPHRASE)
        identity = DeviceIdentity.load_or_create(folder / "d", SystemClock(), vault)
        copy = folder / "taken"
        shutil.copytree(folder / "d", copy, ignore=sockets)
        (copy / JOURNAL).write_text(log, "utf-8")
        return Disk(copy, phone.identity.device_id, link.secret, identity, (first, second))


@pytest.fixture(scope="module")
def disk(tmp_path_factory: pytest.TempPathFactory) -> Disk:
    folder = tmp_path_factory.mktemp("node")
    return asyncio.run(live(folder, write_qwen35(folder / "tiny.gguf", HERMES)))


def forms(word: str) -> list[bytes]:
    """How a word could lie on a disk."""
    raw = word.encode()
    return [
        raw,
        raw.hex().encode(),
        word.encode("utf-16-le"),
        base64.b64encode(raw)[:-4],
        base64.b64encode(b"." + raw)[4:-4],
        base64.b64encode(b".." + raw)[4:-4],
    ]


def as_tokens(content: bytes, word: str) -> bool:
    """Whether the word lies there as tokens, one for each byte, whatever the first one's number."""
    steps = np.diff(np.frombuffer(word.encode(), np.uint8).astype(np.int64)).tobytes()
    for start in range(4):
        whole = content[start : start + (len(content) - start) // 4 * 4]
        numbers = np.frombuffer(whole, "<i4").astype(np.int64)
        if steps in np.diff(numbers).tobytes():
            return True
    return False


@pytest.mark.attack(16)
def test_no_word_of_a_conversation_is_on_the_disk(disk: Disk) -> None:
    assert sum(1 for _ in disk.files()) > 4  # identity, trust, audit, log, states
    log = (disk.folder / JOURNAL).read_text("utf-8")
    assert "device.revoked" in log  # it is the log of what happened, not an empty one
    for path, content in disk.files():
        for word in SAID.values():
            assert not any(form in content for form in forms(word)), path
            assert not as_tokens(content, word), path


@pytest.mark.attack(16)
def test_the_search_would_find_it(disk: Disk) -> None:
    """What is there in the same forms is found, so that the test above can fail."""
    prefixes = [content for path, content in disk.files() if path.suffix == ".prefix"]
    assert prefixes
    assert any(as_tokens(content, TOOL.name) for content in prefixes)  # tools lie there, openly
    text = SAID["asked"]
    assert as_tokens(b"ab" + np.frombuffer(text.encode(), np.uint8).astype("<i4").tobytes(), text)
    assert any(form in base64.b64encode(f"x{text}yz".encode()) for form in forms(text))


@pytest.mark.attack(16)
def test_the_private_keys_are_not_readable_without_the_passphrase(disk: Disk) -> None:
    scalar = disk.identity.private_key.private_numbers().private_value.to_bytes(32, "big")
    pem = b"".join(disk.identity.private_key_pem.splitlines()[1:-1])
    secrets = [scalar, pem[:40], base64.b64encode(disk.identity.hpke.secret)[:40]]
    secrets += [disk.identity.hpke.secret, PASSPHRASE.encode(), b"PRIVATE KEY"]
    for path, content in disk.files():
        assert not any(secret in content for secret in secrets), path
    for vault in (DirectoryVault(), DirectoryVault("seven loud herons by the mill")):
        with pytest.raises(RefusedError):
            DeviceIdentity.load_or_create(disk.folder, SystemClock(), vault)
    assert (disk.folder / IDENTITY_FILE).exists()  # nothing was made in its place


@pytest.mark.attack(16)
def test_no_secret_of_a_pairing_is_on_the_disk(disk: Disk) -> None:
    """A link lets in one device for three minutes; afterwards nobody needs it, nor has it."""
    for path, content in disk.files():
        assert disk.link_secret not in content, path
        assert disk.link_secret.hex().encode() not in content, path
        assert base64.urlsafe_b64encode(disk.link_secret).rstrip(b"=") not in content, path


@pytest.mark.attack(16)
def test_a_file_of_states_confirms_no_guessed_conversation(disk: Disk) -> None:
    """Whatever is said with the same tools, the same file lies there: it holds them and no more."""
    after_one, after_two = disk.prefixes
    assert after_one == after_two
    assert len(after_one) == 1


@pytest.mark.attack(16)
def test_what_a_thief_does_get(disk: Disk) -> None:
    """Ids, names, roles and times, as docs/attacks.md says; the record of them stays whole."""
    trust = sqlite3.connect(disk.folder / TRUST_STORE_FILE)
    (device,) = trust.execute("SELECT name FROM devices WHERE id = ?", (disk.device,)).fetchall()
    trust.close()
    assert device == (NAME,)
    file = AuditFile(disk.folder / AUDIT_FILE)
    kinds = {entry.kind for entry in file.newest(100, Filter())}
    assert {"started", "paired", "revoked"} <= kinds
    assert isinstance(file.check(), Verified)
    file.close()


@pytest.mark.attack(16)
def test_a_thief_cannot_go_on_with_the_record(disk: Disk, tmp_path: Path) -> None:
    """Without the key, an entry can be added, but no head that the owner's phone believes."""
    stolen = tmp_path / "d"
    shutil.copytree(disk.folder, stolen)
    thief = SqliteAudit(stolen / AUDIT_FILE, SystemClock(), throwaway_identity)
    thief.record(AuditKind.PAIRED, actor=CONSOLE, device="0" * 64)
    assert thief.settle(DEADLINE_S)
    signed = thief.file.signed_head()
    thief.close()
    assert signed is not None
    with pytest.raises(IntegrityError):
        check_head(signed[0], disk.identity.certificate)


def test_without_a_passphrase_the_disk_is_the_key(tmp_path: Path) -> None:
    """The stated cost of a start that nobody watches: the key lies there, in a file of its user."""
    DeviceIdentity.load_or_create(tmp_path, SystemClock())
    assert b"PRIVATE KEY" in (tmp_path / IDENTITY_FILE).read_bytes()
