#!/usr/bin/env bash
# Writes the generated code beside the .proto files. `make check` runs it and looks for drift.
set -euo pipefail
cd "$(dirname "$0")"
python=${PYTHON:-python3}
find homing_proto/v1 \( -name '*_pb2*.py' -o -name '*_pb2*.pyi' \) -delete
PATH="$(dirname "$(command -v "$python")"):$PATH"
mapfile -t files < <(find homing_proto/v1 -name '*.proto' | LC_ALL=C sort)
mapfile -t services < <(grep -lE '^service ' "${files[@]}")
"$python" -m grpc_tools.protoc -I . --python_out=. --pyi_out=. "${files[@]}"
"$python" -m grpc_tools.protoc -I . --grpc_python_out=. --mypy_grpc_out=quiet:. "${services[@]}"
