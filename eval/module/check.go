package module

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"

	"github.com/model-workspace-protocol/mwp/cas"
	"github.com/model-workspace-protocol/mwp/nodes/pin"
)

// maxEntries bounds what is looked at below one module's directory: all its files,
// their directories, and a good deal that does not belong there.
const maxEntries = 64 << 10

// maxListBytes is the size of the longest list that pin.ParseSums takes.
const maxListBytes = pin.MaxFiles * (64 + 2 + pin.MaxPathBytes + 1)

// maxProblems bounds what is reported of one module.
const maxProblems = 100

// What is wrong with a module on disk.
const (
	// Missing is a file that is not there; without a path, the whole module.
	Missing = "missing"
	// Modified is a file with other bytes than the list has, or that is no file;
	// without a path, a list that is not the one the lock file pins.
	Modified = "modified"
	// Extra is something that no list has.
	Extra = "extra"
)

// Problem is a difference between the lock file and the disk.
type Problem struct {
	// Key is the reference, Path a file of the module, relative to its directory, or
	// "" for the module as a whole.
	Key, Path string
	// What is Missing, Modified or Extra.
	What string
}

// String returns the problem on one line, safe for a terminal.
func (p Problem) String() string {
	switch {
	case p.Path != "":
		return show(p.Key) + ": " + p.What + ": " + show(p.Path)
	case p.What == Missing:
		return show(p.Key) + " is not fetched"
	case p.What == Extra:
		return show(p.Key) + ": too much is in its directory that is not in its list"
	}
	return show(p.Key) + ": its list is not the one that " + lockName + " pins"
}

// Check re-hashes every module of the lock file against its list, and the list
// against the lock file (D-53). It returns what differs, in the lock file's order,
// at most a hundred problems a module. The error, an *Error, is for a lock file
// that cannot be used and for a disk that cannot be read. Nothing is written.
func (s *Store) Check(ctx context.Context) ([]Problem, error) {
	lock, err := s.readLock()
	if err != nil {
		return nil, err
	}
	modules, err := s.open(false)
	if err != nil {
		return nil, err
	}
	var out []Problem
	if modules == nil {
		for _, r := range lock.Records {
			out = append(out, Problem{r.Key, "", Missing})
		}
		return out, nil
	}
	defer modules.close()
	v := view{modules, lock}
	for _, r := range lock.Records {
		if err := ctx.Err(); err != nil {
			return out, failed(err, "check", modules.path)
		}
		problems, err := v.examine(r)
		if err != nil {
			return out, err
		}
		out = append(out, problems...)
	}
	return out, nil
}

// view is a modules directory together with what the lock file says of it.
type view struct {
	modules *area
	lock    pin.Lock
}

// usable reports whether a module with these problems can be read: everything of
// it is there.
func usable(problems []Problem) bool {
	return !slices.ContainsFunc(problems, func(p Problem) bool { return p.What != Extra || p.Path == "" })
}

// examine compares a module with its list and the list with the record.
func (v view) examine(r pin.Record) ([]Problem, error) {
	ref, err := pin.ParseRef(r.Key)
	if err != nil {
		return nil, &Error{Code: LockInvalid, Message: show(r.Key) + ": " + err.Error(), Key: r.Key}
	}
	files, _ := pin.Store(r.Commit, ref.Dir)
	if info, err := v.modules.root.Lstat(r.Commit); err == nil && !info.IsDir() {
		return nil, failed(cas.ErrLink, "read", filepath.Join(v.modules.path, r.Commit))
	}
	sums, err := v.list(r, ref.Dir)
	if isAbsent(err) {
		return []Problem{{r.Key, "", Missing}}, nil
	}
	if err == errOtherList {
		return []Problem{{r.Key, "", Modified}}, nil
	}
	if err != nil {
		return nil, failed(err, "read the list of", r.Key)
	}
	problems, err := v.compare(r, ref.Dir, files, sums)
	if err != nil {
		return nil, failed(err, "read", filepath.Join(v.modules.path, filepath.FromSlash(files)))
	}
	return problems[:min(len(problems), maxProblems)], nil
}

var errOtherList = errors.New("not the list that is pinned")

// list returns a module's list if it is the one that the record pins.
func (v view) list(r pin.Record, dir string) ([]pin.Sum, error) {
	_, name := pin.Store(r.Commit, dir)
	text, err := v.modules.read(name, maxListBytes)
	switch {
	case err == errNotRegular, err == errTooLarge:
		return nil, errOtherList
	case err != nil:
		return nil, err
	case cas.Sum(text).String() != r.Tree:
		return nil, errOtherList
	}
	sums, err := pin.ParseSums(text)
	if err != nil {
		// The lock file pins it, so somebody wrote both by hand.
		return nil, errOtherList
	}
	return sums, nil
}

// compare compares a module's directory with its list.
func (v view) compare(r pin.Record, dir, files string, sums []pin.Sum) ([]Problem, error) {
	entries, err := v.modules.walk(files, maxEntries)
	if isAbsent(err) {
		return []Problem{{r.Key, "", Missing}}, nil
	}
	if err == errTooLarge {
		return []Problem{{r.Key, "", Extra}}, nil
	}
	if err != nil {
		return nil, err
	}
	var out []Problem
	there := map[string]entry{}
	for _, e := range entries {
		there[e.path] = e
	}
	for _, sum := range sums {
		e, ok := there[sum.Path]
		delete(there, sum.Path)
		if !ok {
			out = append(out, Problem{r.Key, sum.Path, Missing})
			continue
		}
		b, err := v.modules.read(files+"/"+e.path, pin.MaxBytes)
		switch {
		case err != nil && err != errNotRegular && err != errTooLarge && !isAbsent(err):
			return nil, err
		case err != nil, cas.Sum(b).String() != sum.Digest:
			out = append(out, Problem{r.Key, sum.Path, Modified})
		}
	}
	var covered map[string]bool
	for _, e := range entries {
		if _, extra := there[e.path]; !extra || e.mode.IsDir() {
			continue
		}
		if covered == nil {
			covered = v.covered(r.Commit)
		}
		if !covered[strings.TrimPrefix(dir+"/"+e.path, "/")] {
			out = append(out, Problem{r.Key, e.path, Extra})
		}
	}
	return out, nil
}

// covered returns the files, relative to the repository, that the lists of a
// commit's pinned modules have.
func (v view) covered(commit string) map[string]bool {
	out := map[string]bool{}
	for _, r := range v.lock.Records {
		ref, err := pin.ParseRef(r.Key)
		if err != nil || r.Commit != commit {
			continue
		}
		sums, _ := v.list(r, ref.Dir)
		for _, sum := range sums {
			out[strings.TrimPrefix(ref.Dir+"/"+sum.Path, "/")] = true
		}
	}
	return out
}
