#!/usr/bin/env bash
# Formatting and clang-tidy of the C++ sources, shell and JavaScript syntax, types of the JavaScript. Changes nothing.
set -euo pipefail
cd "$(dirname "$0")/.."

mapfile -t sources < <(git ls-files '*.cc' '*.h')
clang-format --dry-run --Werror "${sources[@]}"

cmake --preset native >/dev/null
# Only what the native preset compiles has a compile command; the bindings need Emscripten's headers.
printf '%s\n' "${sources[@]}" | grep '\.cc$' | grep -v '^wasm/' |
  xargs -P 2 -n 4 clang-tidy --quiet -p build/native

for script in scripts/*.sh .ci/run; do bash -n "$script"; done
if [ -f web/tsconfig.json ]; then node_modules/.bin/tsc --project web; fi
