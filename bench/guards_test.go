package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/model-workspace-protocol/mwp"
)

// TestGateGuardSystemCalls holds T2 for a map with fifty guards: few system calls beyond
// those of mwp version and the leaves, no directory, no process, and the user's key read
// once.
func TestGateGuardSystemCalls(t *testing.T) {
	l := gateLab(t)
	if err := straced(); err != nil {
		t.Skipf("SKIPPED: system calls are not counted here: %v", err)
	}
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skipf("SKIPPED: the guards are scripts: %v", err)
	}
	tr, err := newTree(filepath.Join(l.dir, "tree"), guardShape(1))
	if err != nil {
		t.Fatal(err)
	}
	l.atHome()
	user := filepath.Join(l.dir, "home", "state", "mwp")
	// The slot is written in this process, whose clock for files is ahead, so that nobody
	// has to wait until they are believed.
	ws := mwp.Open(mwp.Options{
		Dir: tr.root, Now: func() time.Time { return time.Now().Add(time.Hour) },
		Guards: mwp.GuardOptions{UserDir: user, Env: os.Environ(), Now: time.Now},
	})
	defer ws.Close()
	report, err := ws.Verify(context.Background(), mwp.VerifyRequest{Targets: []string{tr.target}, Jobs: 2})
	if err != nil || !report.Report.OK() {
		t.Fatalf("verify: %v", err)
	}
	if err := os.RemoveAll(tr.cache()); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		r, err := ws.Map(context.Background(), mwp.Request{Target: tr.target})
		if err == nil {
			err = r.Record()
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if said, err := l.mwp(tr, "map", "-v", tr.target); err != nil || !strings.Contains(said, "served from its slot") {
		t.Fatalf("the program does not find the slot: %v, %s", err, said)
	}
	version, err := trace(l.dir, tr.root, l.env, l.binary("mwp"), "version")
	if err != nil {
		t.Fatal(err)
	}
	warm, err := trace(l.dir, tr.root, l.env, l.binary("mwp"), "map", tr.target)
	if err != nil {
		t.Fatal(err)
	}
	log, err := os.ReadFile(filepath.Join(l.dir, "strace.txt"))
	if err != nil {
		t.Fatal(err)
	}
	slot, _, err := onlySlot(tr)
	if err != nil {
		t.Fatal(err)
	}
	got, limit := warm.own(), warmCallLimit(version, slot, tr)
	t.Logf("%d system calls, limit %d: version %d, %d leaves; beyond version %s", got, limit, version.own(), len(slot.Leaves), warm.beyond(version))
	if got > limit {
		t.Errorf("a warm map makes %d system calls, want at most %d: beyond version %s", got, limit, warm.beyond(version))
	}
	if len(warm.listed) > 0 {
		t.Errorf("a warm map reads the directories %q", warm.listed)
	}
	opened, looked := 0, 0
	for line := range strings.Lines(string(log)) {
		switch {
		case strings.Contains(line, "openat(") && strings.Contains(line, "\""+filepath.Join(user, "key")+"\""):
			opened++
		case strings.Contains(line, "guards.cache.json"):
			looked++
		}
	}
	if opened != 1 || looked != 1 {
		t.Errorf("the key is opened %d times, and there are %d calls about the records, want 1 and 1", opened, looked)
	}
	if n := warm.all["execve"]; n != 1 {
		t.Errorf("a warm map starts %d processes", n-1)
	}
}
