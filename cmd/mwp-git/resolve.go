package main

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/model-workspace-protocol/mwp/eval/module/protocol"
	"github.com/model-workspace-protocol/mwp/nodes/pin"
)

const (
	tagPrefix    = "refs/tags/"
	branchPrefix = "refs/heads/"
)

// listing is what a repository says its references stand for.
type listing struct {
	// refs has full names; peeled the objects that annotated tags stand for in the
	// end, as far as the repository says so.
	refs, peeled map[string]string
	// head is the commit of the default branch, "" in an empty repository.
	head string
}

// stands returns what a tag stands for, as far as the listing tells.
func (l *listing) stands(name string) string {
	if id := l.peeled[name]; id != "" {
		return id
	}
	return l.refs[name]
}

// has reports whether the id is what some reference stands for.
func (l *listing) has(id string) bool {
	for _, other := range l.refs {
		if other == id {
			return true
		}
	}
	return l.head == id
}

// digits returns the length of the repository's ids, 40 or 64.
func (l *listing) digits() int {
	for _, id := range l.refs {
		return len(id)
	}
	return max(len(l.head), 40)
}

// want is the object to fetch.
type want struct {
	// kind is pin.Tag, pin.Commit or pin.Branch.
	kind string
	// id is a commit, or the tag object of an annotated tag.
	id string
	// ref is the full name of the reference to fetch it by, "" for its id.
	ref   string
	notes []string
}

// resolve decides what a reference is (D-33): a commit in full, else a tag, else a
// branch where branches are allowed.
func resolve(r protocol.Request, l *listing) (want, error) {
	tag, branch := tagPrefix+r.Ref, branchPrefix+r.Ref
	_, isTag := l.refs[tag]
	_, isBranch := l.refs[branch]
	switch {
	case pin.IsCommit(r.Ref) && len(r.Ref) != l.digits(), r.Commit != "" && len(r.Commit) != l.digits():
		return want{}, fail(protocol.RefNotFound, "%s has ids of %d digits, and the commit %s has %d", pin.Mask(r.URL), l.digits(), cmp.Or(r.Commit, r.Ref), len(cmp.Or(r.Commit, r.Ref)))
	case pin.IsCommit(r.Ref):
		return want{kind: pin.Commit, id: r.Ref}, nil
	case r.Ref == "" && !r.Floating:
		return want{}, fail(protocol.FloatingRef, "%s is imported without a tag or commit", pin.Mask(r.URL)).hint("write @TAG after it%s, or pass --allow-floating", suggest("", l))
	case r.Ref == "" && r.Commit == "" && l.head == "":
		return want{}, fail(protocol.RefNotFound, "%s has no default branch", pin.Mask(r.URL)).hint("write @TAG after it")
	case r.Ref == "" && r.Commit == "":
		return want{kind: pin.Branch, id: l.head}, nil
	case isTag && isBranch:
		return want{pin.Tag, l.refs[tag], tag, []string{quote(r.Ref) + " is a tag and a branch; the tag was taken"}}, nil
	case isTag:
		return want{kind: pin.Tag, id: l.refs[tag], ref: tag}, nil
	case isBranch && !r.Floating:
		return want{}, fail(protocol.FloatingRef, "%s is a branch of %s, which moves", quote(r.Ref), pin.Mask(r.URL)).hint("write a tag%s or a commit, or pass --allow-floating", suggest(r.Ref, l))
	case r.Floating && r.Commit != "":
		w := want{kind: pin.Branch, id: r.Commit}
		if r.Ref != "" && !isBranch {
			w.notes = []string{quote(r.Ref) + " is neither a tag nor a branch any more; the recorded commit was taken"}
		}
		return w, nil
	case isBranch:
		return want{kind: pin.Branch, id: l.refs[branch], ref: branch}, nil
	}
	f := fail(protocol.RefNotFound, "%s has no tag or branch %s", pin.Mask(r.URL), quote(r.Ref))
	if s := suggest(r.Ref, l); s != "" {
		return want{}, f.hint("write a tag that exists%s", s)
	}
	return want{}, f.hint("the repository has no tags; ask its authors for one, or write a commit in full")
}

const (
	// maxCompared bounds the work of finding a similar tag.
	maxCompared  = 5000
	maxNameBytes = 64
)

// suggest returns ", such as X" with the tag that is most like a name, "" when
// there is no tag. Among equals the last in order is taken: it tends to be the
// newest.
func suggest(name string, l *listing) string {
	best, least := "", 1<<30
	compared := 0
	for _, full := range slices.Sorted(maps.Keys(l.refs)) {
		tag, ok := strings.CutPrefix(full, tagPrefix)
		if !ok || len(tag) > maxNameBytes || !isNice(tag) {
			continue
		}
		if compared++; compared > maxCompared {
			break
		}
		if d := distance(name, tag); d <= least {
			best, least = tag, d
		}
	}
	if best == "" {
		return ""
	}
	return ", such as " + quote(best)
}

// isNice reports whether a tag can be written in an import.
func isNice(tag string) bool {
	r, err := pin.ParseRef("https://host/repository.git@" + tag)
	return err == nil && r.Name == tag
}

// distance counts the edits between two names, of which only the first bytes are
// looked at.
func distance(a, b string) int {
	a = a[:min(len(a), maxNameBytes)]
	row := make([]int, len(b)+1)
	for i := range row {
		row[i] = i
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for k := range len(b) {
			cost := diagonal
			if a[i] != b[k] {
				cost++
			}
			diagonal = row[k+1]
			row[k+1] = min(cost, row[k]+1, row[k+1]+1)
		}
	}
	return row[len(b)]
}

// maxTags bounds the answer to protocol.Tags.
const maxTags = 5000

// tags lists the tags of a listing that can be written in an import, by name.
func tags(l *listing) protocol.Response {
	var r protocol.Response
	var odd, more int
	for _, full := range slices.Sorted(maps.Keys(l.refs)) {
		name, ok := strings.CutPrefix(full, tagPrefix)
		switch {
		case !ok:
		case !isNice(name):
			odd++
		case len(r.Tags) == maxTags:
			more++
		default:
			r.Tags = append(r.Tags, protocol.TagName{Name: name, Commit: l.stands(full)})
		}
	}
	if odd > 0 {
		r.Notes = append(r.Notes, counted(odd, "tag", "tags")+" cannot be written in an import and were left out")
	}
	if more > 0 {
		r.Notes = append(r.Notes, counted(more, "tag", "tags")+" beyond the limit were left out")
	}
	return r
}

// pinned checks that a tag still stands for the commit it was pinned to (D-34).
func pinned(r protocol.Request, kind, commit string) error {
	if kind != pin.Tag || r.Commit == "" || r.Commit == commit {
		return nil
	}
	f := fail(protocol.TagMoved, "the tag %s of %s was pinned to %s and stands for %s now", quote(r.Ref), pin.Mask(r.URL), r.Commit, commit)
	f.answer.Found = commit
	return f.hint("find out why before you accept it: mwp import --update %s", pin.Mask(r.URL))
}

// maxPeeled bounds a chain of tags that tag tags.
const maxPeeled = 16

// peel follows annotated tags to the commit and returns it with its tree.
func peel(ctx context.Context, o objects, w want) (commit, tree string, err error) {
	id := w.id
	for range maxPeeled {
		kind, content, err := o.object(ctx, id, maxHeader)
		if errors.Is(err, errMissing) && w.kind != pin.Tag {
			return "", "", fail(protocol.RefNotFound, "the repository does not hold the commit %s", id)
		}
		if err != nil {
			return "", "", err
		}
		switch kind {
		case "commit":
			tree, err := headerID(content, "tree", len(id))
			return id, tree, err
		case "tag":
			if w.kind == pin.Commit {
				return "", "", fail(protocol.RefNotFound, "expected a commit, found that %s is a tag object", id).hint("write the tag's name")
			}
			if id, err = headerID(content, "object", len(id)); err != nil {
				return "", "", err
			}
		default:
			return "", "", fail(protocol.RefNotFound, "expected a commit, found that %s stands for a %s", quote(strings.TrimPrefix(w.name(), tagPrefix)), kind)
		}
	}
	return "", "", fail(protocol.Unsafe, "more than %d tags that tag each other", maxPeeled)
}

// name returns what was asked for, for messages.
func (w *want) name() string {
	if w.ref != "" {
		return w.ref
	}
	return w.id
}

// quote returns a foreign name for a message, escaped and of bounded length.
func quote(name string) string {
	const limit = 120
	if len(name) <= limit {
		return quoted(name)
	}
	name = name[:limit]
	for !utf8.ValidString(name) && len(name) > limit-utf8.UTFMax {
		name = name[:len(name)-1]
	}
	return quoted(name) + "…"
}
