# `make run` and `make test` need nothing but Python >= 3.11 with venv; the rest builds on them.

VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
INPUTS := pyproject.toml constraints.txt

# PYTHON=... chooses the interpreter; otherwise 3.11, which the figures were made with, or newer.
PYTHON ?= python3.11 python3.12 python3.13 python3 python
SUITABLE := import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))
RECENT := import sys; sys.exit(sys.version_info < (3, 11))

# The tests start many processes: without bytecode on disk each would compile the sources anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help run app test lint format verify bench accuracy exponents measuring kills validate gui \
        formulas clean

help:
	@echo "make run       derive, predict, measure and compare on this machine; writes report.html"
	@echo "make app       the desktop app"
	@echo "make test      lint, types, layers and tests"
	@echo "make format    rewrite the code in the project's format"
	@echo "make verify    formulas against counted runs at random sizes (ARGS='--only NAME ...',"
	@echo "               ARGS=--write for the rows in README.md)"
	@echo "make bench     how long derivation, prediction and start-up take"
	@echo "make accuracy  predictions against measurements on this machine"
	@echo "make exponents growth with n, measured against predicted"
	@echo "make gui       the app: a scripted tour, a tick of a slider, the start"
	@echo "make measuring what the measurements are worth: overhead, coverage, false alarms"
	@echo "make kills     sweeps that are killed a hundred times, and what is lost"
	@echo "make validate  predictions against published numbers and real distributed steps"
	@echo "               (ARGS=... passes arguments, e.g. ARGS=--write for README.md)"
	@echo "make formulas  derive the committed formulas again"
	@echo "make clean     remove $(VENV) and caches"

run: $(VENV)/.installed
	@$(BIN)/costlab demo

app: $(VENV)/.installed-gui
	@$(BIN)/costlab gui

test: lint
	$(BIN)/python -m pytest -n 2 --dist worksteal

lint: $(VENV)/.installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(VENV)/.installed-dev
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

gui: $(VENV)/.installed-dev
	$(BIN)/python -m benchmarks.gui_tour
	$(BIN)/python -m benchmarks.gui_tick
	$(BIN)/python -m benchmarks.gui_start

verify bench accuracy exponents measuring kills validate: $(VENV)/.installed-dev
	$(BIN)/python -m benchmarks.$@ $(ARGS)
	@if [ $@ = validate ]; then \
	  $(BIN)/python -m benchmarks.step_times $(filter --write,$(ARGS)) \
	  && $(BIN)/python -m benchmarks.plan_speed \
	  && $(BIN)/python -m benchmarks.distributed_check $(filter --write,$(ARGS)); fi

formulas: $(VENV)/.installed-dev
	$(BIN)/python -m costlab.derivation.regenerate
	$(BIN)/python -m costlab.derivation.structure

clean:
	rm -rf $(VENV) build dist .hypothesis .mypy_cache .pytest_cache .ruff_cache .import_linter_cache

$(BIN)/python:
	@for python in $(PYTHON); do \
	  if $$python -c '$(SUITABLE)' 2>/dev/null; then \
	    echo "creating $(VENV) with $$($$python --version)"; \
	    exec $$python -m venv $(VENV); \
	  fi; \
	done; \
	for python in $(PYTHON); do \
	  if $$python -c '$(RECENT)' 2>/dev/null; then \
	    echo "$$($$python --version) lacks the venv module: sudo apt-get install python3-venv" >&2; \
	    exit 1; \
	  fi; \
	done; \
	echo "CostLab needs Python >= 3.11 and found none among: $(PYTHON)" >&2; \
	echo "  Debian, Ubuntu: sudo apt-get install python3 python3-venv" >&2; \
	echo "  Fedora:         sudo dnf install python3" >&2; \
	echo "  macOS:          brew install python@3.13" >&2; \
	echo "or name one: make PYTHON=/path/to/python3" >&2; \
	exit 1

$(VENV)/.installed: $(INPUTS) | $(BIN)/python
	$(call install,.)
	@touch $@

$(VENV)/.installed-gui: $(INPUTS) | $(BIN)/python
	$(call install,.[gui])
	@touch $(VENV)/.installed $@

$(VENV)/.installed-dev: $(INPUTS) | $(BIN)/python
	$(call install,.[dev])
	@$(BIN)/python -c 'import PySide6.QtWidgets' || { \
	  echo "Qt does not load: sudo apt-get install libegl1 libgl1 libfontconfig1 libxkbcommon0 libdbus-1-3" >&2; \
	  exit 1; }
	@touch $(VENV)/.installed $@

define install
@$(BIN)/python -m pip --version >/dev/null 2>&1 || { \
  echo "$(VENV) has no pip: sudo apt-get install python3-venv && make clean" >&2; exit 1; }
@echo "installing $(1) into $(VENV) (torch is large: the first time takes minutes)"
@$(PIP) install -c constraints.txt -e '$(1)' || { \
  echo "pip could not install; is the package index reachable, and is there 6 GB of disk?" >&2; \
  exit 1; }
@$(BIN)/python -c 'import torch' || { \
  echo "torch does not load: sudo apt-get install libgomp1 libstdc++6" >&2; exit 1; }
endef
