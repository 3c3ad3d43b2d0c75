# Set-up happens by itself: whatever needs the environment depends on its stamp.
PYTHON ?= python3
VENV := .venv
STAMP := $(VENV)/.installed
TYPES := build/types

.PHONY: demo test test-long soak soak-cluster bench-search check lint links types arrows lock system clean

demo: $(STAMP)
	@scripts/demo

test: $(STAMP)
	$(VENV)/bin/python -m pytest -n 2 --dist loadgroup

# Clusters that lose hosts, bisections that are killed, and what others try with less.
test-long: $(STAMP)
	$(VENV)/bin/python -m pytest -n 2 --dist loadgroup -m long

# Bisections that are killed and disturbed: docs/soak.md. What is done stays in PLACE, and the next call goes on.
KILLS ?= 200
SEED ?= 1
MINUTES ?= 60
PLACE ?= build/soak
WRITE ?=

soak: $(STAMP)
	@nice -n 15 $(VENV)/bin/python benchmarks/soak.py --kills $(KILLS) --seed $(SEED) --minutes $(MINUTES) \
		--place "$(PLACE)" $(if $(WRITE),--write)

# Bisections on a cluster whose head, workers and asking process are killed: docs/cluster.md.
soak-cluster: $(STAMP)
	@nice -n 15 $(VENV)/bin/python benchmarks/cluster_soak.py --kills $(KILLS) --seed $(SEED) --minutes $(MINUTES) \
		$(if $(WRITE),--write)

# What many builders save, then all kinds of worlds: the last line printed is one JSON object. Matrices are too small to be
# shared among threads.
bench-search: $(STAMP)
	@OPENBLAS_NUM_THREADS=1 $(VENV)/bin/python benchmarks/many.py
	@OPENBLAS_NUM_THREADS=1 $(VENV)/bin/python benchmarks/search.py --small

check: lint types arrows

lint: $(STAMP)
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .

# What follows folders, not setup.cfg, gets the import package as a tree of links.
links:
	rm -rf $(TYPES)
	mkdir -p $(TYPES)/cpubisect
	for file in bisect/*; do ln -s "$(CURDIR)/$$file" $(TYPES)/cpubisect/; done
	for room in builders workloads web patches example; do ln -s "$(CURDIR)/$$room" $(TYPES)/cpubisect/; done

types: $(STAMP) links
	MYPYPATH=$(TYPES) $(VENV)/bin/mypy --explicit-package-bases -p cpubisect
	MYPYPATH=$(TYPES):benchmarks $(VENV)/bin/mypy --explicit-package-bases benchmarks

# Which room may import which is in setup.cfg.
arrows: $(STAMP) links
	PYTHONPATH=$(TYPES) $(VENV)/bin/lint-imports --no-logo

# The versions everybody develops with; the index is whichever one pip is set up for.
lock: $(STAMP)
	$(VENV)/bin/pip-compile --quiet --strip-extras --no-emit-index-url --no-emit-trusted-host --no-emit-find-links --extra dev \
		--output-file requirements.lock setup.cfg

system:
	scripts/install-packages

$(STAMP): setup.cfg requirements.lock scripts/packages.txt | system
	$(PYTHON) -m venv $(VENV)
	$(VENV)/bin/pip install --quiet --disable-pip-version-check -r requirements.lock
	$(VENV)/bin/pip install --quiet --disable-pip-version-check --no-deps -e .
	touch $(STAMP)

clean:
	rm -rf $(VENV) build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
