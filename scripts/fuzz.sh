#!/usr/bin/env bash
# Feed garbage to every parser of outside data, each in a process of its own for SECONDS=60 (half of
# it with atheris, where there is a wheel). ONLY=part takes the targets whose name holds it, JOBS=n
# runs so many at the same time. tests/fuzz/run.py says where the results go.
set -euo pipefail
seconds=$SECONDS # bash counts this one up from what it was given; 0 is nothing
cd "$(dirname "$0")/.."

if [ "$seconds" -lt 1 ]; then seconds=60; fi
PYTHONPATH=tests exec .venv/bin/python -m fuzz.run \
  --seconds "$seconds" --jobs "${JOBS:-$(getconf _NPROCESSORS_ONLN)}" --only "${ONLY:-}"
