package mwp

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/model-workspace-protocol/mwp/eval/vcs"
	"github.com/model-workspace-protocol/mwp/graph"
	"github.com/model-workspace-protocol/mwp/nodes"
)

const (
	// gitTime is how long git may take for all questions together: files of anybody's
	// repository can make it wait for ever.
	gitTime = 10 * time.Second
	// maxCompared is how many anchors are compared with the current commit, those that it
	// has before others.
	maxCompared = 10_000
	// maxCommitted bounds what is read of one file of a commit.
	maxCommitted = 1 << 20
	// maxFollowed is how many links of a commit are followed, and how far each.
	maxFollowed, maxHops = 100, 8
)

// git compares the anchors' files with the current commit (D-104). It reads blobs, so that
// no filter of the repository runs and the index, which can be told to overlook files, is
// not asked; line ends count as equal.
func (l *looking) git(ctx context.Context, limit time.Duration) {
	ctx, stop := context.WithTimeoutCause(ctx, limit, fmt.Errorf("git had not answered after %v", limit))
	defer stop()
	err := l.askGit(ctx)
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		l.f.git.problem = err.Error()
	}
}

func (l *looking) askGit(ctx context.Context) error {
	g := &l.f.git
	r, err := vcs.Open(ctx, vcs.Options{Dir: l.s.dir})
	switch {
	case errors.Is(err, vcs.ErrNoRepository):
		if !l.hasGit() {
			return nil
		}
		return err
	case errors.Is(err, vcs.ErrNoGit):
		// Without git nobody knows; a .git says that there is a repository.
		g.repository = l.hasGit()
		return err
	}
	if g.repository = true; err != nil {
		return err
	}
	head, err := r.Head(ctx)
	if err != nil && !errors.Is(err, vcs.ErrNotFound) {
		return err
	}
	c := comparing{
		looking: l, r: r, commit: head,
		has: map[string]vcs.Entry{}, same: map[string]bool{}, trust: map[string]bool{}, through: map[string]through{},
	}
	if failed := c.compare(ctx); failed != nil {
		return failed
	}
	// Where there is no commit, what is new was noted, and nobody agreed to any [trust].
	return err
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

// decidesTrust reports whether a file of an anchor is one that [trust] can be in.
func decidesTrust(name string) bool {
	base := path.Base(name)
	return base == ".mwp" || base == "config.toml"
}

// comparing is a comparison with one commit, "" for none. Names are relative to the root.
type comparing struct {
	*looking
	r      *vcs.Repository
	commit string
	// has are the anchors' files that the commit has, same those that are as it has them.
	has  map[string]vcs.Entry
	same map[string]bool
	// trust are the anchors whose allowed_guards differ, through the configurations that
	// are links in the commit.
	trust    map[string]bool
	through  map[string]through
	followed int
}

// through is where a link of a commit leads; known is false where the commit has no file
// there.
type through struct {
	to    string
	known bool
}

// inCommit returns a name as the commit has it.
func (c *comparing) inCommit(name string) string { return path.Join(c.r.Prefix(), name) }

// compare notes every file of an anchor that is another one in the commit.
func (c *comparing) compare(ctx context.Context) error {
	anchors, err := c.ordered(ctx)
	if err != nil {
		return err
	}
	var known []string
	for _, dir := range anchors {
		had := false
		for _, name := range anchorFiles(dir) {
			e, was := c.has[name]
			if was && e.Size >= 0 {
				known = append(known, e.Path)
				had = had || decidesTrust(name)
			}
		}
		if !had {
			c.trust[dir] = len(c.allowed(ctx, dir)) > 0
		}
	}
	if len(known) > 0 {
		if err := c.r.ReadBlobs(ctx, c.commit, known, func(b vcs.Blob) error { return c.blob(ctx, b) }); err != nil {
			return err
		}
	}
	for _, dir := range anchors {
		c.changed(dir)
	}
	return ctx.Err()
}

// ordered finds out what the commit has and returns the anchors to compare, those that it
// has first: new ones must not push them out.
func (c *comparing) ordered(ctx context.Context) ([]string, error) {
	var known, others []string
	submodules := map[string]bool{}
	if c.commit != "" {
		above, wanted := map[string]bool{}, map[string]bool{}
		for _, dir := range c.marked {
			for _, name := range anchorFiles(dir) {
				wanted[name] = true
			}
			for d := joinDir(dir, ".mwp"); !above[d] && d != "."; d = path.Dir(d) {
				above[d] = true
			}
		}
		err := c.r.ListTree(ctx, c.commit, c.r.Prefix(), func(e vcs.Entry) error {
			name := e.Path
			if c.r.Prefix() != "" {
				name = strings.TrimPrefix(name, c.r.Prefix()+"/")
			}
			switch {
			case e.Mode == vcs.ModeSubmodule && above[name]:
				submodules[name] = true
			case wanted[name]:
				c.has[name] = e
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	for _, dir := range c.marked {
		isKnown := func(name string) bool { _, ok := c.has[name]; return ok }
		switch {
		case inSubmodule(submodules, dir):
			c.f.git.inside++
		case slices.ContainsFunc(anchorFiles(dir), isKnown):
			known = append(known, dir)
		default:
			others = append(others, dir)
		}
	}
	all, left := firstOf(known, others, maxCompared)
	c.f.git.left = left
	return all, nil
}

// firstOf returns at most limit of two lists, one after the other, and how many are left.
func firstOf(known, others []string, limit int) (list []string, left int) {
	list = append(known, others...)
	left = max(0, len(list)-limit)
	return list[:len(list)-left], left
}

func inSubmodule(submodules map[string]bool, dir string) bool {
	if len(submodules) == 0 {
		return false
	}
	for d := joinDir(dir, ".mwp"); d != "."; d = path.Dir(d) {
		if submodules[d] {
			return true
		}
	}
	return false
}

// allowed returns the commands that mwp reads for an anchor, links followed as it follows
// them, in order.
func (c *comparing) allowed(ctx context.Context, dir string) []string {
	name := joinDir(dir, ".mwp")
	switch c.forms[dir] {
	case graph.Regular:
	case graph.Directory:
		name += "/config.toml"
	default:
		return nil
	}
	v, err := valueOf(ctx, c.s, nodes.ConfigFile{Path: name})
	if err != nil {
		return nil
	}
	return slices.Sorted(slices.Values(v.Config.AllowedGuards))
}

// blob compares one file of the commit.
func (c *comparing) blob(ctx context.Context, b vcs.Blob) error {
	name := b.Path
	if c.r.Prefix() != "" {
		name = name[len(c.r.Prefix())+1:]
	}
	old, err := io.ReadAll(io.LimitReader(b.Content, maxCommitted))
	if err != nil {
		return err
	}
	link := c.has[name].Mode == vcs.ModeLink
	c.same[name] = c.unchanged(name, old, link, b.Size)
	if !decidesTrust(name) {
		return nil
	}
	dir := path.Dir(name)
	if path.Base(name) == "config.toml" {
		dir = path.Dir(dir)
	}
	if link {
		if old, err = c.follow(ctx, name, string(old)); err != nil {
			return err
		}
	}
	c.trust[dir] = !slices.Equal(allowedIn(old), c.allowed(ctx, dir))
	return nil
}

// unchanged reports whether a file is what the commit has.
func (c *comparing) unchanged(name string, old []byte, link bool, size int64) bool {
	if link {
		to, err := os.Readlink(c.at(filepath.FromSlash(name)))
		return err == nil && filepath.ToSlash(to) == string(old)
	}
	now, err := readRegular(c.at(filepath.FromSlash(name)))
	return err == nil && size <= maxCommitted && bytes.Equal(lines(old), lines(now))
}

// follow returns what a configuration that is a link in the commit said there, nil for one
// that leads to no file of the project.
func (c *comparing) follow(ctx context.Context, name, to string) (text []byte, err error) {
	if path.Base(name) == ".mwp" {
		// Such an anchor is none.
		return nil, nil
	}
	at := name
	for range maxHops {
		if c.followed++; path.IsAbs(to) || c.followed > maxFollowed {
			return nil, nil
		}
		if at = path.Join(path.Dir(at), to); at == ".." || strings.HasPrefix(at, "../") {
			return nil, nil
		}
		c.through[name] = through{to: at}
		mode := 0
		err := c.r.ListTree(ctx, c.commit, c.inCommit(at), func(e vcs.Entry) error {
			if e.Path == c.inCommit(at) && e.Size >= 0 {
				mode = e.Mode
			}
			return nil
		})
		if err != nil || mode == 0 || mode == vcs.ModeSubmodule {
			return nil, err
		}
		c.through[name] = through{at, true}
		err = c.r.ReadBlobs(ctx, c.commit, []string{c.inCommit(at)}, func(b vcs.Blob) (err error) {
			text, err = io.ReadAll(io.LimitReader(b.Content, maxCommitted))
			return err
		})
		if err != nil || mode != vcs.ModeLink {
			return text, err
		}
		to = string(text)
	}
	return nil, nil
}

// changed notes what differs of one anchor.
func (c *comparing) changed(dir string) {
	trust := c.commit != "" && c.trust[dir]
	said := false
	for _, name := range anchorFiles(dir) {
		_, was := c.has[name]
		how := c.how(name, was)
		if how == "" {
			continue
		}
		t := trust && decidesTrust(name)
		said = said || t
		c.f.git.changes = append(c.f.git.changes, anchorChange{name, how, t})
	}
	if !trust || said {
		return
	}
	// The link is the same one, and what it leads to is not.
	config := joinDir(dir, ".mwp/config.toml")
	to, ok := c.through[config]
	switch {
	case !ok:
		to = through{config, true}
		fallthrough
	case to.known:
		c.f.git.changes = append(c.f.git.changes, anchorChange{to.to, changeMade, true})
	default:
		c.f.git.changes = append(c.f.git.changes, anchorChange{to.to, changeNew, true})
	}
}

// how says what happened to a file, "" for nothing. A directory has no content of its own;
// everything else that is not a regular file, and a file that cannot be read, is another
// one than the commit has.
func (c *comparing) how(name string, was bool) string {
	info, err := os.Lstat(c.at(filepath.FromSlash(name)))
	is := err == nil && !info.IsDir()
	switch {
	case is && was && !c.same[name]:
		return changeMade
	case is && !was:
		return changeNew
	case !is && was:
		return changeDeleted
	}
	return ""
}

func lines(text []byte) []byte { return bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n")) }

// allowedIn returns the commands that a configuration lets guards run, in order.
func allowedIn(config []byte) []string {
	c, _ := nodes.ParseConfig(config)
	return slices.Sorted(slices.Values(c.AllowedGuards))
}
