# Every verb makes its own .venv with plain `python3 -m venv`; nothing else is needed.
PYTHON ?= python3
WORKERS ?= 2
PYTEST_ARGS ?=

VENV := .venv
BIN := $(VENV)/bin
PYTEST = $(BIN)/python -m pytest -n $(WORKERS) --dist worksteal --durations 10
INSTALL = $(BIN)/python -m pip install --quiet --disable-pip-version-check --editable

.DEFAULT_GOAL := help
.PHONY: help demo test test-all test-docs test-torch check docs bench clean

help:  ## list the verbs
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: $(VENV)/.stamp-demo  ## show in about a minute what skimp is for, on generated data
	$(BIN)/skimp demo

test: $(VENV)/.stamp-test  ## run the test suite (PYTEST_ARGS="-k nystroem" passes options on)
	$(PYTEST) $(PYTEST_ARGS)

test-all: $(VENV)/.stamp-test  ## run the slow tests that `make test` leaves out
	$(PYTEST) -m thorough $(PYTEST_ARGS)

check: $(VENV)/.stamp-check  ## check format, lint, types and import layers
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

docs: $(VENV)/.stamp-docs  ## build the site into docs/_build/html
	rm -rf docs/generated
	$(BIN)/python -m sphinx -W --keep-going -b html docs docs/_build/html

test-docs: $(VENV)/.stamp-docs  ## build the site without running its examples
	rm -rf docs/generated
	$(BIN)/python -m sphinx -W --keep-going -q -D plot_gallery=0 -b html docs docs/_build/check

test-torch: $(VENV)/.stamp-torch  ## install PyTorch and test its layers
	$(BIN)/python -m pytest -m "torch and not thorough" --durations 10 $(PYTEST_ARGS)

bench: $(VENV)/.stamp-test  ## measure speed and memory
	$(BIN)/python -m benchmarks

clean:  ## remove the environment, caches and everything that was built
	rm -rf $(VENV) build dist docs/_build docs/gallery docs/generated
	rm -rf .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	find src tests benchmarks examples -name __pycache__ -type d -prune -exec rm -rf {} +

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.stamp-demo: EXTRAS = cli
$(VENV)/.stamp-test: EXTRAS = test
$(VENV)/.stamp-torch: EXTRAS = test,test-torch
$(VENV)/.stamp-check: EXTRAS = test,dev
$(VENV)/.stamp-docs: EXTRAS = docs,cli

$(VENV)/.stamp-%: pyproject.toml | $(BIN)/python
	$(INSTALL) ".[$(EXTRAS)]"
	@touch $@
