package guard

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/model-workspace-protocol/mwp/cas"
	"github.com/model-workspace-protocol/mwp/eval/state"
)

// childEnv makes TestChild a second process that records, see there.
const childEnv = "MWP_GUARD_TEST_LEDGER"

// TestChild is the second process: it records n runs, from a first one on, in a state
// directory.
func TestChild(t *testing.T) {
	args := strings.Split(os.Getenv(childEnv), "\n")
	if len(args) != 3 {
		t.Skip("only as a second process")
	}
	p := state.Dir{Path: args[0]}
	first, _ := strconv.Atoi(args[1])
	n, _ := strconv.Atoi(args[2])
	fmt.Println("ready")
	bufio.NewReader(os.Stdin).ReadString('\n')
	for i := range n {
		record(t, p, textKey(t, "ann"), sample(first+i))
	}
}

func child(t *testing.T, p state.Dir, first, n int) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^TestChild$", "-test.count=1")
	cmd.Env = append(os.Environ(), childEnv+"="+strings.Join([]string{p.Path, strconv.Itoa(first), strconv.Itoa(n)}, "\n"))
	cmd.Stderr = os.Stderr
	return cmd
}

// TestProcesses: two processes and this one record at the same time, and nothing is
// lost.
func TestProcesses(t *testing.T) {
	p := project(t)
	const each = 20
	type second struct {
		cmd   *exec.Cmd
		begin func()
		said  *bufio.Reader
	}
	var seconds []second
	for i := range 2 {
		cmd := child(t, p, 100*(i+1), each)
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		s := second{cmd, func() { in.Close() }, bufio.NewReader(out)}
		if line, err := s.said.ReadString('\n'); line != "ready\n" {
			t.Fatalf("a process said %q, %v", line, err)
		}
		seconds = append(seconds, s)
	}
	for _, s := range seconds {
		s.begin()
	}
	for i := range each {
		record(t, p, textKey(t, "ann"), sample(300+i))
	}
	for _, s := range seconds {
		rest, _ := s.said.ReadString(0)
		if err := s.cmd.Wait(); err != nil {
			t.Errorf("%v: %s", err, rest)
		}
	}
	states, problem := NewLedger(textKey(t, "ann")).parse(ledgerOf(t, p))
	if problem != "" || len(states) != 3*each {
		t.Errorf("%d records, want %d; problem %q", len(states), 3*each, problem)
	}
	for first := 100; first <= 300; first += 100 {
		for i := range each {
			if states[sample(first+i).Key].Run == nil {
				t.Errorf("record %d is lost", first+i)
			}
		}
	}
}

// TestNothingIsWrittenThroughLinks: a repository can carry links where its state belongs.
// What they lead to stays as it is, and so do they.
func TestNothingIsWrittenThroughLinks(t *testing.T) {
	k := textKey(t, "ann")
	writes := map[string]func(p state.Dir) error{
		LedgerName: func(p state.Dir) error {
			_, err := NewLedger(k).Update(context.Background(), p, func(r *Records) error { r.Set(sample(1)); return nil })
			return err
		},
		TrustName: func(p state.Dir) error {
			return TrustLock{p, k, "/w"}.Decide(context.Background(), approved(), Yes, testTime)
		},
		DiscoveriesName: func(p state.Dir) error {
			_, err := AppendDiscovery(context.Background(), p, found())
			return err
		},
	}
	for name, write := range writes {
		for _, link := range []string{".mwp", ".mwp/cache", ".mwp/cache/locks", ".mwp/" + name, ".mwp/cache/locks/guards"} {
			for _, inside := range []bool{false, true} {
				dir := t.TempDir()
				victim := filepath.Join(dir, "victim")
				if inside {
					victim = filepath.Join(dir, ".mwp", "victim")
				}
				file := strings.Contains(link, "guards") || strings.HasSuffix(link, name)
				if link == ".mwp" && inside || strings.HasSuffix(link, "locks/guards") && name != LedgerName {
					continue
				}
				for _, d := range []string{filepath.Dir(victim), filepath.Dir(filepath.Join(dir, link))} {
					if err := os.MkdirAll(d, 0o777); err != nil {
						t.Fatal(err)
					}
				}
				content := victim
				if !file {
					content = filepath.Join(victim, "file")
					if err := os.Mkdir(victim, 0o777); err != nil {
						t.Fatal(err)
					}
				}
				if err := os.WriteFile(content, []byte("somebody's\n"), 0o666); err != nil {
					t.Fatal(err)
				}
				if err := os.Symlink(victim, filepath.Join(dir, link)); err != nil {
					t.Skip(err)
				}
				err := write(state.Dir{Path: filepath.Join(dir, ".mwp")})
				if lock := strings.HasSuffix(link, "locks/guards"); err == nil || !lock && !errors.Is(err, cas.ErrLink) {
					t.Errorf("%s, %s a link: %v", name, link, err)
				}
				if b, _ := os.ReadFile(content); string(b) != "somebody's\n" {
					t.Errorf("%s, %s a link: the victim is now %q", name, link, b)
				}
				if !file {
					if got := namesIn(t, victim); got != "file" {
						t.Errorf("%s, %s a link: the victim holds %s", name, link, got)
					}
				}
			}
		}
	}
}

// TestLinksOfTemporaries: what stands in the place of a temporary file is replaced, and
// what it leads to is not written.
func TestLinksOfTemporaries(t *testing.T) {
	p := project(t)
	k := textKey(t, "ann")
	victim := filepath.Join(t.TempDir(), "victim")
	if err := os.WriteFile(victim, []byte("somebody's"), 0o666); err != nil {
		t.Fatal(err)
	}
	temp := filepath.Join(p.Path, LedgerName+".tmp")
	if err := os.Symlink(victim, temp); err != nil {
		t.Skip(err)
	}
	record(t, p, k, sample(1))
	if err := os.MkdirAll(filepath.Join(temp, "full"), 0o777); err != nil {
		t.Fatal(err)
	}
	record(t, p, k, sample(2))
	if b := readFile(t, victim); string(b) != "somebody's" {
		t.Errorf("the victim is now %q", b)
	}
	// A place for a broken file that is taken is left as it is.
	if err := os.Symlink(victim, filepath.Join(p.Path, LedgerName+".broken")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(p.Path, LedgerName), []byte("broken"), 0o666); err != nil {
		t.Fatal(err)
	}
	record(t, p, k, sample(3))
	if b := readFile(t, victim); string(b) != "somebody's" {
		t.Errorf("the victim is now %q", b)
	}
}

// TestReadNoLink: a lock that is a link is no lock.
func TestReadNoLink(t *testing.T) {
	l := TrustLock{State: project(t), Key: textKey(t, "ann"), Root: "/w"}
	decide(t, l, approved(), Yes, 0)
	path := filepath.Join(l.State.Path, TrustName)
	if err := os.Rename(path, path+"2"); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(TrustName+"2", path); err != nil {
		t.Skip(err)
	}
	d, err := l.Read()
	if !errors.Is(err, cas.ErrLink) || d.Lookup(approved()).Verdict != Unknown {
		t.Errorf("Read = %+v, %v", d, err)
	}
}
