# `make demo` shows the plugin at work; `make test` is everything that must hold before a change goes in.
#
#   PYTHON=python3.12      the interpreter that the virtual environment is made from (3.11 or newer)
#   VENV=.venv             where that environment stands
#   ARGS='-k name -x'      further arguments for pytest
#   OVERHEAD_ARGS, PROVIDERS_ARGS  arguments for the two programs of `make bench` (--help says which)
#   PYTEST_SWE_TEST_IMAGE  an image with git, patch and python3 for the Docker tests; built here when unset

PYTHON ?= python3
VENV ?= .venv
ARGS ?=
export PYTEST_SWE_TEST_IMAGE ?= pytest-swe/test-base:1

SHELL := /bin/bash
BIN := $(VENV)/bin
PYTHON_VERSION := $(shell $(PYTHON) -c 'import sys; print(sys.version.split()[0])' 2>/dev/null)
# The version is part of the stamp's name, so another PYTHON makes the environment anew.
USER_READY := $(VENV)/ready-user-$(PYTHON_VERSION)
DEV_READY := $(VENV)/ready-dev-$(PYTHON_VERSION)

.PHONY: help demo install test test-all chaos lint images bench bench-all clean

help:
	@sed -n 's/^# \{0,1\}//p' Makefile | head -7

# Exit status 1 is pytest's "some items failed": the predictions of the demo show every outcome.
demo: $(if $(wildcard $(DEV_READY)),$(DEV_READY),$(USER_READY))
	@status=0; \
	$(BIN)/pytest datasets/quickstart --swe-preds datasets/quickstart/preds.jsonl --swe-provider local -n 2 $(ARGS) \
	  || status=$$?; \
	if [ $$status -gt 1 ]; then echo "make demo: pytest ended with status $$status"; exit $$status; fi; \
	echo; echo "The demo worked. Its predictions show every outcome, so unresolved items are expected."

install: $(DEV_READY)

test: install lint images
	$(BIN)/pytest -n 2 --dist worksteal $(ARGS)

# Runs that are harmed on a real engine, the long cases too; as root, with dockerd, docker-registry and libfaketime.
chaos: install images
	$(BIN)/pytest -n 2 --dist worksteal --require-engine --chaos tests/chaos $(ARGS)

# The same with every provider's own backend started first; as root.
test-all: install images
	bash .ci/all.sh $(MAKE) test ARGS="--require-engine $(ARGS)"

lint: install
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports

# Images for the Docker tests, where an engine answers; both scripts leave what is there already alone.
images: install
	@if docker info >/dev/null 2>&1; then \
	  bash .ci/test-image.sh "$$PYTEST_SWE_TEST_IMAGE" && \
	  $(BIN)/python datasets/quickstart/build.py --base "$$PYTEST_SWE_TEST_IMAGE" && \
	  $(BIN)/python datasets/families/build.py && \
	  $(BIN)/python datasets/harbor/build.py --base "$$PYTEST_SWE_TEST_IMAGE"; \
	fi

# Overhead per instance, then what a sandbox costs on each provider that answers here.
bench: install images
	$(BIN)/python benchmarks/overhead.py $(OVERHEAD_ARGS)
	$(BIN)/python benchmarks/providers.py $(PROVIDERS_ARGS)

# The same with every provider's own backend started first; as root.
bench-all: install images
	bash .ci/all.sh $(MAKE) bench

clean:
	rm -rf $(VENV) .venv-* build dist swe-results .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(USER_READY): pyproject.toml .ci/venv.sh
	@bash .ci/venv.sh "$(PYTHON)" "$(VENV)" -e .
	@touch $@

$(DEV_READY): pyproject.toml .ci/venv.sh
	@bash .ci/venv.sh "$(PYTHON)" "$(VENV)" -e '.[dev]'
	@touch $@ $(USER_READY)
