package main

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// The gates of the program itself, by counts. Those of the engine are in the root
// package's gates_test.go.

// gateLab is a lab with the program built.
func gateLab(t *testing.T) *lab {
	t.Helper()
	if testing.Short() {
		t.Skip("builds the program")
	}
	l, err := newLab(&config{runs: 1, files: smallFiles, seed: 1}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.close() })
	root, err := moduleRoot()
	if err != nil {
		t.Fatal(err)
	}
	if err := l.goBuild(root, "mwp", "./cmd/mwp"); err != nil {
		t.Fatal(err)
	}
	return l
}

// TestGateInitialised holds that no package does work at start that is not on the
// list, because every start pays for it. The list is for Linux on amd64; other
// systems initialise other parts of the standard library.
func TestGateInitialised(t *testing.T) {
	l := gateLab(t)
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		t.Skip("SKIPPED: the list of initialised packages is for linux/amd64")
	}
	list, err := os.ReadFile(filepath.Join("testdata", "initialised.txt"))
	if err != nil {
		t.Fatal(err)
	}
	allowed := map[string]bool{}
	for line := range strings.Lines(string(list)) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			allowed[line] = false
		}
	}
	cmd := exec.Command(l.binary("mwp"), "version")
	cmd.Env = append(slices.Clone(l.env), "GODEBUG=inittrace=1")
	var said strings.Builder
	cmd.Stderr = &said
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(said.String()) {
		name, _, ok := strings.Cut(strings.TrimPrefix(line, "init "), " @")
		if !ok {
			continue
		}
		// The standard library's belong to the Go version, not to us.
		if first, _, _ := strings.Cut(name, "/"); !strings.Contains(first, ".") {
			name = "std " + name
		}
		if _, ok := allowed[name]; !ok {
			t.Errorf("%s is initialised at start and not in testdata/initialised.txt: %s", name, strings.TrimSpace(line))
		}
		allowed[name] = true
	}
	for name, seen := range allowed {
		if !seen && !strings.HasPrefix(name, "std ") {
			t.Errorf("testdata/initialised.txt lists %s, which is not initialised any more", name)
		}
	}
}

// TestGateLinked holds what the program never links (architecture, principle 5).
func TestGateLinked(t *testing.T) {
	root, err := moduleRoot()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("go", "list", "-deps", "./cmd/mwp")
	cmd.Dir, cmd.Env = root, append(os.Environ(), "CGO_ENABLED=0")
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	deps := strings.Fields(string(out))
	if len(deps) < 10 {
		t.Fatalf("%d packages are linked", len(deps))
	}
	for _, never := range []string{"net", "net/http", "github.com/go-git/", "google.golang.org/grpc", "github.com/charmbracelet/", "github.com/yuin/goldmark", "github.com/tiktoken-go/"} {
		for _, d := range deps {
			if d == never || strings.HasSuffix(never, "/") && strings.HasPrefix(d, never) {
				t.Errorf("cmd/mwp links %s", d)
			}
		}
	}
}

// TestGateSystemCalls holds T2: a warm map makes few system calls beyond those of
// mwp version, and reads no directory.
func TestGateSystemCalls(t *testing.T) {
	l := gateLab(t)
	if err := straced(); err != nil {
		t.Skipf("SKIPPED: system calls are not counted here: %v", err)
	}
	tr, err := newTree(filepath.Join(l.dir, "tree"), shape{seed: 1, files: 200, depth: depth, contexts: 5, contextSize: contextSize})
	if err != nil {
		t.Fatal(err)
	}
	// The slot is written in this process, whose clock is ahead, so that the program
	// finds files that are believed and nobody has to wait. The second map finds the
	// anchor's directory as the first one left it.
	for range 2 {
		if _, err := ask(tr); err != nil {
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
	slot, _, err := onlySlot(tr)
	if err != nil {
		t.Fatal(err)
	}
	if got, limit := warm.own(), warmCallLimit(version, slot, tr); got > limit {
		t.Errorf("a warm map makes %d system calls, want at most %d: beyond version %s", got, limit, warm.beyond(version))
	}
	if len(warm.listed) > 0 {
		t.Errorf("a warm map reads the directories %q", warm.listed)
	}
	if err := os.RemoveAll(tr.cache()); err != nil {
		t.Fatal(err)
	}
	cold, err := trace(l.dir, tr.root, l.env, l.binary("mwp"), "map", tr.target)
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range cold.listed {
		if !tr.within(dir) {
			t.Errorf("a cold map reads the directory %s", dir)
		}
	}
}
