package ignore

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	diff "github.com/google/go-cmp/cmp"
)

// pushAll stacks ignore files by their paths: those of the root first, and beside
// each other in the order of their names.
func pushAll(files map[string]string) Stack {
	var paths []string
	for p := range files {
		paths = append(paths, p)
	}
	slices.SortFunc(paths, func(a, b string) int {
		return cmp.Or(cmp.Compare(depth(a), depth(b)), cmp.Compare(a, b))
	})
	var s Stack
	for _, p := range paths {
		s = s.Push(dirOf(p), p, Parse([]byte(files[p])))
	}
	return s
}

// dirOf is the directory that an ignore file speaks for.
func dirOf(file string) string {
	if i := strings.LastIndexByte(file, '/'); i >= 0 && file != gitExclude {
		return file[:i]
	}
	return "."
}

// depth orders the files that can speak about one path.
func depth(file string) int {
	switch dir := dirOf(file); {
	case file == gitExclude:
		return 0
	case dir == ".":
		return 1
	default:
		return 2 + strings.Count(dir, "/")
	}
}

const gitExclude = ".git/info/exclude"

// TestCases holds 48 ignore files with git's answer for each path.
func TestCases(t *testing.T) {
	b, err := os.ReadFile("testdata/gitignore-cases.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		Name    string            `json:"name"`
		Files   map[string]string `json:"ignore_files"`
		Ignored map[string]bool   `json:"ignored"`
	}
	if err := json.Unmarshal(b, &cases); err != nil {
		t.Fatal(err)
	}
	if len(cases) != 48 {
		t.Errorf("%d cases, want 48", len(cases))
	}
	for _, c := range cases {
		s := pushAll(c.Files)
		for path, want := range c.Ignored {
			isDir := false
			for other := range c.Ignored {
				isDir = isDir || strings.HasPrefix(other, path+"/")
			}
			if got := s.DecideWithParents(path, isDir); (got.Verdict == Ignored) != want {
				t.Errorf("%s: DecideWithParents(%q, %v) = %+v with %q, want ignored %v", c.Name, path, isDir, got, c.Files, want)
			}
		}
	}
}

func TestDecision(t *testing.T) {
	s := pushAll(map[string]string{
		gitExclude:          "*.log\nonly\n",
		".gitignore":        "# logs\n!keep.log\r\n/out/  \n!in \n",
		".mwpignore":        "in\n",
		"sub/.gitignore":    "*.tmp\nx/y\n/z\n",
		"sub/.mwpignore":    "!a.tmp\n",
		"sub/d/.gitignore":  "\n\n!*.tmp\nout\n",
		"subway/.mwpignore": "*\n",
	})
	for _, tt := range []struct {
		path  string
		isDir bool
		want  Decision
	}{
		{".", true, Decision{}},
		{"", true, Decision{}},
		{"a", false, Decision{}},
		{"sub", true, Decision{}},
		{"a.log", false, Decision{Ignored, "a.log", gitExclude, 1, "*.log"}},
		{"sub/d/a.log", false, Decision{Ignored, "sub/d/a.log", gitExclude, 1, "*.log"}},
		{"keep.log", false, Decision{Included, "keep.log", ".gitignore", 2, "!keep.log"}},
		{"out", true, Decision{Ignored, "out", ".gitignore", 3, "/out/"}},
		{"out", false, Decision{}},
		{"sub/out", true, Decision{}},
		{"out/keep.log", false, Decision{Ignored, "out", ".gitignore", 3, "/out/"}},
		{"in", false, Decision{Ignored, "in", ".mwpignore", 1, "in"}},
		{"sub/a.tmp", false, Decision{Included, "sub/a.tmp", "sub/.mwpignore", 1, "!a.tmp"}},
		{"sub/b.tmp", false, Decision{Ignored, "sub/b.tmp", "sub/.gitignore", 1, "*.tmp"}},
		{"sub/d/b.tmp", false, Decision{Included, "sub/d/b.tmp", "sub/d/.gitignore", 3, "!*.tmp"}},
		{"b.tmp", false, Decision{}},
		{"sub/x/y", false, Decision{Ignored, "sub/x/y", "sub/.gitignore", 2, "x/y"}},
		{"x/y", false, Decision{}},
		{"sub/q/x/y", false, Decision{}},
		{"sub/z/a/b.tmp", false, Decision{Ignored, "sub/z", "sub/.gitignore", 3, "/z"}},
		{"sub/d/out/a/b", false, Decision{Ignored, "sub/d/out", "sub/d/.gitignore", 4, "out"}},
		{"subway/x", false, Decision{Ignored, "subway/x", "subway/.mwpignore", 1, "*"}},
		{"subway", true, Decision{}},
	} {
		if d := diff.Diff(tt.want, s.DecideWithParents(tt.path, tt.isDir)); d != "" {
			t.Errorf("DecideWithParents(%q, %v), -want +got:\n%s", tt.path, tt.isDir, d)
		}
	}
}

// TestDecideBelievesTheCaller: without parents, only the path itself is matched.
func TestDecideBelievesTheCaller(t *testing.T) {
	s := pushAll(map[string]string{".gitignore": "out/\n"})
	if got := s.Decide("out/x", false); got != (Decision{}) {
		t.Errorf("Decide(out/x) = %+v, want no match", got)
	}
	if got := s.Decide("a/out", true); got.Verdict != Ignored || got.Path != "a/out" {
		t.Errorf("Decide(a/out, true) = %+v, want it ignored", got)
	}
}

// TestPushKeepsTheOldStack: siblings in a walk push onto one stack.
func TestPushKeepsTheOldStack(t *testing.T) {
	base := Stack{}.Push(".", ".gitignore", Parse([]byte("x")))
	a := base.Push("a", "a/.gitignore", Parse([]byte("!x")))
	b := base.Push("b", "b/.gitignore", Parse([]byte("y")))
	for _, tt := range []struct {
		name, path string
		s          Stack
		want       Verdict
	}{
		{"base", "a/x", base, Ignored}, {"base", "b/y", base, NoMatch},
		{"a", "a/x", a, Included}, {"a", "b/x", a, Ignored}, {"a", "b/y", a, NoMatch},
		{"b", "b/y", b, Ignored}, {"b", "a/x", b, Ignored}, {"b", "a/y", b, NoMatch},
	} {
		if got := tt.s.Decide(tt.path, false).Verdict; got != tt.want {
			t.Errorf("%s.Decide(%q) = %v, want %v", tt.name, tt.path, got, tt.want)
		}
	}
	if got := base.Push("c", "c/.gitignore", Parse([]byte("# nothing\n"))); got != base {
		t.Error("pushing a file without patterns made a new stack")
	}
}

// TestPushCostsOneAllocation: a stack of any height grows without a copy.
func TestPushCostsOneAllocation(t *testing.T) {
	p := Parse([]byte(strings.Repeat("name\n*.x\n", 100)))
	s := Stack{}
	for range 100 {
		s = s.Push(".", ".gitignore", p)
	}
	if n := testing.AllocsPerRun(100, func() { sinkStack = s.Push(".", ".gitignore", p) }); n != 1 {
		t.Errorf("Push allocates %v times, want 1", n)
	}
	if n := testing.AllocsPerRun(100, func() { sinkDecision = s.DecideWithParents("a/b/c/d", false) }); n != 0 {
		t.Errorf("DecideWithParents allocates %v times, want 0", n)
	}
}

var (
	sinkStack    Stack
	sinkDecision Decision
)

func BenchmarkDecide(b *testing.B) {
	node := "node_modules/\ndist/\ncoverage\n*.log\nnpm-debug.log*\n.env\n.env.*\n!.env.example\n.DS_Store\n/build\n*.tsbuildinfo\n.next/\nout/\n.cache\n*.swp\n"
	python := "__pycache__/\n*.py[cod]\n*$py.class\n*.so\n.Python\nbuild/\ndist/\neggs/\n*.egg-info/\n*.egg\nMANIFEST\n*.manifest\n*.spec\nhtmlcov/\n.tox/\n.coverage\n.coverage.*\n*.cover\n.pytest_cache/\n*.mo\n*.pot\n*.log\ndb.sqlite3\ninstance/\ndocs/_build/\n.ipynb_checkpoints\n.env\n.venv\nvenv/\n/site\n.mypy_cache/\n"
	var dotnet strings.Builder
	for i := range 80 {
		fmt.Fprintf(&dotnet, "[Bb]in%d/\n*.user%d\n**/packages%d/*\n!name%d\n_UpgradeReport_Files%d/\n", i, i, i, i, i)
	}
	paths := []string{"src/app/main.ts", "src/app/components/list/list.component.ts", "README.md", "lib/core/error.log", "docs/guide/intro.md"}
	for _, bb := range []struct {
		name  string
		files map[string]string
	}{
		{"files=none", nil},
		{"files=node", map[string]string{".gitignore": node}},
		{"files=python", map[string]string{".gitignore": python}},
		{"files=node+exclude+2nested", map[string]string{gitExclude: "*.orig\n", ".gitignore": node, "src/.gitignore": "*.gen.ts\n", "src/app/.gitignore": "/tmp\n"}},
		{"files=400patterns", map[string]string{".gitignore": dotnet.String()}},
	} {
		s := pushAll(bb.files)
		b.Run(bb.name, func(b *testing.B) {
			for b.Loop() {
				for _, p := range paths {
					sinkDecision = s.Decide(p, false)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(paths)), "ns/path")
		})
	}
}

func BenchmarkDecideWithParents(b *testing.B) {
	s := pushAll(map[string]string{".gitignore": "node_modules/\ndist/\n*.log\n/build\n.env*\n!.env.example\n"})
	for b.Loop() {
		sinkDecision = s.DecideWithParents("src/app/components/list/list.component.ts", false)
	}
}

func BenchmarkParse(b *testing.B) {
	text := []byte("node_modules/\ndist/\n*.log\n# comment\n\n/build\n.env*\n!.env.example\n*.py[cod]\ndocs/**/*.md\n")
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		sinkStack = Stack{}.Push(".", ".gitignore", Parse(text))
	}
}
