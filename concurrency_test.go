package mwp_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
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
	"github.com/model-workspace-protocol/mwp/nodes/pin"
)

// TestMain lets the test binary play a second process: tests that need one run
// it again with MWP_TEST_WORKER set.
func TestMain(m *testing.M) {
	if job := os.Getenv("MWP_TEST_WORKER"); job != "" {
		switch {
		case os.Getenv("MWP_TEST_CHANGING") != "":
			workWhileFilesChange(job)
		case os.Getenv("MWP_TEST_VERIFY") != "":
			workAtGuards()
		default:
			work(job)
		}
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

// changingFiles is a tree in which five things change, each at once and by itself,
// so that it is always in one of 32 states. What changes lies where no scan looks
// for names: a directory that is listed while a name in it is replaced may come out
// without that name.
type changingFiles struct {
	root string
	// next is a directory on the same file system, where what replaces is made.
	next string
}

const switches = 5

func newChangingFiles(t *testing.T, dir string) *changingFiles {
	t.Helper()
	c := &changingFiles{root: filepath.Join(dir, "tree"), next: filepath.Join(dir, "next")}
	files := map[string]string{
		".mwp/config.toml": "name = \"x\"\ndescription = \"d\"\n", "a/b/x.go": "", "b/.mwp-context.yaml": "description: B\n", "b/c/x.go": "",
		"docs/v0/rules.md": "Old rules.\n", "docs/v1/rules.md": "---\nlayer: 1\n---\nNew rules.\n",
	}
	for i, m := range gitModules[:2] {
		for _, f := range moduleVariants[i] {
			files[m.file(f[0])] = f[1]
		}
		files[m.list()] = string(sumsOf(i))
	}
	for p, text := range files {
		p = filepath.Join(c.root, p)
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(c.next, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("../docs/context.md", filepath.Join(c.root, "a/.mwp-context.md")); err != nil {
		t.Skipf("SKIP: no symbolic links: %v", err)
	}
	for which := range switches {
		c.set(t, which, 0)
	}
	return c
}

// set puts one of the things that change into one of its two states.
func (c *changingFiles) set(t *testing.T, which, state int) {
	t.Helper()
	imports := "---\nimports:\n  - workspace: docs/current/rules.md\n  - workspace: docs/style.md#Tone\n  - git: " + gitRefs[0].key + "\n---\n"
	lock := pin.Lock{}
	lock.Set(pin.Record{Key: gitRefs[0].key, Kind: pin.Tag, Commit: gitModules[state].commit, Tree: cas.Sum(sumsOf(state)).String()})
	link := fmt.Sprintf("v%d", state)
	path, text := "", ""
	switch which {
	case 0:
		path, text = "docs/context.md", imports+[]string{"One.\n", "Another text.\n"}[state]
	case 1:
		path, text = "docs/style.md", []string{"# Tone\n\nCalm.\n", "# Manner\n\nLoud.\n"}[state]
	case 2:
		path = "docs/current"
	case 3:
		path, text = ".mwp/modules.lock", string(pin.AppendLock(nil, lock))
	case 4:
		path, text = ".gitignore", []string{"", "/b\n"}[state]
	}
	next := filepath.Join(c.next, "next")
	err := os.WriteFile(next, []byte(text), 0o644)
	if path == "docs/current" {
		os.Remove(next)
		err = os.Symlink(link, next)
	}
	if err == nil {
		err = os.Rename(next, filepath.Join(c.root, path))
	}
	if err != nil {
		t.Error(err)
	}
}

// changingQuestions are what is asked meanwhile.
func changingQuestions() []question {
	lint := question{kind: "lint", lint: mwp.LintRequest{Format: nodes.ReportJSON}}
	targets := question{kind: "targets", targets: mwp.TargetsRequest{JSON: true}}
	qs := []question{lint, targets}
	for _, target := range []string{"", "a/b/x.go", "a", "b/c/x.go"} {
		q := question{kind: "map", target: target}
		q.NoRoot = true
		qs = append(qs, q)
	}
	return qs
}

// answers returns a digest of the answer in each state, by question. It leaves the
// tree in state 0.
func (c *changingFiles) answers(t *testing.T, cache string) []map[string]bool {
	t.Helper()
	qs := changingQuestions()
	all := make([]map[string]bool, len(qs))
	for i := range all {
		all[i] = map[string]bool{}
	}
	for state := 1<<switches - 1; state >= 0; state-- {
		for which := range switches {
			c.set(t, which, state>>which&1)
		}
		for i, q := range qs {
			text, err := q.ask(c.root, mwp.Options{CacheDir: cache, Fresh: true})
			if err != nil {
				t.Fatalf("state %b: %s: %v", state, q, err)
			}
			all[i][cas.Sum([]byte(text)).String()] = true
		}
	}
	return all
}

// askChanging asks one question and says what is wrong with the answer, "" for
// nothing. That a file changed during every attempt to read it is no answer, and no
// wrong one.
func askChanging(root string, i int, all []map[string]bool) string {
	q := changingQuestions()[i]
	text, err := q.ask(root, mwp.Options{})
	switch {
	case err != nil && strings.Contains(err.Error(), "keeps changing"):
		return ""
	case err != nil:
		return fmt.Sprintf("%s: %v", q, err)
	case !all[i][cas.Sum([]byte(text)).String()]:
		return fmt.Sprintf("%s: the answer is none of the %d right ones: %q", q, len(all[i]), text)
	}
	return ""
}

// workWhileFilesChange is a process that asks, and prints a line for each answer.
func workWhileFilesChange(job string) {
	var all []map[string]bool
	b, err := os.ReadFile(os.Getenv("MWP_TEST_WANT"))
	if err == nil {
		err = json.Unmarshal(b, &all)
	}
	if err != nil {
		fmt.Println(err)
		return
	}
	n, _ := strconv.Atoi(os.Getenv("MWP_TEST_MAPS"))
	seed, _ := strconv.ParseUint(job, 10, 64)
	rng := rand.New(rand.NewPCG(seed, 5))
	for range n {
		wrong := askChanging(os.Getenv("MWP_TEST_ROOT"), rng.IntN(len(all)), all)
		if wrong == "" {
			wrong = "ok"
		}
		fmt.Println(wrong)
	}
}

// TestAskingWhileFilesChange: 16 processes and as many goroutines ask for maps,
// lint reports and targets while files are replaced. Every answer is that of some
// state of the tree, and when all is quiet the cache gives the last state's.
func TestAskingWhileFilesChange(t *testing.T) {
	const processes = 16
	asks := 15
	if testing.Short() {
		asks = 4
	}
	dir := t.TempDir()
	c := newChangingFiles(t, dir)
	all := c.answers(t, filepath.Join(dir, "other"))
	b, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	want := filepath.Join(dir, "want")
	if err := os.WriteFile(want, b, 0o644); err != nil {
		t.Fatal(err)
	}
	// Changes keep step with answers: readers get their turn, however slow they are.
	answered := make(chan bool, 16)
	var answers, changes atomic.Int64
	said := func(line string) {
		if line != "ok" && line != "" {
			t.Errorf("while files change: %s", line)
		}
		answers.Add(1)
		select {
		case answered <- true:
		default:
		}
	}
	var askers, writer sync.WaitGroup
	writer.Go(func() {
		rng := rand.New(rand.NewPCG(1, 6))
		for range answered {
			c.set(t, rng.IntN(switches), rng.IntN(2))
			changes.Add(1)
		}
	})
	for i := range processes {
		askers.Go(func() {
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), fmt.Sprintf("MWP_TEST_WORKER=%d", i), "MWP_TEST_CHANGING=1", "MWP_TEST_ROOT="+c.root, "MWP_TEST_WANT="+want, fmt.Sprintf("MWP_TEST_MAPS=%d", asks))
			cmd.Stderr = os.Stderr
			out, err := cmd.StdoutPipe()
			if err == nil {
				err = cmd.Start()
			}
			if err != nil {
				t.Error(err)
				return
			}
			lines := bufio.NewScanner(out)
			for lines.Buffer(nil, 1<<20); lines.Scan(); {
				said(lines.Text())
			}
			if err := cmd.Wait(); err != nil {
				t.Errorf("worker %d: %v", i, err)
			}
		})
		askers.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(i), 7))
			for range asks {
				said(askChanging(c.root, rng.IntN(len(all)), all))
			}
		})
	}
	askers.Wait()
	close(answered)
	writer.Wait()
	t.Logf("%d answers during %d changes", answers.Load(), changes.Load())
	if n := int64(2 * processes * asks); answers.Load() != n {
		t.Errorf("%d answers, want %d", answers.Load(), n)
	}
	for _, q := range changingQuestions() {
		fresh, err := q.ask(c.root, mwp.Options{CacheDir: filepath.Join(dir, "other"), Fresh: true})
		cached, err2 := q.ask(c.root, mwp.Options{})
		if err != nil || err2 != nil || fresh != cached {
			t.Errorf("%s, when all is quiet: %v %v\n got: %s\nwant: %s", q, err, err2, cached, fresh)
		}
	}
	report, err := cas.OpenArea(filepath.Join(c.root, ".mwp", "cache"), time.Now).Fsck()
	if err != nil || len(report.Problems) > 0 {
		t.Errorf("fsck: %v %v", err, report.Problems)
	}
}
