# RLVR Workbook. `make` or `make help` lists what there is.
SHELL  := /bin/bash
PYTHON ?= python3
PY     := .venv/bin/python
READY  := $(or $(wildcard .venv/.ready-gpu),.venv/.ready)
# Address of a package index with CPU builds of torch, where the default brings the large CUDA build.
TORCH_INDEX ?=
INDEX  := $(if $(TORCH_INDEX),--extra-index-url $(TORCH_INDEX))

.DEFAULT_GOAL := help
.PHONY: help setup setup-gpu demo test lint notebooks run script batch lab refresh publish clean

help: ## list the commands
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | awk -F '\t' '{printf "  make %-10s %s\n", $$1, $$2}'

setup: $(READY) ## make .venv with everything the notebooks and tests need (2 GB, a few minutes; quick when nothing changed)

.venv/.ready: requirements.txt requirements-nodeps.txt constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Python 3.11 or newer is needed; this is $$($(PYTHON) --version 2>&1). Name another: make setup PYTHON=python3.12"; exit 1; }
	@echo "set-up 1/3: environment in .venv with $$($(PYTHON) --version)"
	@$(PYTHON) -m venv .venv || { echo "no venv module: on Debian and Ubuntu, apt install python3-venv"; exit 1; }
	@echo "set-up 2/3: installing requirements.txt, about 2 GB and a few minutes; details in .venv/setup.log"
	@$(PY) -m pip install $(INDEX) -r requirements.txt > .venv/setup.log 2>&1 || { tail -n 15 .venv/setup.log; exit 1; }
	@echo "set-up 3/3: installing requirements-nodeps.txt"
	@$(PY) -m pip install --no-deps -r requirements-nodeps.txt >> .venv/setup.log 2>&1 || { tail -n 15 .venv/setup.log; exit 1; }
	@touch $@
	@echo "set-up done"

setup-gpu: requirements-gpu.txt requirements-nodeps.txt ## make .venv for a machine with an NVIDIA GPU (CUDA build of torch, vLLM, 4-bit)
	@echo "set-up for GPU: installing requirements-gpu.txt into .venv, about 10 GB; details in .venv/setup.log"
	@$(PYTHON) -m venv .venv
	@$(PY) -m pip install -r requirements-gpu.txt > .venv/setup.log 2>&1 || { tail -n 15 .venv/setup.log; exit 1; }
	@$(PY) -m pip install --no-deps -r requirements-nodeps.txt >> .venv/setup.log 2>&1 || { tail -n 15 .venv/setup.log; exit 1; }
	@touch .venv/.ready-gpu
	@echo "set-up done"

demo: setup ## benchmark, profile, warm up, train and validate the embedded policy; report in runs/demo/report.html
	@$(PY) -m helpers.run.demo

test: setup lint ## run every test, notebooks included
	@$(PY) -m pytest

lint: setup ## check style and types
	@$(PY) -m ruff check .
	@$(PY) -m ruff check --preview --select PLW1514 envs helpers  # text files are read and written as UTF-8
	@$(PY) -m ruff format --check .
	@$(PY) -m mypy

notebooks: setup ## run every notebook headless, executed copies under runs/
	@for path in notebooks/*.ipynb; do echo "== $$path"; $(PY) -m helpers.run.headless run $$path || exit 1; done

run: setup ## run one notebook headless: make run NB=05 P="environment=sudoku steps=40"
	@test -n "$(NB)" || { echo 'which notebook? make run NB=05 P="environment=sudoku steps=40"'; exit 1; }
	@$(PY) -m helpers.run.headless run $(NB) $(P)

script: setup ## make a notebook a script that accelerate launch can run on several GPUs: make script NB=05
	@test -n "$(NB)" || { echo 'which notebook? make script NB=05'; exit 1; }
	@$(PY) -m helpers.run.script $(NB)

batch: setup ## run a plan of notebooks x models x environments x seeds: make batch PLAN=docs/plan.yaml
	@test -n "$(PLAN)" || { echo 'which plan? make batch PLAN=docs/plan.yaml'; exit 1; }
	@$(PY) -m helpers.run.batch $(PLAN)

lab: setup ## open the notebooks in JupyterLab
	@$(PY) -m jupyter lab notebooks $(if $(filter 0,$(shell id -u)),--allow-root)

refresh: setup ## run every notebook with its defaults and keep the outputs in notebooks/
	@$(PY) -m helpers.run.headless refresh
	@$(PY) -m helpers.run.publish

publish: setup ## write the set-up cell, badges and thumbnails anew (after a change of the address or of a notebook)
	@$(PY) -m helpers.run.publish

clean: ## remove what runs wrote; .venv stays
	rm -rf runs unsloth_compiled_cache notebooks/unsloth_compiled_cache .pytest_cache .ruff_cache .mypy_cache .hypothesis
	find . -name __pycache__ -not -path './.venv/*' -prune -exec rm -rf {} +
