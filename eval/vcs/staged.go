package vcs

import (
	"context"
	"os"
	"path/filepath"
	"strings"
)

// Staged returns what the commit under way changes below Options.Dir: what differs
// between the current commit and the index, relative to that directory and sorted
// (D-72). Before the first commit that is the whole index. A renamed file is one
// deleted and one added, a submodule is one path, and what is only meant to be added
// (git add -N) is no part of a commit. For an amended commit the current one counts,
// not the one before it.
//
// The index is Options.Index where that is this repository's. A broken one fails
// with ErrIndex, one that is not there with ErrNotFound.
func (r *Repository) Staged(ctx context.Context) ([]Change, error) {
	const doing = "look for staged changes"
	index, err := r.underWay(doing)
	if err != nil {
		return nil, err
	}
	changes, err := r.indexed(ctx, doing, index, "HEAD")
	if !exited(err, 128) {
		return changes, err
	}
	if tree, unborn := r.beforeFirst(ctx, doing); unborn {
		return r.indexed(ctx, doing, index, tree)
	}
	return nil, err
}

// indexed returns what differs between a commit or tree and an index, "" for the
// repository's own. The command is one that never looks at the work tree, so no
// filter runs and the index is not refreshed. Settings of submodules would hide
// them, which --ignore-submodules overrules.
func (r *Repository) indexed(ctx context.Context, doing, index, tree string) ([]Change, error) {
	args := []string{"diff-index", "--cached", "--name-status", "-z", "--no-renames", "--ita-invisible-in-index", "--ignore-submodules=dirty", tree}
	out, err := r.git.output(ctx, call{doing: doing, index: index, args: r.below(args)})
	if err != nil {
		return nil, err
	}
	changes, ok := parseNameStatus(out)
	if !ok {
		return nil, unexpected(doing)
	}
	return r.within(merged(changes)), nil
}

// beforeFirst returns the empty tree when the repository has no commit yet. A
// current commit that is named but missing is another matter.
func (r *Repository) beforeFirst(ctx context.Context, doing string) (tree string, unborn bool) {
	_, err := r.git.line(ctx, call{doing: doing, args: []string{"rev-parse", "--verify", "--quiet", "HEAD"}})
	if !exited(err, 1) {
		return "", false
	}
	// Its id depends on the repository's hash. Standard input is empty.
	tree, err = r.git.line(ctx, call{doing: doing, args: []string{"hash-object", "-t", "tree", "--stdin"}})
	return tree, err == nil
}

// underWay returns the index that Options.Index names, "" for the repository's own.
//
// Git runs the hooks of a commit in the top directory and names the index relative
// to it, ".git/index", or in full: that of a linked work tree or a submodule, and
// index.lock and next-index-N.lock in the same directory for "commit -a" and
// "commit -- PATH". A directory with a HEAD that is not this repository's belongs to
// another one, whose hook handed its index down. An index in any other place was
// chosen by somebody.
func (r *Repository) underWay(doing string) (string, error) {
	name := filepath.FromSlash(r.index)
	if name == "" || name == filepath.Join(".git", "index") {
		return "", nil
	}
	if !filepath.IsAbs(name) {
		name = filepath.Join(r.top, name)
	}
	dir := filepath.Dir(name)
	own := same(dir, r.gitDir)
	if own && filepath.Base(name) == "index" {
		return "", nil
	}
	if _, err := os.Stat(filepath.Join(dir, "HEAD")); err == nil && !own {
		return "", nil
	}
	// For git a file that is not there is an index without files.
	if _, err := os.Stat(name); err != nil {
		return "", notFound(doing, "there is no index "+name, "unset GIT_INDEX_FILE, or let it name an index of this repository")
	}
	return name, nil
}

// below ends the arguments of a command that compares with the paths that count.
func (r *Repository) below(args []string) []string {
	if args = append(args, "--"); r.prefix != "" {
		args = append(args, r.prefix)
	}
	return args
}

// within keeps what is below Options.Dir, relative to it. The directory may itself
// have been a file or a submodule.
func (r *Repository) within(changes []Change) []Change {
	if r.prefix == "" {
		return changes
	}
	var out []Change
	for _, c := range changes {
		if name, ok := strings.CutPrefix(c.Path, r.prefix+"/"); ok {
			out = append(out, Change{name, c.Kind})
		}
	}
	return out
}
