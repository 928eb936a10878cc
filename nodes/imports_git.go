package nodes

import (
	"path"
	"slices"
	"strings"

	"github.com/model-workspace-protocol/mwp/graph"
	"github.com/model-workspace-protocol/mwp/nodes/ir"
	"github.com/model-workspace-protocol/mwp/nodes/pin"
)

// git resolves a reference to a module through the lock file and the list of the
// module's files. Nothing is fetched here: what is missing is said (D-35).
func (im *importing) git(res *Resolution, value string) error {
	ref, err := pin.ParseRef(value)
	if err != nil {
		res.Problem = im.gitProblem(res, ir.ImportKindInvalid, "", "%s", err)
		return nil
	}
	shown := pin.Mask(value)
	if ref.Secret() {
		res.Notes = append(res.Notes, im.note(res.Import, ir.ImportSecret, "keep it in ~/.netrc or MWP_GIT_TOKEN", "the URL carries a password or token, and this file is shared"))
	}
	if err := im.workspace(); err != nil {
		return err
	}
	missing := func(why string) {
		res.Missing = value
		res.Problem = im.gitProblem(res, ir.UnresolvedImport, "run `mwp import "+ir.ShellWord(shown)+"`", "%s is not in this map: %s", shown, why)
	}
	switch {
	case im.state == "":
		res.Problem = im.gitProblem(res, ir.UnresolvedImport, "run `mwp init` in the workspace root", "%s is not in this map: without a .mwp there is no place to keep modules", shown)
		return nil
	case im.ws.Config.HasModulesAllow && !allowed(im.ws.Config.ModulesAllow, ref.Key()):
		res.Problem = im.gitProblem(res, ir.ImportKindInvalid, "add the beginning of its URL to allow under [modules]", "%s is refused: [modules] allow does not list it", shown)
		return nil
	}
	p, err := graph.Need(im.r, Pin{Lock: im.state + "/" + LockName, Key: ref.Key()})
	switch {
	case err != nil:
		return err
	case len(p.Problems) > 0:
		im.refuse(p.Problems...)
		res.Problem = im.gitProblem(res, ir.UnresolvedImport, "", "%s is not in this map: the lock file has mistakes", shown)
		return nil
	case (ref.Name == "" || p.Record.Kind == pin.Branch) && !im.AllowFloating:
		res.Problem = im.gitProblem(res, ir.FloatingRef, "name a tag or a commit after the @, or allow it with --allow-floating", "%s names a branch, which means something else every day", shown)
		return nil
	case !p.Found:
		missing("no commit is pinned for it")
		return nil
	}
	n := ModuleTree{State: im.state, Commit: p.Record.Commit, Dir: ref.Dir}
	tree, err := graph.Need(im.r, n)
	switch {
	case err != nil:
		return err
	case !tree.Present:
		missing("the module has not been fetched")
		return nil
	case tree.Problem.Code != "":
		im.refuse(tree.Problem)
		res.Problem = im.gitProblem(res, ir.ModuleModified, "", "%s is not in this map: its files are not the pinned ones", shown)
		return nil
	case tree.Digest != p.Record.Tree:
		im.refuse(n.modified("the list of the module's files has the digest blake3:" + tree.Digest + ", and the lock file pins blake3:" + p.Record.Tree))
		res.Problem = im.gitProblem(res, ir.ModuleModified, "", "%s is not in this map: its files are not the pinned ones", shown)
		return nil
	}
	return im.module(res, n, tree, p.Record)
}

// gitProblem is a finding about a git reference, also where that is a fallback.
func (im *importing) gitProblem(res *Resolution, code ir.Code, hint, format string, args ...any) ir.Diagnostic {
	ref := res.Import
	ref.Kind = ImportGit
	return im.problem(ref, code, hint, format, args...)
}

func (im *importing) refuse(ds ...ir.Diagnostic) {
	for _, d := range ds {
		if !slices.Contains(im.v.Refusal, d) {
			im.v.Refusal = append(im.v.Refusal, d)
		}
	}
}

// allowed reports whether a reference begins like one of the configured URLs.
// After the beginning a new part has to start, so that ".../org" does not let
// ".../org-evil" in.
func allowed(prefixes []string, key string) bool {
	for _, p := range prefixes {
		rest, ok := strings.CutPrefix(key, p)
		if ok && (rest == "" || strings.HasSuffix(p, "/") || strings.HasSuffix(p, ":") || strings.ContainsAny(rest[:1], "/@") || strings.HasPrefix(rest, ".git@") || strings.HasPrefix(rest, ".git/")) {
			return true
		}
	}
	return false
}

// module picks what a fetched module stands for: its manifest, else its anchor and
// the context file beside it (D-36).
func (im *importing) module(res *Resolution, n ModuleTree, tree ModuleTreeValue, rec pin.Record) error {
	home := Home{Root: n.files(), Commit: n.Commit, Dir: n.Dir, Key: rec.Key, PinKind: rec.Kind}
	add := func(name string, s Syntax) {
		file := home.Root + "/" + name
		res.Targets = append(res.Targets, Resource{Source: Source{Path: file, Real: file, Syntax: s, Home: home}})
	}
	has := func(name string) bool { _, ok := pin.FindSum(tree.Files, name); return ok }
	switch {
	case has(ManifestName):
		home.Opaque = true
		add(ManifestName, Manifest)
	case !slices.ContainsFunc(tree.Files, func(s pin.Sum) bool { return s.Path == ".mwp" || strings.HasPrefix(s.Path, ".mwp/") }):
		res.Problem = im.gitProblem(res, ir.UnresolvedImport, "", "%s is not a module: it has no %s and no .mwp", pin.Mask(rec.Key), ManifestName)
		return nil
	default:
		for _, config := range []string{".mwp", ".mwp/config.toml"} {
			if has(config) {
				add(config, AnchorText)
			}
		}
		for _, name := range contextNames {
			if has(name) {
				add(name, syntaxOf(name))
				break
			}
		}
		if len(res.Targets) == 0 {
			res.Problem = im.gitProblem(res, ir.UnresolvedImport, "", "%s exports nothing: its .mwp is empty and it has no %s", pin.Mask(rec.Key), contextNames[2])
			return nil
		}
	}
	for _, t := range res.Targets {
		ok, err := im.verified(n, tree, strings.TrimPrefix(t.Real, home.Root+"/"))
		if err != nil {
			return err
		}
		if !ok {
			res.Targets = nil
			res.Problem = im.gitProblem(res, ir.ModuleModified, "", "%s is not in this map: its files are not the pinned ones", pin.Mask(rec.Key))
			return nil
		}
	}
	return nil
}

// verified compares one file of a module with the list, and refuses the map when
// it is another.
func (im *importing) verified(n ModuleTree, tree ModuleTreeValue, name string) (bool, error) {
	file := n.files() + "/" + name
	f, err := graph.Need(im.r, graph.File{Path: file})
	if err != nil {
		return false, err
	}
	want, _ := pin.FindSum(tree.Files, name)
	if f.Type == graph.Regular && f.Digest.String() == want {
		return true, nil
	}
	if f.Type == graph.TooLarge {
		im.refuse(ir.Diagnostic{
			Code: ir.LimitExceeded, Severity: ir.SeverityError, Source: file,
			Message: "the file is larger than 1 MiB, the limit for an imported file",
		})
		return false, nil
	}
	d := n.modified("the file is not the one that was fetched")
	d.Source = file
	im.refuse(d)
	return false, nil
}

// inTree resolves path imports inside a git module. The list says what exists, so
// no directory is looked into and no link followed.
func (im *importing) inTree(ls []lookup) error {
	n := ModuleTree{State: im.state, Commit: im.Home.Commit, Dir: im.Home.Dir}
	top := n.files()
	for _, l := range ls {
		name := strings.TrimPrefix(path.Join(l.dir, l.file), top)
		name = strings.TrimPrefix(name, "/")
		display := join(top, name)
		_, isFile := pin.FindSum(im.tree.Files, name)
		isDir := name == "" || slices.ContainsFunc(im.tree.Files, func(s pin.Sum) bool { return strings.HasPrefix(s.Path, name+"/") })
		switch {
		case isFile:
		case !isDir:
			im.unresolved(l, "the module has no %s", name)
			continue
		case l.at < 0:
			im.unresolved(l, "%s is a directory, and a pipeline is a file", name)
			continue
		default:
			index := im.treeIndex(name)
			if index == "" {
				im.unresolved(l, "%s has no %s to stand for it", display, alternatives(im.Home.Opaque))
				continue
			}
			name, display = index, join(top, index)
		}
		if l.at >= 0 {
			ok, err := im.verified(n, im.tree, name)
			if err != nil {
				return err
			}
			if !ok {
				im.fail(l, im.problem(l.ref, ir.ModuleModified, "", "%s is not in this map: the module's files are not the pinned ones", l.ref.Value))
				continue
			}
		}
		im.found(l, im.source(display, display))
	}
	return nil
}

// treeIndex returns the file that a directory of a git module stands for, "" when
// there is none.
func (im *importing) treeIndex(dir string) string {
	names := indexNames[:len(indexNames)-1]
	if im.Home.Opaque {
		names = names[:1]
	}
	for _, name := range names {
		file := path.Join(dir, name)
		if _, ok := pin.FindSum(im.tree.Files, file); ok {
			return file
		}
	}
	return ""
}
