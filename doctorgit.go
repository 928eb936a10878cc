package mwp

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"

	"github.com/model-workspace-protocol/mwp/eval/vcs"
	"github.com/model-workspace-protocol/mwp/nodes"
)

// maxCompared is how many anchors are compared with the current commit: each takes a
// question to git.
const maxCompared = 50

// maxCommitted bounds what is read of one file of a commit.
const maxCommitted = 1 << 20

// git compares the anchors' files with the current commit (D-104). It reads blobs, so that
// no filter of the repository runs and the index stays as it is; line ends count as equal.
func (l *looking) git(ctx context.Context) {
	g := &l.f.git
	r, err := vcs.Open(ctx, vcs.Options{Dir: l.s.dir})
	if errors.Is(err, vcs.ErrNoRepository) {
		return
	}
	if g.repository = true; err != nil {
		// Without git nobody knows; a .git says that there is a repository.
		g.repository = !errors.Is(err, vcs.ErrNoGit) || l.hasGit()
		g.problem = err.Error()
		return
	}
	head, err := r.Head(ctx)
	if err != nil && !errors.Is(err, vcs.ErrNotFound) {
		g.problem = err.Error()
		return
	}
	if err := l.compare(ctx, r, head); err != nil {
		g.problem = err.Error()
	}
}

func (l *looking) hasGit() bool {
	for dir := l.s.dir; ; dir = filepath.Dir(dir) {
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			return true
		}
		if dir == filepath.Dir(dir) {
			return false
		}
	}
}

// anchorFiles are the files of an anchor that decide about maps and guards.
func anchorFiles(dir string) []string {
	return []string{path.Join(dir, ".mwp"), path.Join(dir, ".mwp/config.toml"), path.Join(dir, ".mwp/modules.lock"), path.Join(dir, ".mwp.d/modules.lock")}
}

// compare notes every file of an anchor that is another one in a commit, "" for none.
func (l *looking) compare(ctx context.Context, r *vcs.Repository, commit string) error {
	anchors := l.anchors[:min(len(l.anchors), maxCompared)]
	l.f.git.left = len(l.anchors) - len(anchors)
	var committed []string
	sizes := map[string]int64{}
	for _, dir := range anchors {
		if commit == "" {
			break
		}
		for _, state := range []string{".mwp", ".mwp.d"} {
			err := r.ListTree(ctx, commit, path.Join(r.Prefix(), dir, state), func(e vcs.Entry) error {
				name := e.Path
				if r.Prefix() != "" {
					name = name[min(len(name), len(r.Prefix())+1):]
				}
				if slices.Contains(anchorFiles(dir), name) && e.Mode != vcs.ModeSubmodule && e.Size >= 0 {
					committed = append(committed, e.Path)
					sizes[name] = e.Size
				}
				return nil
			})
			if err != nil {
				return err
			}
		}
	}
	before := map[string][]byte{}
	err := r.ReadBlobs(ctx, commit, committed, func(b vcs.Blob) error {
		text, err := io.ReadAll(io.LimitReader(b.Content, maxCommitted))
		name := b.Path
		if r.Prefix() != "" {
			name = name[len(r.Prefix())+1:]
		}
		before[name] = text
		return err
	})
	if err != nil && len(committed) > 0 {
		return err
	}
	for _, dir := range anchors {
		for _, name := range anchorFiles(dir) {
			old, was := before[name]
			l.changed(name, old, was, sizes[name])
		}
	}
	return nil
}

// changed notes one file if it differs.
func (l *looking) changed(name string, old []byte, was bool, size int64) {
	now, err := readRegular(l.at(filepath.FromSlash(name)))
	is := err == nil
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		info, statErr := os.Lstat(l.at(filepath.FromSlash(name)))
		if statErr == nil && info.IsDir() {
			// An anchor that is a directory has no content of its own.
			is = false
		} else if !was || statErr == nil {
			return
		}
	}
	c := anchorChange{path: name}
	switch {
	case !is && !was, is && was && size <= maxCommitted && bytes.Equal(lines(old), lines(now)):
		return
	case !was:
		c.how = changeNew
	case !is:
		c.how = changeDeleted
	default:
		c.how = changeMade
	}
	if base := path.Base(name); base == ".mwp" || base == "config.toml" {
		c.trust = was && is && !slices.Equal(allowedIn(old), allowedIn(now))
	}
	l.f.git.changes = append(l.f.git.changes, c)
}

func lines(text []byte) []byte { return bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n")) }

// allowedIn returns the commands that a configuration lets guards run, in order.
func allowedIn(config []byte) []string {
	c, _ := nodes.ParseConfig(config)
	return slices.Sorted(slices.Values(c.AllowedGuards))
}
