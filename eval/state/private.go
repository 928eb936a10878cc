package state

import (
	"context"
	"errors"
	"os"
)

// Private is a directory of one user, outside every repository. Every error that is not
// the caller's own is a *FileError.
type Private struct {
	// Path is its absolute path. It and its parents are made, for its owner only, by the
	// first write. That it is a link is the user's choice.
	Path string
}

// Locked calls do with the open directory, which it makes if need be, under its lock,
// for which it waits at most five seconds (D-103). The error of do is returned as it is.
// A directory in which somebody else can replace files is refused.
func (p Private) Locked(ctx context.Context, do func(*Files) error) error {
	f, err := p.open()
	if err != nil {
		return err
	}
	defer f.Close()
	unlock, err := takeLock(ctx, f.Path("lock"), 0, nil)
	if err != nil {
		return err
	}
	defer unlock()
	return do(f)
}

func (p Private) open() (*Files, error) {
	if err := os.MkdirAll(p.Path, 0o700); err != nil {
		return nil, Failed(err, "make", p.Path)
	}
	root, err := os.OpenRoot(p.Path)
	if err != nil {
		return nil, Failed(err, "open", p.Path)
	}
	info, err := root.Stat(".")
	if err == nil {
		err = checkPrivateDir(info)
	}
	if err != nil {
		root.Close()
		return nil, privateError(err, p.Path)
	}
	return &Files{root: root, path: p.Path, perm: privatePerm}, nil
}

func privateError(err error, dir string) error {
	err = Failed(err, "use the per-user state directory", dir)
	if e, ok := errors.AsType[*FileError](err); ok && e.Hint == "" {
		e.Hint = "give it to this user, with `chmod 700`, or name another one with XDG_STATE_HOME"
	}
	return err
}
