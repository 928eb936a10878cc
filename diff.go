package mwp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/model-workspace-protocol/mwp/cas"
	"github.com/model-workspace-protocol/mwp/eval"
	"github.com/model-workspace-protocol/mwp/eval/vcs"
	"github.com/model-workspace-protocol/mwp/graph"
	"github.com/model-workspace-protocol/mwp/nodes"
	"github.com/model-workspace-protocol/mwp/nodes/ir"
	"github.com/model-workspace-protocol/mwp/render"
)

// DiffRequest asks what the work tree adds to each target since a revision.
type DiffRequest struct {
	// Base is a git revision. Paths are the directories to look at, relative to
	// Options.Dir; none stands for the whole workspace.
	Base        string
	Paths       []string
	JSON, Color bool
	// AllowFloating accepts imports of branches; Fetch fetches modules that the work
	// tree imports and that are missing.
	AllowFloating, Fetch bool
}

// Diff compares the size of every map with what it was at a revision, and names the
// files behind each difference (lint --diff, D-111). The revision's context files
// are written to a temporary directory and measured there by the same nodes; no
// other file of the revision is read.
func (w *Workspace) Diff(ctx context.Context, q DiffRequest) (*Result, error) {
	target := ""
	if len(q.Paths) > 0 {
		target = q.Paths[0]
	}
	_, s, err := w.enter(ctx, target)
	if err != nil {
		return nil, err
	}
	places := make([]*place, len(q.Paths))
	for i, p := range q.Paths {
		if places[i], err = w.find(p); err != nil {
			return nil, err
		}
		if _, ok := below(s.dir, places[i].abs); !ok {
			return nil, environment(ir.TargetOutsideRoot, nil, "run the command once for each workspace", "%s is outside the workspace %s", p, s.dir)
		}
	}
	if q.Fetch && !w.o.Offline {
		if _, err := w.importAll(ctx, ImportRequest{AllowFloating: q.AllowFloating}); err != nil {
			return nil, err
		}
		if _, s, err = w.enter(ctx, target); err != nil {
			return nil, err
		}
	}
	asked := nodes.Lint{Under: under(s.candidate, places)}
	base, err := w.atRevision(ctx, s, q.Base)
	if err != nil {
		return nil, gitError(err)
	}
	defer base.remove()
	after, err := measured(ctx, s.ev, s.explicit, q.AllowFloating)
	if err != nil {
		return nil, err
	}
	before, err := base.measure(ctx, s, q.AllowFloating)
	if err != nil {
		return nil, err
	}
	deltas := slices.DeleteFunc(compare(before, after), func(d ir.TargetDelta) bool {
		return !asked.Covers(d.Path)
	})
	r := &Result{Root: s.dir, Stats: s.ev.Stats(), World: &s.world.Count, record: s.store.Flush}
	lint := nodes.Lint{Explicit: s.explicit, AllowFloating: q.AllowFloating}
	for _, side := range []struct {
		ev *eval.Evaluator
		of string
	}{{s.ev, "the work tree"}, {base.ev, q.Base}} {
		d, bad, err := incomplete(ctx, side.ev, lint, side.of)
		if err != nil {
			return nil, err
		}
		if bad {
			r.Notices = append(r.Notices, d)
		}
	}
	if q.JSON {
		r.Text = render.LintDiffJSON(deltas)
	} else {
		r.Text = render.LintDiff(deltas, render.LintDiffOptions{Color: q.Color})
	}
	return r, nil
}

// keepingText are errors with which every text stays in its maps: of its size, and of what
// stands beside it, which a revision that was written out in part has not either.
var keepingText = [...]ir.Code{
	ir.BudgetOverrun, ir.MaxTokensOverrun, ir.HiddenText, ir.DirectoryMissing,
	ir.GuardScriptMissing, ir.VerifiedPathMissing, ir.GuardInvalid, ir.GuardFailed,
}

// incomplete says when one side has mistakes that keep text out of its maps: what is
// compared is then not what would be there without them.
func incomplete(ctx context.Context, ev *eval.Evaluator, lint nodes.Lint, side string) (ir.Diagnostic, bool, error) {
	x, err := ev.Eval(ctx, lint)
	if err != nil {
		return ir.Diagnostic{}, false, worldError(err)
	}
	count := 0
	var first ir.Diagnostic
	for _, d := range x.(ir.LintReport).Findings {
		switch {
		case d.Severity != ir.SeverityError || slices.Contains(keepingText[:], d.Code):
			continue
		case count == 0:
			first = d
		}
		count++
	}
	first.Severity = ir.SeverityWarning
	what := "one mistake keeps"
	if count > 1 {
		what = fmt.Sprintf("%d mistakes keep", count)
	}
	first.Message = fmt.Sprintf("in %s %s text out of maps, which is missing from the numbers; the first: %s", side, what, first.Message)
	return first, count > 0, nil
}

// weight is what one target's map costs, and which sources it is made of.
type weight struct {
	row     ir.TargetRow
	sources map[string]int
}

// measured weighs every directory that carries context.
func measured(ctx context.Context, ev *eval.Evaluator, explicit, floating bool) (map[string]weight, error) {
	x, err := ev.Eval(ctx, nodes.Targets{Explicit: explicit, AllowFloating: floating, Under: "."})
	if err != nil {
		return nil, worldError(err)
	}
	out := map[string]weight{}
	for _, row := range x.([]ir.TargetRow) {
		if row.Source == "" {
			continue
		}
		b := nodes.Budget{Layers: nodes.Layers{Target: row.Path, Explicit: explicit, AllowFloating: floating}}
		layers, err := ev.Eval(ctx, b.Layers)
		if err != nil {
			return nil, worldError(err)
		}
		budget, err := ev.Eval(ctx, b)
		if err != nil {
			return nil, worldError(err)
		}
		sources := map[string]int{}
		for i, k := range layers.(nodes.LayersValue).Candidates {
			if v := budget.(nodes.BudgetValue); k.Status == ir.Included && !v.Dropped[i] {
				sources[k.Source] += v.Tokens[i]
			}
		}
		out[row.Path] = weight{row, sources}
	}
	return out, nil
}

// compare lists the targets that differ.
func compare(before, after map[string]weight) []ir.TargetDelta {
	var out []ir.TargetDelta
	seen := map[string]bool{}
	for _, side := range []map[string]weight{before, after} {
		for p := range side {
			if seen[p] {
				continue
			}
			seen[p] = true
			b, hadB := before[p]
			a, hasA := after[p]
			d := ir.TargetDelta{Path: p, Before: b.row.All, After: a.row.All}
			if !hadB {
				d.Before = -1
			}
			if !hasA {
				d.After = -1
			}
			for i := range d.Layers {
				d.Layers[i] = a.row.Tokens[i] - b.row.Tokens[i]
			}
			d.Causes = causes(b.sources, a.sources)
			if hadB != hasA || d.Layers != [ir.LayerCount]int{} || len(d.Causes) > 0 {
				out = append(out, d)
			}
		}
	}
	slices.SortFunc(out, func(x, y ir.TargetDelta) int { return ir.ComparePaths(x.Path, y.Path) })
	return out
}

func causes(before, after map[string]int) []ir.TargetCause {
	var out []ir.TargetCause
	for source, tokens := range after {
		if diff := tokens - before[source]; diff != 0 {
			out = append(out, ir.TargetCause{Source: source, Tokens: diff})
		}
	}
	for source, tokens := range before {
		if _, ok := after[source]; !ok && tokens != 0 {
			out = append(out, ir.TargetCause{Source: source, Tokens: -tokens})
		}
	}
	slices.SortFunc(out, func(x, y ir.TargetCause) int { return ir.ComparePaths(x.Source, y.Source) })
	return out
}

// revision is what of a commit the nodes need, in a temporary directory.
type revision struct {
	w      *Workspace
	dir    string
	repo   *vcs.Repository
	commit string
	prefix string
	// listed holds the commit's paths below the root, kept those that were written.
	listed map[string]vcs.Entry
	kept   map[string]bool
	// ev is the evaluator of the last measure.
	ev *eval.Evaluator
}

// atRevision writes the context files, configurations and names of a commit.
func (w *Workspace) atRevision(ctx context.Context, s *session, rev string) (*revision, error) {
	repo, err := vcs.Open(ctx, vcs.Options{Dir: s.dir})
	if err != nil {
		return nil, err
	}
	b := &revision{w: w, repo: repo, prefix: repo.Prefix(), listed: map[string]vcs.Entry{}, kept: map[string]bool{}}
	if b.commit, err = repo.ResolveCommit(ctx, rev); err != nil {
		return nil, err
	}
	x, err := s.ev.Eval(ctx, nodes.Settings{Target: ".", Explicit: s.explicit})
	if err != nil {
		return nil, worldError(err)
	}
	instructions := append(nodes.DefaultBoundaryFiles(), x.(nodes.SettingsValue).BoundaryFiles...)
	if b.dir, err = os.MkdirTemp("", "mwp-diff-"); err != nil {
		return nil, environment(ir.Unreadable, err, "", "cannot make a temporary directory: %s", reason(err))
	}
	var wanted []string
	err = repo.ListTree(ctx, b.commit, b.prefix, func(e vcs.Entry) error {
		rel := e.Path
		if b.prefix != "" {
			rel = strings.TrimPrefix(rel, b.prefix+"/")
		}
		b.listed[rel] = e
		if nodes.Resolving(rel) || slices.Contains(instructions, path.Base(rel)) {
			wanted = append(wanted, rel)
		}
		return nil
	})
	if err == nil {
		err = b.write(ctx, wanted)
	}
	if err == nil {
		err = b.linkModules(s.state)
	}
	if err != nil {
		b.remove()
		return nil, err
	}
	return b, nil
}

func (b *revision) remove() { os.RemoveAll(b.dir) }

// measure weighs the revision's targets. Files that context files import are
// written as they are found to be missing: from the commit, or, for what git
// ignores and no commit can have, from the work tree, as it is the same on both
// sides.
func (b *revision) measure(ctx context.Context, s *session, floating bool) (map[string]weight, error) {
	for {
		b.ev = eval.New(eval.Config{World: eval.NewWorld(b.dir, b.w.o.Now), Kinds: nodes.Kinds(), Store: cas.NewMemory()})
		weights, err := measured(ctx, b.ev, s.explicit, floating)
		if err != nil {
			return nil, err
		}
		var more, ignored []string
		for p := range weights {
			x, err := b.ev.Eval(ctx, nodes.Layers{Target: p, Explicit: s.explicit, AllowFloating: floating})
			if err != nil {
				return nil, worldError(err)
			}
			for _, k := range x.(nodes.LayersValue).Candidates {
				if k.Status != ir.Unresolved || b.kept[k.Source] || k.Rule == "import-git" {
					continue
				}
				if _, ok := b.listed[k.Source]; ok {
					more = append(more, k.Source)
					continue
				}
				x, err := s.ev.Eval(ctx, nodes.Ignored{Path: k.Source})
				if err != nil {
					return nil, worldError(err)
				}
				if x.(nodes.IgnoredValue).Ignored {
					ignored = append(ignored, k.Source)
				}
			}
		}
		slices.Sort(more)
		more = slices.Compact(more)
		copied, err := b.copyIgnored(s.dir, ignored)
		if err != nil {
			return nil, environment(ir.Unreadable, err, "", "cannot copy what git ignores: %s", reason(err))
		}
		if len(more) == 0 && !copied {
			return weights, nil
		}
		if err := b.write(ctx, more); err != nil {
			return nil, gitError(err)
		}
	}
}

// copyIgnored copies ignored files from the work tree, and of a directory what can
// stand for it. It reports whether there was one.
func (b *revision) copyIgnored(from string, sources []string) (copied bool, err error) {
	if len(sources) == 0 {
		return false, nil
	}
	in, err := os.OpenRoot(from)
	if err != nil {
		return false, err
	}
	defer in.Close()
	out, err := os.OpenRoot(b.dir)
	if err != nil {
		return false, err
	}
	defer out.Close()
	for _, source := range sources {
		if b.kept[source] {
			continue
		}
		b.kept[source] = true
		name := filepath.FromSlash(source)
		files := []string{name}
		if info, err := in.Stat(name); err == nil && info.IsDir() {
			files = nil
			for _, index := range nodes.IndexNames() {
				files = append(files, filepath.Join(name, index))
			}
		}
		for _, f := range files {
			info, err := in.Stat(f)
			if err != nil || !info.Mode().IsRegular() || info.Size() > graph.MaxFileBytes {
				continue
			}
			text, err := in.ReadFile(f)
			if err != nil {
				continue
			}
			if err := errors.Join(out.MkdirAll(filepath.Dir(f), 0o700), out.WriteFile(f, text, 0o600)); err != nil {
				return copied, err
			}
			copied = true
		}
	}
	return copied, nil
}

// linkModules shows the fetched modules to the revision: they are the same at every
// revision, because its lock file vouches for each file.
func (b *revision) linkModules(state string) error {
	if state == "" {
		return nil
	}
	there := filepath.Join(b.dir, filepath.Base(state))
	if info, err := os.Lstat(there); err != nil || !info.IsDir() {
		// The anchor had another form then, and its state another place.
		return nil
	}
	err := os.Symlink(filepath.Join(state, "modules"), filepath.Join(there, "modules"))
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	return err
}

// write writes files of the commit, and before the first of them every directory.
// The tree is a stranger's, so nothing is written but through the temporary
// directory's root.
func (b *revision) write(ctx context.Context, files []string) error {
	root, err := os.OpenRoot(b.dir)
	if err != nil {
		return err
	}
	defer root.Close()
	if len(b.kept) == 0 {
		if err := b.directories(root); err != nil {
			return err
		}
	}
	var paths []string
	for _, f := range files {
		b.kept[f] = true
		if e := b.listed[f]; e.Mode != vcs.ModeSubmodule {
			paths = append(paths, e.Path)
		}
	}
	return b.repo.ReadBlobs(ctx, b.commit, paths, func(blob vcs.Blob) error {
		rel := blob.Path
		if b.prefix != "" {
			rel = strings.TrimPrefix(rel, b.prefix+"/")
		}
		name := filepath.FromSlash(rel)
		if b.listed[rel].Mode == vcs.ModeLink {
			target, err := io.ReadAll(io.LimitReader(blob.Content, maxLinkBytes))
			if err != nil {
				return err
			}
			return root.Symlink(string(target), name)
		}
		f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return err
		}
		if blob.Size > graph.MaxFileBytes {
			// Only that it is too large matters.
			err = f.Truncate(blob.Size)
		} else {
			_, err = io.Copy(f, blob.Content)
		}
		return errors.Join(err, f.Close())
	})
}

// maxLinkBytes bounds a link's target, as systems do.
const maxLinkBytes = 4096

func (b *revision) directories(root *os.Root) error {
	made := map[string]bool{".": true}
	for rel := range b.listed {
		if dir := path.Dir(rel); !made[dir] {
			made[dir] = true
			if err := root.MkdirAll(filepath.FromSlash(dir), 0o700); err != nil {
				return err
			}
		}
	}
	return nil
}
