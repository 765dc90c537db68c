# A convenience on top of pip: each target makes .venv and installs what it needs when that is missing.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: demo test soak lint bench docs

$(READY): pyproject.toml constraints.txt
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "Installing what Olu needs into $(VENV); one to three minutes."
	@$(BIN)/python -m pip install -qq --disable-pip-version-check -c constraints.txt -e ".[train,text,eval,serve,studio-https,hub,media,espeak,watch,watermark,docs,dev]"
	@touch $(READY)

# From a made corpus to a voice that speaks, in a few minutes on two cores.
demo: $(READY)
	$(BIN)/python dev/demo.py

lint: $(READY)
	$(BIN)/ruff format --check --quiet .
	$(BIN)/ruff check --quiet .
	$(BIN)/mypy
	$(BIN)/python dev/complexity.py

# Lint, types and tests with reduced counts. One thread per worker; a third fills two cores while others wait for processes.
# The order of files is that of tests/conftest.py: the longest first.
test: lint
	OMP_NUM_THREADS=1 OMP_WAIT_POLICY=passive $(BIN)/pytest -q -n 3 --dist loadfile --no-loadscope-reorder

# The full counts: kills, fuzz. Takes long.
soak: $(READY)
	OLU_SOAK=1 OMP_NUM_THREADS=1 $(BIN)/pytest -q -n 2 --dist loadfile --no-loadscope-reorder

bench: $(READY)
	$(BIN)/python benchmarks/bench.py

# The document site, in build/site; python -m http.server -d build/site shows it.
docs: $(READY)
	$(BIN)/mkdocs build --strict --quiet
