#!/usr/bin/env bash
# Makes .venv, or brings it up to date, and installs Homing into it: scripts/setup.sh node|dev
#
# The stamp holds what the environment was made of (pyproject.toml, Python, the checkout's place),
# not a time: a clone, a moved checkout or a changed dependency are noticed, a touched file is not.
set -euo pipefail
cd "$(dirname "$0")/.."

extra=${1:?usage: scripts/setup.sh node|dev}
venv=.venv
stamp=$venv/.homing-ready
log=.cache/setup.log

fail() {
  printf 'error: %s\n' "$1" >&2
  shift
  for line in "$@"; do printf '  %s\n' "$line" >&2; done
  exit 1
}

# The set-up advice for the package manager at hand. Arguments: Debian's, Termux's, Homebrew's names.
install_hint() {
  if [ -n "${TERMUX_VERSION:-}" ]; then
    echo "pkg install $2"
  elif command -v apt-get >/dev/null 2>&1; then
    echo "apt-get install $1      (with sudo, unless you are root)"
  elif command -v brew >/dev/null 2>&1; then
    echo "brew install $3"
  else
    echo "install the equivalent of Debian's: $1"
  fi
}

new_enough() {
  "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1
}

find_python() {
  local name
  for name in ${PYTHON:+"$PYTHON"} python3 python3.14 python3.13 python3.12 python3.11 python; do
    if command -v "$name" >/dev/null 2>&1 && new_enough "$name"; then
      echo "$name"
      return
    fi
  done
  return 1
}

fingerprint() {
  printf '%s\n' "$1" "$PWD" "$(cksum <pyproject.toml)" "$("$venv/bin/python" --version 2>&1)"
}

ready() {
  [ -x "$venv/bin/python" ] && new_enough "$venv/bin/python" && [ -f "$stamp" ] || return 1
  local have
  have=$(cat "$stamp")
  # The dev environment holds everything that the node's does.
  [ "$have" = "$(fingerprint "$extra")" ] || [ "$have" = "$(fingerprint dev)" ]
}

if ready; then exit 0; fi

mkdir -p .cache
if command -v flock >/dev/null 2>&1; then # two makes at once: the second waits, then finds it done
  exec 9>.cache/setup.lock
  flock 9
  if ready; then exit 0; fi
fi

# An environment that was made elsewhere points elsewhere: begin anew.
if [ -f "$stamp" ] && [ "$(sed -n 2p "$stamp")" != "$PWD" ]; then rm -rf "$venv"; fi
if [ -d "$venv" ] && ! { new_enough "$venv/bin/python" && "$venv/bin/python" -m pip --version; } \
  >/dev/null 2>&1; then rm -rf "$venv"; fi

if [ ! -d "$venv" ]; then
  python=$(find_python) || fail "Python 3.11 or newer was not found" \
    "try: $(install_hint 'python3 python3-venv' python python@3.13)" \
    "or name one: PYTHON=/path/to/python3 make ..."
  "$python" -c 'import ensurepip, venv' >/dev/null 2>&1 || fail "$python cannot make virtual environments" \
    "try: $(install_hint python3-venv python-ensurepip-wheels python@3.13)"
  echo "setup: making $venv with $("$python" --version)"
  # Termux has its own builds of what the package index has only for other systems.
  "$python" -m venv ${TERMUX_VERSION:+--system-site-packages} "$venv"
fi

rm -f "$stamp"
if "$venv/bin/python" -c 'import importlib.util, sys; sys.exit(not importlib.util.find_spec("llama_cpp"))'; then
  echo "setup: installing what changed in pyproject.toml"
else
  echo "setup: installing; building llama.cpp takes about five minutes the first time"
fi
# Of pip's own words only those that show it is alive; all of them are in the log.
if ! "$venv/bin/python" -m pip install --disable-pip-version-check --no-input --progress-bar off \
  --editable ".[$extra]" 2>&1 | tee "$log" |
  awk '/Building wheel|still running|Installing collected/ { print "  " substr($0, 1, 90); fflush() }'; then
  tail -n 40 "$log" >&2
  if ! { command -v "${CXX:-c++}" || command -v g++ || command -v clang++; } >/dev/null 2>&1; then
    fail "the installation failed, and there is no C++ compiler for llama.cpp" \
      "try: $(install_hint 'build-essential cmake' 'clang cmake ninja' cmake)"
  elif ! command -v cmake >/dev/null 2>&1; then
    fail "the installation failed; the whole of it is in $log" \
      "if it stopped in llama.cpp, try: $(install_hint cmake 'cmake ninja' cmake)"
  else
    fail "the installation failed; the whole of it is in $log" \
      "if the package index could not be reached, run it again: what was fetched is kept"
  fi
fi
# Its cases and rules are needed, and none of what it takes to call every vendor's models.
if [ "$extra" = dev ] && ! "$venv/bin/python" -m pip install --disable-pip-version-check --no-input \
  --quiet --no-deps "bfcl-eval==2026.3.23" >>"$log" 2>&1; then
  tail -n 20 "$log" >&2
  fail "bfcl-eval could not be installed" \
    "if the package index could not be reached, run it again: what was fetched is kept"
fi
fingerprint "$extra" >"$stamp"
echo "setup: ready"
