//go:build unix

package guard

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/model-workspace-protocol/mwp/cas"
	"github.com/model-workspace-protocol/mwp/eval/state"
)

// TestKeyFile: a file that is no key of this user's alone is an error, and stays.
func TestKeyFile(t *testing.T) {
	write := func(n int, perm fs.FileMode) func(t *testing.T, path string) {
		return func(t *testing.T, path string) {
			if err := os.WriteFile(path, []byte(strings.Repeat("k", n)), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.Chmod(path, perm); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, c := range []struct {
		name, want string
		make       func(t *testing.T, path string)
	}{
		{"short", "expected a key of 32 bytes, found 31", write(31, 0o600)},
		{"long", "expected a key of 32 bytes, found more", write(33, 0o600)},
		{"empty", "expected a key of 32 bytes, found 0", write(0, 0o600)},
		{"others read", "expected a file for its owner only, found one with mode 0604", write(32, 0o604)},
		{"the group reads", "expected a file for its owner only, found one with mode 0640", write(32, 0o640)},
		{"others write", "expected a file for its owner only, found one with mode 0602", write(32, 0o602)},
		{"a link", "expected a file, found a link", func(t *testing.T, path string) {
			write(32, 0o600)(t, path+"2")
			if err := os.Symlink(path+"2", path); err != nil {
				t.Fatal(err)
			}
		}},
		{"a pipe", "expected a file, found something else", func(t *testing.T, path string) {
			if err := syscall.Mkfifo(path, 0o600); err != nil {
				t.Fatal(err)
			}
		}},
		{"a directory", "expected a file, found something else", func(t *testing.T, path string) {
			if err := os.Mkdir(path, 0o700); err != nil {
				t.Fatal(err)
			}
		}},
		{"another user's", "it belongs to user 12345, and this is user 0", func(t *testing.T, path string) {
			if os.Geteuid() != 0 {
				t.Skip("only root can give a file away")
			}
			write(32, 0o600)(t, path)
			if err := os.Chown(path, 12345, -1); err != nil {
				t.Fatal(err)
			}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "key")
			c.make(t, path)
			before, err := os.Lstat(path)
			if err != nil {
				t.Fatal(err)
			}
			for _, open := range []func() (*Key, error){
				func() (*Key, error) { return OpenKey(dir, "") },
				func() (*Key, error) { return CreateKey(context.Background(), dir, "") },
			} {
				k, err := open()
				var f *state.FileError
				if !errors.Is(err, ErrKey) || !errors.As(err, &f) || f.Hint == "" || k != nil ||
					f.Message != "the key that signs results and decisions: "+path+": "+c.want {
					t.Errorf("%+v, %v", k, err)
				}
			}
			if after, err := os.Lstat(path); err != nil || !os.SameFile(before, after) || before.Mode() != after.Mode() {
				t.Errorf("the file is now %v, %v", after, err)
			}
			if k, err := OpenKey(dir, "a text instead of it"); err != nil || !k.Exists() {
				t.Errorf("with a text: %+v, %v", k, err)
			}
		})
	}
}

func TestPersonalModes(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "mwp")
	if _, err := CreateKey(context.Background(), dir, ""); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]fs.FileMode{filepath.Dir(dir): 0o700, dir: 0o700, filepath.Join(dir, "key"): 0o600} {
		if info, err := os.Stat(name); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v, want %04o", name, info.Mode(), err, want)
		}
	}
	open := t.TempDir()
	if err := os.Chmod(open, 0o777); err != nil {
		t.Fatal(err)
	}
	_, err := CreateKey(context.Background(), open, "")
	var f *state.FileError
	if !errors.As(err, &f) || !strings.Contains(f.Message, "found mode 0777") || f.Hint == "" || namesIn(t, open) != "" {
		t.Errorf("CreateKey where everybody writes = %v", err)
	}
}

// boundEnv makes TestReadOnly run without the powers of root.
const boundEnv = "MWP_GUARD_TEST_BOUND"

// TestReadOnly: where nothing can be written, the error says so, once for each file,
// and reading goes on.
func TestReadOnly(t *testing.T) {
	if os.Geteuid() == 0 && os.Getenv(boundEnv) == "" {
		args := []string{"--bounding-set=-dac_override,-dac_read_search", os.Args[0], "-test.run=^TestReadOnly$", "-test.count=1"}
		cmd := exec.Command("setpriv", args...)
		cmd.Env = append(os.Environ(), boundEnv+"=1")
		out, err := cmd.CombinedOutput()
		if errors.Is(err, exec.ErrNotFound) {
			t.Skip("root, and no setpriv to give its powers up")
		}
		if err != nil {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	k := textKey(t, "ann")
	p := project(t)
	record(t, p, k, sample(1))
	lock := TrustLock{State: p, Key: k, Root: "/w"}
	g := AdHoc{Command: "./x"}
	if err := lock.Decide(context.Background(), g, Yes, testTime); err != nil {
		t.Fatal(err)
	}
	fresh := state.Dir{Path: filepath.Join(t.TempDir(), ".mwp.d")}
	if err := os.WriteFile(filepath.Join(filepath.Dir(fresh.Path), ".mwp"), nil, 0o666); err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	deny := func(dir string) {
		if err := os.Chmod(dir, 0o555); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { os.Chmod(dir, 0o755) })
	}
	deny(p.Path)
	deny(filepath.Dir(fresh.Path))
	deny(home)
	for name, try := range map[string]func() error{
		"ledger": func() error {
			_, err := NewLedger(k).Update(context.Background(), p, func(r *Records) error { r.Set(sample(2)); return nil })
			return err
		},
		"ledger without a directory": func() error {
			_, err := NewLedger(k).Update(context.Background(), fresh, func(r *Records) error { t.Error("called"); return nil })
			return err
		},
		"trust": func() error { return lock.Decide(context.Background(), g, Never, testTime) },
		"discoveries": func() error {
			appended, err := AppendDiscovery(context.Background(), p, Discovery{})
			if appended {
				t.Error("appended")
			}
			return err
		},
		"key": func() error { _, err := CreateKey(context.Background(), home, ""); return err },
		"workspace": func() error {
			return Personal{Dir: home}.Trust(context.Background(), "/w", cas.Digest{}, Yes, testTime)
		},
		"no home": func() error {
			return Personal{Dir: filepath.Join(home, "mwp")}.Trust(context.Background(), "/w", cas.Digest{}, Yes, testTime)
		},
	} {
		var f *state.FileError
		if err := try(); !errors.Is(err, state.ErrUnwritable) || !errors.As(err, &f) || f.Hint == "" || !strings.HasSuffix(f.Message, "permission denied") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if states := NewLedger(k).Parse(ledgerOf(t, p)); states[sample(1).Key].Run == nil || len(states) != 1 {
		t.Errorf("the ledger says %v", states)
	}
	if d, err := lock.Read(); err != nil || d.Lookup(g).Verdict != Yes {
		t.Errorf("the lock says %+v, %v", d, err)
	}
	if k, err := OpenKey(home, ""); err != nil || k.Exists() {
		t.Errorf("OpenKey = %+v, %v", k, err)
	}
}
