"""Beginnings, checkpoints and saved prefixes on models: the same scores to the bit."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path  # noqa: TC003  # the script of another process uses it too
from typing import TYPE_CHECKING

import numpy as np
import pytest
from homing_core.generation import GenerateRequest
from homing_core.ids import new_generation_id
from homing_core.messages import assistant, system, user
from homing_inference.answers.prompts import PromptWriter
from homing_inference.formats.select import choose
from homing_inference.llama.model import LoadedModel
from homing_inference.llama.sequences import Sequences
from homing_inference.machine.sizes import PINNED_PREFIXES
from homing_inference.states.beginnings import Beginnings
from homing_inference.states.prefix_files import PrefixFiles
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.answers import tool

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from homing_core.messages import Message
    from homing_inference.answers.prompts import TokenizedPrompt
    from numpy.typing import NDArray

TOOLS = (tool("note", text={"type": "string"}), tool("torch", on={"type": "boolean"}))
FIRST = (system("Be brief."), user("What is the tallest mountain that one can see from here?"))
ANSWER = assistant("That depends on where you are, but you did not say it.")
LONG_ANSWER = assistant("From the village it is the Matterhorn, 4,478 metres, says the map. " * 4)
SECOND = (*FIRST, ANSWER, user("In Zermatt."))


@dataclass(frozen=True, slots=True)
class Computed:
    """What a prompt's computation gave.

    Attributes:
        cached: tokens that were known.
        tokens: of the prompt.
        scores: behind its last token.
        later: behind the fourth token that was then added one by one.
    """

    cached: int
    tokens: int
    scores: NDArray[np.float32]
    later: NDArray[np.float32]


class Rig:
    """An engine's memory and the part of its scheduler that computes a prompt."""

    def __init__(self, path: Path, folder: Path | None = None) -> None:
        self.model = LoadedModel(path)
        self.sequences = Sequences(
            self.model,
            context_tokens=2048,
            cells=4096,
            sequences=4 + PINNED_PREFIXES,
            threads=2,
        )
        facts = self.model.facts
        vocabulary = self.model.vocabulary
        self.writer = PromptWriter(
            choose(facts.template, facts.bos, facts.eos, architecture=facts.architecture),
            vocabulary,
            vocabulary.control_texts(facts.template),
        )
        self.files: PrefixFiles | None = None
        if folder is not None:
            sha256 = hashlib.sha256(path.name.encode()).hexdigest()
            self.files = PrefixFiles(
                folder, model_sha256=sha256, fingerprint=self.sequences.fingerprint
            )
        self.beginnings = Beginnings(
            self.sequences,
            can_rewind=facts.can_rewind,
            checkpoint_bytes=1 << 28,
            store=self.files,
        )

    def prompt(self, *messages: Message) -> TokenizedPrompt:
        return self.writer.prompt(GenerateRequest(new_generation_id(), messages, tools=TOOLS))

    def compute(self, *messages: Message, owner: str = "ann") -> Computed:
        return self.computed(self.prompt(*messages), owner=owner)

    def computed(self, prompt: TokenizedPrompt, *, owner: str = "ann") -> Computed:
        begun = self.beginnings.start(
            prompt.tokens,
            owner=owner,
            adapter="",
            prefix_tokens=prompt.prefix_tokens,
            cuts=prompt.cuts,
        )
        stops = self.beginnings.stops(prompt.cuts)
        done = begun.cached
        scores: Sequence[NDArray[np.float32]] = []
        while done < len(prompt.tokens):
            ends = (done + self.sequences.batch_tokens, len(prompt.tokens))
            end = min(end for end in (*ends, prompt.prefix_tokens, *stops) if end > done)
            scores = self.sequences.prefill(
                begun.sequence, prompt.tokens[done:end], scores_at=[end - done - 1]
            )
            done = end
            if done == prompt.prefix_tokens:
                self.beginnings.pin(begun.sequence, adapter="", sha256=prompt.prefix_sha256)
            if done in stops:
                self.beginnings.keep(begun.sequence, owner=owner, adapter="")
        last = scores[0].copy()
        for token in (70, 71, 72, 73):
            later = self.sequences.step({begun.sequence: token})[begun.sequence].copy()
        self.sequences.close(begun.sequence)
        return Computed(begun.cached, len(prompt.tokens), last, later)

    def close(self) -> None:
        self.beginnings.close()
        self.sequences.shut()
        self.model.close()


@pytest.fixture(params=["tiny_qwen35", pytest.param("stand_in_phone", marks=pytest.mark.model)])
def model(request: pytest.FixtureRequest) -> Path:
    path: Path = request.getfixturevalue(request.param)
    return path


@pytest.fixture
def rig(model: Path) -> Iterator[Rig]:
    opened = Rig(model)
    yield opened
    opened.close()


@pytest.fixture
def tiny(tiny_qwen35: Path) -> Iterator[Rig]:
    opened = Rig(tiny_qwen35)
    yield opened
    opened.close()


def _equal(left: Computed, right: Computed) -> bool:
    return np.array_equal(left.scores, right.scores) and np.array_equal(left.later, right.later)


def test_a_repeated_request_gets_the_same_scores(rig: Rig) -> None:
    first = rig.compute(*FIRST)
    again = rig.compute(*FIRST)
    second = rig.compute(*SECOND)
    assert first.cached == 0 < again.cached < second.cached
    assert _equal(first, again)
    for _ in range(2):
        assert _equal(rig.compute(*SECOND), second)
        assert _equal(rig.compute(*FIRST), first)


def test_a_second_turn_computes_little_more_than_what_is_new(tiny: Rig) -> None:
    first = tiny.compute(*FIRST)
    second = tiny.compute(*FIRST, LONG_ANSWER, user("How long would it take us to walk there?"))
    computed = second.tokens - second.cached
    assert computed <= 1.1 * (second.tokens - first.tokens)


def test_the_second_turns_scores_are_those_of_the_whole_prompt(tiny: Rig) -> None:
    tiny.compute(*FIRST)
    second = tiny.compute(*SECOND)
    whole = tiny.compute(*SECOND, owner="bob")
    assert whole.cached < second.cached
    assert float(np.abs(whole.scores - second.scores).max()) < 0.01


@pytest.mark.attack
def test_two_owners_with_the_same_conversation_share_no_more_than_the_prefix(tiny: Rig) -> None:
    tiny.compute(*FIRST)
    prefix = tiny.prompt(*FIRST).prefix_tokens
    assert tiny.compute(*SECOND, owner="bob").cached == prefix
    assert tiny.compute(*SECOND, user("So?")).cached > prefix


def test_a_prefix_from_disk_gives_the_same_scores(model: Path, tmp_path: Path) -> None:
    before = Rig(model, tmp_path / "prefixes")
    cold = before.compute(*FIRST)
    warm = before.compute(*FIRST)
    before.close()
    after = Rig(model, tmp_path / "prefixes")
    found = after.compute(*FIRST)
    assert found.cached == after.prompt(*FIRST).prefix_tokens
    assert _equal(found, cold)
    assert _equal(found, warm)
    assert [pin.sha256 for pin in after.beginnings.pinned] == [after.prompt(*FIRST).prefix_sha256]
    after.close()


_SCRIPT = """
import json, sys
from pathlib import Path
sys.path[:0] = json.loads(sys.argv[3])
from importlib.util import module_from_spec, spec_from_file_location
spec = spec_from_file_location("rig", sys.argv[4])
rig = module_from_spec(spec)
sys.modules["rig"] = rig
spec.loader.exec_module(rig)
opened = rig.Rig(Path(sys.argv[1]), Path(sys.argv[2]))
found = opened.compute(*rig.FIRST)
opened.close()
print(json.dumps([found.cached, found.scores.tobytes().hex()]))
"""


def test_another_process_starts_warm(tiny_qwen35: Path, tmp_path: Path) -> None:
    folder = tmp_path / "prefixes"
    results: list[tuple[int, str]] = []
    for _ in range(2):
        done = subprocess.run(  # noqa: S603  # our own script
            [sys.executable, "-c", _SCRIPT, tiny_qwen35, folder, json.dumps(sys.path), __file__],
            capture_output=True,
            check=True,
            timeout=60,
        )
        cached, scores = json.loads(done.stdout.splitlines()[-1])
        results.append((cached, scores))
    (cold, cold_scores), (warm, warm_scores) = results
    assert cold == 0 < warm
    assert cold_scores == warm_scores
    own = Rig(tiny_qwen35, folder)
    assert own.compute(*FIRST).cached == warm
    own.close()


@pytest.mark.attack
@settings(
    deadline=None, max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(where=st.integers(0, 1 << 24), value=st.integers(1, 255), cut=st.booleans())
def test_a_damaged_file_is_computed_anew(
    damaged: tuple[Rig, Path, Computed],
    where: int,
    value: int,
    cut: bool,  # noqa: FBT001  # given by name
) -> None:
    rig, path, sound = damaged
    data = bytearray(path.read_bytes())
    if cut:
        del data[where % len(data) :]
    else:
        data[where % len(data)] ^= value
    path.write_bytes(data)
    rig.beginnings.make_room(rig.sequences.cells)
    computed = rig.compute(*FIRST)
    assert computed.cached == 0
    assert _equal(computed, sound)
    assert rig.files is not None
    assert rig.files.flush(20)
    rig.beginnings.make_room(rig.sequences.cells)
    assert rig.compute(*FIRST).cached > 0


@pytest.fixture
def damaged(tiny_qwen35: Path, tmp_path: Path) -> Iterator[tuple[Rig, Path, Computed]]:
    rig = Rig(tiny_qwen35, tmp_path)
    sound = rig.compute(*FIRST)
    assert rig.files is not None
    assert rig.files.flush(20)
    (path,) = tmp_path.glob("*.prefix")
    yield rig, path, sound
    rig.close()
