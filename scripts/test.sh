#!/usr/bin/env bash
# Builds everything and runs every test, going on after a failure, and ends with "N passed, N failed". Cases are counted
# from the JUnit files that the test programs write; a step that fails without a failed case counts as one failure.
set -euo pipefail
cd "$(dirname "$0")/.."

passed=0
failed=0

# step <name> <folder of its JUnit files> <command...>
step() {
  local name=$1 junit=$2 status=0 start=$SECONDS step_passed step_failed
  shift 2
  echo "== $name"
  rm -rf "$junit" && mkdir -p "$junit"
  "$@" || status=$?
  last_status=$status
  read -r step_passed step_failed < <(node scripts/count_tests.mjs "$junit")
  if [ $status != 0 ] && [ "$step_failed" = 0 ]; then step_failed=1; fi
  passed=$((passed + step_passed))
  failed=$((failed + step_failed))
  echo "== $name: $step_passed passed, $step_failed failed, $((SECONDS - start)) s"
}

# Chained with &&, because bash ignores `set -e` in a function whose status is asked for, as step() does.
preset() {
  cmake --preset "$1" >/dev/null && cmake --build --preset "$1" && ctest --preset "$1"
}

step native build/native/test-results preset native
step debug build/debug/test-results preset debug
step wasm build/wasm/test-results preset wasm
step wasm-debug build/wasm-debug/test-results preset wasm-debug
step dist build/test-results/dist scripts/dist.sh
dist_status=$last_status
# Everything for node's test runner that needs no other preset and no browser: catalog, page logic, npm package.
mapfile -t files < <(find tests -name '*.test.mjs' -not -path 'tests/boundary/*' -not -path 'tests/browser/*' | sort)
step node build/test-results/node scripts/node_test.sh build/test-results/node/node.xml "${files[@]}"
if [ $dist_status = 0 ]; then
  step browser build/test-results/browser \
    scripts/node_test.sh build/test-results/browser/browser.xml tests/browser/browser.test.mjs
fi

echo "$passed passed, $failed failed" | tee build/test-results/summary.txt
[ "$failed" = 0 ]
