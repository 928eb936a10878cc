package guard

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/model-workspace-protocol/mwp/cas"
	"github.com/model-workspace-protocol/mwp/eval/state"
)

func trust(t testing.TB, p Personal, root string, tables cas.Digest) {
	t.Helper()
	if err := p.Trust(context.Background(), root, tables, Yes, testTime); err != nil {
		t.Fatal(err)
	}
}

func trustedAs(t testing.TB, p Personal, root string, tables cas.Digest) Verdict {
	t.Helper()
	v, err := p.Trusted(root, tables)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestWorkspaces(t *testing.T) {
	p := Personal{Dir: filepath.Join(t.TempDir(), "mwp")}
	one, two := cas.Sum([]byte("1")), cas.Sum([]byte("2"))
	if got := trustedAs(t, p, "/w", one); got != Unknown {
		t.Errorf("without a file: %v", got)
	}
	if _, err := os.Stat(p.Dir); !errors.Is(err, fs.ErrNotExist) {
		t.Error("reading made the directory")
	}
	trust(t, p, "/w", one)
	trust(t, p, "/w\xff", two)
	for _, c := range []struct {
		root   string
		tables cas.Digest
		want   Verdict
	}{
		{"/w", one, Yes}, {"/w", two, Outdated}, {"/w/", one, Unknown}, {"/W", one, Unknown}, {"/w/sub", one, Unknown}, {"/", one, Unknown},
		{"/w\xff", two, Yes}, {"/w\xfe", two, Unknown}, {"/w\ufffd", two, Unknown},
	} {
		if got := trustedAs(t, p, c.root, c.tables); got != c.want {
			t.Errorf("Trusted(%q, %s) = %v, want %v", c.root, c.tables, got, c.want)
		}
	}
	if err := p.Trust(context.Background(), "/w", one, Never, testTime); err != nil {
		t.Fatal(err)
	}
	if got := trustedAs(t, p, "/w", one); got != Never {
		t.Errorf("after saying never: %v", got)
	}
	if got := trustedAs(t, p, "/w", two); got != Outdated {
		t.Errorf("after saying never to other tables: %v", got)
	}
	trust(t, p, "/w", two)
	if got := trustedAs(t, p, "/w", two); got != Yes {
		t.Errorf("after trusting again: %v", got)
	}
	if err := p.Forget(context.Background(), "/w"); err != nil {
		t.Fatal(err)
	}
	if got := trustedAs(t, p, "/w", two); got != Unknown {
		t.Errorf("after forgetting: %v", got)
	}
	if got := trustedAs(t, p, "/w\xff", two); got != Yes {
		t.Errorf("the other after forgetting one: %v", got)
	}
	path := filepath.Join(p.Dir, workspacesName)
	want := `{
  "version": 1,
  "workspaces": [
    {
      "root": "/w` + "\ufffd" + `",
      "root_digest": "` + cas.Sum([]byte("/w\xff")).Tagged() + `",
      "trust_tables": "` + two.Tagged() + `",
      "decision": "yes",
      "decided_at": "2026-05-17T12:00:00.000Z"
    }
  ]
}
`
	if got := string(readFile(t, path)); got != want {
		t.Errorf("the file is\n%s\nwant\n%s", got, want)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 && runtime.GOOS != "windows" {
		t.Errorf("its mode is %v, %v", info.Mode(), err)
	}
}

func TestWorkspacesWithoutAPlace(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile(workspacesName, []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	var p Personal
	if v, err := p.Trusted("/w", cas.Digest{}); v != Unknown || err != nil {
		t.Errorf("Trusted = %v, %v", v, err)
	}
	if err := p.Trust(context.Background(), "/w", cas.Digest{}, Yes, testTime); !errors.Is(err, state.ErrUnwritable) {
		t.Errorf("Trust = %v", err)
	}
}

func TestWorkspacesBroken(t *testing.T) {
	p := Personal{Dir: t.TempDir()}
	d := cas.Sum(nil)
	trust(t, p, "/a", d)
	trust(t, p, "/b", d)
	path := filepath.Join(p.Dir, workspacesName)
	whole := string(readFile(t, path))
	list, _ := parseWorkspaces([]byte(whole))
	for _, c := range []struct {
		name, text string
		a, b       Verdict
	}{
		{"another root", strings.Replace(whole, `"/a"`, `"/c"`, 1), Unknown, Yes},
		{"another digest of a root", strings.Replace(whole, rootOf("/a"), rootOf("/c"), 1), Unknown, Yes},
		{"one twice", string(appendList(nil, workspacesList, []listed{list[0].listed, list[1].listed, list[0].listed})), twiceIs(list[0], "/a"), twiceIs(list[0], "/b")},
		{"cut off", whole[:len(whole)-100], Unknown, Unknown},
		{"empty", "", Unknown, Unknown},
		{"too long", whole + strings.Repeat(" ", maxWorkspaces), Unknown, Unknown},
	} {
		if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		a, err := p.Trusted("/a", d)
		b, _ := p.Trusted("/b", d)
		var f *state.FileError
		if !errors.As(err, &f) || f.Hint == "" || !strings.HasPrefix(f.Message, "the list of trusted workspaces: "+path+": ") {
			t.Errorf("%s: %v", c.name, err)
		}
		if c.name == "cut off" { // whichever came first in the file is whole
			if a == b || a == Outdated || b == Outdated {
				t.Errorf("cut off: %v and %v", a, b)
			}
		} else if a != c.a || b != c.b {
			t.Errorf("%s: %v and %v, want %v and %v", c.name, a, b, c.a, c.b)
		}
		trust(t, p, "/d", d)
		if got := trustedAs(t, p, "/d", d); got != Yes {
			t.Errorf("%s: after an update: %v", c.name, got)
		}
	}
	if got := namesIn(t, p.Dir); got != "lock workspaces.json workspaces.json.broken" {
		t.Errorf("the directory holds %s", got)
	}
}

func rootOf(root string) string { return cas.Digest(rootID(root)).Tagged() }

// twiceIs returns what is said of a root when one workspace is listed twice.
func twiceIs(t trusted, root string) Verdict {
	if t.id == rootID(root) {
		return Unknown
	}
	return Yes
}

func TestTrustAtOnce(t *testing.T) {
	p := Personal{Dir: t.TempDir()}
	d := cas.Sum(nil)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() { trust(t, p, fmt.Sprint("/w", i), d) })
	}
	wg.Wait()
	for i := range 8 {
		if got := trustedAs(t, p, fmt.Sprint("/w", i), d); got != Yes {
			t.Errorf("workspace %d: %v", i, got)
		}
	}
}

// FuzzWorkspaces: any file is read without a panic, and what is written after it is read
// as the same list.
func FuzzWorkspaces(f *testing.F) {
	p := Personal{Dir: f.TempDir()}
	trust(f, p, "/a", cas.Digest{1})
	trust(f, p, "/b\xff", cas.Digest{2})
	whole := readFile(f, filepath.Join(p.Dir, workspacesName))
	f.Add(whole)
	f.Add(whole[:len(whole)/2])
	f.Fuzz(func(t *testing.T, text []byte) {
		list, _ := parseWorkspaces(text)
		var out []listed
		for _, w := range list {
			out = append(out, w.listed)
		}
		again, problem := parseWorkspaces(appendList(nil, workspacesList, out))
		if problem != "" || len(again) != len(list) {
			t.Fatalf("read again: %q, %d of %d", problem, len(again), len(list))
		}
		for i := range list {
			if again[i] != list[i] {
				t.Errorf("%+v became %+v", list[i], again[i])
			}
		}
	})
}
