"""What a node keeps of jobs, and what a phone is given as their results."""

from __future__ import annotations

import tempfile
from functools import cache
from pathlib import Path

from fuzz.target import Target, examples
from homing_core.jobs import JobResult, ResultFile
from homing_core.strict_json import read_json
from homing_crypto.result_form import decode_result, encode_result
from homing_node.jobs.forms import (
    decode_outcome,
    decode_payload,
    decode_question,
    encode_payload,
    encode_question,
)
from hypothesis import strategies as st
from support.job_forms import payloads, questions
from support.sealed_results import JOB, archived, made, opened, sealed, sealed_archive

_FILES = {"a.txt": b"hello", "b.bin": bytes(70_000)}


def _results() -> list[bytes]:
    files = (ResultFile("a.png", "image/png", 3), ResultFile("b", "", 0))
    return [
        encode_result(JobResult(JOB, "text", "say", is_error=True, source="x", files=files)),
        encode_result(JobResult(JOB, "")),
    ]


@cache
def _sealed() -> list[bytes]:
    return [sealed(made("text", _FILES), _FILES), sealed(made("text", {}), {})]


def _open(data: bytes) -> object:
    with tempfile.TemporaryDirectory() as name:
        return opened(data, Path(name), sizes=[5, 900, 3000])


def _open_archive(data: bytes) -> object:
    """Behind the seal: what only the node that ran a job could send."""
    return _open(sealed_archive(data))


TARGETS = [
    Target(
        "jobs.payload",
        decode_payload,
        ("homing_node.jobs.forms.decode_payload",),
        lambda: examples(payloads.map(encode_payload)),
    ),
    Target(
        "jobs.question",
        decode_question,
        ("homing_node.jobs.forms.decode_question",),
        lambda: examples(questions.map(encode_question)),
    ),
    Target("jobs.outcome", decode_outcome, ("homing_node.jobs.forms.decode_outcome",), _results),
    Target(
        "jobs.result_form",
        decode_result,
        ("homing_crypto.result_form.decode_result",),
        _results,
    ),
    Target("jobs.sealed_result", _open, seeds=_sealed, quick=100),
    Target(
        "jobs.result_archive",
        _open_archive,
        seeds=lambda: [archived(_results()[0], b"123"), archived(_results()[1])],
        structured=st.binary(max_size=300).map(lambda body: archived(body, b"123")),
        quick=60,
    ),
    Target("core.read_json", lambda data: read_json(data, "it"), seeds=_results),
]
