package module

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/model-workspace-protocol/mwp/cas"
	"github.com/model-workspace-protocol/mwp/eval/module/protocol"
	"github.com/model-workspace-protocol/mwp/nodes/pin"
)

const (
	tempSuffix = ".tmp"
	filesDir   = "files"
	listFile   = "list"
)

// download fetches a module and puts it in place. r is its record, zero when the
// reference is to be resolved. The caller holds the repository's lock.
func (s *Store) download(ctx context.Context, w Want, r pin.Record) (pin.Record, []string, error) {
	modules, err := s.open(true)
	if err != nil {
		return r, nil, err
	}
	defer modules.close()
	if err := s.sweep(ctx, modules, repositoryLock(w.Ref)); err != nil {
		return r, nil, err
	}
	temp, err := modules.makeTemp(repositoryLock(w.Ref))
	defer modules.remove(temp)
	if err != nil {
		return r, nil, failed(err, "write", filepath.Join(modules.path, temp))
	}
	answer, err := s.ask(ctx, protocol.Request{
		Op: protocol.Fetch, URL: w.Ref.URL, Dir: w.Ref.Dir, Ref: w.Ref.Name, Commit: r.Commit,
		Floating: w.Floating, Insecure: w.Insecure, Into: filepath.Join(modules.path, temp, filesDir),
	})
	if err == nil {
		err = checkAnswer(w, r, answer)
	}
	if err != nil {
		return r, answer.Notes, err
	}
	sums, err := modules.sum(temp+"/"+filesDir, w.Ref.Key())
	if err != nil {
		return r, answer.Notes, err
	}
	list := pin.AppendSums(nil, sums)
	tree := cas.Sum(list).String()
	if r.Tree != "" && r.Tree != tree {
		return r, answer.Notes, &Error{
			Code: ModuleModified,
			Message: fmt.Sprintf("%s: %s pins the bytes blake3:%s, and the repository gave blake3:%s for the same commit",
				show(w.Ref.Key()), lockName, r.Tree, tree),
			Hint: "find out whether the lock file or the repository was changed; `mwp import --update` pins what is there now",
		}
	}
	pinned := pin.Record{Key: w.Ref.Key(), Kind: r.Kind, Commit: answer.Commit, Tree: tree}
	if pinned.Kind == "" {
		pinned.Kind = answer.Kind
	}
	in := installation{modules: modules, temp: temp, dir: w.Ref.Dir, update: w.Update, record: pinned, sums: sums, list: list}
	return pinned, answer.Notes, s.install(ctx, in, r)
}

// makeTemp makes a directory for a download and returns its name. A name of its own
// for each keeps out what a killed process's mwp-git may still be writing. Its
// .gitignore covers it until the state directory has one.
func (a *area) makeTemp(repository string) (string, error) {
	name := repository + "-" + strconv.FormatUint(rand.Uint64(), 36) + tempSuffix
	if err := a.mkdir(name); err != nil {
		return name, err
	}
	if err := a.write(name+"/.gitignore", []byte("*\n"), 0o666, false); err != nil {
		return name, err
	}
	return name, a.mkdir(name + "/" + filesDir)
}

// checkAnswer checks what mwp-git says about a fetch against what it was asked.
func checkAnswer(w Want, r pin.Record, a protocol.Response) error {
	wrong := func(format string, args ...any) error {
		return &Error{
			Code: FetcherFailed, Message: show(w.Ref.Key()) + ": " + fetcherName + " answered with " + show(fmt.Sprintf(format, args...)),
			Hint: "mwp and mwp-git have to be of one version",
		}
	}
	switch {
	case !pin.IsCommit(a.Commit):
		return wrong("the commit %q", a.Commit)
	case a.Kind != pin.Tag && a.Kind != pin.Commit && a.Kind != pin.Branch:
		return wrong("the kind %q", a.Kind)
	case w.Ref.Commit() && (a.Commit != w.Ref.Name || a.Kind != pin.Commit):
		return wrong("the %s %s for another commit", a.Kind, a.Commit)
	case !w.Ref.Commit() && a.Kind == pin.Commit && r.Commit == "":
		return wrong("a commit for a name")
	case r.Commit != "" && a.Commit != r.Commit:
		return wrong("the commit %s, which is not the pinned %s", a.Commit, r.Commit)
	case a.Kind == pin.Branch && !w.Floating:
		return floating(show(w.Ref.Key()) + " is a branch")
	}
	return nil
}

// sum returns the digests of all files below a directory that mwp-git filled, or
// why they are no module.
func (a *area) sum(dir, key string) ([]pin.Sum, error) {
	refuse := func(code, format string, args ...any) ([]pin.Sum, error) {
		return nil, &Error{Code: code, Message: show(key) + ": " + show(fmt.Sprintf(format, args...))}
	}
	entries, err := a.walk(dir, 2*pin.MaxFiles)
	if err == errTooLarge {
		return refuse(protocol.TooLarge, "more than %d files", pin.MaxFiles)
	}
	if err != nil {
		return nil, failed(err, "read", filepath.Join(a.path, dir))
	}
	var sums []pin.Sum
	left := int64(pin.MaxBytes)
	for _, e := range entries {
		if err := pin.CheckPath(e.path); err != nil {
			return refuse(protocol.Unsafe, "%q has %v", e.path, err)
		}
		switch {
		case e.mode.IsDir():
			continue
		case !e.mode.IsRegular():
			return refuse(protocol.Unsafe, "%q is not a regular file", e.path)
		case len(sums) == pin.MaxFiles:
			return refuse(protocol.TooLarge, "more than %d files", pin.MaxFiles)
		}
		b, err := a.read(dir+"/"+e.path, left)
		if err == errTooLarge {
			return refuse(protocol.TooLarge, "more than %d bytes", int64(pin.MaxBytes))
		}
		if err != nil {
			return nil, failed(err, "read", filepath.Join(a.path, dir, e.path))
		}
		left -= int64(len(b))
		sums = append(sums, pin.Sum{Digest: cas.Sum(b).String(), Path: e.path})
	}
	if len(sums) == 0 {
		return refuse(protocol.Unsafe, "there are no files in it")
	}
	return sums, nil
}

// sweep removes what killed processes left: temporary directories whose
// repository nobody holds the lock of, or the caller does, and files of commits
// without any list, which the install lock keeps from being somebody's work.
func (s *Store) sweep(ctx context.Context, modules *area, own string) error {
	unlock, err := s.lock(ctx, installLock, modulesDir)
	if err != nil {
		return err
	}
	defer unlock()
	entries, err := modules.names()
	if err != nil {
		return failed(err, "read", modules.path)
	}
	listed := map[string]bool{}
	for _, e := range entries {
		if commit, ok := listOf(e.path); ok {
			listed[commit] = true
		}
	}
	for _, e := range entries {
		repository, temporary := temporaryOf(e.path)
		// A fetcher whose mwp was killed ends by itself, and may be writing until then. What
		// cannot be removed now, the next fetch removes: it passes for no module.
		switch {
		case !e.mode.IsDir():
		case temporary:
			s.sweepPatiently(ctx, modules, e.path, repository, own)
		case pin.IsCommit(e.path) && !listed[e.path]:
			_ = modules.remove(e.path)
		}
	}
	return nil
}

// errBusy is what a temporary directory gets whose repository's lock is taken.
var errBusy = errors.New("another process is fetching")

// sweepPatiently removes a temporary directory. It gives a moment to a fetcher that
// is about to notice that nobody waits for it, and to a lock that a process holds
// which is about to become another program.
func (s *Store) sweepPatiently(ctx context.Context, modules *area, name, repository, own string) {
	const patience, step = 50 * time.Millisecond, 10 * time.Millisecond
	for waited := time.Duration(0); s.sweepTemp(modules, name, repository, own) != nil && waited < patience; waited += step {
		select {
		case <-ctx.Done():
			return
		case <-time.After(step):
		}
	}
}

func (s *Store) sweepTemp(modules *area, name, repository, own string) error {
	if repository != own {
		dir, err := s.locks()
		if err != nil {
			return err
		}
		unlock, ok, err := cas.TryLock(filepath.Join(dir, repository))
		if err != nil {
			return err
		}
		if !ok {
			return errBusy
		}
		defer unlock()
	}
	return modules.remove(name)
}

// names returns what is directly in the directory.
func (a *area) names() ([]entry, error) {
	d, err := a.root.Open(".")
	if err != nil {
		return nil, err
	}
	defer d.Close()
	list, err := d.ReadDir(-1)
	var out []entry
	for _, e := range list {
		out = append(out, entry{e.Name(), e.Type()})
	}
	return out, err
}

// temporaryOf returns the repository of a temporary directory's name.
func temporaryOf(name string) (repository string, ok bool) {
	name, ok = strings.CutSuffix(name, tempSuffix)
	repository, _, dash := strings.Cut(name, "-")
	return repository, ok && dash && len(repository) == 16 && strings.Trim(repository, "0123456789abcdef") == ""
}

// listOf returns the commit of a list's name.
func listOf(name string) (commit string, ok bool) {
	commit, _, _ = strings.Cut(name, ".")
	return commit, pin.IsCommit(commit) && strings.HasSuffix(name, ".b3sums")
}
