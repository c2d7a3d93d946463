#!/usr/bin/env bash
# Builds what is delivered, from the module of the wasm preset and the page in web/:
#   dist/site/         the static site, with the accuracy report    dist/tunefit.html  the offline file
#   dist/npm/          the npm package
# `scripts/dist.sh site` builds the site alone. VENDOR names the file of the vendor whose page it is (catalog/vendor.json).
set -euo pipefail
cd "$(dirname "$0")/.."

quietly() { # the whole output, but only of what fails
  local log
  log=$(mktemp)
  "$@" >"$log" 2>&1 || { cat "$log" >&2; rm -f "$log"; return 1; }
  rm -f "$log"
}
vendor=$(realpath "${VENDOR:-catalog/vendor.json}")
export TUNEFIT_VENDOR=$vendor
vite() { quietly node node_modules/vite/bin/vite.js build web --emptyOutDir "$@"; }

node scripts/catalog/check.mjs --vendor "$vendor"
quietly cmake --preset wasm -DTUNEFIT_VENDOR="$vendor"
cmake --build --preset wasm

# The files of the core, as every form of delivery carries them.
rm -rf build/core dist/site
mkdir -p build/core
cp build/wasm/wasm/tunefit.mjs build/wasm/wasm/tunefit.wasm build/wasm/catalog/{catalog,market}.json build/core/

vite --outDir ../dist/site
cp -r build/core dist/site/core
cp build/wasm/wasm/first.mjs build/wasm/wasm/first.wasm dist/site/core/
echo "Building the accuracy report (a native build, minutes the first time)"
quietly scripts/validate.sh dist/site/accuracy.json
[ "${1:-}" = site ] && exit

vite --mode offline --outDir ../build/offline
node scripts/pack_offline.mjs build/offline build/core dist/tunefit.html

rm -rf dist/npm
mkdir -p dist/npm
cp build/core/* wasm/npm/index.mjs wasm/npm/README.md LICENSE dist/npm/
cp wasm/tunefit.d.ts dist/npm/index.d.ts
cp wasm/{request,report,cost,plan}.d.ts dist/npm/
node scripts/npm_manifest.mjs >dist/npm/package.json

ls -ld dist/site dist/tunefit.html dist/npm
