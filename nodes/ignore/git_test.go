package ignore

import (
	"bytes"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

var (
	rounds = flag.Int("rounds", 60, "scratch trees of the comparison with git, some 300 decisions each")
	seed   = flag.Uint64("seed", 0, "seed of the comparison with git, 0 for one from the clock")
)

// scratch is a repository whose work tree is filled anew for each question.
type scratch struct {
	t   testing.TB
	dir string
}

func newScratch(t testing.TB) *scratch {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("NOT CHECKED: there is no git to compare with")
	}
	if runtime.GOOS != "linux" {
		t.Skip("NOT CHECKED: the names need a file system that takes any byte")
	}
	r := &scratch{t, t.TempDir()}
	r.git(nil, "init", "-q")
	return r
}

func (r *scratch) git(stdin []byte, args ...string) []byte {
	r.t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = r.dir
	cmd.Stdin = bytes.NewReader(stdin)
	// No file of the user's takes part.
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + r.dir + "/.git", "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" + os.DevNull}
	out, err := cmd.Output()
	// check-ignore exits with 1 when nothing is ignored.
	if e, ok := err.(*exec.ExitError); ok && (e.ExitCode() != 1 || len(e.Stderr) > 0) || err != nil && !ok {
		r.t.Fatalf("git %q: %v: %s", args, err, e.Stderr)
	}
	return out
}

// fill replaces the work tree by some directories and ignore files.
func (r *scratch) fill(files map[string]string, dirs []string) {
	r.t.Helper()
	entries, err := os.ReadDir(r.dir)
	if err != nil {
		r.t.Fatal(err)
	}
	for _, e := range entries {
		if e.Name() != ".git" {
			if err := os.RemoveAll(filepath.Join(r.dir, e.Name())); err != nil {
				r.t.Fatal(err)
			}
		}
	}
	for _, d := range dirs {
		if err := os.MkdirAll(filepath.Join(r.dir, d), 0o777); err != nil {
			r.t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(r.dir, gitExclude), nil, 0o666); err != nil {
		r.t.Fatal(err)
	}
	for f, text := range files {
		if err := os.WriteFile(filepath.Join(r.dir, f), []byte(text), 0o666); err != nil {
			r.t.Fatal(err)
		}
	}
}

// answer is what check-ignore tells about a path; all empty for no match.
type answer struct{ Source, Line, Pattern string }

func (r *scratch) ask(paths []string) []answer {
	r.t.Helper()
	// Without "./", a ':' at the beginning would be magic.
	list := "./" + strings.Join(paths, "\x00./") + "\x00"
	out := r.git([]byte(list), "-c", "core.ignoreCase=false", "check-ignore", "--no-index", "--stdin", "-z", "--verbose", "--non-matching")
	fields := strings.Split(string(out), "\x00")
	if len(fields) != 4*len(paths)+1 {
		r.t.Fatalf("git answers with %d fields for %d paths", len(fields), len(paths))
	}
	var answers []answer
	for i, p := range paths {
		if fields[4*i+3] != "./"+p {
			r.t.Fatalf("git answers for %q, want %q", fields[4*i+3], p)
		}
		answers = append(answers, answer{fields[4*i], fields[4*i+1], fields[4*i+2]})
	}
	return answers
}

// compare asks git and us about every path, of which those in dirs and above them
// are directories, and reports how many were decided and how many ignored.
func (r *scratch) compare(files map[string]string, dirs, paths []string) (decided, ignored int) {
	r.t.Helper()
	r.fill(files, dirs)
	s := pushAll(files)
	isDir := map[string]bool{}
	for _, d := range dirs {
		for ; d != "."; d = filepath.Dir(d) {
			isDir[d] = true
		}
	}
	for i, want := range r.ask(paths) {
		d := s.DecideWithParents(paths[i], isDir[paths[i]])
		got := answer{}
		if d.Verdict != NoMatch {
			got = answer{d.Source, strconv.Itoa(d.Line), d.Pattern}
			decided++
		}
		if d.Verdict == Ignored {
			ignored++
		}
		if got != want || (d.Verdict == Included) != strings.HasPrefix(want.Pattern, "!") {
			r.t.Errorf("%q (directory: %v) with %q: got %v by %q, want %q", paths[i], isDir[paths[i]], files, d.Verdict, got, want)
		}
	}
	return decided, ignored
}

// TestAgreesWithGit compares the deciding file and line for random paths and
// random ignore files in several directories.
func TestAgreesWithGit(t *testing.T) {
	r := newScratch(t)
	if *seed == 0 {
		*seed = uint64(time.Now().UnixNano())
	}
	t.Logf("-seed %d -rounds %d", *seed, *rounds)
	var asked, decided, ignored int
	for i := range *rounds {
		g := newGenerator(*seed + uint64(i))
		files, dirs, paths := g.tree()
		d, n := r.compare(files, dirs, paths)
		asked, decided, ignored = asked+len(paths), decided+d, ignored+n
		if t.Failed() {
			t.Fatalf("round %d; again with -seed %d -rounds 1", i, *seed+uint64(i))
		}
	}
	t.Logf("%d paths: %d ignored, %d included, %d without a match", asked, ignored, decided-ignored, asked-decided)
	if ignored < asked/20 || decided-ignored < asked/50 || asked-decided < asked/20 {
		t.Errorf("of %d paths %d are decided and %d ignored: the generator has lost its aim", asked, decided, ignored)
	}
}

// TestWalkAgrees: a walk that reads ignore files on its way down, and does not look
// into what is ignored, comes to the same decisions as all files at once.
func TestWalkAgrees(t *testing.T) {
	for seed := range uint64(20) {
		files, _, paths := newGenerator(seed).tree()
		all := pushAll(files)
		for _, path := range paths {
			if got, want := walk(files, path), all.DecideWithParents(path, false); got != want {
				t.Errorf("seed %d: a walk to %q with %q decides %+v, want %+v", seed, path, files, got, want)
			}
		}
	}
}

func walk(files map[string]string, path string) Decision {
	s := Stack{}.Push(".", gitExclude, Parse([]byte(files[gitExclude])))
	s = s.Push(".", ".gitignore", Parse([]byte(files[".gitignore"])))
	for i := range len(path) {
		if path[i] != '/' {
			continue
		}
		dir := path[:i]
		if d := s.Decide(dir, true); d.Verdict == Ignored {
			return d
		}
		s = s.Push(dir, dir+"/.gitignore", Parse([]byte(files[dir+"/.gitignore"])))
	}
	return s.Decide(path, false)
}

// TestClassesAgreeWithGit compares every byte with every named class.
func TestClassesAgreeWithGit(t *testing.T) {
	r := newScratch(t)
	var paths []string
	for c := 1; c < 256; c++ {
		if c != '/' && c != '.' {
			paths = append(paths, string([]byte{byte(c)}))
		}
		if c != '/' {
			paths = append(paths, string([]byte{'x', byte(c)}))
		}
	}
	for _, class := range classes {
		r.compare(map[string]string{".gitignore": "[[:" + class.name + ":]]\n[!x][![:" + class.name + ":]x]\nx[![:" + class.name + ":]]"}, nil, paths)
	}
}

func FuzzAgreesWithGit(f *testing.F) {
	f.Add([]byte("*.x\n!a\n/b/\n"), "a/b\nb/\nc/d.x")
	f.Add([]byte("a/**/b\n[]-a]\n\\!x\n"), "a/b\n]\n!x")
	f.Add([]byte("a**/b\n**\\/c\r\n[[:digit:]-]\\ "), "ab\nax/y/b\n- ")
	r := newScratch(f)
	f.Fuzz(func(t *testing.T, text []byte, list string) {
		var dirs, paths []string
		for _, p := range strings.Split(list, "\n") {
			p, isDir := strings.CutSuffix(p, "/")
			if !plain(p) || slices.Contains(paths, p) || len(paths) == 20 {
				continue
			}
			paths = append(paths, p)
			if isDir {
				dirs = append(dirs, p)
			}
		}
		if len(paths) == 0 {
			return
		}
		(&scratch{t, r.dir}).compare(map[string]string{".gitignore": string(text)}, dirs, paths)
	})
}

// plain reports whether a path can be made and asked about.
func plain(path string) bool {
	if strings.Contains(path, "\x00") || len(path) > 1000 {
		return false
	}
	for name := range strings.SplitSeq(path, "/") {
		if name == "" || name == "." || name == ".." || len(name) > 200 || strings.HasPrefix(strings.ToLower(name), ".git") {
			return false
		}
	}
	return true
}
