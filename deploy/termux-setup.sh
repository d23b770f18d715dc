#!/usr/bin/env bash
# Installs Homing on an Android phone, in Termux. Running it again brings everything up to date.
#
#   bash deploy/termux-setup.sh [--from SOURCE] [--build-llama] [--dry-run]
#
#   --from SOURCE   what pip installs: a folder, an archive or a name; by default the checkout that
#                   holds this script, or the published package if it stands alone
#   --build-llama   compile llama.cpp (slow, hot) instead of taking Termux's own
#   --dry-run       print what would be done and do nothing
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
prefix=${PREFIX:-/data/data/com.termux/files/usr}
venv=${HOMING_VENV:-$HOME/.local/share/homing/venv}
launcher=$prefix/bin/homing
source=homing
build_llama=no
dry_run=no

# What the package index has no Android builds of comes from Termux; the compilers are for the few
# small extensions that Termux has not either.
packages=(
  python python-pip python-ensurepip-wheels
  python-grpcio python-cryptography python-numpy
  llama-cpp termux-api git
  clang cmake ninja rust binutils
)

usage() { sed -n '2,/^set /{/^#/s/^# \{0,1\}//p}' "${BASH_SOURCE[0]}"; }

fail() {
  printf 'error: %s\n' "$1" >&2
  if [ $# -gt 1 ]; then printf '  %s\n' "${@:2}" >&2; fi
  exit 1
}

run() {
  if [ "$dry_run" = yes ]; then
    printf '+'
    printf ' %q' "$@"
    printf '\n'
  else
    "$@"
  fi
}

say() { printf '%s\n' "-- $*"; }

if [ -f "$here/../pyproject.toml" ]; then source=$(cd "$here/.." && pwd); fi
while [ $# -gt 0 ]; do
  case $1 in
    --from)
      [ $# -ge 2 ] || { usage >&2; exit 2; }
      source=$2
      shift
      ;;
    --build-llama) build_llama=yes ;;
    --dry-run) dry_run=yes ;;
    -h | --help)
      usage
      exit 0
      ;;
    *)
      usage >&2
      exit 2
      ;;
  esac
  shift
done

if [ "$dry_run" = no ] && ! command -v pkg >/dev/null 2>&1; then
  fail "this is not Termux: there is no pkg" \
    "on another Linux or macOS: python3 -m venv VENV && VENV/bin/pip install homing"
fi

# Whether the llama.cpp in LLAMA_CPP_LIB_PATH is the one that the bindings were written for: every
# function there, and a few defaults where the structures say they are. Python on Android calls its
# platform "android", which the bindings' loader does not know; it is Linux to them.
fits() {
  "$venv/bin/python" - <<'PYTHON'
import sys

sys.platform = "linux"
import llama_cpp

context = llama_cpp.llama_context_default_params()
model = llama_cpp.llama_model_default_params()
expected = (512, 2048, 1, True, -1.0, 1, False)
found = (
    context.n_ctx,
    context.n_batch,
    context.type_k,
    context.offload_kqv,
    context.yarn_ext_factor,
    model.split_mode,
    model.vocab_only,
)
sys.exit(found != expected)
PYTHON
}

pip_install() {
  run "$venv/bin/python" -m pip install --disable-pip-version-check --upgrade "$@" || fail \
    "pip could not install everything" \
    "if it names grpcio, numpy or cryptography, Termux's own is too old: pkg upgrade, then run this again"
}

say "Termux packages"
run pkg install -y "${packages[@]}"

say "virtual environment in $venv"
# It sees Termux's own Python packages: they are the only builds of grpcio and the like for Android.
if [ ! -x "$venv/bin/python" ]; then
  run mkdir -p "$(dirname "$venv")"
  run python -m venv --system-site-packages "$venv"
fi

say "Homing from $source"
# Better a clear failure than an hour of compiling that fails in the end.
export PIP_ONLY_BINARY=grpcio,numpy,cryptography
# zeroconf works without its compiled half; Rust's builder wants to be told Android's level.
export SKIP_CYTHON=1
ANDROID_API_LEVEL=$(getprop ro.build.version.sdk 2>/dev/null || echo 24)
export ANDROID_API_LEVEL
library=
if [ "$build_llama" = no ]; then
  library=$prefix/lib
  export CMAKE_ARGS="-DLLAMA_BUILD=OFF -DLLAVA_BUILD=OFF"
fi
pip_install "$source"
if [ -n "$library" ] && [ "$dry_run" = no ] && ! LLAMA_CPP_LIB_PATH=$library fits; then
  say "Termux's llama.cpp does not fit this version of the bindings: compiling the one that does"
  build_llama=yes
  library=
fi
if [ "$build_llama" = yes ]; then
  unset CMAKE_ARGS
  # The installed one may have been built without the library: never take it from pip's cache.
  pip_install --force-reinstall --no-deps --no-cache-dir llama-cpp-python
fi

say "launcher $launcher"
launcher_text() {
  printf '#!%s/bin/bash\n' "$prefix"
  printf '# Written by termux-setup.sh.\n'
  if [ -n "$library" ]; then printf 'export LLAMA_CPP_LIB_PATH=%q\n' "$library"; fi
  # The hub's own transfer library has failed to verify certificates on Android; plain HTTPS works.
  printf 'export HF_HUB_DISABLE_XET=1\n'
  printf 'exec %q "$@"\n' "$venv/bin/homing"
}
if [ "$dry_run" = yes ]; then
  launcher_text | sed 's/^/+ /'
else
  launcher_text >"$launcher.new"
  chmod 755 "$launcher.new"
  mv "$launcher.new" "$launcher"
fi

cat <<'HINTS'

Ready. What is left is up to you:
  * battery: Android ends what it does not know. Settings > Apps > Termux > Battery > Unrestricted,
    and `termux-wake-lock` while Homing should answer with the screen off. An answer that was
    interrupted goes on when the process is back.
  * phone tools (messages, torch, volume ...): install the Termux:API app from where Termux came from.
  * storage: calendar, notes and contacts stay inside Termux. To have them where other apps see them
    run `termux-setup-storage` and set `data` under [phone] in the configuration file.
  * pairing: multicast does not reach Termux, so a home node is not found by itself; scan its code
    or paste its link: `homing pair LINK`.
Then: homing ask "remind me tomorrow at nine to water the plants"
HINTS
