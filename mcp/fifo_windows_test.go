package mcp

import "testing"

func fifo(t *testing.T, path string) {
	t.Helper()
	t.Skip("NOT CHECKED: there are no named pipes in directories here")
}
