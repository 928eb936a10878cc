package mwp_test

import (
	"bufio"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/model-workspace-protocol/mwp"
	"github.com/model-workspace-protocol/mwp/cas"
	"github.com/model-workspace-protocol/mwp/eval/guard"
	"github.com/model-workspace-protocol/mwp/nodes/ir"
)

// verifyKey is the key of everybody in these tests.
const verifyKey = "everybody has the same long secret"

// verifyingTree is a tree with some guards that leave notes.
type verifyingTree struct {
	root string
	// notes is a directory in which each guard adds a line to a file of its own.
	notes string
}

const verifyingGuards = 6

// alone lets a script say in the file "twice" when it is not: a directory is made by one
// only. A script that is killed leaves its directory behind.
var alone = [2]string{"if ! mkdir \"$1.busy\"; then echo \"$1\" >> twice; exit 1; fi\n", "rmdir \"$1.busy\"\n"}

func newVerifyingTree(t *testing.T, alone [2]string) *verifyingTree {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("SKIPPED: the guards are scripts for sh")
	}
	dir := t.TempDir()
	v := &verifyingTree{root: filepath.Join(dir, "tree"), notes: filepath.Join(dir, "notes")}
	files := map[string]string{
		".mwp/config.toml": "name = \"x\"\n[trust]\nallowed_guards = [\"./check.sh\"]\n", "x.go": "",
		"check.sh": "#!/bin/sh\ncd \"$MWP_TEST_NOTES\" || exit 1\n" + alone[0] + "echo began\necho run >> \"$1\"\necho goes on\n" + alone[1],
	}
	text := "---\nguards:\n"
	for i := range verifyingGuards {
		text += fmt.Sprintf("  - cmd: ./check.sh %d\n    cache_for: 1d\n    verified_paths: []\n", i)
	}
	files[".mwp-context.md"] = text + "---\nText.\n"
	for p, text := range files {
		p = filepath.Join(v.root, p)
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(v.notes, 0o755); err != nil {
		t.Fatal(err)
	}
	return v
}

func (v *verifyingTree) ledger() string { return filepath.Join(v.root, ".mwp", guard.LedgerName) }

// records returns what the ledger says, and fails when it says it badly. A ledger that
// nobody wrote yet says nothing.
func (v *verifyingTree) records(t *testing.T) map[cas.Key]int64 {
	t.Helper()
	b, err := os.ReadFile(v.ledger())
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	key, err2 := guard.OpenKey("", verifyKey)
	if err = errors.Join(err, err2); err != nil {
		t.Error(err)
		return nil
	}
	l := guard.NewLedger(key)
	if problem := l.Problem(b); problem != "" {
		t.Errorf("the ledger: %s", problem)
	}
	ran := map[cas.Key]int64{}
	for k, s := range l.Parse(b) {
		if s.Run == nil || !s.Run.Passed {
			t.Errorf("the record of %s is %+v", k, s)
			continue
		}
		ran[k] = s.Run.RanAt
	}
	return ran
}

func (v *verifyingTree) command(job int, env ...string) *exec.Cmd {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), fmt.Sprintf("MWP_TEST_WORKER=%d", job), "MWP_TEST_VERIFY=1", "MWP_TEST_ROOT="+v.root, "MWP_TEST_NOTES="+v.notes)
	cmd.Env = append(cmd.Env, env...)
	cmd.Stderr = os.Stderr
	return cmd
}

func verifier(root string) *mwp.Workspace {
	return mwp.Open(mwp.Options{Dir: root, Guards: mwp.GuardOptions{TrustKey: verifyKey, Env: os.Environ()}})
}

// workAtGuards is a process that verifies some times. It prints a line for whatever
// happens; one that begins with "wrong" says what should not.
func workAtGuards() {
	var mu sync.Mutex
	say := func(format string, args ...any) {
		mu.Lock()
		defer mu.Unlock()
		fmt.Printf(format+"\n", args...)
	}
	root := os.Getenv("MWP_TEST_ROOT")
	n, _ := strconv.Atoi(os.Getenv("MWP_TEST_MAPS"))
	w := verifier(root)
	defer w.Close()
	for range n {
		r, err := w.Verify(context.Background(), mwp.VerifyRequest{Jobs: 3, Watch: func(e mwp.GuardEvent) {
			if e.Ended == nil {
				say("goes on")
			} else {
				say("ended %s %s", strings.TrimPrefix(e.Ended.Key, "blake3:"), e.Ended.RanAt)
			}
		}})
		if err != nil {
			say("wrong: %v", err)
			continue
		}
		for _, d := range r.Notices {
			say("wrong: %s", d)
		}
		if !r.Report.OK() {
			say("wrong: %s", strings.ReplaceAll(string(mwp.VerifyText(&r.Report, false, true)), "\n", "; "))
		}
		if err := r.Record(); err != nil {
			say("wrong: %v", err)
		}
	}
	say("done")
}

// watchWorker runs a worker and hands on its lines until it ends. It is killed when kill
// says so.
func watchWorker(t *testing.T, cmd *exec.Cmd, line func(string) (kill bool)) (killed bool) {
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Error(err)
		return false
	}
	last := ""
	for lines := bufio.NewScanner(out); lines.Scan(); {
		last = lines.Text()
		if strings.HasPrefix(last, "wrong") {
			t.Errorf("a worker said: %s", last)
		}
		if line(last) && !killed {
			killed = true
			cmd.Process.Kill()
		}
	}
	if err := cmd.Wait(); err != nil && !killed {
		t.Errorf("a worker that nobody killed: %v", err)
	}
	if !killed && last != "done" {
		t.Errorf("a worker that nobody killed ended with %q", last)
	}
	return killed
}

// TestManyVerifiers: eight processes run the same guards again and again, while others
// ask for maps. No guard runs twice at the same time, the ledger can be read at every
// moment, and no record that was seen once is lost.
func TestManyVerifiers(t *testing.T) {
	const processes = 8
	times := 4
	if testing.Short() {
		times = 1
	}
	v := newVerifyingTree(t, alone)
	var workers, readers sync.WaitGroup
	var over atomic.Bool
	var maps, unsettled atomic.Int64
	for range 2 {
		readers.Go(func() {
			w := verifier(v.root)
			defer w.Close()
			seen, last := 0, map[cas.Key]int64{}
			for !over.Load() {
				now := v.records(t)
				for k, at := range last {
					if now[k] < at {
						t.Errorf("the record of %s was of %d and is of %d", k, at, now[k])
					}
				}
				last = now
				r, err := w.Map(context.Background(), mwp.Request{Target: filepath.Join(v.root, "x.go")})
				if err != nil && strings.Contains(err.Error(), "keeps changing") {
					unsettled.Add(1)
					continue
				}
				if err != nil {
					t.Errorf("map: %v", err)
					return
				}
				passed := strings.Count(string(r.Text), `"status": "`+ir.Passed+`"`)
				if passed < seen || r.ReadOnly {
					t.Errorf("the map has %d passed guards after one with %d; read-only %v", passed, seen, r.ReadOnly)
				}
				seen = passed
				maps.Add(1)
				if err := r.Record(); err != nil {
					t.Errorf("record: %v", err)
				}
			}
		})
	}
	for i := range processes {
		workers.Go(func() {
			watchWorker(t, v.command(i, fmt.Sprintf("MWP_TEST_MAPS=%d", times)), func(string) bool { return false })
		})
	}
	workers.Wait()
	over.Store(true)
	readers.Wait()
	if b, err := os.ReadFile(filepath.Join(v.notes, "twice")); err == nil {
		t.Errorf("guards that ran twice at the same time: %q", b)
	}
	runs := 0
	for i := range verifyingGuards {
		b, err := os.ReadFile(filepath.Join(v.notes, strconv.Itoa(i)))
		n := strings.Count(string(b), "\n")
		if runs += n; err != nil || n == 0 || n > processes*times {
			t.Errorf("guard %d ran %d times, want 1 to %d: %v", i, n, processes*times, err)
		}
	}
	if n := len(v.records(t)); n != verifyingGuards {
		t.Errorf("%d records, want %d", n, verifyingGuards)
	}
	t.Logf("%d runs for %d wanted; %d maps meanwhile, %d times the records kept changing", runs, processes*times*verifyingGuards, maps.Load(), unsettled.Load())
	v.sound(t)
}

// sound checks that the tree's cache is.
func (v *verifyingTree) sound(t *testing.T) {
	t.Helper()
	report, err := cas.OpenArea(filepath.Join(v.root, ".mwp", "cache"), time.Now).Fsck()
	if err != nil || len(report.Problems) > 0 {
		t.Errorf("fsck: %v %v", err, report.Problems)
	}
}

// TestKilledVerifiers kills verifiers at random moments. After each of them the ledger
// can be read and has every run of which an end was reported; nothing is locked, and at
// the end everything can be verified.
func TestKilledVerifiers(t *testing.T) {
	kills := int64(40)
	if testing.Short() {
		kills = 6
	}
	v := newVerifyingTree(t, [2]string{})
	var killed, ended atomic.Int64
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), uint64(i)))
			for round := 0; killed.Load() < kills; round++ {
				// Every guard says that it begins, writes two lines and ends.
				left := rng.IntN(4 * verifyingGuards)
				want := map[cas.Key]int64{}
				if watchWorker(t, v.command(i*1000+round, "MWP_TEST_MAPS=2"), func(line string) bool {
					if f := strings.Fields(line); len(f) == 3 && f[0] == "ended" {
						ended.Add(1)
						k, err := hex.DecodeString(f[1])
						at, err2 := time.Parse(time.RFC3339Nano, f[2])
						if err = errors.Join(err, err2); err != nil {
							t.Error(err)
						}
						want[cas.Key(k)] = at.UnixNano()
					}
					left--
					return left < 0
				}) {
					killed.Add(1)
				}
				got := v.records(t)
				for k, at := range want {
					if got[k] < at {
						t.Errorf("the run of %s that ended at %d is lost: the ledger has one of %d", k, at, got[k])
					}
				}
			}
		})
	}
	wg.Wait()
	t.Logf("%d processes killed, %d ends of runs reported", killed.Load(), ended.Load())
	v.sound(t)
	watchWorker(t, v.command(9999, "MWP_TEST_MAPS=1"), func(string) bool { return false })
	if n := len(v.records(t)); n != verifyingGuards {
		t.Errorf("%d records, want %d", n, verifyingGuards)
	}
}
