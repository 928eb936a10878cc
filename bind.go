package mwp

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/model-workspace-protocol/mwp/nodes/ir"
)

// Bind opens the workspace that a server serves (D-65): the one at o.Root, or around the
// first of the directories that has an anchor (.mwp) in or above it. The targets of its
// questions are relative to the workspace's root. An error says where it looked and what
// to do; looking again later may find one.
func Bind(ctx context.Context, o Options, dirs ...string) (*Workspace, error) {
	if o.Root != "" {
		o.Dir = dirs[0]
		return bound(ctx, o)
	}
	var looked []string
	for _, dir := range dirs {
		if dir == "" {
			continue
		}
		if !anchored(dir) {
			looked = append(looked, dir)
			continue
		}
		o.Dir = dir
		return bound(ctx, o)
	}
	if len(looked) == 0 {
		return nil, environment(ir.NoRoot, nil, "start the server in the project, or name the project with --root", "the working directory is gone")
	}
	return nil, environment(ir.NoRoot, nil, "run `mwp init` in the project's root, or start the server with --root DIR",
		"no .mwp at %s or above it", strings.Join(looked, ", nor at "))
}

// anchored reports whether a directory or one above it holds an anchor.
func anchored(dir string) bool {
	for {
		if _, err := os.Lstat(filepath.Join(dir, ".mwp")); err == nil || !errors.Is(err, fs.ErrNotExist) {
			return true
		}
		up := filepath.Dir(dir)
		if up == dir {
			return false
		}
		dir = up
	}
}

// bound opens a workspace whose Dir is its root.
func bound(ctx context.Context, o Options) (*Workspace, error) {
	w := Open(o)
	// Options.Dir, which a relative root starts from, is about to change.
	w.o.Root = w.root()
	_, s, err := w.enter(ctx, w.root())
	if err != nil {
		w.Close()
		return nil, err
	}
	w.o.Dir, w.bound = s.dir, &s.candidate
	return w, nil
}

// findBound is find for a workspace whose root is bound: a target outside of it is refused
// however it is spelled, and so is one that a link inside of it leads to another workspace
// with.
func (w *Workspace) findBound(abs string) (*place, error) {
	outside := func() error {
		return environment(ir.TargetOutsideRoot, nil, "name a target below the root", "the target %s is outside the root %s", abs, w.bound.dir)
	}
	root := realPath(w.bound.dir)
	named := abs
	if _, ok := below(w.bound.dir, abs); !ok {
		// The root may have another name through a link.
		rel, ok := below(root, realPath(abs))
		if !ok {
			return nil, outside()
		}
		named = filepath.Join(w.bound.dir, filepath.FromSlash(rel))
	}
	p, err := w.scout(named)
	if err != nil {
		return nil, err
	}
	if len(p.candidates) == 0 {
		return nil, environment(ir.NoRoot, nil, "run `mwp init` in the project's root", "no .mwp at %s or above it any more", named)
	}
	if _, ok := below(root, realPath(p.candidates[0].dir)); !ok {
		return nil, outside()
	}
	return p, nil
}

// Dir returns the directory that relative targets start from; of a bound workspace it is
// the root.
func (w *Workspace) Dir() string { return w.o.Dir }
