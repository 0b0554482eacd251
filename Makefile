PYTHON ?= $(shell command -v python3.11 || command -v python3)
BIN := .venv/bin
STAMP := .venv/.installed
CORE := .venv/.installed-core
DEMO := .venv/.installed-demo
# Three workers on two cores, because many tests wait for a server; only `make system` needs Schemathesis' plugin.
PYTEST := $(BIN)/python -m pytest -n 3 --dist loadgroup
QUICK := $(PYTEST) -p no:schemathesis
# Images of Python often set it: then every server that a test starts would compile all modules again.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help install demo test system long kernels lint coverage faults docs figures bench screenshots versions package clean

help: ## List the targets
	@grep -E '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## (.*)/\1|\2/' \
		| awk -F'|' '{ printf "make %-12s %s\n", $$1, $$2 }'

install: $(STAMP) ## Create .venv and install fairbai and the development tools into it

$(STAMP): pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	touch $@

# The demo installs much less than development needs, unless that is there already, and begins with the least.
$(CORE): pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@echo 'Installing fairbai into .venv; this takes about half a minute.'
	test $(STAMP) -nt pyproject.toml || $(BIN)/python -m pip install --quiet --editable .
	touch $@

$(DEMO): $(CORE)
	@echo 'Installing what the report needs; this takes about half a minute.'
	test $(STAMP) -nt pyproject.toml || $(BIN)/python -m pip install --quiet --editable '.[report,wireless]'
	touch $@

demo: $(CORE) ## Show what fairbai does: a live A/B test, then the paper's evaluation
	$(BIN)/python examples/ab_test.py
	@$(MAKE) --no-print-directory $(DEMO)
	$(BIN)/fairbai reproduce all --runs 100 --output reproduction

test: $(STAMP) ## Run lint and the tests that every change must pass
	$(MAKE) --jobs 2 lint kernels
	$(QUICK) -m "not system and not long"

system: $(STAMP) ## Run the tests of whole systems: browser, crashes, clusters, packages, notebooks, site
	$(PYTEST) -m system

long: $(STAMP) ## Run the long tests: thousands of instances more against the oracles
	$(PYTEST) -m long

# An hour: make faults SECONDS=3600
SECONDS ?= 600
faults: $(STAMP) ## Kill and freeze workers, databases and networks under load, ten minutes per database
	$(BIN)/python -m tests.faults $(SECONDS) $(SEED)

kernels: $(STAMP) ## Compile the kernels that the tests share
	$(BIN)/python -m tests.compile

lint: $(STAMP) ## Check style, types and import directions
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# One case of every test: the others reach hardly a line more.
coverage: $(STAMP) ## Measure the coverage, with the JIT off so that kernels are traced too
	NUMBA_DISABLE_JIT=1 FAIRBAI_TEST_CASES=1 $(QUICK) -m "not system and not long and not slow_without_jit" --cov

# The variable: else the theme warns at every build of MkDocs 2, which pyproject.toml excludes.
docs: $(STAMP) ## Build the documentation into site/; a broken link or a missing reference fails
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build

figures: $(STAMP) ## Draw the figures of the documentation anew
	$(BIN)/python docs/figures.py

bench: $(STAMP) ## Measure fairbai against its peers
	$(BIN)/python -m benchmarks

screenshots: $(STAMP) ## Take pictures of the pages and of the web shop into docs/images
	$(BIN)/python -m tests.browser.screenshots docs/images/dashboard
	$(BIN)/python -m tests.browser.shop_picture docs/images/examples

versions: $(STAMP) ## Run the core of the tests with the oldest and the newest allowed core dependencies
	$(BIN)/python -m tests.packaging.versions

package: $(STAMP) ## Build wheel and sdist into dist/, and try them on every Python of this machine
	$(BIN)/python -m tests.packaging

clean: ## Remove everything that the other targets create
	rm -rf .venv .venv-* build dist reproduction site .coverage .coverage.* .hypothesis .schemathesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	find src tests benchmarks examples docs -type d -name __pycache__ -prune -exec rm -rf {} + 2>/dev/null || true
