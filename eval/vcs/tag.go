package vcs

import (
	"context"
	"slices"
	"strings"

	"github.com/model-workspace-protocol/mwp/nodes/pin"
)

// checkTag refuses names that git would read as an option or a pattern; what else
// is wrong with a name git itself says.
func checkTag(doing, name string) error {
	if name == "" || name[0] == '-' || strings.ContainsAny(name, "*?[\\^~: ") || strings.ContainsFunc(name, func(c rune) bool { return c < 0x20 || c == 0x7f }) {
		return fail(doing, nil, "expected the name of a tag, found "+name)
	}
	return nil
}

const tagRefs = "refs/tags/"

// Tag returns the commit that a tag of this repository stands for, through tags of
// tags, and "" when there is no such tag.
func (r *Repository) Tag(ctx context.Context, name string) (commit string, err error) {
	doing := "look for the tag " + name
	object, err := r.tagObject(ctx, doing, name)
	if err != nil || object == "" {
		return "", err
	}
	commit, err = r.git.line(ctx, call{doing: doing, args: []string{"rev-parse", "--verify", "--quiet", object + "^{commit}"}})
	if exited(err, 1) || exited(err, 128) {
		return "", fail(doing, nil, "it stands for something that is no commit")
	}
	return commit, err
}

// tagObject returns what a tag points to, "" when there is none. rev-parse would
// also find a branch that is named like the full name of a tag.
func (r *Repository) tagObject(ctx context.Context, doing, name string) (string, error) {
	if err := checkTag(doing, name); err != nil {
		return "", err
	}
	out, err := r.git.output(ctx, call{doing: doing, args: []string{"for-each-ref", "--format=%(objectname) %(refname)", tagRefs + name}})
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(string(out)) {
		object, ref, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		if ref == tagRefs+name && pin.IsCommit(object) {
			return object, nil
		}
	}
	return "", nil
}

// RemoteTag asks a remote which commit a tag stands for there, "" when it has no
// such tag.
func (r *Repository) RemoteTag(ctx context.Context, remote, name string) (commit string, err error) {
	doing := "ask " + remote + " for the tag " + name
	if err := checkTag(doing, name); err != nil {
		return "", err
	}
	ref := tagRefs + name
	out, err := r.git.output(ctx, call{acts: true, doing: doing, args: []string{"ls-remote", "--quiet", "--tags", "--", remote, ref, ref + "^{}"}})
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(string(out)) {
		object, found, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		switch {
		case !pin.IsCommit(object):
		case found == ref+"^{}":
			// What an annotated tag stands for, after the tag itself.
			return object, nil
		case found == ref:
			commit = object
		}
	}
	return commit, nil
}

// CreateTag makes an annotated tag on a commit, signed if the user's configuration
// says so, and returns the tag's own id for DeleteTag. It moves no tag.
func (r *Repository) CreateTag(ctx context.Context, name, commit, message string) (object string, err error) {
	doing := "make the tag " + name
	if err := checkTag(doing, name); err != nil {
		return "", err
	}
	_, err = r.git.output(ctx, call{acts: true, doing: doing, args: []string{"tag", "--annotate", "--cleanup=verbatim", "--message=" + message + "\n", "--", name, commit}})
	if err != nil {
		return "", err
	}
	// Whoever made a tag must be able to delete it.
	return r.tagObject(context.WithoutCancel(ctx), doing, name)
}

// DeleteTag deletes a tag of this repository if it still is the object.
func (r *Repository) DeleteTag(ctx context.Context, name, object string) error {
	doing := "delete the tag " + name
	if err := checkTag(doing, name); err != nil {
		return err
	}
	_, err := r.git.output(ctx, call{acts: true, doing: doing, args: []string{"update-ref", "--no-deref", "-d", tagRefs + name, object}})
	return err
}

// PushTag pushes one tag and nothing else. A remote that has the tag on another
// object refuses: nothing is forced.
func (r *Repository) PushTag(ctx context.Context, remote, name string) error {
	doing := "push the tag " + name + " to " + remote
	if err := checkTag(doing, name); err != nil {
		return err
	}
	ref := tagRefs + name
	cmd, complaint := r.git.command(ctx, call{acts: true, args: []string{
		"push", "--porcelain", "--no-follow-tags", "--recurse-submodules=no", "--", remote, ref + ":" + ref,
	}})
	out := &head{max: maxAnswer}
	cmd.Stdout = out
	err := r.git.end(ctx, call{doing: doing}, cmd, cmd.Run(), complaint)
	if e, ok := err.(*Error); ok {
		if why := rejection(out.String(), string(complaint.text())); why != "" {
			e.Reason = sentence(why)
		}
	}
	return err
}

// rejection puts together why a remote refused: the summary of the reference and
// what the remote's own programs said. It is "" when the push did not come so far.
func rejection(report, complaint string) string {
	why := ""
	for line := range strings.Lines(report) {
		if f := strings.Split(strings.TrimSpace(line), "\t"); f[0] == "!" {
			why = f[len(f)-1]
		}
	}
	if why == "" {
		return ""
	}
	for line := range strings.Lines(complaint) {
		if said, ok := strings.CutPrefix(line, "remote: "); ok && strings.TrimSpace(said) != "" {
			why += "; " + strings.TrimSpace(said)
		}
	}
	return why
}

// Remotes returns the names of the remotes, sorted.
func (r *Repository) Remotes(ctx context.Context) ([]string, error) {
	out, err := r.git.output(ctx, call{doing: "list the remotes", args: []string{"remote"}})
	var names []string
	for line := range strings.Lines(string(out)) {
		names = append(names, strings.TrimSuffix(line, "\n"))
	}
	slices.Sort(names)
	return names, err
}

// RemoteURL returns where a remote is, with passwords if there are any: as
// configured, and as git rewrites it (url.*.insteadOf). A remote that is in no
// configuration fails with ErrNotFound.
func (r *Repository) RemoteURL(ctx context.Context, remote string) (configured, effective string, err error) {
	doing := "find the URL of " + remote
	names, err := r.Remotes(ctx)
	if err != nil {
		return "", "", err
	}
	if !slices.Contains(names, remote) {
		return "", "", notFound(doing, "there is no such remote", "git remote add "+sentence(remote)+" URL")
	}
	effective, err = r.git.line(ctx, call{doing: doing, args: []string{"remote", "get-url", "--", remote}})
	if err != nil {
		return "", "", err
	}
	configured = effective
	all, err := r.git.output(ctx, call{doing: doing, args: []string{"config", "--null", "--get-all", "remote." + remote + ".url"}})
	switch {
	case exited(err, 1):
		// Remotes in files of their own, as git once kept them.
		return configured, effective, nil
	case err != nil:
		return "", "", err
	}
	if first, _, _ := strings.Cut(string(all), "\x00"); first != "" {
		configured = first
	}
	return configured, effective, nil
}
