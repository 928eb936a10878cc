package nodes

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/model-workspace-protocol/mwp/cas"
	"github.com/model-workspace-protocol/mwp/eval"
	"github.com/model-workspace-protocol/mwp/graph"
)

// resolving is a node that resolves paths, so that a test can: leaves are read by
// the evaluator only. Its paths are joined by NUL.
type resolving struct{ Paths string }

var resolvingKind = graph.Define(graph.Definition[[]resolved, resolving]{
	Name: "resolving", Version: 1, Order: 1,
	Params: func(c *cas.Coder, n *resolving) { c.String(&n.Paths) },
	Value: func(c *cas.Coder, v *[]resolved) {
		cas.Slice(c, v, func(c *cas.Coder, r *resolved) {
			c.String(&r.Path)
			c.Uint8((*uint8)(&r.Type))
			c.Bool(&r.Escapes)
			c.Bool(&r.Loop)
		})
	},
})

func (resolving) Kind() *graph.Kind { return resolvingKind }

func (n resolving) Compute(r graph.Reader) ([]resolved, error) {
	paths := strings.Split(n.Paths, "\x00")
	dirs := make([]string, len(paths))
	for i := range dirs {
		dirs[i] = "."
	}
	return resolveAll(r, dirs, paths)
}

// FuzzResolve builds a tree of links from the input and compares where paths lead
// with what the kernel says. Only a path that leaves the root on its way is another
// matter: it is refused even if it came back, and here it cannot come back, as
// nothing outside has a name that occurs.
func FuzzResolve(f *testing.F) {
	if runtime.GOOS != "linux" {
		f.Skip("other systems follow another number of links")
	}
	f.Add([]byte("dafb dblc../a lca/.."), "b/c/b")
	f.Add([]byte("lab lba"), "a")
	f.Add([]byte("dald.. lca/d"), "c/a/d/c")
	f.Add([]byte("dadbld../.. lca/b/d"), "c/./a//b/../b/d")
	f.Add([]byte("l/a/ lb/a"), "b/c")
	f.Add([]byte("lab lbc/. lcd/ fd"), "a")
	f.Add([]byte("ladbfc la../.. lb../root"), "a/b")
	f.Fuzz(func(t *testing.T, program []byte, path string) {
		if len(program) > 200 || len(path) > 100 || strings.Trim(path, "abcd./") != "" || strings.HasPrefix(path, "/") {
			t.Skip()
		}
		outer, err := filepath.EvalSymlinks(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		root := filepath.Join(outer, "root")
		if err := os.Mkdir(root, 0o755); err != nil {
			t.Fatal(err)
		}
		plant(root, program)
		paths := []string{path, path + "/..", "a/" + path, "a", "b/c", "c", "d/../d"}
		e := eval.New(eval.Config{World: eval.NewWorld(root, time.Now), Kinds: append(graph.Leaves(), resolvingKind), Store: cas.NewMemory()})
		v, err := e.Eval(context.Background(), resolving{strings.Join(paths, "\x00")})
		if err != nil {
			t.Fatal(err)
		}
		for i, got := range v.([]resolved) {
			if why := disagrees(root, paths[i], got); why != "" {
				t.Errorf("%q in %q leads to %+v, and %s", paths[i], program, got, why)
			}
		}
	})
}

// plant makes what each word of a program says: "da" a directory a, in which the
// rest of the word goes on, "fb" a file b, "lc" a link c to the rest of the word,
// where "/" first stands for the root's absolute path. What is there is left as it is.
func plant(root string, program []byte) {
	for _, word := range strings.Fields(string(program)) {
		dir := root
		for len(word) > 1 {
			op, name := word[0], word[1:2]
			word = word[2:]
			if strings.Trim(name, "abcd") != "" {
				break
			}
			at := filepath.Join(dir, name)
			switch op {
			case 'd':
				if os.Mkdir(at, 0o755) == nil {
					dir = at
				}
			case 'f':
				os.WriteFile(at, []byte("x"), 0o644)
			case 'l':
				target := word
				word = ""
				if strings.Trim(target, "abcd./") != "" || target == "" {
					break
				}
				if target[0] == '/' {
					target = root + target
				}
				os.Symlink(target, at)
			}
		}
	}
}

// disagrees says what the system makes of a path when that is something else.
func disagrees(root, path string, got resolved) string {
	full := root + "/" + path
	fi, err := os.Stat(full)
	real, realErr := filepath.EvalSymlinks(full)
	switch {
	case got.Escapes:
		if realErr == nil && (real == root || strings.HasPrefix(real, root+"/")) {
			return "the system finds it inside, at " + real
		}
	case got.Loop:
		if !errors.Is(err, syscall.ELOOP) {
			return "the system does not see too many links"
		}
	case got.Type == graph.Absent:
		if err == nil || !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR) {
			return "the system finds something, or fails otherwise"
		}
	case err != nil || realErr != nil:
		return "the system fails: " + err.Error()
	case real != filepath.Clean(root+"/"+got.Path):
		return "the system finds it at " + real
	case fi.IsDir() != (got.Type == graph.Directory) || fi.Mode().IsRegular() != (got.Type == graph.Regular):
		return "the system finds a " + fi.Mode().String()
	}
	return ""
}

// TestResolveBounds is the kernel's bound on links, and paths that are one question.
func TestResolveBounds(t *testing.T) {
	root := t.TempDir()
	link := func(target, name string) {
		t.Helper()
		if err := os.Symlink(target, filepath.Join(root, name)); err != nil {
			t.Skip(err)
		}
	}
	if err := os.Mkdir(filepath.Join(root, "end"), 0o755); err != nil {
		t.Fatal(err)
	}
	names := make([]string, maxLinks+2)
	names[0] = "end"
	for i := 1; i < len(names); i++ {
		names[i] = strings.Repeat("x", i)
		link(names[i-1], names[i])
	}
	link("..", "end/up")
	link("self/x", "self")
	var probes, links atomic.Int64
	e := eval.New(eval.Config{
		World: eval.NewWorld(root, time.Now), Kinds: append(graph.Leaves(), resolvingKind), Store: cas.NewMemory(),
		Observe: func(ev eval.Event) {
			switch ev.Task.(type) {
			case graph.Probe:
				probes.Add(1)
			case graph.SymLink:
				links.Add(1)
			}
		},
	})
	paths := []string{names[maxLinks], names[maxLinks+1], "end/up/end", "end/up/up", "self", "end", "end/gone", ".", ""}
	v, err := e.Eval(context.Background(), resolving{strings.Join(paths, "\x00")})
	if err != nil {
		t.Fatal(err)
	}
	want := []resolved{
		{Path: "end", Type: graph.Directory}, {Loop: true}, {Path: "end", Type: graph.Directory}, {Path: "up", Type: graph.Absent},
		{Loop: true}, {Path: "end", Type: graph.Directory}, {Path: "end/gone", Type: graph.Absent}, {Path: ".", Type: graph.Directory}, {Path: ".", Type: graph.Directory},
	}
	for i, got := range v.([]resolved) {
		if got != want[i] {
			t.Errorf("%q leads to %+v, want %+v", paths[i], got, want[i])
		}
	}
	if n := links.Load(); n > int64(len(names)+2) {
		t.Errorf("%d links were read, there are %d", n, len(names)+1)
	}
}
