"""Sealed results under attack: each alteration is a clear error, and nothing is left on disk."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from homing_core.errors import HomingError, IntegrityError, InvalidDataError, RefusedError
from homing_core.ids import new_job_id
from homing_core.jobs import ResultFile
from homing_crypto.chunks import SEALED_CHUNK_BYTES
from homing_crypto.result_form import decode_result, encode_result, plain_name
from hypothesis import given, settings
from hypothesis import strategies as st
from support.sealed_results import (
    EVE,
    JOB,
    NODE,
    NOW,
    PHONE,
    archived,
    made,
    opened,
    sealed,
    sealed_archive,
)

if TYPE_CHECKING:
    from collections.abc import Callable

FILES = {"first.bin": bytes(range(256)) * 700, "second.txt": b"hello"}
RESULT = made("what came of it", FILES)
BLOB = sealed(RESULT, FILES)
HEAD = 4 + int.from_bytes(BLOB[:4])
"""Where the ciphertext starts."""
LENGTH = len(BLOB)


def refused(blob: bytes, **changes: object) -> HomingError:
    """The error with which it is refused; nothing of it is on disk then."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with pytest.raises(HomingError) as caught:
            opened(blob, folder, **changes)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
        assert list(folder.iterdir()) == []
    return caught.value


def test_it_opens_if_nobody_meddles(tmp_path: Path) -> None:
    assert opened(BLOB, tmp_path).result == RESULT


@pytest.mark.attack
@pytest.mark.attack
@given(st.integers(0, LENGTH - 1))
def test_cut_off(at: int) -> None:
    error = refused(BLOB[:at])
    assert isinstance(error, IntegrityError | InvalidDataError)
    assert error.hint


@pytest.mark.attack
@pytest.mark.attack
@given(st.integers(0, LENGTH * 8 - 1))
def test_one_bit_flipped(bit: int) -> None:
    changed = bytearray(BLOB)
    changed[bit // 8] ^= 1 << bit % 8
    assert isinstance(refused(bytes(changed)), IntegrityError | InvalidDataError)


@pytest.mark.attack
@pytest.mark.attack
@settings(max_examples=25)
@given(st.binary(min_size=1, max_size=40))
def test_something_appended(more: bytes) -> None:
    assert isinstance(refused(BLOB + more), IntegrityError)


def chunk(number: int) -> slice:
    start = HEAD + number * SEALED_CHUNK_BYTES
    return slice(start, min(start + SEALED_CHUNK_BYTES, LENGTH))


def rearranged(*order: int) -> bytes:
    return BLOB[:HEAD] + b"".join(BLOB[chunk(number)] for number in order)


@pytest.mark.attack
@pytest.mark.attack
@pytest.mark.parametrize(
    "order", [(1, 0, 2), (0, 2), (1, 2), (0, 0, 1, 2), (0, 1, 1, 2), (0, 1, 2, 2), (0, 1), (2,)]
)
def test_chunks_moved_left_out_or_repeated(order: tuple[int, ...]) -> None:
    assert rearranged(0, 1, 2) == BLOB
    assert isinstance(refused(rearranged(*order)), IntegrityError)


@pytest.mark.attack
@pytest.mark.attack
def test_the_letter_of_one_result_with_the_text_of_another() -> None:
    other = sealed(RESULT, FILES)
    at = 4 + int.from_bytes(other[:4])
    assert isinstance(refused(BLOB[:HEAD] + other[at:]), IntegrityError)


@pytest.mark.attack
@pytest.mark.attack
def test_who_it_is_not_for_and_who_did_not_seal_it() -> None:
    assert isinstance(refused(BLOB, recipient=EVE), IntegrityError)
    assert isinstance(refused(BLOB, recipient=NODE), IntegrityError)  # who sealed it neither
    assert isinstance(refused(BLOB, sender=EVE.certificate), IntegrityError)
    assert isinstance(refused(sealed(RESULT, FILES, sender=EVE)), IntegrityError)
    assert isinstance(refused(sealed(RESULT, FILES, recipient=EVE)), IntegrityError)


@pytest.mark.attack
@pytest.mark.attack
def test_the_result_of_another_job() -> None:
    assert isinstance(refused(BLOB, job=new_job_id()), IntegrityError)
    inside = encode_result(made("x", {}, new_job_id()))  # its letter says that it is ours
    assert isinstance(refused(sealed_archive(archived(inside))), IntegrityError)


@pytest.mark.attack
@pytest.mark.attack
def test_one_that_lay_too_long() -> None:
    day = 86_400
    for late in (90 * day, 365 * day):
        assert isinstance(refused(BLOB, now=NOW + late), RefusedError)
    assert isinstance(refused(BLOB, now=NOW - 2 * day), RefusedError)  # this clock must be wrong


def lying(change: Callable[[dict[str, object]], object], *files: bytes) -> bytes:
    form: dict[str, object] = json.loads(encode_result(made("x", {"a": b"123"})))
    change(form)
    return sealed_archive(archived(json.dumps(form).encode(), *files))


def files_of(form: dict[str, object], *names: str, size: object = 3) -> None:
    form["files"] = [{"name": name, "media_type": "", "size_bytes": size} for name in names]


@pytest.mark.attack
@pytest.mark.attack
@pytest.mark.parametrize("size", [2, 4, 0, -1, 1 << 62, 3.0, "3", None, True, 1e400])
def test_a_manifest_that_lies_about_sizes(size: object) -> None:
    assert refused(lying(lambda form: files_of(form, "a", size=size), b"123")).what


@pytest.mark.attack
@pytest.mark.attack
def test_a_manifest_that_lies_about_files() -> None:
    for blob in (
        lying(files_of, b"123"),
        lying(lambda form: files_of(form, "a", "b"), b"123"),
        lying(lambda form: files_of(form, "a", "a"), b"123", b"123"),
        lying(lambda form: files_of(form, "a", "A"), b"123", b"123"),
        lying(lambda form: files_of(form, *(f"f{n}" for n in range(1001))), b"123" * 1001),
    ):
        assert refused(blob).what


ODD: dict[str, object] = {
    "more": 1,
    "v": 2,
    "trust": "absolute",
    "sensitivity": ["home_only"],
    "content": 7,
    "say": "half \ud83d",
    "is_error": 0,
    "job": "job-1",
    "files": {"a": 1},
    "source": None,
}


@pytest.mark.attack
@pytest.mark.parametrize(("name", "value"), ODD.items())
def test_a_manifest_with_an_odd_field(name: str, value: object) -> None:
    def change(form: dict[str, object]) -> None:
        form[name] = value

    assert isinstance(refused(lying(change, b"123")), InvalidDataError)


@pytest.mark.attack
@pytest.mark.parametrize(
    "file",
    [
        [],
        {"name": "a", "size_bytes": 3},
        {"name": "a", "size_bytes": 3, "media_type": "", "path": "/etc"},
        {"name": "a", "size_bytes": 3, "media_type": "text/html\r\nX: y"},
        {"name": 7, "size_bytes": 3, "media_type": ""},
    ],
)
def test_a_manifest_with_an_odd_file(file: object) -> None:
    def change(form: dict[str, object]) -> None:
        form["files"] = [file]

    assert isinstance(refused(lying(change, b"123")), InvalidDataError)


@pytest.mark.attack
def test_a_manifest_without_a_field() -> None:
    for name in json.loads(encode_result(RESULT)):

        def change(form: dict[str, object], name: str = name) -> None:
            del form[name]

        assert isinstance(refused(lying(change, b"123")), InvalidDataError)


@pytest.mark.attack
@pytest.mark.parametrize(
    "manifest",
    [b"", b"[]", b"null", b"{", b"\xff", b'{"v":1,"v":1}', b"[" * 100_000, b'{"v":NaN}'],
)
def test_a_manifest_that_is_no_object(manifest: bytes) -> None:
    assert isinstance(refused(sealed_archive(archived(manifest))), InvalidDataError)
    with pytest.raises(InvalidDataError):
        decode_result(manifest)


@pytest.mark.attack
def test_an_archive_that_ends_before_its_manifest() -> None:
    for archive in (b"", b"\x00\x00", b"\x00\x00\x00\x09{}", b"\xff\xff\xff\xff" + bytes(99)):
        assert refused(sealed_archive(archive)).what


@pytest.mark.attack
@pytest.mark.attack
def test_a_letter_that_lies() -> None:
    archive = archived(encode_result(made("x", {})))
    assert isinstance(refused(sealed_archive(archive, sha256=bytes(32))), IntegrityError)
    assert isinstance(refused(sealed_archive(archive, version=2)), InvalidDataError)
    for length in (0, 1, 16, len(archive) + 15, len(archive) + 17, 1 << 63):
        assert refused(sealed_archive(archive, length=length)).what


HOSTILE = [
    "",
    ".",
    "..",
    "../up",
    "/etc/passwd",
    "a/b",
    "a\\b",
    "C:evil",
    ".bashrc",
    ".0000.part",
    "-rf",
    "~root",
    " a",
    "a ",
    "a.",
    "a\x00b",
    "a\nb",
    "a\x1b[31m",
    "a\u202egnp.exe",
    "a\u200bb",
    "half \ud83d",
    "con",
    "NUL.txt",
    "com1",
    "lpt9.tar.gz",
    "a?b",
    "a*b",
    'a"b',
    "a|b",
    "<a>",
    "x" * 201,
    "ä" * 101,
]


@pytest.mark.attack
@pytest.mark.attack
@pytest.mark.parametrize("name", HOSTILE, ids=ascii)
def test_a_file_name_that_is_not_plain(name: str) -> None:
    assert not plain_name(name)
    assert isinstance(refused(lying(lambda form: files_of(form, name), b"123")), InvalidDataError)


@pytest.mark.parametrize(
    "name", ["a", "Résumé 2026.pdf", "report.tar.gz", "写真.png", "console.txt"]
)
def test_a_plain_file_name(name: str, tmp_path: Path) -> None:
    assert opened(sealed(made("x", {name: b"1"}), {name: b"1"}), tmp_path).paths[0].name == name


@given(st.text(max_size=250))
def test_whatever_is_accepted_stays_in_its_folder(name: str) -> None:
    if plain_name(name):
        folder = Path("/folder")
        assert (folder / name).parent == folder
        assert (folder / name).name == name
        assert ResultFile(name, "", 0).name.isprintable()


@pytest.mark.attack
@given(st.binary(max_size=3000))
def test_noise_is_refused(noise: bytes) -> None:
    assert refused(noise).what
    assert refused(BLOB[:4] + noise).what


@pytest.mark.attack
def test_after_an_error_it_is_over(tmp_path: Path) -> None:
    with pytest.raises(IntegrityError) as first:
        opened(rearranged(1, 0, 2), tmp_path)
    assert first.value.hint
    assert JOB not in str(first.value)
    assert PHONE.device_id not in str(first.value)
