package module

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/model-workspace-protocol/mwp/cas"
	"github.com/model-workspace-protocol/mwp/eval/module/protocol"
	"github.com/model-workspace-protocol/mwp/nodes/pin"
)

const (
	modulesDir = "modules"
	lockName   = "modules.lock"
	// locksDir holds one empty file per repository and is part of the cache: there
	// it is out of version control, and upkeep leaves unknown names alone.
	cacheDir, locksDir = "cache", "locks"
	// installLock guards the modules directory's names and the lock file.
	installLock = "modules"

	defaultTimeout = 60 * time.Second
	// maxFetches is how many repositories are asked at the same time.
	maxFetches = 4
)

// Store is the modules of one workspace. Its methods may be called at the same
// time, by any number of processes. The fields must not change meanwhile.
type Store struct {
	// State is the absolute path of the state directory, ".mwp" or ".mwp.d". Its
	// parent must exist.
	State string
	// Ignore is the text of the state directory's .gitignore file, which the first
	// fetched module brings along (D-09). An existing file is left as it is.
	Ignore string
	// Fetcher is the path of mwp-git. When empty it is sought beside the running
	// executable, then on PATH.
	Fetcher string
	// Env is the environment of mwp-git, os.Environ() when nil. Variables that begin
	// with GIT_ are taken out: a git hook sets them, and they redirect git.
	Env []string
	// Progress, if not nil, is called with lines for a person, one at a time; they
	// are safe for a terminal.
	Progress func(line string)
	// Timeout bounds one question to one repository; 60 s when zero (D-35).
	Timeout time.Duration

	mu     sync.Mutex // serialises Progress
	before func(op, name string) error
}

// Want is a module to fetch.
type Want struct {
	Ref pin.Ref
	// Floating lets a branch be pinned, or the default branch when the reference
	// names nothing (--allow-floating); Insecure lets http be spoken.
	Floating, Insecure bool
	// Update resolves the reference anew, whatever the lock file says. Frozen keeps
	// the lock file as it is and wins over Update.
	Update, Frozen bool
}

// Outcome is what came of a Want.
type Outcome struct {
	Want Want
	// Record is what the lock file says now; zero when Err is not nil.
	Record pin.Record
	// Dir is the absolute path of the module's files.
	Dir string
	// Fetched is true when the repository was asked, false when everything was there.
	Fetched bool
	// Notes are sentences about what was left out or looks odd.
	Notes []string
	// Err is nil or an *Error.
	Err error
}

// Fetch makes modules available and pinned, and returns one outcome per want, in
// their order (D-33 to D-35). What is there with all its files unchanged is not
// fetched, needs no network, and no writable disk. Different repositories are asked
// at the same time, one repository by one process at a time; others wait, and
// usually find the work done.
//
// A reference in the lock file has to stand for the commit and the bytes that it
// has there; another one is resolved and recorded. A fetch that fails, or whose
// process is killed, leaves nothing that could be taken for a module.
func (s *Store) Fetch(ctx context.Context, wants []Want) []Outcome {
	out := make([]Outcome, len(wants))
	groups := map[string][]int{}
	for i, w := range wants {
		groups[w.Ref.Repository()] = append(groups[w.Ref.Repository()], i)
	}
	free := make(chan struct{}, maxFetches)
	var wg sync.WaitGroup
	for _, group := range groups {
		wg.Go(func() {
			free <- struct{}{}
			defer func() { <-free }()
			for n, i := range group {
				if same := earlier(wants, group[:n], i); same >= 0 {
					out[i] = out[same]
				} else {
					out[i] = s.fetch(ctx, wants[i])
				}
			}
		})
	}
	wg.Wait()
	return out
}

// earlier returns which of some wants is the same as want i, -1 when none is.
func earlier(wants []Want, among []int, i int) int {
	for _, j := range among {
		if wants[j] == wants[i] {
			return j
		}
	}
	return -1
}

func (s *Store) fetch(ctx context.Context, w Want) Outcome {
	r, fetched, notes, err := s.resolve(ctx, w)
	o := Outcome{Want: w, Record: r, Fetched: fetched, Notes: notes}
	if err != nil {
		e := *failed(err, "fetch", w.Ref.Key())
		e.Key = w.Ref.Key()
		return Outcome{Want: w, Fetched: fetched, Notes: notes, Err: &e}
	}
	files, _ := pin.Store(r.Commit, w.Ref.Dir)
	o.Dir = filepath.Join(s.State, modulesDir, filepath.FromSlash(files))
	return o
}

// resolve returns the record of a want whose module is complete on disk.
func (s *Store) resolve(ctx context.Context, w Want) (r pin.Record, fetched bool, notes []string, err error) {
	if err := refuseName(w); err != nil {
		return r, false, nil, err
	}
	r, done, err := s.look(ctx, w)
	if done || err != nil {
		return r, false, nil, err
	}
	// Without the program nothing needs to be made.
	if _, err := FindFetcher(s.Fetcher); err != nil {
		return r, false, nil, err
	}
	unlock, err := s.lock(ctx, repositoryLock(w.Ref), w.Ref.Repository())
	if err != nil {
		return r, false, nil, err
	}
	defer unlock()
	// Whoever held the lock may have fetched it.
	r, done, err = s.look(ctx, w)
	if done || err != nil {
		return r, false, nil, err
	}
	r, notes, err = s.download(ctx, w, r)
	return r, true, notes, err
}

// refuseName refuses what can be no pin, before anybody is asked (D-33).
func refuseName(w Want) error {
	key := show(w.Ref.Key())
	if why := w.Ref.Vague(); why != "" {
		return &Error{Code: protocol.Refused, Message: key + ": " + why, Hint: "pin a tag, or a commit in full"}
	}
	if w.Ref.Name == "" && !w.Floating {
		return floating(key + ": expected a tag or a commit after an @; without one it is the default branch, which moves")
	}
	return nil
}

func floating(message string) error {
	return &Error{Code: protocol.FloatingRef, Message: message, Hint: "pin a tag or a commit, or allow it with --allow-floating"}
}

// look returns the record of a want, zero when there is none that counts, and
// whether its module is complete. What does not belong to it is removed, which
// needs no network; where that fails, it is only in the way of a check.
func (s *Store) look(ctx context.Context, w Want) (r pin.Record, done bool, err error) {
	lock, err := s.readLock()
	if err != nil {
		return r, false, err
	}
	key := w.Ref.Key()
	r, have := lock.Find(key)
	switch {
	case w.Frozen && !have:
		return r, false, &Error{
			Code: Unresolved, Message: show(key) + " is not in " + lockName + ", which must not change now",
			Hint: "pin it: `mwp import '" + show(key) + "'`, and commit " + lockName,
		}
	case have && r.Kind == pin.Branch && !w.Floating:
		return r, false, floating(show(key) + " is pinned to a branch")
	case !have, w.Update && !w.Frozen:
		return pin.Record{}, false, s.lockWritable()
	}
	modules, err := s.open(false)
	if err != nil || modules == nil {
		return r, false, err
	}
	defer modules.close()
	problems, err := view{modules, lock}.examine(r)
	if err != nil || !usable(problems) {
		return r, false, err
	}
	if len(problems) > 0 {
		s.tidy(ctx, modules, r, w.Ref.Dir)
	}
	return r, true, nil
}

// tidy removes what a complete module does not list.
func (s *Store) tidy(ctx context.Context, modules *area, r pin.Record, dir string) {
	unlock, err := s.lock(ctx, installLock, r.Key)
	if err != nil {
		return
	}
	defer unlock()
	lock, err := s.readLock()
	if err != nil {
		return
	}
	v := view{modules, lock}
	if sums, err := v.list(r, dir); err == nil {
		v.prune(r.Commit, dir, sums)
	}
}

// open opens the modules directory. It returns nil when there is none and none is
// to be made.
func (s *Store) open(create bool) (*area, error) { return s.enter(create, modulesDir) }

// enter opens a directory below the state directory, each part of which has to be
// a directory of its own.
func (s *Store) enter(create bool, names ...string) (*area, error) {
	around := filepath.Dir(s.State)
	root, err := os.OpenRoot(around)
	if err != nil {
		return nil, failed(err, "open", around)
	}
	a := &area{root: root, path: around, before: s.before}
	for _, name := range append([]string{filepath.Base(s.State)}, names...) {
		next, err := a.enter(name, create)
		a.close()
		if err != nil {
			if !create && isAbsent(err) {
				return nil, nil
			}
			return nil, err
		}
		a = next
	}
	return a, nil
}

// lock takes the lock of a name; what is what it is waited for.
func (s *Store) lock(ctx context.Context, name, what string) (unlock func() error, err error) {
	dir, err := s.locks()
	if err != nil {
		return nil, err
	}
	unlock, err = cas.Lock(ctx, filepath.Join(dir, name), func() {
		s.say("waiting for another process that fetches " + show(what))
	})
	if err != nil {
		return nil, failed(err, "lock", what)
	}
	return unlock, nil
}

// locks makes the directory of the locks and returns its path.
func (s *Store) locks() (string, error) {
	cache, err := s.enter(true, cacheDir)
	if err != nil {
		return "", err
	}
	defer cache.close()
	if err := cas.Prepare(cache.path); err != nil {
		return "", failed(err, "write", cache.path)
	}
	locks, err := cache.enter(locksDir, true)
	if err != nil {
		return "", err
	}
	locks.close()
	return locks.path, nil
}

// repositoryLock returns the name of a repository's lock, which is also how the
// names of its temporary directories begin.
func repositoryLock(r pin.Ref) string { return cas.Sum([]byte(r.Repository())).String()[:16] }

func (s *Store) say(line string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.Progress != nil {
		s.Progress(line)
	}
}

// Lock returns what the lock file says; an empty one when there is none. The error
// is an *Error.
func (s *Store) Lock() (pin.Lock, error) { return s.readLock() }
