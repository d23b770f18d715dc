#!/usr/bin/env bash
# Runs benchmarks of bench/, one at a time: two at once would measure each other.
# Usage: scripts/bench.sh [NAME…]; without a name, every one of them.
set -euo pipefail
cd "$(dirname "$0")/.."

shopt -s nullglob
benches=(bench/bench_*.py)
if [ $# -gt 0 ]; then
  benches=("${@/#/bench/bench_}")
  benches=("${benches[@]/%/.py}")
fi
for bench in "${benches[@]}"; do
  printf '== %s\n' "$bench"
  # Benchmarks share what tests use: templates, sources, whole nodes, strangers.
  GRPC_VERBOSITY=NONE PYTHONPATH=tests .venv/bin/python "$bench"
done
