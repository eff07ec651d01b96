# The entry point for all tasks. The scripts in tools/ do the work. `make` lists the targets.
.PHONY: help setup develop demo test quick docs lint format wheel bench clean distclean
.DEFAULT_GOAL := help

# Open MPI refuses to run as root, which is usual in containers, unless both variables are set.
export OMPI_ALLOW_RUN_AS_ROOT = 1
export OMPI_ALLOW_RUN_AS_ROOT_CONFIRM = 1

help: ## list the targets
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 18

setup: ## install what is missing: system packages, .venv, ADIOS2, this package
	@tools/setup.sh

develop: ## like setup, but use the Python sources in place
	@tools/setup.sh --editable

demo: setup ## compute a turbulent flow in a minute and draw pictures
	@tools/demo.sh

test: setup ## run all C++ and Python tests
	@tools/test.sh

quick: setup ## run some fast tests of each part, without those in C++
	@tools/test.sh --quick

docs: setup ## build the documentation: build/docs/html/index.html
	@tools/docs.sh

lint: setup ## run ruff, mypy, clang-format, clang-tidy
	@tools/lint.sh

format: setup ## fix format and style with ruff and clang-format
	@tools/lint.sh --fix

wheel: setup ## build a wheel: install it with pip, without a compiler
	@tools/wheel.sh

bench: setup ## measure input and output in some minutes: a report in bench-output
	@tools/bench.sh

clean: ## remove build results (keep .venv and the ADIOS2 cache)
	rm -rf build demo-output docs/reference/generated .venv/tailrace-sources

distclean: clean ## remove build results, .venv and .venv-docs
	rm -rf .venv .venv-docs
