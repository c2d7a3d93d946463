#!/usr/bin/env bash
# scripts/node_test.sh <JUnit file> <test file...>: node's test runner, readable on the terminal and counted from the file.
set -euo pipefail
mkdir -p "$(dirname "$1")"
exec node --test --test-reporter=spec --test-reporter-destination=stdout \
  --test-reporter=junit --test-reporter-destination="$1" "${@:2}"
