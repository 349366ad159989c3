# Headwater's own set-up: every target installs what it needs; `make help` lists them.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
# compiled code is kept, also where the environment says otherwise: tests start hundreds of processes
export PYTHONDONTWRITEBYTECODE :=
# what shares a Spark or a Headwater stays in one process (tests/support/scheduling.py); three at once on two cores, as tests wait for
# others, but two of quick ones, which do not: each process imports and collects all tests
SPREAD := --dist loadscope --no-loadscope-reorder --numprocesses
# each Maven alone: they share a repository (so does tools/jars.py)
MAVEN := mkdir -p .cache && flock .cache/maven.lock mvn -B -q
SPARK_TESTS := $(foreach of,transfer/test_ingest transfer/test_stream test_silver_gold test_upgrade test_rule_cases,tests/spark/$(of).py) tests/spark/test_notebooks.py \
	tests/spark/test_onelake_transport.py tests/spark/test_plugin.py tests/spark/test_notebook_doors.py tests/spark/test_extensions.py tests/spark/test_iceberg.py

JARS := jvm/transport/target/headwater-transport.jar jvm/plugin/target/headwater-plugin.jar jvm/connector/target/headwater-connector.jar
DOCS := .cache/docs/lock.sha256
NEEDED := setup setup-judges setup-azure-types $(JARS) $(DOCS)
JARS4 := jvm/connector/target/headwater-connector-spark4.jar

WEB := headwater/api/web/assets/index.html
WEB_PACKAGES := web/node_modules/.package-lock.json
WEB_TYPES := web/src/api/schema.d.ts

.PHONY: help python setup fetched-jars spark-jars setup-test setup-judges setup-azure-types demo test test-fast test-python test-page test-page-in-one-piece test-spark4 test-runtimes check check-code check-page bench torture wheel test-producers sbom audit fabric jvm web container-steps screenshots docs

help:  ## list the targets
	@grep -E '^[a-z0-9-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

setup: $(READY) $(WEB) spark-jars  ## virtual environment, packages, jars and dashboard; done once

spark-jars: $(READY) fetched-jars
	@$(BIN)/python -m tools.jars

# runs while pip installs: only compiling our own file system needs the environment
fetched-jars: | python
	@$(PYTHON) -m tools.jars --fetch

python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "Python 3.11 or newer is needed: make PYTHON=python3.11 setup"; exit 2; }

web: $(WEB)  ## the dashboard, built from web/ into headwater/api/web/assets/

$(WEB): $(WEB_PACKAGES) $(WEB_TYPES) web/index.html web/vite.config.ts $(shell find web/src -type f -not -name schema.d.ts)
	@cd web && npm run --silent build -- --logLevel warn
	@touch $@

$(WEB_PACKAGES): web/package.json web/package-lock.json
	@command -v npm >/dev/null || { echo "npm is missing, which builds the dashboard: apt-get install nodejs npm (Node 20)"; exit 2; }
	@echo "Installing what the dashboard is made of (a minute the first time)"
	@cd web && npm ci --silent
	@touch $@

$(WEB_TYPES): $(READY) $(WEB_PACKAGES) tools/openapi.py $(shell find headwater/api headwater/questions -name '*.py')
	@$(BIN)/python -m tools.openapi
	@cd web && npm run --silent types >/dev/null

container-steps: setup-test  ## what the Containerfile copies and runs, in a folder and without an engine (minutes; downloads)
	@$(BIN)/python -m tools.container_steps

jvm: $(JARS)  ## the jars of the OneLake transport, the Spark plugin and the Spark source, with their own tests

.SECONDEXPANSION:
jvm/%.jar: jvm/$$(firstword $$(subst /, ,$$*))/pom.xml $$(shell find jvm/$$(firstword $$(subst /, ,$$*))/src jvm/testing -type f)
	@command -v mvn >/dev/null || { echo "mvn is missing, which builds our jars: apt-get install openjdk-17-jdk-headless maven"; exit 2; }
	@echo "Building $(@F) and running its tests (a minute; the first time it fetches Spark and Hadoop)"
	@$(MAVEN) -f $< $(if $(findstring spark4,$@),-Pspark4) $(BESIDE) package
	@touch $@

# the tests of these start a Spark: pyspark's own, and Delta
WITH_SPARK := $(filter-out jvm/connector/%,$(JARS))
$(WITH_SPARK): BESIDE = -Dmaven.test.additionalClasspath=$$(printf '%s,' $(CURDIR)/$(VENV)/lib/python3*/site-packages/pyspark/jars/*.jar $(CURDIR)/.cache/jars/delta/*.jar)
$(WITH_SPARK): | spark-jars

setup-test:  ## what only tests need: storage emulator, Functions worker, policy linter, Chromium, a C compiler, Helm, a judge of what DataHub gets, dbt
	@$(MAKE) --no-print-directory --jobs 6 $(NEEDED)

# these import only the standard library, so they run while pip installs
setup-judges: | python
	@printf 'tools.%s\n' npm_packages functions_env datahub_env producer_envs policy programs helm | xargs -P 7 -n 1 $(PYTHON) -m

setup-azure-types: $(READY)
	@$(BIN)/python -m tools.azure_types

# not compiled: of 22,000 files most are never imported, and what is, is compiled then
$(READY): locks/dev.txt pyproject.toml | python
	@echo "Setting up $(VENV) (two minutes the first time)"
	@$(PYTHON) -m venv $(VENV) || { echo "venv is missing: apt-get install python3-venv"; exit 2; }
	@$(BIN)/pip install --quiet --no-compile --require-hashes --requirement locks/dev.txt
	@$(BIN)/pip install --quiet --no-deps --no-build-isolation --editable .
	@touch $@

docs: $(DOCS)  ## the documentation site, in dist/docs/; a broken link or anchor is an error
	@$(PYTHON) -m tools.docs_site

$(DOCS): locks/docs.txt | python
	@$(PYTHON) -m tools.docs_env
	@touch $@

demo: setup  ## a real Spark pipeline posts its lineage; see what arrived
	@$(BIN)/python -m demo.run

# code is checked while what only tests need is fetched
check:  ## formatting, lint, types, direction of imports, language, links of the documentation
	@$(MAKE) --no-print-directory --jobs 6 --output-sync=line $(NEEDED) check-code check-page docs

check-code: $(READY)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m tools.prose --limit 1.5

check-page: $(WEB_PACKAGES) $(WEB_TYPES)
	cd web && npm run --silent check

test-page:
	cd web && npm run --silent test

test: check  ## check, then every test
	@$(MAKE) --no-print-directory --jobs 2 test-python test-page-in-one-piece

test-python:
	$(BIN)/pytest -m "not long and not producers" $(SPREAD) 3 --durations=15

# what it says stands together, amid the lines of pytest
test-page-in-one-piece:
	@said=$$(cd web && npm run --silent test 2>&1); status=$$?; echo "$$said"; exit $$status

test-fast: setup-test  ## the quick tests, under a minute
	$(BIN)/pytest -m "not slow and not long" $(SPREAD) 2

screenshots: setup-test  ## the pictures of the documentation, and build/gallery: every page in both themes and three sizes
	cd web && npm run --silent tools bench/screenshots.ts bench/tour.ts
	@$(BIN)/python -m tools.moving_picture .cache/tour docs/images/tour.webp
	cd web && npm run --silent tools bench/gallery.ts
	@$(BIN)/python -m tools.small_pictures docs/images/*.png

test-spark4: setup $(JARS) $(JARS4)  ## the Spark tests on Spark 4.1, in an environment of its own
	@$(BIN)/python -m tools.spark4
	PYTHONPATH=. .cache/spark4/venv/bin/python -m pytest -m "slow and not long" $(SPARK_TESTS)

test-runtimes: setup  ## the wheel beside what Fabric and Databricks ship
	@$(BIN)/python -m tools.runtimes
	$(BIN)/pytest -m long tests/operations/test_runtimes.py

test-producers: setup-test  ## dbt, Airflow, OpenLineage's Python and Java clients and its Spark listener, each run for real
	@$(BIN)/python -m tools.producer_envs --all
	$(BIN)/pytest tests/producers/test_real_producers.py tests/producers/test_night_recordings.py
	$(BIN)/pytest -m "producers and not long"

bench: setup-test  ## every figure beside its goal and its floor, about an hour
	$(BIN)/python -m bench

torture: setup-test  ## the long tests; 500 kills, then 1,000 amid faults of every kind; mutated input; 2,000 random worlds, also in Spark
	$(BIN)/pytest -m long
	$(BIN)/python -m bench.torture
	$(BIN)/python -m bench.campaign
	$(BIN)/python -m bench.instances --kills 20
	$(BIN)/python -m bench.fuzz --seconds 600
	$(BIN)/python -m bench.slowest
	$(BIN)/python -m bench.named_sql
	$(BIN)/python -m bench.worlds
	$(BIN)/python -m bench.spark_worlds

wheel: setup  ## the wheel with the dashboard, in dist/
	@rm -f dist/headwater-*.whl
	$(BIN)/pip wheel --quiet --no-deps --no-build-isolation --wheel-dir dist .

sbom: setup  ## what all is made of, as CycloneDX, in dist/sbom/
	@$(BIN)/python -m tools.sbom

audit: setup  ## known vulnerabilities of it; needs the services of PyPI and npm, and says so
	@$(BIN)/python -m tools.audit

fabric: wheel  ## what is published to a Fabric workspace, with the wheel, in dist/fabric/
	@rm -rf dist/fabric && cp -R notebooks dist/fabric
	@mkdir -p dist/fabric/Headwater.Environment/Libraries/CustomLibraries
	@cp dist/headwater-*.whl dist/fabric/Headwater.Environment/Libraries/CustomLibraries/
