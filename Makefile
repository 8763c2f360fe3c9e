# Everything a developer and CI run. `make` alone lists it.

GO ?= go
# How long each fuzz target runs in `make fuzz`.
FUZZTIME ?= 20s

.DEFAULT_GOAL := help

.PHONY: help
help: ## List the targets
	@awk 'BEGIN {FS = ":.*## "} /^[a-z-]+:.*## / {printf "  %-8s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: run
run: ## Serve the embedded sample on http://127.0.0.1:8080
	$(GO) run ./cmd/openapi-server

.PHONY: build
build: ## Build bin/openapi-server
	$(GO) build -o bin/ ./cmd/openapi-server

.PHONY: test
test: ## Run all tests with the race detector
	$(GO) test -race ./...

.PHONY: lint
lint: ## Check formatting, module files and code (tools are pinned in tools/go.mod)
	$(GO) mod tidy -diff
	cd tools && $(GO) mod tidy -diff
	$(GO) tool -modfile=tools/go.mod golangci-lint run ./...

.PHONY: bench
bench: ## Compare with the peers, in one run, and print the ratios
	$(GO) run ./benchmarks

.PHONY: fuzz
fuzz: ## Run every fuzz target for FUZZTIME (default 20s)
	@set -e; for package in $$($(GO) list ./...); do \
		for target in $$($(GO) test -list '^Fuzz' $$package | grep '^Fuzz' || true); do \
			echo "$$package $$target"; \
			$(GO) test -run '^$$' -fuzz "^$$target$$" -fuzztime $(FUZZTIME) $$package; \
		done; \
	done
