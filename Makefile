# Everything runs from .venv; every target is safe to repeat and fast the second time.
.DEFAULT_GOAL := help
.PHONY: help setup setup-test setup-bench llama models models-test replay replay-strict replay-live test test-fast \
  bench fuzz lint type fmt snapshots clean

PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
JOBS   ?= 2
# Where the built llama.cpp is kept; left empty it is the user's cache, which all checkouts share.
WHEELS ?=
PIP    := $(BIN)/python -m pip --disable-pip-version-check --quiet

# Test modules are kept compiled, whatever the caller's environment says: compiling them is half of collecting them.
PYTEST := env -u PYTHONDONTWRITEBYTECODE $(BIN)/pytest -n $(JOBS) --dist worksteal

help: ## Show this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 14

$(VENV)/.made:
	@echo "[setup] making $(VENV) with $(PYTHON)"
	@$(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/.replay: pyproject.toml | $(VENV)/.made
	@echo "[setup] installing replay-bench and what a plain replay needs"
	@$(PIP) install -e .
	@touch $@

$(VENV)/.test: $(VENV)/.replay
	@echo "[setup] installing what the tests need"
	@$(PIP) install -e '.[test]'
	@touch $@

$(VENV)/.bench: $(VENV)/.test
	@echo "[setup] installing what the benchmarks compare with"
	@$(PIP) install -e '.[bench]'
	@touch $@

BUILD_LLAMA = $(BIN)/python -m replay.llm.build $(if $(WHEELS),--wheels $(WHEELS)) --install >/dev/null

# The build first: pip would take a default one for the same thing.
$(VENV)/.model: $(VENV)/.replay
	@$(BUILD_LLAMA)
	@$(PIP) install -e '.[model]'
	@touch $@

# Looked at each time: this is also the command that repairs a wrong build.
llama: $(VENV)/.model ## Build the pinned llama.cpp once (some minutes), keep the wheel, install it
	@$(BUILD_LLAMA)

models: llama ## Fetch the model that the shipped answers were made with, and self-test it
	@$(BIN)/replay models fetch smollm2-135m

models-test: llama ## Fetch the models of the tests as well
	@$(BIN)/replay models fetch smollm2-135m gemma3-270m

setup: $(VENV)/.replay ## Install what a replay needs
setup-test: $(VENV)/.test
setup-bench: $(VENV)/.bench

replay: replay-strict replay-live ## Replay every shipped archive, then let the local model answer again

replay-strict: $(VENV)/.replay ## Replay every shipped archive and check it against its recorded run root
	@$(BIN)/replay shipped

replay-live: replay-strict models ## Let the local model answer again what it said in the shipped archives
	@$(BIN)/replay shipped --live

test: $(VENV)/.test models-test ## All tests, style and types
	@echo "[test] style"
	@$(BIN)/ruff check . && $(BIN)/ruff format --check .
	@echo "[test] types"
	@$(BIN)/mypy
	@echo "[test] tests on $(JOBS) processes"
	@$(PYTEST) -m "not fuzz"

test-fast: $(VENV)/.test ## Tests that need no model and no network, the quick ones
	@HYPOTHESIS_PROFILE=quick $(PYTEST) -m "not slow and not model and not fuzz"

bench: $(VENV)/.bench ## Measure against the opponents, one JSON document
	@$(BIN)/python -m tests.bench

fuzz: $(VENV)/.test ## Large random profiles of the property tests
	@HYPOTHESIS_PROFILE=fuzz $(PYTEST) tests/property

lint: $(VENV)/.test ## Style
	@$(BIN)/ruff check . && $(BIN)/ruff format --check .

type: $(VENV)/.test ## Types
	@$(BIN)/mypy

fmt: $(VENV)/.test ## Rewrite the style
	@$(BIN)/ruff check --fix . && $(BIN)/ruff format .

snapshots: $(VENV)/.replay ## Rebuild the shipped archives from their sources (same bytes when nothing changed)
	@$(BIN)/python snapshots/build.py

clean: ## Remove the environment and caches
	@rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis
