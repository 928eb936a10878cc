package vcs

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	"github.com/model-workspace-protocol/mwp/nodes/pin"
)

// Options say which repository is meant and what git may do.
type Options struct {
	// Dir is a directory of the repository, absolute.
	Dir string
	// Index is the value of GIT_INDEX_FILE that a hook around the call was given, ""
	// for none: see Staged. Nothing else asks for it.
	Index string
	// Terminal lets git ask for a password on the terminal, in actions only.
	Terminal bool
}

// Repository answers questions about the repository around a directory. It holds
// no state of it: each call asks git again. It is safe for concurrent use.
type Repository struct {
	git program // in the top directory

	top, gitDir, prefix string

	index string // Options.Index
}

// Open finds the repository around a directory. It fails with an *Error that is
// ErrNoGit, ErrNoRepository or ErrOwner, or the context's error, as every call
// here may.
func Open(ctx context.Context, o Options) (*Repository, error) {
	p, err := find(o.Dir, o.Terminal)
	if err != nil {
		return nil, err
	}
	places, err := p.places(ctx, "find the repository around "+o.Dir, "--show-toplevel", "--absolute-git-dir", "--show-prefix")
	if err != nil {
		return nil, err
	}
	r := &Repository{
		top:    filepath.FromSlash(places[0]),
		gitDir: filepath.FromSlash(places[1]),
		prefix: strings.TrimSuffix(places[2], "/"),
		index:  o.Index,
	}
	if !same(o.Dir, filepath.Join(r.top, filepath.FromSlash(r.prefix))) {
		// The configuration of a repository can name any directory as its work tree.
		e := fail("find the repository around "+o.Dir, ErrNoRepository, "the repository's configuration names the work tree "+r.top)
		e.Hint = "see where that is said: git config --show-origin core.worktree"
		return nil, e
	}
	p.dir = r.top
	r.git = p
	return r, nil
}

// places asks where things are, at once unless line ends in paths leave it open which
// answer is which.
func (p *program) places(ctx context.Context, doing string, what ...string) ([]string, error) {
	all, err := p.line(ctx, call{doing: doing, args: append([]string{"rev-parse"}, what...)})
	answers := strings.Split(all, "\n")
	if err != nil || len(answers) == len(what) {
		return answers, err
	}
	answers = make([]string, len(what))
	for i, w := range what {
		if answers[i], err = p.line(ctx, call{doing: doing, args: []string{"rev-parse", w}}); err != nil {
			return nil, err
		}
	}
	return answers, nil
}

func same(a, b string) bool {
	x, errX := os.Stat(a)
	y, errY := os.Stat(b)
	return errX == nil && errY == nil && os.SameFile(x, y)
}

// Top returns the work tree's top directory, absolute and without links.
func (r *Repository) Top() string { return r.top }

// GitDir returns the directory with the repository's own files, absolute. Each
// linked work tree has one of its own.
func (r *Repository) GitDir() string { return r.gitDir }

// Prefix returns Options.Dir relative to Top, with '/' between names, "" for Top
// itself.
func (r *Repository) Prefix() string { return r.prefix }

// Head returns the commit that is checked out, in full. Before the first commit it
// fails with ErrNotFound.
func (r *Repository) Head(ctx context.Context) (string, error) {
	const doing = "find the current commit"
	c, err := r.git.line(ctx, call{doing: doing, args: []string{"rev-parse", "--verify", "--quiet", "HEAD^{commit}"}})
	if exited(err, 1) {
		return "", notFound(doing, "the repository has no commit yet", "")
	}
	return c, err
}

// maxRevision bounds a revision that somebody typed.
const maxRevision = 1 << 10

// ResolveCommit returns the full id of the commit that a revision means, as a
// person writes it: a branch, a tag, HEAD~2 (D-111). What git could read as an
// option is refused; ErrNotFound is for everything that is no commit here.
func (r *Repository) ResolveCommit(ctx context.Context, rev string) (string, error) {
	doing := "find the revision " + rev
	switch {
	case rev == "":
		return "", notFound("find a revision", "its name is empty", "")
	case strings.HasPrefix(rev, "-"):
		return "", notFound(doing, "it begins like an option", "name a branch, a tag or a commit")
	case len(rev) > maxRevision || strings.ContainsAny(rev, "\x00\n\r"):
		return "", notFound("find a revision", "expected one line of at most 1024 bytes", "name a branch, a tag or a commit")
	}
	c, err := r.git.line(ctx, call{doing: doing, args: []string{"rev-parse", "--verify", "--quiet", "--end-of-options", rev + "^{commit}"}})
	if exited(err, 1) || exited(err, 128) || err == nil && !pin.IsCommit(c) {
		return "", r.unknown(ctx, doing, rev)
	}
	return c, err
}

// unknown is the error for a revision that is not there. A shallow clone may lack the
// commit as well as the branch that leads to it.
func (r *Repository) unknown(ctx context.Context, doing, rev string) error {
	if shallow, err := r.git.line(ctx, call{doing: doing, args: []string{"rev-parse", "--is-shallow-repository"}}); err == nil && shallow == "true" {
		return notFound(doing, "it is no commit of this repository, which is a shallow clone", `git fetch --unshallow origin "+refs/heads/*:refs/remotes/origin/*"`)
	}
	return notFound(doing, "it is no commit of this repository", fetchHint(rev))
}

// fetchHint says how to get a revision. Hints are copied into shells, so one that a
// shell would read as more than a word is not repeated.
func fetchHint(rev string) string {
	hint := "in a shallow clone, fetch it first: git fetch origin "
	if strings.Trim(strings.ToLower(rev), "abcdefghijklmnopqrstuvwxyz0123456789._/-") != "" {
		return hint + "REVISION"
	}
	return hint + rev
}
