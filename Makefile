# `make run` and `make test` set up all they need. PYTHON names the interpreter (3.11 or newer),
# PIP_ARGS what pip is told besides.
PYTHON ?= python3
VENV := .venv
RUNS := $(VENV)/.installed
TESTS := $(VENV)/.installed-for-tests
EXPORTED := $(VENV)/.exported

# Python compiles a module when it is imported first. That is faster than letting pip compile all of
# them, if Python may keep what it compiled.
unexport PYTHONDONTWRITEBYTECODE
PIP_INSTALL := pip install --quiet --disable-pip-version-check --no-compile $(PIP_ARGS)

# Programs are called by their path, for old makes; DVC's stages find `python` on this one.
export PATH := $(CURDIR)/$(VENV)/bin:$(PATH)
export HF_HUB_DISABLE_TELEMETRY := 1
export BENTOML_DO_NOT_TRACK := True

.DEFAULT_GOAL := help
.PHONY: help setup run repro report serve check chromium test verify docs mteb format pictures

help:
	@echo 'make run      set up, train and measure the encoders of params.yaml, then serve them'
	@echo 'make repro    the same without serving'
	@echo 'make report   the paper'"'"'s analyses with what is trained: results/analysis/report.html'
	@echo 'make serve    serve two encoders that come with Triad, and what is trained'
	@echo 'make test     set up, lint, check types, run the tests: six to twenty minutes on two cores'
	@echo 'make verify   the same with the long tests too'
	@echo 'make docs     the documentation as a site: build/site/index.html'
	@echo 'make mteb     seven STS tasks by the package mteb: ENCODER=folder DATA=folder'
	@echo 'make setup    create $(VENV) with what a run needs, in pinned versions; export the encoders of the clone'
	@echo 'make check    ruff and mypy'
	@echo 'make format   let ruff format and mend what it can'
	@echo 'make pictures  the pictures of the demo in the README, and how fast it is (needs Chromium)'

setup: $(RUNS) $(EXPORTED)

# The tests need more than a run does.
$(RUNS): EXTRAS := pipeline,serve,app,export,anatomy
$(TESTS): EXTRAS := pipeline,serve,app,export,anatomy,tracing,ray,dev
$(RUNS) $(TESTS): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; v = sys.version_info[:2]; sys.exit(v < (3, 11) and "Triad needs Python 3.11 or newer, $(PYTHON) is %d.%d: give another with make PYTHON=..." % v)'
	$(PYTHON) -m venv $(VENV)
	$(VENV)/bin/$(PIP_INSTALL) 'pip>=25.1'  # older ones take a minute more to choose versions
	$(VENV)/bin/$(PIP_INSTALL) -c constraints.txt -e '.[$(EXTRAS)]'
	@touch $(RUNS) $@

# What the service does at its first start; done here, that start takes ten seconds less.
$(EXPORTED): | $(RUNS)
	$(VENV)/bin/python -m serve.encoders.export encoders/reference/*/ --out .exported
	@touch $@

run: repro
	@$(MAKE) --no-print-directory serve

repro: setup
	$(VENV)/bin/dvc repro
	@echo
	@cat results/comparison.md
	@echo
	@echo 'The scores during training are drawn in results/curves.svg.'

report: setup
	$(VENV)/bin/dvc repro analysis/dvc.yaml
	@echo 'The report is results/analysis/report.html; results/analysis/report.md is the same as text.'

serve: setup
	@echo 'The API will be at http://$(or $(HOST),127.0.0.1):$(or $(PORT),3000), its documentation at /docs, the demo at /demo; Ctrl-C stops it.'
	$(VENV)/bin/bentoml serve serve.service:TriadService

check: $(TESTS)
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy

chromium:
	@command -v chromium > /dev/null || echo 'Chromium is not installed: the tests of the demo in a browser are skipped (apt-get install chromium).'

# Tools that Triad itself does without have venvs of their own.
DOCS := .venv-docs
MTEB := .venv-mteb

PYTEST := OMP_NUM_THREADS=1 $(VENV)/bin/pytest -rs --durations 25 -n 3 --dist loadscope --no-loadscope-reorder

test: check chromium
	$(PYTEST) -m 'not verify'

verify: check chromium docs $(MTEB)/.installed
	$(VENV)/bin/$(PIP_INSTALL) -c constraints.txt -e '.[notebooks]'
	$(PYTEST)

$(DOCS)/.installed: docs/requirements.txt
	$(PYTHON) -m venv $(DOCS)
	$(DOCS)/bin/$(PIP_INSTALL) -r $<
	@touch $@

$(MTEB)/.installed: benchmarks/mteb.txt constraints.txt
	$(PYTHON) -m venv $(MTEB)
	$(MTEB)/bin/$(PIP_INSTALL) -c constraints.txt -r $<
	@touch $@

ENCODER := encoders/reference/vicreg_modified
DATA := data/external/senteval

mteb: $(MTEB)/.installed
	$(MTEB)/bin/python -m benchmarks.mteb_sts --encoder $(ENCODER) --data $(DATA)

docs: $(DOCS)/.installed
	NO_MKDOCS_2_WARNING=1 $(DOCS)/bin/mkdocs build --strict --quiet

pictures: $(TESTS)
	$(VENV)/bin/python -m benchmarks.pictures --out results/serving/demo.json --pictures docs/images

format: $(TESTS)
	$(VENV)/bin/ruff format .
	$(VENV)/bin/ruff check --fix .
