//go:build unix

package module

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/model-workspace-protocol/mwp/cas"
)

// child prepares a second process that fetches references; it kills itself before
// its kill-th change, if kill is not 0.
func (w *world) child(kill int, refs ...string) *exec.Cmd {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), quickRace, childEnv+"=in \n"+w.dir+"\n"+fmt.Sprint(kill)+"\n"+strings.Join(refs, "\n"))
	cmd.Stderr = os.Stderr
	return cmd
}

// together runs second processes that begin at the same time, and returns their
// output.
func together(t *testing.T, cmds []*exec.Cmd) []string {
	t.Helper()
	outs := make([]bytes.Buffer, len(cmds))
	var begin []io.Closer
	for i, cmd := range cmds {
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		begin = append(begin, in)
		cmd.Stdout = &outs[i]
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
	}
	for _, b := range begin {
		b.Close()
	}
	var out []string
	for i, cmd := range cmds {
		err := cmd.Wait()
		out = append(out, outs[i].String())
		if err != nil && cmd.ProcessState.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
			t.Errorf("process %d: %v", i, err)
		}
	}
	return out
}

// repositories makes four of them and returns the references of the modules that
// process i of the tests below wants: some everybody does, some few do.
func repositories(w *world) (wanted func(i int) []string) {
	var urls []string
	for i := range 4 {
		name := fmt.Sprint("m", i)
		urls = append(urls, w.serve(name, simple(name)))
	}
	return func(i int) []string {
		return []string{urls[0] + "@v1.0.0", urls[i%4] + "//pkg/a@v1.0.0", urls[(i+1)%4] + "@v1.0.0", urls[i%2+1] + "//pkg@v1.0.0"}
	}
}

// TestProcesses: sixteen processes fetch at the same time. Each module is fetched
// once, and no record is lost.
func TestProcesses(t *testing.T) {
	w := newWorld(t)
	wanted := repositories(w)
	all := map[string]bool{}
	var cmds []*exec.Cmd
	for i := range 16 {
		cmds = append(cmds, w.child(0, wanted(i)...))
		for _, r := range wanted(i) {
			all[r] = true
		}
	}
	for i, out := range together(t, cmds) {
		if out != strings.Repeat(" <nil>\n", 4) {
			t.Errorf("process %d: %s", i, out)
		}
	}
	calls := ""
	for i := range 4 {
		calls += w.calls(fmt.Sprint("m", i))
	}
	if n := strings.Count(calls, "\n"); n != len(all) {
		t.Errorf("%d fetches of %d modules:\n%s", n, len(all), calls)
	}
	w.complete(all)
}

// complete checks that exactly these modules are there, and nothing else.
func (w *world) complete(all map[string]bool) {
	w.t.Helper()
	want := map[string]bool{}
	for r := range all {
		want[r] = true
	}
	if diff := cmp.Diff(want, w.good()); diff != "" {
		w.t.Error(diff)
	}
	if problems, err := w.store.Check(w.t.Context()); err != nil || len(problems) > 0 {
		w.t.Errorf("Check = %v, %v", problems, err)
	}
	for name := range w.snapshot() {
		if strings.Contains(name, tempSuffix) {
			w.t.Errorf("%s is left", name)
		}
	}
}

// TestKilledProcesses: the same with processes that are killed somewhere. The
// others are not disturbed, and those that come after mend all.
func TestKilledProcesses(t *testing.T) {
	const seed = 11
	random := rand.New(rand.NewPCG(seed, seed))
	killed := 0
	for range 3 {
		w := newWorld(t)
		wanted := repositories(w)
		all := map[string]bool{}
		var cmds []*exec.Cmd
		for i := range 12 {
			kill := 0
			if i%3 != 0 {
				kill = 1 + random.IntN(14)
			}
			cmds = append(cmds, w.child(kill, wanted(i)...))
			for _, r := range wanted(i) {
				all[r] = true
			}
		}
		for i, out := range together(t, cmds) {
			if i%3 == 0 && out != strings.Repeat(" <nil>\n", 4) {
				t.Errorf("process %d: %q", i, out)
			}
			if cmds[i].ProcessState.ExitCode() < 0 {
				killed++
			}
		}
		for key, usable := range w.good() {
			if !usable {
				t.Errorf("%s passes for a module and is none", key)
			}
		}
		for i := range 4 {
			for _, r := range wanted(i) {
				w.must(r)
			}
		}
		w.must(w.serve("o", simple("o")) + "@v1.0.0")
		for i := range 16 {
			for _, r := range wanted(i) {
				all[r] = true
			}
		}
		all[w.serve("o", simple("o"))+"@v1.0.0"] = true
		w.complete(all)
	}
	if killed == 0 {
		t.Error("no process was killed, and the test tests nothing")
	}
	t.Logf("%d processes were killed", killed)
}

// TestOrphan: a process is killed while its mwp-git works. The next fetch does not
// wait for that, and what it still writes gets into nothing.
func TestOrphan(t *testing.T) {
	w := newWorld(t)
	r := simple("m")
	r.Behave = "hang ready"
	url := w.serve("m", r)
	for _, name := range []string{"ready", "go"} {
		if err := mkfifo(filepath.Join(w.dir, "m", name)); err != nil {
			t.Fatal(err)
		}
	}
	cmd := w.child(0, url+"@v1.0.0")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var orphan int
	fmt.Sscan(fifo(filepath.Join(w.dir, "m", "ready"), os.O_RDONLY, ""), &orphan)
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	cmd.Wait()
	defer syscall.Kill(orphan, syscall.SIGKILL)
	if err := syscall.Kill(orphan, 0); orphan == 0 || err != nil {
		t.Fatalf("the fetcher %d is gone, and the test tests nothing: %v", orphan, err)
	}
	w.serve("m", simple("m"))
	// The orphan writes while the next download is about to begin.
	w.store.Progress = func(line string) {
		if strings.HasPrefix(line, "fetching") {
			fifo(filepath.Join(w.dir, "m", "go"), os.O_WRONLY, "")
		}
	}
	w.must(url + "@v1.0.0")
	w.store.Progress = nil
	w.must(w.serve("o", simple("o")) + "@v1.0.0")
	if problems, err := w.store.Check(t.Context()); err != nil || len(problems) > 0 {
		t.Errorf("Check = %v, %v", problems, err)
	}
	if got := w.must(url + "@v1.0.0").Tree; got == "" {
		t.Error("no record")
	}
}

// TestNobodyWaits: the end of a process ends its mwp-git's input.
func TestNobodyWaits(t *testing.T) {
	w := newWorld(t)
	r := simple("m")
	r.Behave = "hang mindful"
	url := w.serve("m", r)
	if err := mkfifo(filepath.Join(w.dir, "m", "ready")); err != nil {
		t.Fatal(err)
	}
	cmd := w.child(0, url+"@v1.0.0")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	fifo(filepath.Join(w.dir, "m", "ready"), os.O_RDONLY, "")
	held := filepath.Join(w.dir, "m", "held")
	if _, ok, err := cas.TryLock(held); ok || err != nil {
		t.Fatalf("the fetcher is gone, and the test tests nothing: %v", err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	cmd.Wait()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	unlock, err := cas.Lock(ctx, held, nil)
	if err != nil {
		t.Fatalf("the fetcher is still there: %v", err)
	}
	unlock()
}

// TestWaiting: who waits for another process says so. The other one keeps its
// mwp-git's input open meanwhile.
func TestWaiting(t *testing.T) {
	w := newWorld(t)
	r := simple("m")
	r.Behave = "hang mindful"
	url := w.serve("m", r)
	for _, name := range []string{"ready", "go"} {
		if err := mkfifo(filepath.Join(w.dir, "m", name)); err != nil {
			t.Fatal(err)
		}
	}
	cmd := w.child(0, url+"@v1.0.0")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	fifo(filepath.Join(w.dir, "m", "ready"), os.O_RDONLY, "")
	var said []string
	w.store.Progress = func(line string) {
		said = append(said, line)
		fifo(filepath.Join(w.dir, "m", "go"), os.O_WRONLY, "")
	}
	o := w.fetch(url + "@v1.0.0")
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff([]string{"waiting for another process that fetches " + url}, said); diff != "" {
		t.Error(diff)
	}
	if o.Err != nil || o.Fetched {
		t.Errorf("%+v", o)
	}
}
