"""Names, choices and configuration: small decisions that people notice when they are wrong."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from homing_client import device_name
from homing_client.attach import wants_another
from homing_client.cli.options import Setup, choice
from homing_client.config import ClientConfig, HomeSection, PhoneSection
from homing_client.model_choice import canonical_model, expected_name
from homing_client.rpc.phone_calls import ResidentStatus
from homing_core.config import parse_config
from homing_core.errors import ConfigError, UsageError
from homing_core.provenance import Sensitivity

if TYPE_CHECKING:
    from collections.abc import Callable

STATUS = ResidentStatus(
    version="0.1.0",
    pid=1,
    model="botpsy-0.8b:q4_k_m",
    stand_in=False,
    ready=True,
    activity="ready",
    error=None,
    device_id="",
    idle_seconds=0,
    running=0,
    wanted_model="",
    stand_in_allowed=False,
)


class TestDeviceName:
    @pytest.fixture
    def android(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
        """A system whose `getprop` is this script."""

        def install(script: str) -> None:
            program = tmp_path / "getprop"
            program.write_text(f"#!/bin/sh\n{script}\n", "utf-8")
            program.chmod(0o755)
            monkeypatch.setattr(device_name, "_ANDROID_PROPERTIES", program)

        return install

    @pytest.mark.parametrize(
        ("host", "name"),
        [("annas-laptop", "annas-laptop"), ("annas.example.org", "annas"), ("\x1b[2Jx", "[2Jx")],
    )
    def test_it_is_the_host_name(
        self, monkeypatch: pytest.MonkeyPatch, host: str, name: str
    ) -> None:
        monkeypatch.setattr("socket.gethostname", lambda: host)
        assert device_name.default_name() == name

    @pytest.mark.parametrize("host", ["localhost", "", "localhost.localdomain"])
    def test_on_android_it_is_the_model_of_the_phone(
        self, android: Callable[[str], None], monkeypatch: pytest.MonkeyPatch, host: str
    ) -> None:
        monkeypatch.setattr("socket.gethostname", lambda: host)
        android('[ "$1" = ro.product.model ] && echo "Pixel 9"')
        assert device_name.default_name() == "Pixel 9"

    @pytest.mark.parametrize("script", ["exit 1", "echo", "printf '\\377\\033[2J' >&2", "kill $$"])
    def test_where_nothing_is_known_it_is_a_phone(
        self, android: Callable[[str], None], monkeypatch: pytest.MonkeyPatch, script: str
    ) -> None:
        monkeypatch.setattr("socket.gethostname", lambda: "localhost")
        android(script)
        assert device_name.default_name() == "phone"


class TestModelChoice:
    @pytest.mark.parametrize(
        ("text", "canonical"),
        [
            ("", ""),
            ("botpsy-0.8b", "botpsy-0.8b:q4_k_m"),
            ("BotPsy-0.8B:Q8_0", "botpsy-0.8b:q8_0"),
            ("no-such-model", "no-such-model"),
            ("/models/a.gguf", "/models/a.gguf"),
        ],
    )
    def test_one_model_has_one_spelling(self, text: str, canonical: str) -> None:
        assert canonical_model(text) == canonical

    def test_a_path_is_absolute(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(tmp_path)
        monkeypatch.setenv("HOME", str(tmp_path / "anna"))
        assert canonical_model("a.gguf") == str(tmp_path / "a.gguf")
        assert canonical_model("~/a.gguf") == str(tmp_path / "anna" / "a.gguf")

    def test_it_is_called_by_its_name_before_it_is_there(self) -> None:
        assert expected_name("", stand_in=False) == "botpsy-0.8b:q4_k_m"
        assert expected_name("", stand_in=True) == "stand-in-0.5b:q4_k_m"
        assert expected_name("/models/mine.gguf", stand_in=False) == "mine"
        assert expected_name("qwen3.5-2b", stand_in=False) == "qwen3.5-2b:q4_k_m"


class TestAnotherModel:
    @pytest.mark.parametrize(
        ("setup", "running", "another"),
        [
            (Setup(), STATUS, False),
            (Setup(stand_in=True), STATUS, True),
            (Setup(stand_in=True), dataclasses.replace(STATUS, stand_in_allowed=True), False),
            (Setup(), dataclasses.replace(STATUS, stand_in_allowed=True), False),
            (Setup(model="qwen3.5-2b"), STATUS, True),
            (
                Setup(model="QWEN3.5-2B"),
                dataclasses.replace(STATUS, wanted_model="qwen3.5-2b:q4_k_m"),
                False,
            ),
            (Setup(), dataclasses.replace(STATUS, wanted_model="/a.gguf"), False),
        ],
    )
    def test_only_what_was_asked_for_counts(
        self, setup: Setup, running: ResidentStatus, *, another: bool
    ) -> None:
        assert wants_another(setup, running) is another


class TestSetup:
    def test_what_is_handed_on_means_the_same_from_anywhere(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(tmp_path)
        setup = Setup(Path("data"), Path("my.toml"), stand_in=True, model="m.gguf")
        assert setup.arguments() == [
            "--data-dir",
            str(tmp_path / "data"),
            "--config",
            str(tmp_path / "my.toml"),
            "--stand-in",
            "--model",
            str(tmp_path / "m.gguf"),
        ]
        assert Setup().arguments() == []

    def test_options_win_over_the_environment_and_it_over_the_file(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (tmp_path / "phone.toml").write_text("[model]\nname = 'qwen3.5-2b'\nthreads = 1\n")
        setup = Setup(tmp_path)
        assert setup.load().model.name == "qwen3.5-2b"
        monkeypatch.setenv("HOMING_MODEL_NAME", "minicpm5-1b")
        assert setup.load().model.name == "minicpm5-1b"
        chosen = Setup(tmp_path, model="7").load().model  # a name, and no number
        assert (chosen.name, chosen.threads, chosen.stand_in) == ("7", 1, False)
        assert Setup(tmp_path, stand_in=True).load().model.stand_in

    def test_a_word_is_taken_in_any_usual_spelling(self) -> None:
        assert choice(Sensitivity, "Home-Only", "--sensitivity") is Sensitivity.HOME_ONLY
        with pytest.raises(UsageError, match="--sensitivity takes one of phone_only, home_only"):
            choice(Sensitivity, "secret", "--sensitivity")


class TestConfig:
    def test_every_key_has_a_default(self) -> None:
        config = parse_config("", ClientConfig)
        assert config == ClientConfig()
        assert config.sensitivity is Sensitivity.HOME_ONLY

    @pytest.mark.parametrize(
        ("text", "words"),
        [
            ("[home]\naddresses = ['10.0.0.1']", "home.addresses"),
            ("[home]\naddresses = ['0.0.0.0:1']", "home.addresses"),
            ("[home]\nreach_seconds = 61", "home.reach_seconds"),
            ("[home]\nreach_seconds = nan", "home.reach_seconds"),
            ("[model]\nthreads = -1", "model.threads"),
            ("[model]\nmax_sequences = 0", "model.max_sequences"),
            ("[model]\nstate_mib = -1", "model.checkpoint_mib and state_mib"),
        ],
    )
    def test_a_value_that_cannot_work_is_named(self, text: str, words: str) -> None:
        with pytest.raises(ConfigError, match=words):
            parse_config(text, ClientConfig)

    def test_good_values_are_kept(self) -> None:
        text = "[home]\naddresses = ['home.example:47100', '[fe80::1%wlan0]:47100']\n"
        assert parse_config(text, ClientConfig).home == HomeSection(
            addresses=("home.example:47100", "[fe80::1%wlan0]:47100")
        )
        assert PhoneSection(idle_minutes=0).idle_minutes == 0
