#!/usr/bin/env bash
# Runs every benchmark in bench/, one at a time: two at once would measure each other.
set -euo pipefail
cd "$(dirname "$0")/.."

shopt -s nullglob
benches=(bench/bench_*.py)
if [ "${#benches[@]}" -eq 0 ]; then
  echo "error: bench/ holds no bench_*.py" >&2
  exit 1
fi
for bench in "${benches[@]}"; do
  printf '== %s\n' "$bench"
  .venv/bin/python "$bench"
done
