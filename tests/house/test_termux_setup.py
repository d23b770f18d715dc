"""The phone's set-up script, run against a pretended Termux."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING

import pytest
from support.commands import ROOT, Finished, run_program

if TYPE_CHECKING:
    from pathlib import Path

SCRIPT = ROOT / "deploy" / "termux-setup.sh"

# Writes down how it was called; the environment that matters comes first.
PKG = """#!/bin/bash
echo "pkg $*" >>"$LOG"
"""

# `python -m venv DIR` makes an environment whose python writes down its calls in turn. Fed a
# program on standard input it is being asked whether Termux's llama.cpp fits.
PYTHON = """#!/bin/bash
echo "python $*" >>"$LOG"
dir=${@: -1}
mkdir -p "$dir/bin"
cat >"$dir/bin/python" <<'INNER'
#!/bin/bash
if [ "$1" = - ]; then
  cat >/dev/null
  echo "fits? $LLAMA_CPP_LIB_PATH" >>"$LOG"
  exit "${FITS:-0}"
fi
echo "venv-python $* [CMAKE_ARGS=${CMAKE_ARGS-unset}]" >>"$LOG"
exit "${PIP_STATUS:-0}"
INNER
chmod +x "$dir/bin/python"
"""


class Termux:
    """A phone: a prefix with the two programs that the script calls."""

    def __init__(self, folder: Path) -> None:
        self.prefix = folder / "a phone" / "usr"
        self.venv = folder / "a phone" / "venv"
        self.log = folder / "log"
        (self.prefix / "bin").mkdir(parents=True)
        for name, text in (("pkg", PKG), ("python", PYTHON)):
            program = self.prefix / "bin" / name
            program.write_text(text, "utf-8")
            program.chmod(0o755)
        self.log.touch()

    def set_up(self, *args: str, **env: str) -> Finished:
        return run_program(
            [shutil.which("bash") or "bash", SCRIPT, *args],
            env={
                "PATH": f"{self.prefix / 'bin'}:{os.environ['PATH']}",
                "HOME": str(self.prefix.parent),
                "PREFIX": str(self.prefix),
                "HOMING_VENV": str(self.venv),
                "LOG": str(self.log),
                **env,
            },
        )

    @property
    def calls(self) -> list[str]:
        return self.log.read_text("utf-8").splitlines()

    @property
    def launcher(self) -> str:
        return (self.prefix / "bin" / "homing").read_text("utf-8")


@pytest.fixture
def termux(tmp_path: Path) -> Termux:
    return Termux(tmp_path)


def test_it_installs_with_the_packages_and_the_llama_of_termux(termux: Termux) -> None:
    done = termux.set_up()
    assert done.status == 0, done.err
    install, make, pip, fits = termux.calls
    assert install.startswith("pkg install -y python ")
    assert {"python-grpcio", "python-cryptography", "llama-cpp", "termux-api"} <= set(
        install.split()
    )
    assert make == f"python -m venv --system-site-packages {termux.venv}"
    assert pip.startswith("venv-python -m pip install ")
    assert f" {ROOT} " in pip
    assert "-DLLAMA_BUILD=OFF" in pip
    assert fits == f"fits? {termux.prefix}/lib"
    assert "export LLAMA_CPP_LIB_PATH=" in termux.launcher
    assert "battery" in done.out


def test_the_launcher_starts_homing_with_its_arguments(termux: Termux) -> None:
    termux.set_up()
    program = termux.venv / "bin" / "homing"
    program.write_text('#!/bin/bash\nprintf "%s|" "$LLAMA_CPP_LIB_PATH" "$@"\n', "utf-8")
    program.chmod(0o755)
    done = run_program(["bash", termux.prefix / "bin" / "homing", "ask", "two words"])
    assert done.out == f"{termux.prefix}/lib|ask|two words|"


def test_a_second_run_keeps_the_environment_and_brings_it_up_to_date(termux: Termux) -> None:
    termux.set_up()
    first = termux.calls
    done = termux.set_up()
    assert done.status == 0, done.err
    again = termux.calls[len(first) :]
    assert [call for call in again if " -m venv " in call] == []
    assert [call for call in again if " -m pip install " in call and "--upgrade" in call]


def test_a_llama_that_does_not_fit_is_compiled_instead(termux: Termux) -> None:
    done = termux.set_up(FITS="1")
    assert done.status == 0, done.err
    last = termux.calls[-1]
    assert last.endswith("llama-cpp-python [CMAKE_ARGS=unset]")
    assert "--no-cache-dir" in last
    assert "LLAMA_CPP_LIB_PATH" not in termux.launcher


def test_it_compiles_llama_when_told_to(termux: Termux) -> None:
    done = termux.set_up("--build-llama")
    assert done.status == 0, done.err
    assert not [call for call in termux.calls if call.startswith("fits?")]
    assert "LLAMA_CPP_LIB_PATH" not in termux.launcher


def test_a_dry_run_says_everything_and_does_nothing(termux: Termux) -> None:
    done = termux.set_up("--dry-run")
    assert done.status == 0, done.err
    assert "+ pkg install -y python" in done.out
    assert "-m venv --system-site-packages" in done.out
    assert "-m pip install" in done.out
    assert "+ exec" in done.out
    assert termux.calls == []
    assert not termux.venv.exists()
    assert not (termux.prefix / "bin" / "homing").exists()


def test_a_failed_installation_leaves_no_launcher_and_says_what_to_try(termux: Termux) -> None:
    done = termux.set_up(PIP_STATUS="1")
    assert done.status == 1
    assert "pkg upgrade" in done.err
    assert not (termux.prefix / "bin" / "homing").exists()


def test_elsewhere_it_says_that_this_is_not_termux(termux: Termux) -> None:
    (termux.prefix / "bin" / "pkg").unlink()
    done = termux.set_up()
    assert done.status == 1
    assert "not Termux" in done.err
    assert termux.calls == []


def test_an_unknown_option_is_wrong_usage(termux: Termux) -> None:
    done = termux.set_up("--frobnicate")
    assert done.status == 2
    assert "--dry-run" in done.err
    assert termux.calls == []
