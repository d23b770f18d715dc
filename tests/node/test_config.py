"""What a node's configuration may say of its models."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import pytest
from homing_agent.runtime.model_host import ModelStatus, Phase, at_once
from homing_core.config import parse_config
from homing_core.errors import ConfigError, NotFoundError, UnavailableError
from homing_inference.catalog.store import Store
from homing_node.config import ModelSection, NodeConfig
from homing_node.models.sources import configured_models, forget_other_states
from homing_node.models.upstream import read_key

if TYPE_CHECKING:
    from pathlib import Path

GOOD = """
[model]
name = "botpsy-0.8b:bf16"
also = ["qwen3.5-2b", "~/my-own.gguf"]
memory_mib = 6000
adapters = {kitchen = "kitchen.gguf"}

[upstream.attic]
url = "http://192.168.1.9:8000/v1"
model = "qwen3.5:2b"
"""


def parse(text: str) -> NodeConfig:
    return parse_config(text, NodeConfig, "node.toml", {}, "HOMING_NODE_")


def listed(config: NodeConfig, folder: Path) -> list[tuple[str, str, bool]]:
    return [
        (model.status.name, model.status.quantization, model.resident)
        for model in configured_models(config, Store(folder), folder / "states")
    ]


def test_models_of_all_kinds(tmp_path: Path) -> None:
    config = parse(GOOD)
    assert config.model.adapters == {"kitchen": "kitchen.gguf"}
    assert listed(config, tmp_path) == [
        ("botpsy-0.8b:bf16", "BF16", False),
        ("qwen3.5-2b:q4_k_m", "Q4_K_M", False),
        ("my-own", "", False),
        ("attic", "", True),
    ]
    default, *_, attic = configured_models(config, Store(tmp_path), tmp_path)
    assert default.status.phase is Phase.UNLOADED
    assert attic.status == ModelStatus("attic", Phase.UNLOADED)
    assert not list(tmp_path.iterdir()), "nothing is touched before it is loaded"


def test_without_a_word_there_is_the_products_own(tmp_path: Path) -> None:
    assert listed(NodeConfig(), tmp_path) == [("botpsy-0.8b:bf16", "BF16", False)]
    stand_in = NodeConfig(model=ModelSection(stand_in=True))
    (only,) = configured_models(stand_in, Store(tmp_path), tmp_path)
    assert (only.status.name, only.status.stand_in) == ("stand-in-0.5b:bf16", True)


def test_what_models_of_the_past_left_on_disk_goes(tmp_path: Path) -> None:
    config = NodeConfig(model=ModelSection(also=("qwen3.5-2b",)))
    forget_other_states(config, tmp_path / "none")
    short, gone = "01234567", "0123456789abcdef"
    used = [hashlib.sha256(name.encode()).hexdigest()[:16] for name in ("", "qwen3.5-2b")]
    for name in (*used, short, gone, "my-own-folder"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").touch()
    forget_other_states(config, tmp_path)
    left = {folder.name for folder in tmp_path.iterdir()}
    assert left == {*used, short, "my-own-folder"}


def test_another_server_may_be_the_default(tmp_path: Path) -> None:
    config = parse('[model]\nname = "attic"\n[upstream.attic]\nurl = "https://example.org"\n')
    assert listed(config, tmp_path) == [("attic", "", True)]


def test_a_further_model_that_nobody_knows(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match="qwen9"):
        listed(parse('[model]\nalso = ["qwen9"]'), tmp_path)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('[model]\nalso = "qwen3.5-2b"', "expected a list of texts at model.also"),
        ('[model]\nalso = [" "]', "model.also holds an empty name"),
        ('[model]\nalso = ["a", "a"]', "model.also names 'a' twice"),
        ('[model]\nname = "a"\nalso = ["a"]', "model.also names 'a' twice"),
        ("[model]\nmax_sequences = 0", "model.max_sequences is not between 1 and 64"),
        ("[model]\nmax_sequences = 65", "model.max_sequences is not between 1 and 64"),
        ("[model]\nmemory_mib = -1", "model.memory_mib is negative; 0 is three quarters"),
        ("[model]\ncheckpoint_mib = -1", "model.checkpoint_mib is negative"),
        ("[model]\nthreads = 100000", "model.threads is above 512"),
        ("[model]\ncontext_tokens = 9223372036854775807", "model.context_tokens is not between"),
        ("[model]\nmemory_mib = 99999999999999999999", "model.memory_mib is above"),
        ("[model]\nstate_mib = 1.5", "expected a whole number, found a number at model.state_mib"),
        ("[model]\ncache_tokens = 100", "model.cache_tokens is not between 512"),
        ('[model]\nadapters = {"a b" = "x.gguf"}', "'a b' needs a plain name"),
        ('[model]\nadapters = {a = ""}', "'a' needs a plain name and the path of a file"),
        (
            "[model]\nadapters = {a = 1}",
            "expected text in quotes, found a whole number at model.adapters",
        ),
        ("[limits.guest]\nhours = '8-22'", "limits.guest.hours: "),
        ("[limits.guest]\nhours = '8-22'", "08:00-22:00"),
        ("[limits.member]\njobs = -1", "limits.member.jobs: "),
        ("[door]\nunproven = 10\nunproven_per_address = 100", "(100) is above door.unproven (10)"),
        ("[upstream]\nattic = 1", "expected a section at upstream"),
        ("[upstream.attic]\nmodel = 'x'", "the address of the model server cannot be read"),
        ("[upstream.attic]\nurl = 'http://8.8.8.8'", "would travel unencrypted to 8.8.8.8"),
        ("[upstream.attic]\nurl = 'ftp://10.0.0.1'", "cannot be read"),
        ("[upstream.attic]\nurl = 'http://me:secret@10.0.0.1'", "holds more than host"),
        ("[upstream.'a b']\nurl = 'http://10.0.0.1'", "'a b' is not a plain name"),
        (
            "[model]\nalso = ['attic']\n[upstream.attic]\nurl = 'http://10.0.0.1'",
            "'attic' is named in model.also too",
        ),
    ],
)
def test_a_value_that_cannot_work_is_named(text: str, words: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse(text)
    assert words in caught.value.what
    assert "secret" not in str(caught.value)


def test_a_key_file_is_this_users_alone(tmp_path: Path) -> None:
    file = tmp_path / "key"
    file.write_text("  sk-123  \nnot this\n")
    file.chmod(0o644)
    with pytest.raises(ConfigError, match="open to other users"):
        read_key(str(file))
    file.chmod(0o600)
    assert read_key(str(file)) == "sk-123"
    file.write_text("\n")
    with pytest.raises(ConfigError, match="empty"):
        read_key(str(file))
    for nothing in (tmp_path / "none", tmp_path):
        with pytest.raises(ConfigError, match="cannot be read"):
            read_key(str(nothing))


async def test_a_server_that_does_not_answer_says_so(tmp_path: Path) -> None:
    config = parse("[upstream.attic]\nurl = 'http://127.0.0.1:9'")
    attic = configured_models(config, Store(tmp_path), tmp_path)[-1]
    said: list[ModelStatus] = []
    with pytest.raises(UnavailableError):
        await attic.source.load(said.append, at_once)
    assert said[0].step == "connecting to attic"


def test_a_variable_reaches_a_section_within_a_section() -> None:
    env = {"HOMING_NODE_LIMITS_GUEST_HOURS": "09:00-10:00", "HOMING_NODE_LIMITS_GUEST_JOBS": "7"}
    found = parse_config("[limits.guest]\njobs = 1\n", NodeConfig, "f", env, "HOMING_NODE_")
    assert (found.limits.guest.hours, found.limits.guest.jobs) == ("09:00-10:00", 7)
    env = {"HOMING_NODE_LIMITS_GUEST_HOURS": "8-22"}
    with pytest.raises(ConfigError, match=r"^HOMING_NODE_LIMITS_GUEST_HOURS: limits\.guest\.hours"):
        parse_config("", NodeConfig, "f", env, "HOMING_NODE_")
