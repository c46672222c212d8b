# `make run` and `make test` set up all they need. PYTHON names the interpreter (3.11 or newer).
PYTHON ?= python3
VENV := .venv
INSTALLED := $(VENV)/.installed

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
	$(VENV)/bin/pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[pipeline,dev]'
	@touch $@

run: repro

repro: setup
	dvc repro
	@echo
	@cat results/comparison.md

check: setup
	ruff check .
	ruff format --check .
	mypy

test: check
	pytest

format: setup
	ruff format .
	ruff check --fix .
