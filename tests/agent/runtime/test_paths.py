from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest
from homing_agent.runtime.paths import (
    ProgramPaths,
    choose_socket_path,
    make_private,
    prepare_data_dir,
    program_paths,
    socket_path,
)
from homing_core.errors import UsageError


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


def test_option_names_the_directory_itself(tmp_path: Path) -> None:
    paths = program_paths("homing-node", "node", tmp_path / "d", environ={})
    assert paths.data_dir == tmp_path / "d"
    assert paths.config_file == tmp_path / "d" / "node.toml"
    assert not paths.config_named


def test_variable_names_the_common_folder_so_that_node_and_phone_stay_apart(tmp_path: Path) -> None:
    env = {"HOMING_DATA_DIR": str(tmp_path)}
    node = program_paths("homing-node", "node", environ=env)
    phone = program_paths("homing", "phone", environ=env)
    assert node.data_dir == tmp_path / "node"
    assert phone.data_dir == tmp_path / "phone"


def test_option_wins_over_variable_and_config_may_stand_elsewhere(tmp_path: Path) -> None:
    env = {"HOMING_DATA_DIR": str(tmp_path / "env")}
    paths = program_paths("homing", "phone", tmp_path / "opt", tmp_path / "c.toml", env)
    assert paths.data_dir == tmp_path / "opt"
    assert paths.config_file == tmp_path / "c.toml"
    assert paths.config_named


def test_defaults_are_the_platforms_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    paths = program_paths("homing-node", "node", environ={})
    assert tmp_path in paths.data_dir.parents
    assert tmp_path in paths.config_file.parents
    assert paths.config_file.name == "node.toml"


def test_relative_directory_does_not_depend_on_a_later_chdir(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert program_paths("homing", "phone", Path("x"), environ={}).data_dir == tmp_path / "x"


def test_data_directory_is_private_whatever_the_umask(tmp_path: Path) -> None:
    old = os.umask(0)
    try:
        paths = program_paths("homing-node", "node", tmp_path / "a" / "b", environ={})
        prepare_data_dir(paths)
        prepare_data_dir(paths)
    finally:
        os.umask(old)
    assert mode(paths.data_dir) == 0o700
    assert mode(paths.run_dir) == 0o700


def test_empty_open_folder_is_closed_and_a_full_one_refused(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir(mode=0o755)
    make_private(tmp_path / "empty")
    assert mode(tmp_path / "empty") == 0o700

    full = tmp_path / "full"
    full.mkdir()
    full.chmod(0o755)
    (full / "something").touch()
    with pytest.raises(UsageError, match="open to other users") as caught:
        make_private(full)
    assert "chmod 700" in caught.value.hint
    assert mode(full) == 0o755


def test_folder_that_is_a_file_or_anothers_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match="cannot be used"):
        make_private(tmp_path / "file")
    monkeypatch.setattr(os, "getuid", lambda: 4_000_000)
    with pytest.raises(UsageError, match="another user"):
        make_private(tmp_path)


def deep(tmp_path: Path) -> ProgramPaths:
    paths = program_paths("homing", "phone", tmp_path / ("d" * 120), environ={})
    prepare_data_dir(paths)
    return paths


def test_long_path_gets_a_short_socket_that_another_environment_finds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    short = Path(tempfile.mkdtemp(prefix="h"))
    try:
        paths = deep(tmp_path)
        chosen = choose_socket_path(paths, {"XDG_RUNTIME_DIR": str(short)})
        assert len(os.fsencode(chosen)) <= 100
        assert short in chosen.parents
        assert mode(chosen.parent) == 0o700
        assert choose_socket_path(paths, {"XDG_RUNTIME_DIR": str(short)}) == chosen
        monkeypatch.delenv("XDG_RUNTIME_DIR", raising=False)
        assert socket_path(paths) == chosen
    finally:
        for folder in sorted(short.rglob("*"), reverse=True):
            folder.rmdir()
        short.rmdir()


def test_short_path_keeps_its_socket_at_home(tmp_path: Path) -> None:
    paths = program_paths("homing", "phone", tmp_path / "d", environ={})
    prepare_data_dir(paths)
    (paths.run_dir / "socket-path").write_text("/old/place/control.sock\n")
    assert choose_socket_path(paths) == paths.run_dir / "control.sock"
    assert socket_path(paths) == paths.run_dir / "control.sock"


def test_open_socket_folder_is_refused(tmp_path: Path) -> None:
    paths = deep(tmp_path)
    elsewhere = tmp_path / "open"
    elsewhere.mkdir()
    (elsewhere / "control.sock").touch()
    elsewhere.chmod(0o777)
    (paths.run_dir / "socket-path").write_text(str(elsewhere / "control.sock"))
    with pytest.raises(UsageError, match="open to other users"):
        socket_path(paths)


def test_no_short_folder_at_all_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    paths = deep(tmp_path)
    monkeypatch.setattr("homing_agent.runtime.paths._MOST_SOCKET_BYTES", 5)
    with pytest.raises(UsageError, match="too long"):
        choose_socket_path(paths)
