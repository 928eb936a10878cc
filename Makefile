.PHONY: check test bench release release-check

# What CI runs.
check:
	bash .ci/run

test:
	go test ./...

# The table of the README: paired runs on generated trees.
bench:
	go run ./bench

# The archives of a release, in dist: of the tag that is checked out, or of
# VERSION=v1.2.3 for trying. ONLY=linux/amd64,darwin/arm64 makes some of them.
release:
	go run ./cmd/mwp-release -version "$(VERSION)" -only "$(ONLY)" -o dist

# Builds all of it twice, in two directories with empty build caches, and compares every
# byte; then installs both programs from a module proxy. It takes a quarter of an hour.
release-check:
	go run ./cmd/mwp-release -check -version "$(or $(VERSION),v0.0.0-check)" -only "$(ONLY)"
	go test . -count=1 -run TestInstall -install-all
