# Every target sets up what it needs on a machine that has Python 3.11+, git and make.
PYTHON ?= python3
UV := .uv/bin/uv
VENV := .venv
BIN := $(VENV)/bin

.PHONY: help demo test compiler check audit campaign accounting-campaign crash dialects format bench lock clean
.DEFAULT_GOAL := help

help:
	@echo "make demo      install the runtime and run the demonstration"
	@echo "make test      install what the tests need and run them all"
	@echo "make check     make test, plus ruff, mypy --strict and import-linter"
	@echo "make format    ruff's fixes and formatting"
	@echo "make campaign  the same tests at much larger counts (hours; set SCALE=10 for less)"
	@echo "make accounting-campaign  10^5 random compositions (hours; set COMPOSITIONS=1000 for less)"
	@echo "make crash     thousands of kills, failing disks and damaged ledgers (about an hour)"
	@echo "make dialects  20,000 random questions beside PostgreSQL, DuckDB and SQLite (about a quarter of an hour)"
	@echo "make audit     every mechanism against 10^7 samples a side (half an hour of computing; SECONDS_A_ROW bounds a row)"
	@echo "make bench     the benchmarks (installs the peers they compare with)"
	@echo "make lock      compile the pinned requirements anew"
	@echo "make clean     remove the environments that make set up"

$(UV):
	$(PYTHON) -m venv .uv
	.uv/bin/python -m pip install --quiet --disable-pip-version-check -r requirements/uv.txt

# Certificates that the machine trusts are trusted here too, as pip does: some networks have their own.
export UV_SYSTEM_CERTS := 1

# One stamp per group: the environment always matches the pinned, hashed requirements. Other libraries, which tests and
# benchmarks compare with, stay out of the project's own environment.
PEERS := .venv-peers/bin
define INSTALL
	test -x $(1)/bin/python || $(UV) venv --quiet --python $(PYTHON) $(1)
	$(UV) pip install --quiet --python $(1)/bin/python --require-hashes -r requirements/$(2).txt
	$(UV) pip install --quiet --python $(1)/bin/python --no-deps --editable .
	touch $@
endef

$(VENV)/.%: requirements/%.txt pyproject.toml | $(UV)
	$(call INSTALL,$(VENV),$*)

.venv-peers/.%: requirements/%.txt pyproject.toml | $(UV)
	$(call INSTALL,.venv-peers,$*)

demo: $(VENV)/.runtime
	$(BIN)/dither demo

TESTS := -m pytest -q -n 2
test: $(VENV)/.test .venv-peers/.oracles compiler
	$(PEERS)/python -m pytest -q tests/oracles
	$(BIN)/python $(TESTS) --ignore=tests/oracles

# Crash tests compile a small library that is preloaded; where the machine has no C compiler, a pinned one is installed.
compiler: $(VENV)/.test
	command -v cc || command -v gcc || command -v clang || \
	$(UV) pip install --quiet --python $(BIN)/python --require-hashes -r requirements/compiler.txt

check: $(VENV)/.check
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(MAKE) test

# Statistical, crash and fuzz tests with their counts multiplied.
SCALE ?= 100
campaign: $(VENV)/.test compiler
	DITHER_CAMPAIGN=$(SCALE) $(BIN)/python $(TESTS) --ignore=tests/oracles

# In chunks: each prints a row of the table in docs/evidence/accounting.md.
COMPOSITIONS ?= 100000
accounting-campaign: $(VENV)/.test
	for first in $$(seq 0 1000 $$(($(COMPOSITIONS) - 1))); do \
	$(BIN)/python tests/accounting/random_compositions.py $$first $$((first + 1000)) || exit 1; done

crash: $(VENV)/.test compiler
	DITHER_CAMPAIGN=$(SCALE) $(BIN)/python $(TESTS) tests/crash

# 500 questions a run of the tests, so many times.
QUESTIONS ?= 40
dialects: $(VENV)/.test
	DITHER_CAMPAIGN=$(QUESTIONS) $(BIN)/python -m pytest -q -s tests/sql/dialects/test_engines_agree.py -k random

# A row takes a minute or two at most. Where the machine is so slow that it would take longer than this, fewer samples.
SECONDS_A_ROW ?= 300
audit: $(VENV)/.runtime
	$(BIN)/dither audit --museum
	$(BIN)/dither audit --every --samples 10000000 --seconds $(SECONDS_A_ROW)

format: $(VENV)/.check
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: .venv-peers/.bench
	for name in noise query accounting toolbox accuracy quantile_weights quantile_method quantile_lists audit tpch sql_accuracy coverage_peers coverage latency groups; do $(PEERS)/python bench/$$name.py || failed=1; done; test -z "$$failed"

COMPILE := $(UV) pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header --no-annotate --upgrade pyproject.toml
lock: | $(UV)
	$(COMPILE) -o requirements/runtime.txt
	$(COMPILE) --group test -o requirements/test.txt
	$(COMPILE) --group check -o requirements/check.txt
	$(COMPILE) --group oracles -o requirements/oracles.txt
	$(COMPILE) --group bench -o requirements/bench.txt
	echo "ziglang" | $(UV) pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header --no-annotate --upgrade - -o requirements/compiler.txt
	echo "uv" | $(UV) pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header --no-annotate --upgrade - -o requirements/uv.txt

clean:
	rm -rf $(VENV) .venv-peers .uv
