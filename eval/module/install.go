package module

import (
	"context"
	"path/filepath"
	"strings"

	"github.com/model-workspace-protocol/mwp/cas"
	"github.com/model-workspace-protocol/mwp/nodes/pin"
)

// installation is a downloaded module on its way into the modules directory.
type installation struct {
	modules *area
	temp    string // the download's directory
	dir     string // the module's directory in its repository
	record  pin.Record
	sums    []pin.Sum
	list    []byte
	update  bool
	lock    pin.Lock
	placed  bool // whether the modules directory was changed
}

// install puts a module in place and records it: files, then the list that
// vouches for them, then the lock file. before is the record that the download
// relied on.
func (s *Store) install(ctx context.Context, in installation, before pin.Record) error {
	unlock, err := s.lock(ctx, installLock, in.record.Key)
	if err != nil {
		return err
	}
	defer unlock()
	state, err := s.enter(true)
	if err != nil {
		return err
	}
	defer state.close()
	if in.lock, err = state.readLock(); err != nil {
		return err
	}
	if now, _ := in.lock.Find(in.record.Key); now != before && now != in.record && !in.update {
		return &Error{
			Code: LockInvalid, Message: show(filepath.Join(state.path, lockName)) + " was changed while " + show(in.record.Key) + " was fetched",
			Hint: "run the command again",
		}
	}
	if err := s.ignore(state); err != nil {
		return failed(err, "write", filepath.Join(state.path, ".gitignore"))
	}
	if err := in.place(); err != nil {
		in.takeBack()
		return failed(err, "write", in.modules.path)
	}
	if err := state.record(in.lock, in.record); err != nil {
		in.takeBack()
		return failed(err, "write", filepath.Join(state.path, lockName))
	}
	return nil
}

// ignore writes the state directory's .gitignore unless there is one. It has its
// name when it is complete.
func (s *Store) ignore(state *area) error {
	const name = ".gitignore"
	if _, err := state.root.Lstat(name); s.Ignore == "" || !isAbsent(err) {
		return err
	}
	if err := state.remove(name + tempSuffix); err != nil {
		return err
	}
	if err := state.write(name+tempSuffix, []byte(s.Ignore), 0o666, false); err != nil {
		return err
	}
	if err := state.rename(name+tempSuffix, name); err != nil {
		state.remove(name + tempSuffix)
		return err
	}
	return nil
}

// place moves the files in, and then the list.
func (in *installation) place() error {
	m := in.modules
	// Another reference may stand for the same commit.
	problems, err := view{m, in.lock}.examine(in.record)
	if err != nil || usable(problems) {
		return err
	}
	in.placed = true
	files, list := pin.Store(in.record.Commit, in.dir)
	// Whatever it vouched for changes now.
	if err := m.remove(list); err != nil {
		return err
	}
	_, err = m.walk(files, maxEntries)
	switch {
	case err == nil:
		err = in.merge(files)
	case isAbsent(err), err == errTooLarge:
		err = in.move(in.temp+"/"+filesDir, files)
	}
	if err != nil {
		return err
	}
	if err := m.write(in.temp+"/"+listFile, in.list, 0o666, false); err != nil {
		return err
	}
	return m.rename(in.temp+"/"+listFile, list)
}

// move renames a file or directory to a place whose surroundings it makes.
func (in *installation) move(from, to string) error {
	if around := parents(to); len(around) > 0 {
		if err := in.modules.makeReal(around[0]); err != nil {
			return err
		}
	}
	if _, err := in.modules.root.Lstat(to); !isAbsent(err) {
		if err := in.modules.remove(to); err != nil {
			return err
		}
	}
	return in.modules.rename(from, to)
}

// merge makes a directory that is there have the module's files: one file after
// the other, so that what other modules of the commit have in it stays.
func (in *installation) merge(files string) error {
	for _, sum := range in.sums {
		to := files + "/" + sum.Path
		if in.modules.holds(to, sum.Digest) {
			continue
		}
		if err := in.move(in.temp+"/"+filesDir+"/"+sum.Path, to); err != nil {
			return err
		}
	}
	return view{in.modules, in.lock}.prune(in.record.Commit, in.dir, in.sums)
}

// holds reports whether there is a file with the digest, and no link on the way.
func (a *area) holds(name, digest string) bool {
	if !a.realDir(parents(name)[0]) {
		return false
	}
	b, err := a.read(name, pin.MaxBytes)
	return err == nil && cas.Sum(b).String() == digest
}

// prune removes from the module's directory what neither its list nor that of
// another pinned module of the commit has.
func (v view) prune(commit, dir string, sums []pin.Sum) error {
	files, _ := pin.Store(commit, dir)
	keep := v.covered(commit)
	for _, sum := range sums {
		keep[strings.TrimPrefix(dir+"/"+sum.Path, "/")] = true
	}
	for p := range keep {
		for _, dir := range parents(p) {
			keep[dir] = true
		}
	}
	entries, err := v.modules.walk(files, maxEntries)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if keep[strings.TrimPrefix(dir+"/"+e.path, "/")] {
			continue
		}
		if err := v.modules.remove(files + "/" + e.path); err != nil {
			return err
		}
	}
	return nil
}

// takeBack removes what an installation that failed has placed.
func (in *installation) takeBack() {
	files, list := pin.Store(in.record.Commit, in.dir)
	if !in.placed || in.modules.remove(list) != nil {
		return
	}
	view{in.modules, in.lock}.prune(in.record.Commit, in.dir, nil)
	in.modules.removeEmpty(files)
	for _, dir := range parents(files) {
		in.modules.removeEmpty(dir)
	}
}
