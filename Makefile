# make        build/tonnage
# make run    everything from a bare machine to the default model's answer
# make test   everything from a bare machine to the passed tests
# make check  beside the tests: layers, format, lint, sanitizers, fuzzers, benches

# Clones share the cache: paths are hashed relative to the clone.
export CCACHE_DIR ?= $(HOME)/.cache/ccache
export CCACHE_BASEDIR ?= $(CURDIR)
export CCACHE_NOHASHDIR ?= 1
QUESTION ?= What is the capital of France, and what is it known for?

.PHONY: all setup model run test check check-style lint sanitizers fuzz bench-smoke format

all: setup
	@cmake --preset release > build/configure.log 2>&1 || { cat build/configure.log; exit 1; }
	@cmake --build --preset release
	@ln -sf release/tonnage build/tonnage

setup:
	@scripts/setup.sh
	@mkdir -p build

model: all
	@build/tonnage pull smollm2

run: model
	@build/tonnage run smollm2 "$(QUESTION)" --temperature 0
	@echo
	@echo "Chat with it: build/tonnage run smollm2"

test: model
	@ctest --preset release --parallel 2

check: check-style lint sanitizers fuzz bench-smoke

check-style: setup
	@python3 tools/check_layers.py
	@git ls-files '*.h' '*.cc' '*.inc' | grep -v kernels.inc | xargs clang-format-14 --dry-run --Werror

lint: all
	@tools/lint.sh build/release

sanitizers: setup
	@tools/sanitize.sh

fuzz: setup
	@FUZZ_SEED=1 tools/fuzz.sh 5

bench-smoke: all
	@tools/bench_smoke.sh build/release

format:
	@git ls-files '*.h' '*.cc' | xargs clang-format-14 -i
