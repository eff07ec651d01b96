# Everything starts here; the work is in tools/. `make` lists the targets.
.PHONY: help setup develop demo test lint format bench clean distclean
.DEFAULT_GOAL := help

# Open MPI refuses to run as root, as in containers, unless told twice.
export OMPI_ALLOW_RUN_AS_ROOT = 1
export OMPI_ALLOW_RUN_AS_ROOT_CONFIRM = 1

help: ## this list
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 18

setup: ## install what is missing: system packages, .venv, ADIOS2, this package
	@tools/setup.sh

develop: ## the same, with Python sources used in place: edit and run
	@tools/setup.sh --editable

demo: setup ## a turbulent flow in a minute, with pictures
	@tools/demo.sh

test: setup ## all C++ and Python tests
	@tools/test.sh

lint: setup ## ruff, mypy, clang-format, clang-tidy
	@tools/lint.sh

format: setup ## let ruff and clang-format mend what they can
	@tools/lint.sh --fix

bench: setup ## speed of the solver and of analyses
	@for file in benchmarks/solver.py benchmarks/analysis.py; do echo "== $$file"; .venv/bin/python "$$file" || exit 1; done

clean: ## remove what was built (.venv and the ADIOS2 cache stay)
	rm -rf build demo-output .venv/tailrace-sources

distclean: clean ## remove .venv too
	rm -rf .venv
