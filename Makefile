# `make run` and `make test` set up all they need. PYTHON names the interpreter (3.11 or newer),
# PIP_ARGS what pip is told besides.
PYTHON ?= python3
VENV := .venv
INSTALLED := $(VENV)/.installed

# Programs are called by their path, for old makes; DVC's stages find `python` on this one.
export PATH := $(CURDIR)/$(VENV)/bin:$(PATH)
export HF_HUB_DISABLE_TELEMETRY := 1

.DEFAULT_GOAL := help
.PHONY: help setup run repro check test format

help:
	@echo 'make run      set up, train and measure the encoders of params.yaml, print the table'
	@echo 'make test     set up, lint, check types, run all tests'
	@echo 'make setup    only create $(VENV) and install the pinned versions'
	@echo 'make check    ruff and mypy'
	@echo 'make format   let ruff format and mend what it can'

setup: $(INSTALLED)

$(INSTALLED): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; v = sys.version_info[:2]; sys.exit(v < (3, 11) and "Triad needs Python 3.11 or newer, $(PYTHON) is %d.%d: give another with make PYTHON=..." % v)'
	$(PYTHON) -m venv $(VENV)
	$(VENV)/bin/pip install --quiet --disable-pip-version-check $(PIP_ARGS) -c constraints.txt -e '.[pipeline,dev]'
	@touch $@

run: repro

repro: setup
	$(VENV)/bin/dvc repro
	@echo
	@cat results/comparison.md

check: setup
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy

test: check
	$(VENV)/bin/pytest

format: setup
	$(VENV)/bin/ruff format .
	$(VENV)/bin/ruff check --fix .
