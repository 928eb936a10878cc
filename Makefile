.PHONY: check test bench

# What CI runs.
check:
	bash .ci/run

test:
	go test ./...

# The table of the README: paired runs on generated trees.
bench:
	go run ./bench
