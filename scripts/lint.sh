#!/usr/bin/env bash
# Formatting and clang-tidy of the C++ sources, types of the JavaScript, syntax of the shell. Changes nothing; runs all of
# it before it fails.
set -uo pipefail
cd "$(dirname "$0")/.."

status=0
check() { "$@" || status=1; }

mapfile -t sources < <(git ls-files '*.cc' '*.h')
check clang-format --dry-run --Werror "${sources[@]}"

# The bindings need Emscripten's headers: the native preset, whose compile commands are used here, has none for them.
tidy() {
  cmake --preset native >/dev/null &&
    printf '%s\n' "${sources[@]}" | grep '\.cc$' | grep -v '^wasm/' |
    xargs -P 2 -n 4 clang-tidy --quiet --extra-arg=-Wno-unknown-warning-option -p build/native 2> >(grep -v 'warnings generated' >&2)
}
check tidy
check node_modules/.bin/tsc --project web
for script in scripts/*.sh .ci/run; do check bash -n "$script"; done
exit $status
