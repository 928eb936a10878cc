package state

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/model-workspace-protocol/mwp/nodes/pin"
)

// Entry is a file in a subdirectory of a state directory.
type Entry struct {
	Name string
	// Size is in bytes, Modified when the content was last replaced.
	Size     int64
	Modified time.Time
}

// newName is what a new file in a subdirectory is called until it is whole. All writers
// of the directory hold one lock, so one name serves them all: whatever is killed, at
// most one such file is left, and the next writer removes it.
const newName = "new" + tempSuffix

// Read returns the content of the file name in the subdirectory sub, nil without an
// error when there is none. A file of more than limit bytes is ErrTooLarge; what is
// neither a regular file nor missing, cas.ErrLink. It takes no lock: it sees the content
// before an update or after it.
func (d Dir) Read(sub, name string, limit int64) ([]byte, error) {
	if err := checkNames("Read", sub, name); err != nil {
		return nil, err
	}
	b, err := d.read(sub, name, limit)
	return b, forSub(err, sub)
}

// Update replaces a file in a subdirectory by what do returns for its present content,
// nil when there is none; a nil result removes it. What it needs around the file is made,
// the .gitignore too. When do returns an error, when its result has more than limit
// bytes, and when what is there cannot be read, everything stays, and that is the error.
//
// do is called while this process holds the lock of the whole subdirectory, which others
// wait for no longer than five seconds (D-103): it must not wait itself. Bytes need not
// be on the device when Update returns, and after a power failure a file may be empty.
func (d Dir) Update(ctx context.Context, sub, name string, limit int64, do func(old []byte) ([]byte, error)) error {
	if err := checkNames("Update", sub, name); err != nil {
		return err
	}
	var refused error
	err := d.lockedSub(ctx, sub, func(f *Files) error {
		old, err := f.readAtMost(name, limit)
		if err != nil {
			return err
		}
		var content []byte
		if content, refused = do(old); refused != nil {
			return nil
		}
		switch {
		case content == nil && old == nil:
			return nil
		case content == nil:
			return f.remove(name)
		case int64(len(content)) > limit:
			return tooLarge(f.Path(name), limit)
		}
		return f.replace(newName, name, content, Quick)
	})
	if refused != nil {
		return refused
	}
	return forSub(err, sub)
}

// Remove removes a file from a subdirectory and reports whether there was one. What is
// no regular file stays, and is cas.ErrLink.
func (d Dir) Remove(ctx context.Context, sub, name string) (was bool, err error) {
	if err := checkNames("Remove", sub, name); err != nil {
		return false, err
	}
	// Where there is nothing, nothing is made for a lock.
	f, err := d.openSub(sub)
	if f == nil || err != nil {
		return false, forSub(err, sub)
	}
	info, err := f.regular(name)
	f.Close()
	if info == nil || err != nil {
		return false, forSub(Failed(err, "remove", f.Path(name)), sub)
	}
	err = d.lockedSub(ctx, sub, func(f *Files) error {
		info, err := f.regular(name)
		if info == nil || err != nil {
			return Failed(err, "remove", f.Path(name))
		}
		was = true
		return f.remove(name)
	})
	return was && err == nil, forSub(err, sub)
}

// List returns the regular files of a subdirectory in the order of their names, nil when
// there is no such directory. Everything else is left out, and so are a file that is being
// written and the .gitignore. When the directory holds more than limit names beside that
// one, of whatever, it returns some of them beside an error that wraps ErrTooLarge.
func (d Dir) List(sub string, limit int) ([]Entry, error) {
	checkSub("List", sub)
	f, err := d.openSub(sub)
	if f == nil || err != nil {
		return nil, forSub(err, sub)
	}
	defer f.Close()
	list, err := f.list(limit)
	return list, forSub(err, sub)
}

func (f *Files) list(limit int) ([]Entry, error) {
	dir, err := f.root.Open(".")
	if err != nil {
		return nil, Failed(err, "read", f.path)
	}
	defer dir.Close()
	names, err := dir.Readdirnames(limit + 2)
	if err != nil && err != io.EOF {
		return nil, Failed(err, "read", f.path)
	}
	names = slices.DeleteFunc(names, func(name string) bool { return name == ignoreName })
	if len(names) > limit {
		names = names[:limit]
		err = &FileError{
			Message: fmt.Sprintf("%s: expected at most %d files, found more", Shown(f.path), limit),
			Hint:    "remove those that are not needed",
			Reason:  ErrTooLarge,
		}
	} else {
		err = nil
	}
	list := make([]Entry, 0, len(names))
	for _, name := range names {
		if plain(name) != nil {
			continue
		}
		// Another process may have removed it.
		if info, err := f.root.Lstat(name); err == nil && info.Mode().IsRegular() {
			list = append(list, Entry{Name: name, Size: info.Size(), Modified: info.ModTime()})
		}
	}
	slices.SortFunc(list, func(a, b Entry) int { return strings.Compare(a.Name, b.Name) })
	return list, err
}

// openSub opens a subdirectory; it returns nil when there is none.
func (d Dir) openSub(sub string) (*Files, error) {
	above, err := d.Open()
	if above == nil || err != nil {
		return nil, unlessMissing(err)
	}
	defer above.Close()
	f, err := above.enter(sub, false)
	return f, unlessMissing(err)
}

func unlessMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// ignoreAll keeps a subdirectory out of version control, itself included, whatever the
// directory above says.
const ignoreAll = "*\n"

// lockedSub calls do with a subdirectory, which it makes, under its lock. There is one
// for all files in it: with one for each, a file of the lock would stay behind for every
// name there ever was, because none can be removed while somebody may wait for it.
func (d Dir) lockedSub(ctx context.Context, sub string, do func(*Files) error) error {
	return d.Locked(ctx, sub, func(above *Files) error {
		f, err := above.enter(sub, true)
		if err != nil {
			return err
		}
		defer f.Close()
		if err := f.ignore(ignoreAll); err != nil {
			return err
		}
		return do(f)
	})
}

// readAtMost returns the content of a regular file of at most limit bytes, nil without
// one.
func (f *Files) readAtMost(name string, limit int64) ([]byte, error) {
	b, err := f.Read(name, limit)
	if err == nil && int64(len(b)) > limit {
		return nil, tooLarge(f.Path(name), limit)
	}
	return b, err
}

func (f *Files) remove(name string) error {
	err := f.ask("remove", name)
	if err == nil {
		err = f.root.Remove(name)
	}
	return Failed(err, "remove", f.Path(name))
}

// tooLarge is the error of a file that has, or would get, more than limit bytes.
func tooLarge(path string, limit int64) error {
	return &FileError{
		Message: fmt.Sprintf("%s: expected at most %d bytes, found more", Shown(path), limit),
		Hint:    "see where it came from, and move it away",
		Reason:  ErrTooLarge,
	}
}

// forSub says what cannot be kept where nothing may be written.
func forSub(err error, sub string) error {
	e, ok := errors.AsType[*FileError](err)
	if ok && errors.Is(err, ErrUnwritable) && !errors.Is(err, syscall.ENOSPC) {
		e.Hint = "the directory has to be readable and writable to keep " + sub
	}
	return err
}

// checkNames returns the *FileError of what cannot be the name of a file, which a person
// may have given. A subdirectory is named by our own code.
func checkNames(call, sub, name string) error {
	checkSub(call, sub)
	if err := plain(name); err != nil {
		return &FileError{Message: fmt.Sprintf("%s: expected the name of a file, found %s", Shown(name), err), Reason: errors.Join(ErrName, err)}
	}
	return nil
}

func checkSub(call, sub string) {
	if err := plain(sub); err != nil {
		panic(fmt.Sprintf("state.Dir.%s: the subdirectory %q is %v", call, sub, err))
	}
}

// plain returns what a name is that does not mean one file, the same on every system,
// directly in a directory.
func plain(name string) error {
	switch {
	case strings.Contains(name, "/"):
		return errors.New("a path")
	case name == "." || name == "..":
		return errors.New("a directory")
	case strings.HasSuffix(strings.ToLower(name), tempSuffix):
		return errors.New("a name that ends in " + tempSuffix)
	case strings.EqualFold(name, ignoreName):
		return errors.New("the file that keeps the others out of version control")
	}
	return pin.CheckPath(name)
}
