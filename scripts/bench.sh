#!/usr/bin/env bash
# Speed of the same requests (tests/bench/requests.jsonl), natively and through the module.
set -euo pipefail
cd "$(dirname "$0")/.."

for preset in native wasm; do
  cmake --preset $preset >/dev/null
done
cmake --build --preset native --target tunefit_bench
cmake --build --preset wasm

echo "== native"
build/native/tests/bench/tunefit_bench
echo "== wasm, in Node $(node --version)"
node tests/bench/estimate_bench.mjs
