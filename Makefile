# Every target sets up what it needs in .venv; all that must be there is Python >= 3.11.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
DEMO   := $(VENV)/.demo-installed
DEV    := $(VENV)/.dev-installed
BENCH  := $(VENV)/.bench-installed
DATABASES := $(VENV)/.databases-installed
# An S3 server, for backups in buckets.
S3     := $(BIN)/versitygw
WEB    := $(VENV)/.web-installed
SITE   := $(VENV)/.site-installed
WORKERS ?= auto
PIP    := $(BIN)/python -m pip install -q --disable-pip-version-check
COMPILE := $(BIN)/uv pip compile -q --universal --python-version 3.11 --generate-hashes --custom-compile-command "make lock" pyproject.toml
# Dependency groups of pyproject.toml that are installed on top of dev.
EXTRA_GROUPS := bench databases web site

.DEFAULT_GOAL := help

SEED ?= 1
OPS ?= 2000
SECONDS ?= 300
# Versions beside the oldest one, and what is tested on them; `make test-pythons TESTS=` runs everything.
PYTHONS ?= 3.12 3.13 3.14
TESTS ?= tests/objects tests/schema tests/structural tests/cel tests/secrets tests/controller tests/testing

# What the dependencies are used for.
LOWEST_TESTS ?= tests/objects tests/protocol tests/transport tests/serving tests/client tests/webhook tests/controller tests/manager tests/cli tests/testing

.PHONY: help demo test test-pythons test-lowest test-databases test-web screenshots check scaffold-check control-plane real-cluster e2e-real e2e-short contract-real conformance examples-real examples-kopf controllers difference simulate simulate-binaries bench pictures docs site report sbom rehearse-release lock clean

help: ## Show this help
	@grep -hE '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-14s %s\n", $$1, $$2}'

demo: $(DEMO) ## Show the best of Steersman, without a cluster; ends by itself
	@$(BIN)/python -m tools.demo

test: $(DEV) ## Run all tests
	$(BIN)/pytest -q -n $(WORKERS)

test-pythons: $(DEV) ## Run core tests on other Pythons, which it finds or fetches: PYTHONS="3.14" TESTS=
	PYTHONS="$(PYTHONS)" $(BIN)/python -m tools.other_pythons -q -n $(WORKERS) $(TESTS)

test-lowest: $(DEV) ## Run tests with the lowest versions of all dependencies that are allowed
	$(BIN)/python -m tools.lowest_versions -q -n $(WORKERS) $(LOWEST_TESTS)

test-databases: $(DATABASES) $(S3) ## Test the database operators on real servers, which it fetches if need be
	STEERSMAN_DATABASES=1 $(BIN)/pytest -q -n $(WORKERS) $(wildcard examples/*/tests/databases)

test-web: $(WEB) ## Test the web view in a real Chromium, which it installs if it may (Debian, root)
	@command -v chromium >/dev/null || tools/install_chromium.sh
	STEERSMAN_WEB=1 $(BIN)/pytest -q -n $(WORKERS) tests/webview

screenshots: $(WEB) ## Write the pictures of the web view and of steer dev in docs/images
	@command -v chromium >/dev/null || tools/install_chromium.sh
	$(BIN)/python -m tools.screenshots
	PATH=$(CURDIR)/$(BIN):$$PATH $(BIN)/python -m tools.terminal_picture

check: $(DEV) ## Lint, format check, types, import rules
	$(BIN)/ruff check .
	$(BIN)/ruff check --config pyproject.toml examples
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	@for example in $(dir $(wildcard examples/*/pyproject.toml)); do \
		echo "mypy in $$example"; \
		(cd $$example && $(CURDIR)/$(BIN)/mypy --cache-dir $(CURDIR)/.mypy_cache/examples) || exit 1; \
	done
	$(BIN)/lint-imports --no-cache
	$(BIN)/pytest -q tests/architecture

scaffold-check: $(DEV) ## Begin a project in a fresh virtual environment and run its own checks (needs network)
	$(BIN)/python -m tools.scaffold_check

control-plane: $(DEV) ## Build a real kube-apiserver and etcd for tests (needs Go; once, minutes)
	@$(BIN)/python -m tools.control_plane build

real-cluster: $(DEV) ## Run a real single-node cluster until Ctrl-C (needs root, Go, Debian packages)
	@$(BIN)/python -m tools.real_cluster up

e2e-real: $(DATABASES) ## Deploy operators to real clusters, from scaffold to undeploy: SCENARIOS="fleet" (needs root, Go)
	@$(BIN)/python -m tools.real_cluster.scenarios $(SCENARIOS)

e2e-short: $(DEV) ## Two scenarios of e2e-real on one cluster, and its end by force; prints why where none can run
	@$(BIN)/python -m tools.real_cluster.scenarios --if-possible --together guide sharded killed

contract-real: $(DEV) ## Run the contract suite on a real kube-apiserver with its controllers: KUBERNETES=1.33 (needs Go)
	$(BIN)/python -m tools.control_plane --kubernetes "$(KUBERNETES)" run --controllers -- $(BIN)/pytest -q -rs tests/contract -k real
	$(BIN)/python -m tools.control_plane --kubernetes "$(KUBERNETES)" run -- $(BIN)/pytest -q -rs tests/contract/test_planning.py -k real

difference: $(DEV) ## Compare random operations with a real kube-apiserver: SEED=1 OPS=20000 (needs Go)
	$(BIN)/python -m tools.control_plane run -- $(BIN)/python -m tests.contract.difference --seed $(SEED) --ops $(OPS)

conformance: $(DEV) ## Run Kubernetes' conformance specs on a local cluster: FOCUS="sig-apps" (needs Go; about an hour)
	$(BIN)/python -m tools.conformance --focus "$(FOCUS)"

examples-real: $(DEV) ## Replay the READMEs of examples, each on a real kube-apiserver of its own (needs Go)
	@for example in custompod foobar kubewatch network project samplecontroller; do \
		$(BIN)/python -m tools.control_plane run --controllers -- $(BIN)/python -m tools.replay_examples $$example || exit 1; \
	done

examples-kopf: $(DEV) ## Replay the READMEs of examples with operators that are written with kopf
	$(BIN)/python -m bench.kopf.replay

controllers: $(DEV) ## Run the real kube-controller-manager on the embedded server (needs Go): SECONDS=300
	$(BIN)/python -m tools.controllers --seconds $(SECONDS)

simulate: $(DEV) ## Try every single fault at every step of the examples: EXAMPLES="custompod" for one of them
	$(BIN)/python -m tools.simulate_examples $(EXAMPLES)

simulate-binaries: $(DEV) ## Find known bugs of Go operators again by simulation: CASES="foo-rollout" (needs Go; minutes)
	$(BIN)/python -m tools.simulate_binaries $(CASES)

bench: $(BENCH) ## Measure beside other frameworks and print ratios
	$(BIN)/python -m bench

pictures: $(DEV) ## Draw the pictures of docs/architecture.md
	$(BIN)/python -m tools.architecture_pictures

docs: $(DEV) ## Run the code of the guides as tests
	$(BIN)/pytest -q docs README.md

site: $(SITE) ## Build the documentation site in build/site; a broken link is an error
	$(BIN)/python -m tools.site

report: $(DEV) ## Write the tables of docs/apiserver.md from replayed recordings
	$(BIN)/python -m tools.apiserver_report

sbom: $(DEV) ## Write the list of vendored libraries that is part of every wheel
	$(BIN)/python -m tools.sbom

rehearse-release: $(DEV) ## Do everything of a release except publishing: build twice, install by name, try (needs network)
	@$(BIN)/python -m tools.rehearse_release $(if $(TAG),--tag $(TAG)) $(if $(DIST),--dist $(DIST)) $(if $(filter no,$(CLUSTER)),--no-cluster)

lock: $(DEV) ## Renew the hash-locked requirement files (needs network)
	$(COMPILE) --group demo -o requirements/demo.txt
	@# Each file holds only the packages that the files below it lack, so each hash is in one file.
	bases=demo; for group in dev $(EXTRA_GROUPS); do \
		files=$$(printf 'requirements/%s.txt ' $$bases); \
		$(COMPILE) --group dev --group $$group $$(printf -- '--constraint %s ' $$files) -o requirements/$$group.txt \
			$$(sed -nE 's/^([a-z0-9._-]+)==.*/--no-emit-package \1/p' $$files) && \
		{ echo "-r $${bases##* }.txt"; sed '/^$$/,$$d' requirements/$$group.txt; } > requirements/$$group.new && \
		mv requirements/$$group.new requirements/$$group.txt || exit 1; \
		bases="demo dev"; \
	done

clean: ## Remove the virtual environment and caches
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit("Steersman needs Python 3.11 or newer; this is %s. Say: make PYTHON=python3.12 ..." % sys.version.split()[0] if sys.version_info < (3, 11) else 0)'
	@echo "setting up $(VENV)"
	@$(PYTHON) -m venv $(VENV)

$(DEMO): $(VENV)/bin/python requirements/demo.txt pyproject.toml
	@$(PIP) --require-hashes -r requirements/demo.txt
	@$(PIP) --no-deps --no-build-isolation -e .
	@touch $@

$(DEV): $(DEMO) requirements/dev.txt
	@$(PIP) --require-hashes -r requirements/dev.txt
	@touch $@

$(BENCH): $(DEV) requirements/bench.txt
	@$(PIP) --require-hashes -r requirements/bench.txt
	@touch $@

$(DATABASES): $(DEV) requirements/databases.txt
	@$(PIP) --require-hashes -r requirements/databases.txt
	@touch $@

$(S3): | $(DEV)
	@if command -v go >/dev/null; then GOBIN=$(abspath $(BIN)) go install github.com/versity/versitygw/cmd/versitygw@v1.8.0; \
	else echo "there is no Go: backups in buckets are not tested"; fi

$(WEB): $(DEV) requirements/web.txt
	@$(PIP) --require-hashes -r requirements/web.txt
	@touch $@

$(SITE): $(DEV) requirements/site.txt
	@$(PIP) --require-hashes -r requirements/site.txt
	@touch $@
