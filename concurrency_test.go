package mwp_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/model-workspace-protocol/mwp"
	"github.com/model-workspace-protocol/mwp/cas"
	"github.com/model-workspace-protocol/mwp/nodes"
)

// TestMain lets the test binary play a second process: tests that need one run
// it again with MWP_TEST_WORKER set.
func TestMain(m *testing.M) {
	if job := os.Getenv("MWP_TEST_WORKER"); job != "" {
		work(job)
		return
	}
	os.Exit(m.Run())
}

// workerTargets are what every worker asks for, again and again.
var workerTargets = []string{"", "a/x.go", "a/b/x.go", "a/b/c/x.go", "a/b/c", "d/x.go", "d/e/f.go"}

// work asks for maps until it has asked often enough, and prints one line for
// each wrong answer.
func work(job string) {
	root, n := os.Getenv("MWP_TEST_ROOT"), 0
	n, _ = strconv.Atoi(os.Getenv("MWP_TEST_MAPS"))
	seed, _ := strconv.ParseUint(job, 10, 64)
	rng := rand.New(rand.NewPCG(seed, 3))
	want := map[string][]byte{}
	for range n {
		target := workerTargets[rng.IntN(len(workerTargets))]
		q := mwp.Request{Target: target, NoRoot: true, Format: nodes.Format(rng.IntN(2))}
		if target != "" {
			q.Target = filepath.Join(root, target)
		}
		r, err := mwp.Open(mwp.Options{Dir: root}).Map(context.Background(), q)
		if err != nil {
			fmt.Println("error:", err)
			continue
		}
		key := fmt.Sprint(target, q.Format)
		if want[key] == nil {
			b, err := os.ReadFile(filepath.Join(os.Getenv("MWP_TEST_WANT"), strings.ReplaceAll(key, "/", "_")))
			if err != nil {
				fmt.Println("error:", err)
				return
			}
			want[key] = b
		}
		if !bytes.Equal(r.Text, want[key]) {
			fmt.Printf("wrong answer for %s (served %v)\n", key, r.Served)
		}
		fmt.Println("ok")
		r.Record()
	}
	fmt.Println("done")
}

// TestManyProcesses: 16 processes ask for maps of the same and of different
// targets over one cache, while another process's share of the work, trimming
// down to nothing, goes on and processes are killed at random. Every answer that
// comes is right, and the cache is sound at the end.
func TestManyProcesses(t *testing.T) {
	maps, kills := 1000, 100
	if testing.Short() {
		maps, kills = 40, 8
	}
	dir := t.TempDir()
	root, wantDir := filepath.Join(dir, "tree"), filepath.Join(dir, "want")
	os.Mkdir(wantDir, 0o755)
	for p, text := range map[string]string{
		".mwp/config.toml": "name = \"x\"\ndescription = \"d\"\n", "a/.mwp-context.md": "A\n", "a/b/.mwp-context.md": "B " + strings.Repeat("long text ", 300) + "\n",
		"a/b/c/.mwp-context.md": "C\n", "d/.mwp-context.md": "---\nlayer: 3\n---\nD\n", "a/b/c/x.go": "", "a/b/x.go": "", "a/x.go": "", "d/x.go": "", "d/e/f.go": "",
	} {
		p = filepath.Join(root, p)
		os.MkdirAll(filepath.Dir(p), 0o755)
		if err := os.WriteFile(p, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, target := range workerTargets {
		for f := range nodes.Format(2) {
			q := mwp.Request{Target: target, NoRoot: true, Format: f}
			if target != "" {
				q.Target = filepath.Join(root, target)
			}
			r, err := mwp.Open(mwp.Options{Dir: root, CacheDir: filepath.Join(dir, "other")}).Map(context.Background(), q)
			if err != nil {
				t.Fatal(err)
			}
			os.WriteFile(filepath.Join(wantDir, strings.ReplaceAll(fmt.Sprint(target, f), "/", "_")), r.Text, 0o644)
		}
	}

	const processes, batch = 16, 20
	var answers, killed atomic.Int64
	var wg sync.WaitGroup
	for i := range processes {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), uint64(i)))
			// Each batch is a process of its own, so that a killed one is followed by
			// another that finds what it left behind.
			for round := 0; answers.Load() < int64(maps) || killed.Load() < int64(kills); round++ {
				// A victim is killed somewhere between two of its answers.
				killAt := -1
				if killed.Load() < int64(kills) && rng.IntN(2) == 0 {
					killAt = rng.IntN(batch)
				}
				cmd := exec.Command(os.Args[0])
				cmd.Env = append(os.Environ(), fmt.Sprintf("MWP_TEST_WORKER=%d", i*1000+round), "MWP_TEST_ROOT="+root, "MWP_TEST_WANT="+wantDir, fmt.Sprintf("MWP_TEST_MAPS=%d", batch))
				out, err := cmd.StdoutPipe()
				if err != nil {
					t.Error(err)
					return
				}
				cmd.Stderr = os.Stderr
				if err := cmd.Start(); err != nil {
					t.Error(err)
					return
				}
				n, last := 0, ""
				for lines := bufio.NewScanner(out); lines.Scan(); {
					if last = lines.Text(); last != "ok" && last != "done" {
						t.Errorf("a worker said: %s", last)
					}
					if last == "ok" {
						answers.Add(1)
						n++
					}
					if n == killAt {
						cmd.Process.Kill()
					}
				}
				if err := cmd.Wait(); err != nil {
					killed.Add(1)
				}
				if killAt < 0 && last != "done" {
					t.Errorf("a worker that nobody killed ended with %q", last)
				}
			}
		})
	}
	stop := make(chan struct{})
	var side sync.WaitGroup
	side.Go(func() {
		// A clock far ahead makes everything old enough to go.
		area := cas.OpenArea(filepath.Join(root, ".mwp", "cache"), func() time.Time { return time.Now().Add(100 * 24 * time.Hour) })
		for {
			select {
			case <-stop:
				return
			default:
				if _, err := area.Trim(cas.TrimOptions{MaxSize: 1}); err != nil {
					t.Errorf("trim: %v", err)
				}
			}
		}
	})
	wg.Wait()
	close(stop)
	side.Wait()
	t.Logf("%d right answers, %d processes killed", answers.Load(), killed.Load())
	report, err := cas.OpenArea(filepath.Join(root, ".mwp", "cache"), time.Now).Fsck()
	if err != nil || len(report.Problems) > 0 {
		t.Errorf("fsck: %v %v", err, report.Problems)
	}
}
