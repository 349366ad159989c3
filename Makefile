# Headwater's own set-up: every target installs what it needs; `make help` lists them.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: help setup demo test test-fast check bench torture wheel

help:  ## list the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

setup: $(READY)  ## virtual environment, packages and jars; done once

$(READY): requirements-dev.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Python 3.11 or newer is needed: make PYTHON=python3.11 setup"; exit 2; }
	@echo "Setting up $(VENV) (a few minutes the first time)"
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/pip install --quiet --require-hashes --requirement requirements-dev.lock
	@$(BIN)/pip install --quiet --no-deps --no-build-isolation --editable .
	@touch $@

check: setup  ## formatting, lint, types, direction of imports
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

test: check  ## everything: check, then all tests
	$(BIN)/pytest

test-fast: setup  ## the quick tests, under a minute
	$(BIN)/pytest -m "not slow"
