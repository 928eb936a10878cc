package vcs

import (
	"context"
	"slices"
	"strings"

	"github.com/model-workspace-protocol/mwp/nodes/pin"
)

// Change is a file of the work tree that differs.
type Change struct {
	// Path has '/' between names and the bytes that git has. It is relative to Top in
	// answers of Status, to Options.Dir in those of Staged and ChangedPaths.
	Path string
	Kind ChangeKind
}

// ChangeKind says how a file differs.
type ChangeKind byte

// Kinds of change, as git abbreviates them.
const (
	Added     ChangeKind = 'A'
	Modified  ChangeKind = 'M'
	Deleted   ChangeKind = 'D'
	Retyped   ChangeKind = 'T' // a file became a link, or the reverse
	Unmerged  ChangeKind = 'U'
	Untracked ChangeKind = '?'
)

// Status returns what differs between the current commit and the index or the work
// tree, sorted by path; nothing means that the tree is clean. Untracked files
// count, a directory of them as one that ends in '/'; ignored ones and submodules
// do not.
func (r *Repository) Status(ctx context.Context) ([]Change, error) {
	const doing = "look for changes"
	out, err := r.compare(ctx, doing, "status", "--porcelain=v2", "-z", "--untracked-files=normal", "--ignore-submodules=all", "--no-renames")
	if err != nil {
		return nil, err
	}
	changes, ok := parseStatus(out, anyKind)
	if !ok {
		return nil, unexpected(doing)
	}
	return merged(changes), nil
}

// parseStatus reads porcelain format 2 with NUL after each entry. kindOf sums up the
// two letters of an entry, 0 to leave it out.
func parseStatus(out []byte, kindOf func(xy string) ChangeKind) (changes []Change, ok bool) {
	rest := string(out)
	for rest != "" {
		line, after, ended := strings.Cut(rest, "\x00")
		kind, fields, some := strings.Cut(line, " ")
		if rest = after; !ended || !some {
			return nil, false
		}
		// The path is what follows the fields of this kind of entry.
		before := map[string]int{"1": 7, "2": 8, "u": 9, "?": 0}
		n, known := before[kind]
		if kind == "#" || kind == "!" {
			continue
		}
		parts := strings.SplitN(fields, " ", n+1)
		if !known || len(parts) != n+1 || parts[n] == "" {
			return nil, false
		}
		c := Change{parts[n], Untracked}
		switch {
		case kind == "u":
			c.Kind = Unmerged
		case n > 0 && len(parts[0]) != 2:
			return nil, false
		case n > 0:
			c.Kind = kindOf(parts[0])
		}
		if kind == "2" {
			// A renamed file's old name is an entry of its own.
			if _, rest, ended = strings.Cut(rest, "\x00"); !ended {
				return nil, false
			}
		}
		if c.Kind != 0 {
			changes = append(changes, c)
		}
	}
	return changes, true
}

// unstagedKind says what happened between index and work tree.
func unstagedKind(xy string) ChangeKind {
	if xy[1] == '.' {
		return 0
	}
	return anyKind(xy[1:])
}

// anyKind sums up what happened between commit, index and work tree.
func anyKind(xy string) ChangeKind {
	switch {
	case strings.Contains(xy, "D"):
		return Deleted
	case strings.Contains(xy, "A"):
		return Added
	case strings.Contains(xy, "T"):
		return Retyped
	}
	return Modified
}

// ChangedPaths returns what differs from a commit, in full, below Options.Dir,
// relative to that directory and sorted: committed since, staged, changed without
// being staged, or untracked. It compares with the commit itself, not with a common
// ancestor: what only the commit's branch has changed differs too. A file that
// differs in the index alone counts, an ignored one does not unless it is tracked. A
// renamed file is one deleted and one added. A submodule is one path, which differs
// when another commit is recorded or checked out there; no git runs in it, so what
// it has uncommitted is not seen. Repositories inside this one that are no submodules
// do not count. What a sparse check-out leaves out is not deleted.
func (r *Repository) ChangedPaths(ctx context.Context, base string) ([]Change, error) {
	const doing = "look for changes"
	if !pin.IsCommit(base) {
		return nil, notFound(doing, "expected a commit in full, found "+base, "")
	}
	changes, err := r.indexed(ctx, doing, "", base)
	if err != nil {
		return nil, err
	}
	// Not "git diff BASE": it writes the index when only a file's times have changed,
	// or else takes that for a change.
	out, err := r.compare(ctx, doing, r.below([]string{"status", "--porcelain=v2", "-z", "--untracked-files=all", "--ignore-submodules=dirty", "--no-renames"})...)
	if err != nil {
		return nil, err
	}
	unstaged, ok := parseStatus(out, unstagedKind)
	if !ok {
		return nil, unexpected(doing)
	}
	unstaged = slices.DeleteFunc(unstaged, func(c Change) bool { return strings.HasSuffix(c.Path, "/") })
	return merged(append(changes, r.within(unstaged)...)), nil
}

// parseNameStatus reads pairs of a letter and a path, each with NUL after it.
func parseNameStatus(out []byte) (changes []Change, ok bool) {
	rest := string(out)
	for rest != "" {
		kind, after, some := strings.Cut(rest, "\x00")
		name, next, ended := strings.Cut(after, "\x00")
		if !some || !ended || len(kind) != 1 || name == "" {
			return nil, false
		}
		changes = append(changes, Change{name, ChangeKind(kind[0])})
		rest = next
	}
	return changes, true
}

// merged sorts changes and makes one of those with the same path.
func merged(changes []Change) []Change {
	slices.SortFunc(changes, func(a, b Change) int { return strings.Compare(a.Path, b.Path) })
	var out []Change
	for _, c := range changes {
		if n := len(out); n > 0 && out[n-1].Path == c.Path {
			out[n-1].Kind = both(out[n-1].Kind, c.Kind)
			continue
		}
		out = append(out, c)
	}
	return out
}

// both sums up what happened to one file in two steps, in any order.
func both(a, b ChangeKind) ChangeKind {
	if max(a, b) == Deleted && min(a, b) == Untracked {
		// Removed from the index and still in the work tree.
		return Modified
	}
	for _, k := range []ChangeKind{Unmerged, Deleted, Added, Retyped} {
		if a == k || b == k {
			return k
		}
	}
	return Modified
}

// compare runs a command that compares the work tree, for which git may run
// filters.
func (r *Repository) compare(ctx context.Context, doing string, args ...string) ([]byte, error) {
	off, err := r.filtersOff(ctx, doing)
	if err != nil {
		return nil, err
	}
	return r.git.output(ctx, call{doing: doing, args: append(off, args...)})
}

// filtersOff returns options that switch off the filters which the repository's
// own configuration names. A file that needs one then counts as changed when its
// times differ from what git recorded.
func (r *Repository) filtersOff(ctx context.Context, doing string) ([]string, error) {
	out, err := r.git.output(ctx, call{doing: doing, args: []string{"config", "--list", "--null", "--show-scope", "--name-only"}})
	if err != nil {
		return nil, err
	}
	drivers, err := ownFilters(doing, out)
	if err != nil {
		return nil, err
	}
	var off []string
	for _, d := range drivers {
		for _, setting := range []string{".clean=", ".smudge=", ".process=", ".required=false"} {
			off = append(off, "-c", "filter."+d+setting)
		}
	}
	return off, nil
}

// ownFilters returns the filter drivers that do not come from the user, the system
// or the environment. out lists scope and key, each with NUL after it.
func ownFilters(doing string, out []byte) ([]string, error) {
	var drivers []string
	fields := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
	for i := 0; i+1 < len(fields); i += 2 {
		scope, key := fields[i], fields[i+1]
		name, ok := strings.CutPrefix(key, "filter.")
		end := strings.LastIndexByte(name, '.')
		if !ok || end < 0 || slices.Contains([]string{"system", "global", "command"}, scope) {
			continue
		}
		if name = name[:end]; strings.Contains(name, "=") {
			// No option can name it.
			return nil, fail(doing, nil, "the repository's configuration names the filter "+name+", which cannot be switched off")
		}
		if !slices.Contains(drivers, name) {
			drivers = append(drivers, name)
		}
	}
	return drivers, nil
}
