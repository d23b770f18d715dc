#!/usr/bin/env bash
# Every static check, all of them even if one fails, and at the end the names of those that did.
# It reads the working tree and changes nothing in it but caches that git ignores.
set -euo pipefail
cd "$(dirname "$0")/.."

export PATH="$PWD/.venv/bin:$PATH"
export BUF_CACHE_DIR="$PWD/.cache/buf" # by default it would write to the user's home
python=$PWD/.venv/bin/python
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
failed=()

step() {
  local name=$1
  shift
  printf -- '-- %s\n' "$name"
  if ! "$@"; then failed+=("$name"); fi
}

# Whatever top-level folder holds Python; mypy takes a folder without any for a mistake.
types() {
  local folders
  mapfile -t folders < <(git ls-files --cached --others --exclude-standard '*/*.py' |
    cut -d / -f 1 | sort -u)
  mypy "${folders[@]}"
}

# The generated code is what the .proto files say: write it anew beside, then compare.
generated() {
  cp -R proto "$scratch/proto" || return 1
  PYTHON=$python "$scratch/proto/generate.sh" || return 1
  if ! diff -r -q -x __pycache__ proto "$scratch/proto"; then
    echo "the generated code is not what the .proto files say; run: make proto"
    return 1
  fi
}

# Scripts are found by their first line, so that a new one cannot be forgotten.
shell_scripts() {
  local files
  mapfile -t files < <(git ls-files --cached --others --exclude-standard |
    while read -r path; do
      if [ -f "$path" ] && head -n 1 "$path" | grep -aqE '^#!.*[/ ](ba)?sh'; then echo "$path"; fi
    done)
  shellcheck "${files[@]}"
}

# The unit, with a program that exists on this machine in place of the installed one.
systemd_unit() {
  if ! command -v systemd-analyze >/dev/null 2>&1; then
    echo "systemd-analyze is not here; the unit's text is tested by tests/house all the same"
    return 0
  fi
  sed 's#^ExecStart=[^ ]*#ExecStart=/bin/true#' deploy/homing-node.service \
    >"$scratch/homing-node.service" || return 1
  systemd-analyze verify --man=no --recursive-errors=no "$scratch/homing-node.service" || return 1
  # Exposure as systemd counts it, 0 (none) to 100; ours is well under.
  systemd-analyze security --offline=true --no-pager --threshold=20 "$scratch/homing-node.service" \
    >"$scratch/exposure" || { tail -n 3 "$scratch/exposure"; return 1; }
}

step "ruff check" ruff check .
step "ruff format" ruff format --check .
step "mypy" types
step "pyright" pyright --warnings
step "import-linter" lint-imports --no-logo
step "buf lint" buf lint
step "buf format" buf format --diff --exit-code
step "buf breaking" buf breaking --against proto/baseline.binpb
step "generated code" generated
step "shellcheck" shell_scripts
step "systemd unit" systemd_unit

if [ "${#failed[@]}" -gt 0 ]; then
  printf 'check: failed: %s\n' "$(IFS=,; echo "${failed[*]}")" >&2
  exit 1
fi
echo "check: all clean"
