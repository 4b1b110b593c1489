# The commands. `make` alone lists them. Each sets up what it needs the first time; later runs only compare hashes.

PYTHON ?= python3
SETUP = @$(PYTHON) calculator/bootstrap.py
PATH := $(CURDIR)/.venv/bin:$(CURDIR)/node_modules/.bin:$(PATH)
LOCK = uv pip compile --quiet --upgrade --universal --generate-hashes --no-header --no-annotate
FAST = not slow and not site and not browser and not full
# On every core at once; what measures time runs alone, afterwards.
CROWD = -n auto --dist worksteal

export PATH
export PYTHONPATH := $(CURDIR)/calculator
unexport PYTHONDONTWRITEBYTECODE # else every run compiles all tests anew

ORIGIN = $(shell git rev-parse --quiet --verify --abbrev-ref origin/main 2> /dev/null)

.DEFAULT_GOAL := help
.SUFFIXES:
.PHONY: help setup serve build test test-fast test-all test-estimator check check-data diff-data tables bench-browser lighthouse screenshots fmt lock clean

help: ## list the commands
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{ printf "  make %-15s %s\n", $$1, $$2 }'

setup: ## install what everything needs (Python, node, packages, a browser); the other commands do it by themselves
	$(SETUP) --browser --estimator

serve: ## build the site, serve it on a free local port, rebuild on change
	$(SETUP)
	@python calculator/web/assemble.py --serve

build: ## build the whole site into site/
	$(SETUP)
	@python calculator/web/assemble.py

test: ## everything that gates: checks, build, every test, the browser's included
	$(SETUP) --browser --estimator
	@$(MAKE) --no-print-directory check build test-estimator
	python -m pytest -m "not full" --durations=15

test-fast: ## the loop: tests that need no site and no browser (under a minute)
	$(SETUP)
	python -m pytest -q $(CROWD) -m "$(FAST) and not timed"
	python -m pytest -q -m "$(FAST) and timed"

test-all: ## `make test`, and the long ones: accessibility of every page, other browsers, Lighthouse
	$(SETUP) --browser --estimator --others
	@$(MAKE) --no-print-directory check build test-estimator
	python -m pytest --durations=15 -rs
	python calculator/web/audit.py

test-estimator: ## the estimator's tests on every other Python found (3.11 to 3.14)
	$(SETUP) --estimator
	@for python in .venv-3.*/bin/python; do [ -x "$$python" ] || continue; \
		echo "estimator on $$($$python --version)"; $$python -m pytest -q -m "$(FAST)" tests/unit || exit 1; done

check: ## formatting, lint, types, spelling, data, workflows
	$(SETUP)
	ruff format --check --quiet .
	ruff check --quiet .
	mypy
	tsc -p tsconfig.json
	codespell AGENTS.md CHANGELOG.md CONTRIBUTING.md docs/en calculator/*.py calculator/web/*.py calculator/web/*.mjs .github/workflows
	zizmor --offline --quiet .github
	check-jsonschema --builtin-schema vendor.github-workflows .github/workflows/*.yml
	check-jsonschema --builtin-schema vendor.dependabot .github/dependabot.yml
	check-jsonschema --builtin-schema vendor.github-issue-forms .github/ISSUE_TEMPLATE/[!c]*.yml
	check-jsonschema --builtin-schema vendor.github-issue-config .github/ISSUE_TEMPLATE/config.yml
	python -m pipeline.spelling
	python -m pipeline check

check-data: ## only the data, and what changed since a commit (against=origin/main, where there is one)
	$(SETUP)
	@python -m pipeline check $(addprefix --against ,$(or $(against),$(ORIGIN)))

diff-data: ## what the data changes since a commit, in both languages (against=origin/main)
	$(SETUP)
	@python -m pipeline diff --against $(or $(against),origin/main)

tables: ## the generated tables of the guide, into build/includes/
	$(SETUP)
	@python -m pipeline tables --out build/includes

bench-browser: ## cold start in the browser against Pyodide as shipped, medians of 6
	$(SETUP) --browser
	@python calculator/web/assemble.py
	python calculator/web/bench_browser.py

lighthouse: ## Lighthouse as a phone on home, calculator and prices, both languages, medians of 3; fails below the bars
	$(SETUP) --browser
	@python calculator/web/assemble.py
	python calculator/web/audit.py

screenshots: ## pictures of the calculator, phone and desktop, both languages, into build/screenshots/
	$(SETUP) --browser
	@python calculator/web/assemble.py
	python calculator/web/screenshots.py

fmt: ## format, and mend what can be mended
	$(SETUP)
	ruff check --fix --quiet . || true
	ruff format --quiet .

lock: ## refresh every locked file from what it is made of
	$(SETUP)
	$(LOCK) --python-version 3.11 requirements.in --output-file requirements.txt
	$(LOCK) --python-version 3.11 --constraint requirements.txt requirements-estimator.in --output-file requirements-estimator.txt
	$(LOCK) --python-version 3.12 tests/takeaway/engines.in --output-file tests/takeaway/engines.txt
	$(LOCK) --python-version 3.12 --no-deps tests/takeaway/frameworks.in --output-file tests/takeaway/frameworks.txt
	npm update --package-lock-only
	cd calculator/web/lighthouse && npm update --package-lock-only --userconfig ../../../.npmrc

clean: ## remove what builds and tests made; what was installed stays
	rm -rf build site dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
