# The main commands. Each creates .venv first, with the versions of constraints.txt.
# With another Python, in a second environment: make test PYTHON=python3.12 VENV=.venv-3.12
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
TRANSFORMER := $(VENV)/.transformer
PLUGINS := $(VENV)/.plugins
DOCTREES := docs/site/.doctrees
RAY := $(VENV)/.ray
TESTED := transformer lightgbm text bridges implicit graph llm
# Many tests start Python, which reads compiled code faster, and writes none where PYTHONDONTWRITEBYTECODE is set. The tests
# of a file share what is made once for them: a worker has neighbouring ones, and takes over some of another's in the end.
PYTEST := $(BIN)/python -m compileall -q recx && OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n auto --dist worksteal

.PHONY: news news-transformer test test-all test-plugins lint docs bench bench-ranking clean

news: $(STAMP) ## run the main job on a generated news site; make news ARGS="dataset.path=DIR" for real clicks
	$(BIN)/python -m recx +experiment=news $(ARGS)

news-transformer: $(TRANSFORMER) ## run the main job with a Transformer among the retrievers; installs PyTorch
	$(BIN)/python -m recx +experiment=news_transformer $(ARGS)

test: $(STAMP) ## run the fast tests
	$(PYTEST) $(ARGS)

test-all: $(RAY) docs ## build the site and run every test, including the slow ones; installs Ray
	$(PYTEST) -m "slow or not slow" $(ARGS)

test-plugins: $(PLUGINS) ## check the types and run the tests of the plugins
	$(BIN)/mypy $(foreach name,$(TESTED),plugins/recx-$(name)/recx_$(name))
	$(PYTEST) $(foreach name,$(TESTED),plugins/recx-$(name)/tests) $(ARGS)

lint: $(STAMP) ## check style, formatting, types and imports between packages
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# Sphinx warns of a page when it reads it: after a failure all are read again, or the next build would find nothing wrong.
docs: $(STAMP) ## build the site into docs/site, and run its tutorials; python -m recx docs opens it
	$(BIN)/sphinx-build -W --keep-going -q -b html -d $(DOCTREES) -c docs/sphinx docs docs/site \
		|| { rm -rf $(DOCTREES); exit 1; }

bench: $(STAMP) ## measure speed and memory, on the data in ../shared/data if present
	$(BIN)/python benchmarks/run.py $(ARGS)

bench-ranking: $(STAMP) ## measure the ranking stage: tools, agents, documents, one fit of the linear ranker
	for name in tools agents rerank linear; do $(BIN)/python benchmarks/$$name.py || exit 1; done

clean: ## remove what the commands above created, except runs
	-git clean -fdXq docs # the pages that are made, and the site
	rm -rf .venv .venv-* build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache

$(STAMP): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' \
		|| { echo "recx needs Python 3.11, 3.12 or 3.13: make PYTHON=python3.12 ..." >&2; exit 2; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip uninstall -qq --yes recx # what recx-lab was called; -qq: silent where it is not installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $@

$(TRANSFORMER): $(STAMP) plugins/recx-transformer/pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e plugins/recx-transformer
	@touch $@

$(RAY): $(STAMP)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev,ray]'
	@touch $@

$(PLUGINS): $(TRANSFORMER) $(foreach name,lightgbm text bridges implicit graph llm,plugins/recx-$(name)/pyproject.toml)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt \
		-e plugins/recx-lightgbm -e 'plugins/recx-text[test]' -e plugins/recx-bridges -e plugins/recx-implicit \
		-e plugins/recx-graph -e plugins/recx-llm
	@touch $@
