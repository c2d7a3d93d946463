#!/usr/bin/env bash
# scripts/validate.sh <file>: builds the referee, prints how far estimates are from every published run, and writes the
# accuracy report for the page into the file.
set -euo pipefail
cd "$(dirname "$0")/.."
cmake --preset native >/dev/null
cmake --build --preset native --target validate
build/native/tests/validation/validate --report "$1"
