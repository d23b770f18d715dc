"""Sealed results: what is sealed is what is opened, in the documented form, in little memory."""

from __future__ import annotations

import hashlib
import io
import tempfile
import tracemalloc
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from homing_core.errors import (
    HomingError,
    IntegrityError,
    InvalidDataError,
    TooLongError,
    UnavailableError,
)
from homing_core.ids import new_job_id
from homing_core.jobs import JobResult, ResultFile
from homing_core.provenance import Sensitivity, Trust
from homing_crypto.chunks import CHUNK_BYTES, SEALED_CHUNK_BYTES, plain_size, sealed_size
from homing_crypto.mailbox import Cursor, open_letter
from homing_crypto.result_form import decode_result, encode_result, plain_name
from homing_crypto.result_opener import ResultOpener
from homing_crypto.results import seal_result
from hypothesis import given
from hypothesis import strategies as st
from support.sealed_results import (
    JOB,
    NODE,
    NOW,
    PHONE,
    address,
    archived,
    made,
    opened,
    sealed,
    sealed_archive,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

letters = st.text("abcdefghijklmnopqrstuvwxyzäλ中0123456789 ._-", min_size=1, max_size=30)
names = letters.filter(plain_name)
sizes = st.one_of(
    st.integers(0, 40),
    st.integers(CHUNK_BYTES - 40, CHUNK_BYTES + 40),
    st.integers(2 * CHUNK_BYTES - 400, 2 * CHUNK_BYTES + 40),
)
files = st.dictionaries(
    names, sizes.map(lambda size: bytes(n % 251 for n in range(size))), max_size=3
)
results = st.builds(
    JobResult,
    st.just(JOB),
    content=st.text(max_size=60),
    say=st.text(max_size=20),
    is_error=st.booleans(),
    trust=st.sampled_from(Trust),
    sensitivity=st.sampled_from(Sensitivity),
    source=st.text(max_size=20),
    files=st.lists(
        st.builds(
            ResultFile,
            names,
            st.sampled_from(["", "image/png", "text/plain; charset=utf-8"]),
            st.integers(0, 1 << 40),
        ),
        max_size=3,
        unique_by=lambda file: file.name.casefold(),
    ).map(tuple),
)


@given(content=st.text(max_size=200), kept=files, fed=st.lists(st.integers(0, 200_000), max_size=6))
def test_what_is_sealed_is_what_is_opened(
    content: str, kept: dict[str, bytes], fed: list[int]
) -> None:
    if len({name.casefold() for name in kept}) != len(kept):
        return
    result = made(content, kept)
    blob = sealed(result, kept)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        found = opened(blob, folder, sizes=fed)
        assert found.result == result
        assert [path.read_bytes() for path in found.paths] == list(kept.values())
        assert sorted(folder.iterdir()) == sorted(folder / name for name in kept)
    assert found.sealed_bytes == len(blob)
    assert found.sha256 == hashlib.sha256(blob).hexdigest()


def test_a_result_byte_by_byte(tmp_path: Path) -> None:
    blob = sealed(made("hello", {"a": b"xyz"}), {"a": b"xyz"})
    found = opened(blob, tmp_path, sizes=[1] * len(blob))
    assert (found.result.content, found.paths[0].read_bytes()) == ("hello", b"xyz")
    assert found.paths[0].stat().st_mode & 0o777 == 0o600


def test_the_form_is_the_documented_one() -> None:
    data = bytes(range(256)) * 1000
    result = made("hello", {"a.bin": data})
    blob = sealed(result, {"a.bin": data})
    size = int.from_bytes(blob[:4])
    letter, ciphertext = blob[4 : 4 + size], blob[4 + size :]
    kind = f"job.{'0a' * 16}"
    said = open_letter(PHONE, NODE.certificate, letter, kind=kind, now=NOW, cursor=Cursor()).letter
    assert (said.sequence, said.expires_at) == (1, NOW + 90 * 86_400)
    payload = said.payload
    assert (payload[0], len(payload)) == (1, 73)
    assert payload[33:65] == hashlib.sha256(ciphertext).digest()
    assert int.from_bytes(payload[65:]) == len(ciphertext)
    aead, plain = ChaCha20Poly1305(payload[1:33]), b""
    chunks = [ciphertext[at : at + 65_552] for at in range(0, len(ciphertext), 65_552)]
    for number, chunk in enumerate(chunks):
        last = number == len(chunks) - 1
        plain += aead.decrypt(number.to_bytes(11) + bytes([last]), chunk, None)
    manifest = plain[4 : 4 + int.from_bytes(plain[:4])]
    assert decode_result(manifest) == result
    assert plain == archived(manifest, data)


@given(results)
def test_a_manifest_is_read_as_it_was_written(result: JobResult) -> None:
    assert decode_result(encode_result(result)) == result


@given(st.integers(0, 4 * CHUNK_BYTES))
def test_sizes_can_be_told_from_each_other(plain: int) -> None:
    assert plain_size(sealed_size(plain)) == plain


@pytest.mark.parametrize("size", [0, 15, SEALED_CHUNK_BYTES + 1, SEALED_CHUNK_BYTES + 16])
def test_no_ciphertext_is_so_long(size: int) -> None:
    assert plain_size(size) is None


def test_two_seals_have_nothing_in_common() -> None:
    result = made("hello", {})
    first, second = sealed(result, {}), sealed(result, {})
    shared = sum(a == b for a, b in zip(first[8:], second[8:], strict=True))
    assert shared < len(first) / 16  # of random bytes, 1 in 256 are alike


def test_size_and_hash_are_known_in_time() -> None:
    pieces = seal_result(NODE, address(PHONE), made("hello", {}), [], NOW)
    assert pieces.sha256 == ""
    blob = b"".join(pieces)
    assert (pieces.size_bytes, pieces.sha256) == (len(blob), hashlib.sha256(blob).hexdigest())


class Zeros(io.RawIOBase):
    """A long file that needs no disk."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self._size, self._at = size, 0

    def seekable(self) -> bool:
        return True

    def readable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = 0) -> int:
        self._at = offset if whence == 0 else self._size + offset
        return self._at

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]  # any buffer
        size = min(len(buffer), self._size - self._at)
        buffer[:size] = bytes(size)
        self._at += size
        return size


def test_a_long_result_takes_little_memory(tmp_path: Path) -> None:
    size = 24 << 20
    result = JobResult(JOB, "long", files=(ResultFile("zeros", "", size),))
    stream = io.BufferedReader(Zeros(size))
    tracemalloc.start()
    pieces = seal_result(NODE, address(PHONE), result, [(result.files[0], stream)], NOW)
    with ResultOpener(PHONE, NODE.certificate, JOB, NOW, tmp_path) as opener:
        for piece in pieces:
            opener.feed(piece)
        (path,) = opener.finish().paths
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert path.stat().st_size == size
    assert peak < 2 << 20


def test_files_of_an_earlier_attempt_are_replaced(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"old")
    (tmp_path / ".0000.part").write_bytes(b"of a killed attempt")
    found = opened(sealed(made("x", {"a": b"new"}), {"a": b"new"}), tmp_path)
    assert found.paths == (tmp_path / "a",)
    assert [path.read_bytes() for path in tmp_path.iterdir()] == [b"new"]


def test_what_was_not_finished_leaves_nothing(tmp_path: Path) -> None:
    blob = sealed(made("x", {"a": bytes(200_000)}), {"a": bytes(200_000)})
    with ResultOpener(PHONE, NODE.certificate, JOB, NOW, tmp_path) as opener:
        opener.feed(blob[:150_000])
        assert list(tmp_path.iterdir())
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(HomingError):
        opener.feed(blob[150_000:])


def test_a_folder_that_cannot_be_written_in(tmp_path: Path) -> None:
    with pytest.raises(UnavailableError, match="cannot be written"):
        opened(sealed(made("x", {"a": b"1"}), {"a": b"1"}), tmp_path / "missing")
    folder = tmp_path / "d"
    (folder / "b").mkdir(parents=True)  # a folder where a file is to go
    kept = {"a": b"1", "b": b"2"}
    with pytest.raises(UnavailableError):
        opened(sealed(made("x", kept), kept), folder)
    assert [path.name for path in folder.iterdir()] == ["b"]


def test_a_result_that_is_longer_than_is_accepted(tmp_path: Path) -> None:
    blob = sealed(made("x", {"a": bytes(2000)}), {"a": bytes(2000)})
    opener = ResultOpener(PHONE, NODE.certificate, JOB, NOW, tmp_path, most_bytes=2000)
    with pytest.raises(TooLongError):
        opener.feed(blob)


class Changing(io.BytesIO):
    """A file that is written while it is read."""

    def seek(self, offset: int, whence: int = 0) -> int:
        at = super().seek(offset, whence)
        if offset == 0 and whence == 0:
            data = self.getvalue()
            self.getbuffer()[:1] = bytes([data[0] ^ 1])
        return at


class Shrinking(io.BytesIO):
    """A file that is cut while it is read."""

    def read(self, size: int | None = -1) -> bytes:
        del size
        return b""


def test_a_file_that_changes_while_it_is_sealed() -> None:
    result = made("x", {"a": b"12345"})
    pieces = seal_result(NODE, address(PHONE), result, [(result.files[0], Changing(b"12345"))], NOW)
    with pytest.raises(IntegrityError, match="changed"):
        b"".join(pieces)
    assert pieces.sha256 == ""
    with pytest.raises(IntegrityError, match="changed"):
        seal_result(NODE, address(PHONE), result, [(result.files[0], Shrinking(b"12345"))], NOW)


def unfit() -> Iterator[tuple[str, JobResult, list[tuple[ResultFile, io.BytesIO]]]]:
    one = ResultFile("a", "", 3)
    yield "length", JobResult(JOB, "x", files=(one,)), [(one, io.BytesIO(b"1234"))]
    yield "missing", JobResult(JOB, "x", files=(one,)), []
    yield "surplus", JobResult(JOB, "x"), [(one, io.BytesIO(b"123"))]
    path = ResultFile("../a", "", 3)
    yield "path", JobResult(JOB, "x", files=(path,)), [(path, io.BytesIO(b"123"))]
    yield "surrogate", JobResult(JOB, "half \ud83d"), []


@pytest.mark.parametrize(("name", "result", "streams"), list(unfit()), ids=lambda one: str(one)[:9])
def test_what_could_not_be_opened_is_not_sealed(
    name: str, result: JobResult, streams: list[tuple[ResultFile, io.BytesIO]]
) -> None:
    with pytest.raises(InvalidDataError):
        seal_result(NODE, address(PHONE), result, streams, NOW)
    assert name


def test_a_manifest_alone_may_be_long(tmp_path: Path) -> None:
    result = JobResult(JOB, "long " * 100_000)
    assert opened(sealed(result, {}), tmp_path).result == result
    with pytest.raises(InvalidDataError):
        sealed(JobResult(JOB, "x" * (17 << 20)), {})


def test_another_archive_of_the_same_form_opens(tmp_path: Path) -> None:
    """So that what is refused in the attacks is refused for what is wrong in it."""
    manifest = encode_result(made("x", {"a": b"123"}))
    assert opened(sealed_archive(archived(manifest, b"123")), tmp_path).result.content == "x"
    assert encode_result(made("x", {}, new_job_id())) != encode_result(made("x", {}))
