//go:build unix

package eval_test

import (
	"syscall"
	"testing"

	"github.com/model-workspace-protocol/mwp/graph"
)

// TestLeavesDoNotWaitForAPipe holds that no leaf opens a pipe: who does waits for
// somebody who writes to it.
func TestLeavesDoNotWaitForAPipe(t *testing.T) {
	b := newBench(t)
	if err := syscall.Mkfifo(b.path("pipe"), 0o644); err != nil {
		t.Skip("NOT TESTED: no pipes here:", err)
	}
	if got := b.read(graph.Content{Path: "pipe"}); got != (graph.ContentState{Type: graph.Other}) {
		t.Errorf("Content of a pipe = %+v", got)
	}
	if got := b.read(graph.List{Dir: ".", Filter: graph.Everything}).(graph.ListState); len(got.Names) != 1 || got.Names[0] != "pipe" {
		t.Errorf("everything beside a pipe = %+v", got)
	}
	ledger := &book{key: "k"}
	if got := b.record(ledger, "pipe", 1); got != (graph.RecordState{}) || ledger.parsed.Load() != 0 {
		t.Errorf("Record in a pipe = %+v", got)
	}
}
