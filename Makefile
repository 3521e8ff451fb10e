# Everything a person or CI does here. `make help` lists it.
# Needs: Debian 12, root (network namespaces), Rust, Go, Python 3.11. The rest is installed.

SHELL := /bin/bash
LAB := tests/lab/lab

.PHONY: help setup build demo test check unit scenarios lab lab-down bench fuzz clean

help: ## this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 14

setup: ## install the Debian packages that the lab and the tests need
	@tests/setup

build: ## build both binaries
	cargo build --workspace --locked

demo: setup ## the whole job on this machine: hosts become a running Kubernetes cluster (KEEP=1 leaves it up, KUBERNETES=1 shows it with kubectl)
	@KUBERNETES=$(KUBERNETES) tests/demo/run $(if $(KEEP),--keep)

test: setup ## every test; what CI runs
	@tests/run-all

check: ## format, lints, documentation
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --locked -- -D warnings
	RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --document-private-items --locked

unit: ## the tests beside the code, with no lab (as root: some start an sshd)
	cargo test --workspace --locked --lib --bins --test supervisor --test playbook --test cli

scenarios: setup build ## the end-to-end scenarios in the lab
	cargo test --workspace --locked --test scenarios -- --test-threads=4

lab: setup ## a site up to play with: hosts, a coordinator and an agent (make lab-down ends it)
	@tests/lab/try

lab-down: ## remove every trace of every lab
	@$(LAB) down --all

bench: setup ## speed, measured beside peers (docs/speed.md); builds its own binaries
	@trap 'code=$$?; $(LAB) down b-run >/dev/null 2>&1; exit $$code' EXIT; cargo bench --workspace --locked

clean: lab-down ## remove labs and build output (the cache of built parts stays)
	cargo clean
