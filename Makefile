# Every target does its own set-up, on a fresh machine too; nothing has to be done by hand before.
# Paths are relative throughout, so the checkout may lie in a folder with a space in its name.
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-builtin-rules --no-print-directory

PY := .venv/bin/python
# Where tests, benchmarks and the demo find models, and fetch those that are missing.
export HOMING_MODELS_DIR ?= $(CURDIR)/.cache/models
# More words for pytest, such as: make test ARGS='tests/crypto -k pairing'
ARGS ?=
# How many processes share out the tests; one engine computes at a time whatever it is.
PROCESSES ?= 2
# How many times `make soak` repeats the tests.
ROUNDS ?= 10

.PHONY: help demo test check bench bench-engine bench-phone bench-trust bench-jobs bench-router test-attack fuzz soak proto proto-baseline
.PHONY: clean distclean
.PHONY: node-venv dev-venv models

help: ## Say what each target does (this text).
	@echo "usage: make TARGET"
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  \1|\2/p' Makefile | while IFS='|' read -r name text; do \
	  printf '%-16s %s\n' "$$name" "$$text"; done

demo: node-venv ## Show it: a node, a paired phone, a few requests and where each was answered.
	@$(PY) scripts/demo.py

test: dev-venv models ## Run every test; the first time fetch models (0.5 GB; 1.8 GB on disk).
	@$(PY) -m pytest -n $(PROCESSES) $(ARGS)

check: dev-venv ## Run every static check: lint, format, types, layers, wire, generated code, shell, units.
	@scripts/check.sh

bench: dev-venv models ## Measure on this machine: every benchmark, one after the other (two hours).
	@scripts/bench.sh

bench-engine: dev-venv models ## Measure the engine, also against llama.cpp's own server, which it builds once.
	@scripts/bench.sh engine

bench-phone: dev-venv models ## Measure how fast the phone answers by itself.
	@scripts/bench.sh phone

bench-trust: dev-venv ## Measure handshakes, revocation, a flood at the door, and what the door costs.
	@scripts/bench.sh trust

bench-jobs: dev-venv ## Kill nodes 200 times in the middle of jobs, and measure how fast jobs are.
	@scripts/bench.sh jobs

bench-router: dev-venv models ## Measure what stays on the phone and how often it is right (an hour and a half, resumable).
	@scripts/bench.sh router

test-attack: dev-venv models ## Run only the attacks: tests that each try one thing an attacker would.
	@$(PY) -m pytest -n $(PROCESSES) -m attack $(ARGS)

fuzz: dev-venv ## Feed garbage to every parser of outside data, SECONDS=60 to each; report what was tried and found.
	@scripts/fuzz.sh

soak: dev-venv models ## Repeat the tests with fresh random inputs, ROUNDS=10 times; stop at the first failure.
	@for round in $$(seq $(ROUNDS)); do echo "soak: round $$round of $(ROUNDS)"; \
	  $(PY) -m pytest -q -n $(PROCESSES) --exitfirst --hypothesis-seed=$$RANDOM $(ARGS); done

proto: dev-venv ## Write the generated code anew after a change of a .proto file.
	@.venv/bin/buf format --write
	@PYTHON="$$PWD/$(PY)" proto/generate.sh

proto-baseline: dev-venv ## At a release: take the present wire as the one to stay compatible with.
	@.venv/bin/buf build --exclude-source-info -o proto/baseline.binpb

clean: ## Remove what checks, tests and builds left; keep the virtual environment and the models.
	@rm -rf build dist .coverage .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	@rm -rf .cache/buf .cache/setup.log
	@find . -path ./.venv -prune -o \( -name __pycache__ -o -name '*.egg-info' \) -type d -prune -exec rm -rf {} +

distclean: clean ## Remove the virtual environment and the models as well.
	@rm -rf .venv .cache

node-venv:
	@scripts/setup.sh node

dev-venv:
	@scripts/setup.sh dev

models: dev-venv
	@$(PY) -m homing_inference.catalog fetch --stand-in phone bf16
