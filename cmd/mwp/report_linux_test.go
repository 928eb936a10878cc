package main

import (
	"bytes"
	"context"
	"strings"
	"testing"
)

// TestReportToTerminal holds that a page is never written to a terminal that nobody
// named.
func TestReportToTerminal(t *testing.T) {
	master, terminal, err := openTerminal()
	if err != nil {
		t.Skipf("NOT TESTED: a test cannot make a terminal here: %v", err)
	}
	defer master.Close()
	defer terminal.Close()
	project(t, small)
	var stderr bytes.Buffer
	code := run(context.Background(), []string{"report"}, strings.NewReader(""), terminal, &stderr, func(string) string { return "" })
	if code != 2 || !strings.Contains(stderr.String(), "mwp report -o map.html") {
		t.Errorf("report to a terminal: exit status %d and %q, want 2 and a hint that names -o", code, stderr.String())
	}
}
