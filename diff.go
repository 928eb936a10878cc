package mwp

import (
	"context"
	"errors"
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
	Base          string
	Paths         []string
	JSON, Color   bool
	AllowFloating bool
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
	before, err := base.measure(ctx, s.explicit, q.AllowFloating)
	if err != nil {
		return nil, err
	}
	deltas := slices.DeleteFunc(compare(before, after), func(d ir.TargetDelta) bool {
		return !asked.Covers(d.Path)
	})
	r := &Result{Root: s.dir, Stats: s.ev.Stats(), World: &s.world.Count, record: s.store.Flush}
	if q.JSON {
		r.Text = render.LintDiffJSON(deltas)
	} else {
		r.Text = render.LintDiff(deltas, render.LintDiffOptions{Color: q.Color})
	}
	return r, nil
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
// written as they are found to be missing.
func (b *revision) measure(ctx context.Context, explicit, floating bool) (map[string]weight, error) {
	for {
		ev := eval.New(eval.Config{World: eval.NewWorld(b.dir, b.w.o.Now), Kinds: nodes.Kinds(), Store: cas.NewMemory()})
		weights, err := measured(ctx, ev, explicit, floating)
		if err != nil {
			return nil, err
		}
		var more []string
		for p := range weights {
			x, err := ev.Eval(ctx, nodes.Layers{Target: p, Explicit: explicit, AllowFloating: floating})
			if err != nil {
				return nil, worldError(err)
			}
			for _, k := range x.(nodes.LayersValue).Candidates {
				if k.Status == ir.Unresolved {
					more = append(more, b.unwritten(k.Source)...)
				}
			}
		}
		slices.Sort(more)
		if more = slices.Compact(more); len(more) == 0 {
			return weights, nil
		}
		if err := b.write(ctx, more); err != nil {
			return nil, gitError(err)
		}
	}
}

// unwritten returns the commit's file of this name if it was not written yet.
func (b *revision) unwritten(source string) []string {
	if _, ok := b.listed[source]; ok && !b.kept[source] {
		return []string{source}
	}
	return nil
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
