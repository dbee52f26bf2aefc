# `make help` lists the targets. Most of them call `steer`; the names are those of other operator projects.

.DEFAULT_GOAL := help
.PHONY: help dev check test manifests generate install uninstall run docker-build docker-push deploy undeploy

help: ## Show this help
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-14s %s\n", $$1, $$2}'

dev: ## Run a cluster on this machine and the operator, restarted on every save
	steer dev

check: ## Lint, check format, types, and whether the manifests are up to date
	ruff check .
	ruff format --check .
	mypy
	test ! -d manifests || steer manifests --check

test: ## Run the tests; they need no cluster
	pytest -q

manifests: ## Write the CRDs, RBAC roles, webhooks and the Deployment
	steer manifests

generate: manifests ## The same as manifests: there is no generated code

install: ## Create or update the CRDs in the cluster
	steer install

uninstall: ## Delete the CRDs from the cluster
	steer uninstall

run: ## Run the operator on this machine, against the cluster of the kubeconfig
	steer run --dev

docker-build: ## Build the image $(IMG)
	docker build -t $(IMG) .

docker-push: ## Push the image $(IMG)
	docker push $(IMG)

deploy: ## Deploy the operator as $(IMG)
	steer deploy --image $(IMG)

undeploy: ## Remove the operator from the cluster
	steer undeploy
