# Every target sets up what it needs on a machine that has Python 3.11+, git and make.
PYTHON ?= python3
UV := .uv/bin/uv
VENV := .venv
BIN := $(VENV)/bin

.PHONY: help demo serve study wheels test compiler browser java page check audit campaign accounting-campaign crash wire dialects format bench tumult lock clean
.DEFAULT_GOAL := help

help:
	@echo "make demo      install the runtime and run the demonstration"
	@echo "make serve     the same clinic behind a server on this machine, with a token to ask it"
	@echo "make study     a study without a trusted curator: participants, two aggregators and a collector, here"
	@echo "make test      install what the tests need and run them all"
	@echo "make check     make test, plus ruff, mypy --strict and import-linter"
	@echo "make format    ruff's fixes and formatting"
	@echo "make campaign  the same tests at much larger counts (hours; set SCALE=10 for less)"
	@echo "make accounting-campaign  10^5 random compositions (hours; set COMPOSITIONS=1000 for less)"
	@echo "make crash     thousands of kills, failing disks and damaged ledgers (about an hour)"
	@echo "make wire      100,000 messages of PostgreSQL's protocol, most of them broken (some minutes)"
	@echo "make dialects  20,000 random questions beside PostgreSQL, DuckDB and SQLite (about a quarter of an hour)"
	@echo "make audit     every mechanism against 10^7 samples a side (half an hour of computing; SECONDS_A_ROW bounds a row)"
	@echo "make bench     the benchmarks (installs the peers they compare with)"
	@echo "make tumult    beside Tumult Analytics on Spark (an environment of its own, with PYTHON312)"
	@echo "make page      build the web page from web/ (needs Node.js and npm)"
	@echo "make wheels    build the packages dither and dither-client"
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

serve: $(VENV)/.server
	$(BIN)/dither demo --serve

study: $(VENV)/.study
	$(BIN)/dither study demo

TESTS := -m pytest -q -n 2
# One cluster of Spark (a master, two workers and their executors) is as many processes as the machine should have.
SPARK_TESTS := -m pytest -q -m spark tests/engines/spark tests/conformance tests/threats/test_spark.py
test: $(VENV)/.test .venv-peers/.oracles compiler browser java
	$(PEERS)/python -m pytest -q tests/oracles
	$(BIN)/python $(TESTS) -m "not spark" --ignore=tests/oracles
	$(BIN)/python $(SPARK_TESTS)

# Crash tests compile a small library that is preloaded; where the machine has no C compiler, a pinned one is installed.
compiler: $(VENV)/.test
	command -v cc || command -v gcc || command -v clang || \
	$(UV) pip install --quiet --python $(BIN)/python --require-hashes -r requirements/compiler.txt

# The page is tried in a real browser.
browser:
	command -v chromium || { apt-get update --quiet --quiet && \
	DEBIAN_FRONTEND=noninteractive apt-get install --yes --quiet --no-install-recommends chromium; }

# The page's files in the package, from web/ (needs Node.js and npm).
page:
	cd web && npm ci && npm run build

# A program over JDBC is one of the clients that tests run: Debian's driver, and a compiler for its one file.
JDBC := /usr/share/java/postgresql.jar
java:
	{ command -v javac && test -e $(JDBC); } || { apt-get update --quiet --quiet && \
	DEBIAN_FRONTEND=noninteractive apt-get install --yes --quiet --no-install-recommends default-jdk-headless libpostgresql-jdbc-java; }

check: $(VENV)/.check
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(MAKE) test

# Statistical, crash and fuzz tests with their counts multiplied.
SCALE ?= 100
campaign: $(VENV)/.test compiler browser java
	DITHER_CAMPAIGN=$(SCALE) $(BIN)/python $(TESTS) -m "not spark" --ignore=tests/oracles
	DITHER_CAMPAIGN=$(SCALE) $(BIN)/python $(SPARK_TESTS)

# In chunks: each prints a row of the table in docs/evidence/accounting.md. FIRST=13000 goes on from there.
COMPOSITIONS ?= 100000
FIRST ?= 0
accounting-campaign: $(VENV)/.test
	for first in $$(seq $(FIRST) 1000 $$(($(COMPOSITIONS) - 1))); do OPENBLAS_NUM_THREADS=1 \
	$(BIN)/python tests/accounting/random_compositions.py $$first $$((first + 1000)) || exit 1; done

crash: $(VENV)/.test compiler
	DITHER_CAMPAIGN=$(SCALE) $(BIN)/python $(TESTS) tests/crash

# 2,000 messages a run of the tests, so many times.
MESSAGES ?= 50
wire: $(VENV)/.test
	DITHER_CAMPAIGN=$(MESSAGES) $(BIN)/python -m pytest -q -s tests/server/wire/test_fuzz.py

# 500 questions a run of the tests, so many times.
QUESTIONS ?= 40
dialects: $(VENV)/.test
	DITHER_CAMPAIGN=$(QUESTIONS) $(BIN)/python -m pytest -q -s tests/sql/dialects/test_engines_agree.py -k random

# A row takes a minute or two at most. Where the machine is so slow that it would take longer than this, fewer samples.
SECONDS_A_ROW ?= 300
audit: $(VENV)/.test
	$(BIN)/dither audit --museum
	$(BIN)/dither audit --every --samples 10000000 --seconds $(SECONDS_A_ROW)
	DITHER_AUDIT_SAMPLES=1000000 $(BIN)/python -m pytest -q -s tests/study/test_trust_models.py

format: $(VENV)/.check
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: .venv-peers/.bench
	for name in noise query growth accounting toolbox accuracy quantile_weights quantile_method quantile_lists audit tpch sql_accuracy coverage_peers coverage latency groups server engines engines_spark study; do $(PEERS)/python bench/$$name.py || failed=1; done; test -z "$$failed"

# Tumult Analytics has requirements of its own, and is on the release of Spark that is measured here from Python 3.12 on.
PYTHON312 ?= python3.12
tumult: .venv-peers/.bench .venv-tumult/.tumult
	$(PEERS)/python bench/engines_tumult.py

.venv-tumult/.%: requirements/%.txt | $(UV)
	test -x .venv-tumult/bin/python || $(UV) venv --quiet --no-python-downloads --python $(PYTHON312) .venv-tumult
	$(UV) pip install --quiet --python .venv-tumult/bin/python --require-hashes -r requirements/$*.txt
	touch $@

# dither, and dither-client for those who only ask servers.
wheels: $(VENV)/.test
	$(BIN)/python -m hatchling build -t wheel -d dist
	cd client && ../$(BIN)/python -m hatchling build -t wheel -d ../dist

COMPILE := $(UV) pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header --no-annotate --upgrade pyproject.toml
lock: | $(UV)
	$(COMPILE) -o requirements/runtime.txt
	$(COMPILE) --extra server -o requirements/server.txt
	$(COMPILE) --extra study -o requirements/study.txt
	$(COMPILE) --group test -o requirements/test.txt
	$(COMPILE) --group check -o requirements/check.txt
	$(COMPILE) --group oracles -o requirements/oracles.txt
	$(COMPILE) --group bench -o requirements/bench.txt
	echo "ziglang" | $(UV) pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header --no-annotate --upgrade - -o requirements/compiler.txt
	echo "uv" | $(UV) pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header --no-annotate --upgrade - -o requirements/uv.txt
	printf "tmlt.analytics==0.21.0\npyspark==4.3.0\n" | $(UV) pip compile --quiet --universal --python-version 3.12 --generate-hashes --no-emit-index-url --no-header --no-annotate --upgrade - -o requirements/tumult.txt

clean:
	rm -rf $(VENV) .venv-peers .venv-tumult .uv
