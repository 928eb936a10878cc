package main

import (
	"errors"
	"flag"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

var update = flag.Bool("update", false, "rewrite golden files")

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"mwp": main})
}

func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:           "testdata/script",
		UpdateScripts: *update,
		Setup: func(env *testscript.Env) error {
			// The home of the machine that runs the tests must not matter.
			env.Setenv("HOME", env.WorkDir+"/home")
			// Under -race every process would sleep for a second before it ends.
			env.Setenv("GORACE", "atexit_sleep_ms=0")
			return os.Mkdir(env.WorkDir+"/home", 0o777)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"status": status,
			"same":   same,
			"damage": damage,
		},
	})
}

// status runs "status N program args..." and wants the exit status N. With one
// that is not 0 or 3, and not fsck's, stdout must be empty.
func status(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: status N program args...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	err = ts.Exec(args[1], args[2:]...)
	got := 0
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		got = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	if got != want {
		ts.Fatalf("%v: exit status %d, want %d", args[1:], got, want)
	}
	if out := ts.ReadFile("stdout"); want != 0 && want != 3 && out != "" && !(len(args) > 3 && args[3] == "fsck") {
		ts.Fatalf("%v: exit status %d and something on stdout: %q", args[1:], got, out)
	}
}

// same wants all files to have the content of the first.
func same(ts *testscript.TestScript, neg bool, args []string) {
	first := ts.ReadFile(args[0])
	for _, f := range args[1:] {
		if (ts.ReadFile(f) == first) == neg {
			ts.Fatalf("%s and %s: equal is %v", args[0], f, neg)
		}
	}
}

// damage changes one byte in the middle of every file below a directory.
func damage(ts *testscript.TestScript, neg bool, args []string) {
	ts.Check(filepath.WalkDir(ts.MkAbs(args[0]), func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(p)
		if err != nil || len(b) == 0 {
			return err
		}
		b[len(b)/2] ^= 1
		return os.WriteFile(p, b, 0o666)
	}))
}
