package nodes

import (
	"cmp"
	"errors"
	"path"
	"slices"
	"strings"

	"github.com/model-workspace-protocol/mwp/cas"
	"github.com/model-workspace-protocol/mwp/graph"
	"github.com/model-workspace-protocol/mwp/nodes/command"
)

// GuardInputs is everything that a guard's result rests on, as digests (D-45, D-46):
// the declaring file and the texts that it vouches for, the script that the command
// names, and the verified paths. It changes with their contents.
type GuardInputs struct {
	// Guard is the guard as encodeGuard writes it.
	Guard string
	// Whole adds the default of a guard without verified paths: every source file below
	// its directory. A map never asks for it, because that may be the whole repository.
	Whole bool
}

// GuardInputsValue is the digests.
type GuardInputsValue struct {
	// Fingerprint is over all of it.
	Fingerprint cas.Digest
	// Unreadable says what cannot be read and why, "" for nothing. Nobody knows then
	// whether it changed.
	Unreadable string
}

var guardInputsKind = graph.Define(graph.Definition[GuardInputsValue, GuardInputs]{
	Name: "guard-inputs", Version: 3, Order: 59,
	Params: func(c *cas.Coder, n *GuardInputs) { c.String(&n.Guard); c.Bool(&n.Whole) },
	Value: func(c *cas.Coder, v *GuardInputsValue) {
		c.Digest(&v.Fingerprint)
		c.String(&v.Unreadable)
	},
})

// Kind returns the kind "guard-inputs".
func (GuardInputs) Kind() *graph.Kind { return guardInputsKind }

// encodeGuard writes what decides a guard's status as one comparable text: not its
// label, its line, its owners or its trust.
func encodeGuard(g Guard) string {
	g.Name, g.Trust, g.Owners, g.Also, g.Path = "", "", nil, nil, ""
	g.CacheFor, g.Timeout, g.Line = nil, nil, 0
	g.VerifiedPaths = slices.Clone(g.VerifiedPaths)
	for i := range g.VerifiedPaths {
		g.VerifiedPaths[i].Line = 0
	}
	return string(cas.EncodeValue(&g, codeGuard))
}

func decodeGuard(s string) (Guard, error) { return cas.DecodeValue([]byte(s), codeGuard) }

var fingerprints = cas.Derive("mwp guard fingerprint v1")

// Compute digests. What cannot be read, for whatever reason, must not cost the map.
func (n GuardInputs) Compute(r graph.Reader) (GuardInputsValue, error) {
	g, err := decodeGuard(n.Guard)
	if err != nil {
		return GuardInputsValue{}, graph.ErrUnbuildable
	}
	v, err := n.digest(trying{r}, &g)
	if unread := unreadableBy(err); unread != "" {
		return GuardInputsValue{Unreadable: unread}, nil
	}
	return v, err
}

// trying is a Reader for what goes on without an answer: it lets the evaluator know
// that a failure may be swallowed, so that nothing which rests on one is recorded.
type trying struct{ graph.Reader }

// Read is Try, and returns the first error.
func (t trying) Read(group []graph.Task) ([]any, error) {
	vs, errs := t.Try(group)
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	return vs, nil
}

// unreadableBy returns what could not be read and why, "" for any other error. Modes
// keep a file out, or it never holds still.
func unreadableBy(err error) string {
	var world interface{ Where() string }
	if err == nil || !errors.As(err, &world) {
		return ""
	}
	return err.Error()
}

func (n GuardInputs) digest(r graph.Reader, g *Guard) (v GuardInputsValue, err error) {
	var e cas.Encoder
	texts := append([]string{g.Real}, g.Texts...)
	files := make([]graph.File, len(texts))
	for i, t := range texts {
		files[i] = graph.File{Path: t}
	}
	states, err := graph.NeedAll(r, files)
	if err != nil {
		return v, err
	}
	e.Count(len(states))
	for i, s := range states {
		e.String(texts[i])
		e.Bytes(graph.FileKind.EncodeValue(s))
	}
	if err := scriptOf(r, g, &e); err != nil {
		return v, err
	}
	e.Bool(g.HasVerifiedPaths)
	switch {
	case g.HasVerifiedPaths:
		if err := verifiedPaths(r, g, &e); err != nil {
			return v, err
		}
	case n.Whole:
		s, err := sourcesOf(r, g.Dir)
		if err != nil {
			return v, err
		}
		all, err := graph.Need(r, s)
		if err != nil {
			return v, err
		}
		e.Digest(all.Digest)
	}
	v.Fingerprint = cas.Digest(fingerprints.Key(e.Encoded()))
	return v, nil
}

// scriptOf adds the script that the command names, unless it lies outside.
func scriptOf(r graph.Reader, g *Guard, e *cas.Encoder) error {
	if g.Static() {
		return nil
	}
	name := command.Script(g.Command())
	e.String(name)
	if name == "" || path.IsAbs(name) {
		return nil
	}
	to, err := resolve(r, g.Dir, name)
	if err != nil || to.Escapes || to.Loop {
		return err
	}
	s, err := graph.Need(r, graph.Content{Path: to.Path})
	if err != nil {
		return err
	}
	e.Bytes(graph.ContentKind.EncodeValue(s))
	return nil
}

// verifiedPaths adds the paths that the declaration names (D-45), and what its patterns
// lead to.
func verifiedPaths(r graph.Reader, g *Guard, e *cas.Encoder) error {
	var dirs, named []string
	for _, p := range g.VerifiedPaths {
		if !strings.ContainsAny(p.Path, wildcards) {
			dirs, named = append(dirs, g.Dir), append(named, p.Path)
			continue
		}
		found, err := globFrom(r, g.Dir, p.Path)
		if err != nil {
			return err
		}
		links, err := digestFound(r, found, e)
		if err != nil {
			return err
		}
		for _, l := range links {
			dirs, named = append(dirs, "."), append(named, l)
		}
	}
	tos, err := resolveAll(r, dirs, named)
	if err != nil {
		return err
	}
	e.Count(len(tos))
	for i, to := range tos {
		e.String(named[i])
		found := globbed{}
		switch {
		case to.Escapes || to.Loop || to.Type == graph.Absent:
			e.String("absent")
			continue
		case to.Type == graph.Directory:
			found.dirs = []string{to.Path}
		default:
			found.files = []string{to.Path}
		}
		if _, err := digestFound(r, found, e); err != nil {
			return err
		}
	}
	return nil
}

// digestFound adds files and directories, and returns the links among them.
func digestFound(r graph.Reader, found globbed, e *cas.Encoder) (links []string, err error) {
	contents := make([]graph.Content, len(found.files))
	for i, f := range found.files {
		contents[i] = graph.Content{Path: f}
	}
	states, err := graph.NeedAll(r, contents)
	if err != nil {
		return nil, err
	}
	e.Count(len(states))
	for i, s := range states {
		e.String(found.files[i])
		e.Bytes(graph.ContentKind.EncodeValue(s))
		if s.Type == graph.Link {
			links = append(links, found.files[i])
		}
	}
	trees := make([]Sources, len(found.dirs))
	for i, d := range found.dirs {
		if trees[i], err = sourcesOf(r, d); err != nil {
			return nil, err
		}
	}
	sums, err := graph.NeedAll(r, trees)
	if err != nil {
		return nil, err
	}
	e.Count(len(sums))
	for i, s := range sums {
		e.String(found.dirs[i])
		e.Digest(s.Digest)
	}
	return links, nil
}

// globFrom expands a pattern that may begin with "..".
func globFrom(r graph.Reader, dir, pattern string) (found globbed, err error) {
	segs := segments(path.Clean(pattern))
	for len(segs) > 0 && segs[0] == ".." {
		if dir == "." {
			return found, nil
		}
		dir, segs = parent(dir), segs[1:]
	}
	if strings.ContainsAny(strings.Join(segs, "/"), wildcards) {
		return glob(r, dir, segs)
	}
	// A ".." took them all back.
	to, err := resolve(r, dir, strings.Join(segs, "/"))
	switch {
	case err != nil || to.Escapes || to.Loop || to.Type == graph.Absent:
	case to.Type == graph.Directory:
		found.dirs = []string{to.Path}
	default:
		found.files = []string{to.Path}
	}
	return found, err
}

// GuardInputsText is the digests as bytes: what a slot can hold, so that a guard's
// files are looked at and not read again before each run.
type GuardInputsText struct{ GuardInputs }

var guardInputsTextKind = graph.Define(graph.Definition[RenderedValue, GuardInputsText]{
	Name: "guard-inputs-text", Version: 3, Order: 80,
	Params: func(c *cas.Coder, n *GuardInputsText) { c.String(&n.Guard); c.Bool(&n.Whole) },
	Value:  codeText,
})

// Kind returns the kind "guard-inputs-text".
func (GuardInputsText) Kind() *graph.Kind { return guardInputsTextKind }

// Compute encodes both fingerprints.
func (n GuardInputsText) Compute(r graph.Reader) (v RenderedValue, err error) {
	declared, err := graph.Need(r, GuardInputs{Guard: n.Guard})
	if err != nil {
		return v, err
	}
	whole, err := graph.Need(r, n.GuardInputs)
	p := GuardPrints{Declared: declared.Fingerprint, Whole: whole.Fingerprint, Unreadable: whole.Unreadable}
	v.Text = cas.EncodeValue(&p, codeGuardPrints)
	return v, err
}

// GuardPrints is the digests that a run is recorded with.
type GuardPrints struct {
	// Declared is what a map compares, Whole is over everything.
	Declared, Whole cas.Digest
	// Unreadable says what cannot be read and why, "" for nothing.
	Unreadable string
}

func codeGuardPrints(c *cas.Coder, p *GuardPrints) {
	c.Digest(&p.Declared)
	c.Digest(&p.Whole)
	c.String(&p.Unreadable)
}

// DecodeGuardPrints reads the text of a GuardInputsText.
func DecodeGuardPrints(text []byte) (GuardPrints, error) {
	return cas.DecodeValue(text, codeGuardPrints)
}

// RestsOnAny reports whether the guard's result rests on one of some root-relative
// paths. It compares names and looks at no file, so that it answers for what was
// deleted as well. A guard without verified paths rests on everything below its
// directory, and a module's on the file that pins modules.
func (g *Guard) RestsOnAny(paths []string) bool {
	return slices.ContainsFunc(paths, g.restsOn)
}

func (g *Guard) restsOn(file string) bool {
	if file == g.Real || slices.Contains(g.Texts, file) || g.Foreign && base(file) == LockName {
		return true
	}
	if g.Static() {
		return g.names(file)
	}
	if script := command.Script(g.Command()); script != "" && path.Join(g.Dir, script) == file {
		return true
	}
	if !g.HasVerifiedPaths {
		return within(file, g.Dir)
	}
	return slices.ContainsFunc(g.VerifiedPaths, func(p PathRef) bool {
		named := path.Join(g.Dir, p.Path)
		if !strings.ContainsAny(p.Path, wildcards) {
			return within(file, named)
		}
		// A pattern may match a directory that the file lies in.
		pattern, _ := newPathPattern(segments(named))
		segs, at := segments(file), pattern.enter(nil, 0)
		for i, name := range segs {
			var ends bool
			if at, ends = pattern.step(at, name, i+1 < len(segs)); ends {
				return true
			}
		}
		return false
	})
}

// names reports whether a static guard looks at a file, or at a directory that the file
// may be the first or last in.
func (g *Guard) names(file string) bool {
	if g.Script == "" {
		return within(file, path.Join(g.Dir, cmp.Or(g.Exists, g.ContainsPath)))
	}
	switch base(file) {
	case "package.json", "GNUmakefile", "makefile", "Makefile":
		return within(g.Dir, parent(file))
	}
	return false
}

// InputsOf returns the node for a guard's fingerprints before a run.
func InputsOf(g Guard) GuardInputsText {
	return GuardInputsText{GuardInputs{Guard: encodeGuard(g), Whole: true}}
}
