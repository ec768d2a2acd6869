# Everything runs in .venv, which is made from constraints.txt on first use.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.stamp
# The runtime, and the compiler for it, that the tests of the C++ host link with (tests/cpp/standin).
IREE39 := .venv-iree39

# Debian packages that the tests need; installed when make runs as root.
DEBIAN_PACKAGES := python3-venv
DEBIAN_PACKAGES += cmake ninja-build g++ clang libgtest-dev
DEBIAN_PACKAGES += libvulkan1 mesa-vulkan-drivers

.PHONY: demo test test-fast fuzz lint bench clean debian

demo: $(STAMP)
	$(BIN)/toolchain build samples/skipnet_ff.py --target cpu -o build/demo.bundle
	$(BIN)/toolchain run build/demo.bundle
	$(BIN)/toolchain verify build/demo.bundle samples/skipnet_ff.py
	$(BIN)/toolchain inspect build/demo.bundle

test: debian $(STAMP) $(IREE39)/.stamp
	$(BIN)/pytest -n 2

test-fast: $(STAMP)
	$(BIN)/pytest -n 2 -m "not slow"

# Generated programs; SEEDS=first:last, FUZZ for further options (see python -m tests.fuzz --help).
SEEDS ?= 0:2000
fuzz: $(STAMP)
	$(BIN)/python -m tests.fuzz --seeds $(SEEDS) $(FUZZ)

lint: $(STAMP)
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy

bench: $(STAMP)
	$(BIN)/python -m benchmarks.bench --json build/bench/rows.json --picture build/bench/ratios.svg

clean:
	rm -rf build .pytest_cache .mypy_cache .ruff_cache .hypothesis

$(STAMP): pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --constraint constraints.txt setuptools
	$(BIN)/pip install --quiet --constraint constraints.txt --no-build-isolation --editable ".[test,bench,lint]"
	touch $@

$(IREE39)/.stamp: tests/cpp/standin/requirements.txt
	test -x $(IREE39)/bin/python || $(PYTHON) -m venv $(IREE39)
	$(IREE39)/bin/pip install --quiet --requirement $<
	touch $@

# Nothing happens unless the user may install packages and one is missing.
debian:
	@if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && ! dpkg -s $(DEBIAN_PACKAGES) >/dev/null 2>&1; then \
	    apt-get update -qq && apt-get install -qq -y --no-install-recommends $(DEBIAN_PACKAGES); \
	fi
