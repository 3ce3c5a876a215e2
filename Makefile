# Everything a contributor types. Each environment has a stamp file, so a second run installs nothing.

PYTHON    ?= python3
VENV      ?= .venv
DEMO_VENV ?= .venv-demo
JOBS      ?= 2
WITH      ?=  # more of its groups of dependencies, such as "kernel"
EXTRAS    ?=  # more of pyproject's extras for the tests, such as ",spark" (half a gigabyte) or ",torch"

BIN    := $(VENV)/bin
CORE   := $(DEMO_VENV)/.stamp-core
DEV    := $(VENV)/.stamp-dev
SITE   := $(VENV)/.stamp-docs
LOWEST := .venv-lowest/.stamp
NEWEST := .venv-newest/.stamp
# What must work with every version of a dependency: the package itself, commands, first calls, a sample of the laws, and
# what scikit-learn asks of an estimator.
WITH_ALL_VERSIONS := tests/package/test_cli_starts.py tests/package/test_errors.py tests/package/test_examples.py \
  tests/package/test_floors.py tests/newcomer tests/cli tests/report tests/laws/test_losses.py \
  tests/learn/test_scikit_learn.py tests/tables/test_values.py

# Tests start many processes: each of them reads compiled code, where it may be kept.
test test-slow: export PYTHONDONTWRITEBYTECODE :=

.DEFAULT_GOAL := help
.PHONY: help demo test test-slow test-lowest test-newest mutate lint format docs bench clean

help:  ## show this list
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*##/\t/' | expand -t 14

demo: $(CORE)  ## core install on a bare machine, then `privet demo`
	@$(DEMO_VENV)/bin/privet demo

test: $(DEV)  ## every test but the slow ones
	$(BIN)/pytest -n $(JOBS) --dist worksteal -rs

test-slow: $(DEV)  ## the slow tests, an hour or so; PRIVET_HUNT=20 lets hunts and fuzzers run for a night
	$(BIN)/pytest -n $(JOBS) --dist worksteal -rs -m slow

test-lowest: $(LOWEST)  ## first calls, commands and laws with the oldest dependencies that are allowed
	.venv-lowest/bin/pytest -q -n $(JOBS) $(wildcard $(WITH_ALL_VERSIONS))

test-newest: $(NEWEST)  ## the same with the newest dependencies there are (PYTHON=python3.13 chooses a Python)
	.venv-newest/bin/pytest -q -n $(JOBS) $(wildcard $(WITH_ALL_VERSIONS))

mutate: $(DEV)  ## plant privacy bugs one at a time and name those that no test notices
	$(BIN)/python -m tests.mutants --jobs $(JOBS)

lint: $(DEV)  ## style, types, import direction, architecture
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/pytest -q tests/architecture

format: $(DEV)  ## let ruff repair what it can
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

docs: $(SITE)  ## build the documentation into build/site/html, and refuse it where it is broken
	$(BIN)/python -m tools.site

bench: $(DEV)  ## run every benchmark; tables on screen, JSON in benchmarks/results/
	@set -e; for script in $(wildcard benchmarks/*.py); do echo "== $$script"; $(BIN)/python $$script; done

clean:  ## remove environments, caches and builds
	rm -rf $(VENV) $(DEMO_VENV) .venv-lowest .venv-newest build dist site .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis

# A venv survives a change of the stamp's dependencies; only the install is repeated. Groups of dependencies need pip 25.1,
# which a fresh venv may not have. torch comes first and alone: whatever needs it then finds the pinned build (the CPU's,
# where that is offered), and no resolver looks for another one with its gigabytes.
$(CORE): pyproject.toml constraints.txt
	@echo "installing into $(DEMO_VENV) (about a minute) ..."
	@test -x $(DEMO_VENV)/bin/python || $(PYTHON) -m venv $(DEMO_VENV)
	@$(DEMO_VENV)/bin/python -m pip install -qq --disable-pip-version-check --constraint constraints.txt --editable .
	@touch $@

$(DEV): pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet 'pip>=25.1'
	$(if $(findstring torch,$(EXTRAS)),$(BIN)/python -m pip install --quiet --constraint constraints.txt torch)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --group dev $(WITH:%=--group %) --editable '.[plot,postgres$(strip $(EXTRAS))]'
	touch $@

$(SITE): $(DEV)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --group docs
	touch $@

$(LOWEST): pyproject.toml constraints-lowest.txt
	test -x .venv-lowest/bin/python || $(PYTHON) -m venv .venv-lowest
	.venv-lowest/bin/python -m pip install --quiet 'pip>=25.1'
	.venv-lowest/bin/python -m pip install --quiet --constraint constraints-lowest.txt --group test --editable .
	touch $@

$(NEWEST): pyproject.toml
	test -x .venv-newest/bin/python || $(PYTHON) -m venv .venv-newest
	.venv-newest/bin/python -m pip install --quiet 'pip>=25.1'
	.venv-newest/bin/python -m pip install --quiet --upgrade --upgrade-strategy eager --group test --editable .
	touch $@
