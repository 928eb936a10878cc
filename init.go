package mwp

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"unicode/utf8"

	"github.com/model-workspace-protocol/mwp/nodes"
	"github.com/model-workspace-protocol/mwp/nodes/ir"
)

// InitOptions say what Init makes (D-76).
type InitOptions struct {
	// Dir is the directory, relative to Options.Dir; "" is Options.Dir itself.
	Dir string
	// Member adds the directory to the members of the workspace around it.
	Member bool
	// DryRun reports what would be made and makes nothing.
	DryRun bool
	// WithBase adds the module that explains the conventions to whoever reads a map
	// (D-81).
	WithBase bool
	// Home, when set, is the user's home directory: an anchor there would catch every
	// path below that has none of its own (D-03).
	Home string
	// Progress, when set, is told how many directories were searched for instruction
	// files.
	Progress func(directories int)
}

// InitKind says what Init made of a directory.
type InitKind int

// The outcomes of Init.
const (
	// InitAnchor is a project: a directory with a .mwp of its own.
	InitAnchor InitKind = iota
	// InitStub is a directory inside of a project, which gets a context file only.
	InitStub
)

// InitResult is what Init did, or would do.
type InitResult struct {
	Kind InitKind
	// Dir is the absolute directory.
	Dir string
	// Made are the new and changed files, in the order in which they were made; Kept
	// is what was there already and decided that there was nothing to do.
	Made []string
	Kept string
	// Workspace is the configuration file of the anchor above, "" when there is none,
	// and MembersLine what to put there to make Dir a member, "" when it is one.
	Workspace, MembersLine string
	// Beside is Dir's own instruction file, "" when it has none.
	Beside string
	// InstructionFile is one that was found below Dir, "" when none was. The new
	// configuration then has boundary mode "soft" (D-20).
	InstructionFile string
	// BaseLine is the import that a context file at the root needs for WithBase, ""
	// when the new one has it already.
	BaseLine string
	// Trusted is set when it was recorded that programs which act for this user may run the
	// workspace's guards (D-109).
	Trusted bool
	// Incomplete is set when the search for instruction files ended at its limit.
	Incomplete bool
}

// Codes of Init's refusals.
const (
	initRefused   ir.Code = "init_refused"
	membersManual ir.Code = "members_not_editable"
)

func refuse(code ir.Code, source, hint, format string, args ...any) error {
	return &Refusal{[]ir.Diagnostic{{
		Code: code, Severity: ir.SeverityError, Source: source, Message: fmt.Sprintf(format, args...), Hint: hint,
	}}}
}

// Init makes a directory a project, or gives it a context file:
//
//   - outside of any project, in Options.Dir itself, in a directory that another
//     tool's instruction file closes, in one that the workspace above lists as a
//     member, and with Member set, it makes an anchor with everything that
//     belongs to it;
//   - in another directory inside a project it makes a context file.
//
// It never overwrites: what exists is left as it is, except for the marked block
// in .mwp/.gitignore and, with Member, the members of the workspace above. When it
// fails, what it had made is removed again.
func (w *Workspace) Init(ctx context.Context, o InitOptions) (*InitResult, error) {
	s := scaffold{ctx: ctx, o: o}
	if err := s.locate(w.o.Dir); err != nil {
		return nil, err
	}
	here := s.dir == filepath.Clean(w.o.Dir)
	if err := s.look(); err != nil {
		return nil, err
	}
	s.r.Dir = s.dir
	if err := s.decide(here); err != nil {
		return nil, err
	}
	trusted := w.trustedBefore(ctx, &s)
	if err := s.make(); err != nil {
		return nil, err
	}
	if trusted && s.r.Kind == InitAnchor && len(s.r.Made) > 0 && !o.DryRun {
		// What cannot be recorded is asked for later.
		s.r.Trusted = w.from(s.dir, func(made *Workspace) error { return made.TrustWorkspace(ctx, true) }) == nil
	}
	return &s.r, nil
}

// trustedBefore reports whether an anchor that is about to be made leaves the user in
// no doubt about [trust] tables (D-109): they are the user's own, or those of a
// workspace that is trusted already.
func (w *Workspace) trustedBefore(ctx context.Context, s *scaffold) bool {
	if w.o.Guards.UserDir == "" || s.r.Workspace == "" {
		return w.o.Guards.UserDir != ""
	}
	state := TrustUnknown
	_ = w.from(filepath.Dir(s.dir), func(above *Workspace) (err error) {
		state, err = above.Trusted(ctx)
		return err
	})
	return state == TrustGiven
}

// from calls do with a Workspace that is like this one but for its directory.
func (w *Workspace) from(dir string, do func(*Workspace) error) error {
	o := w.o
	o.Dir, o.Root = dir, ""
	other := Open(o)
	defer other.Close()
	return do(other)
}

// scaffold is one call of Init.
type scaffold struct {
	ctx context.Context
	o   InitOptions
	dir string
	r   InitResult

	// exists says that dir is there; form is what stands at dir/.mwp.
	exists bool
	form   fs.FileMode
	anchor bool
	// instructions is dir's own instruction file, context its context file.
	instructions, context string
	// above are the anchors above dir, nearest first.
	above []parentAnchor
	// joins is the workspace whose members dir is added to, nil when it is not.
	joins *parentAnchor
}

// parentAnchor is an anchor above the directory, with its configuration.
type parentAnchor struct {
	dir, config, state string // absolute
	text               []byte
	parsed             nodes.Config
}

// locate sets the directory, which may be relative to base.
func (s *scaffold) locate(base string) error {
	if s.dir = base; s.o.Dir == "" {
		return nil
	}
	if strings.ContainsRune(s.o.Dir, 0) {
		return refuse(initRefused, "", "", "the directory's name holds a NUL byte")
	}
	if s.dir = filepath.Clean(s.o.Dir); !filepath.IsAbs(s.dir) {
		s.dir = filepath.Join(base, s.o.Dir)
	}
	return nil
}

// look finds out what is there.
func (s *scaffold) look() error {
	if err := s.ours(); err != nil {
		return err
	}
	if err := s.lookUp(); err != nil {
		return err
	}
	if err := s.resolve(); err != nil {
		return err
	}
	info, err := os.Stat(s.dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return initFailed(err, "look at", s.dir)
	case !info.IsDir():
		return refuse(initRefused, s.dir, "name a directory", "expected a directory, found a file")
	default:
		s.exists = true
	}
	if s.dir == filepath.Dir(s.dir) || s.o.Home != "" && sameDir(s.dir, s.o.Home) {
		return refuse(initRefused, s.dir, "name a project's directory: mwp init path/to/project",
			"an anchor here would become the root of every path below it that has none of its own")
	}
	if s.exists {
		info, err := os.Lstat(filepath.Join(s.dir, ".mwp"))
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return initFailed(err, "look at", filepath.Join(s.dir, ".mwp"))
		case info.IsDir(), info.Mode().IsRegular():
			s.anchor, s.form = true, info.Mode()
		default:
			return refuse(initRefused, filepath.Join(s.dir, ".mwp"), moveAway,
				"expected a directory or nothing, found %s", noun(info.Mode()))
		}
		s.context = s.first(".mwp-context.md", ".mwp-context.yaml", ".mwp-context.yml")
	}
	files := nodes.DefaultBoundaryFiles()
	if ws := s.workspace(); ws != nil && ws.parsed.HasBoundaryFiles {
		files = ws.parsed.BoundaryFiles
	}
	s.instructions = s.first(files...)
	s.r.Beside = s.instructions
	return nil
}

// moveAway is the hint about something that stands where init makes something.
const moveAway = "move it away, then run the command again"

// ours refuses a directory that is not for projects.
func (s *scaffold) ours() error {
	for _, part := range strings.Split(filepath.ToSlash(s.dir), "/") {
		if part == ".mwp" || part == ".mwp.d" || part == ".git" {
			return refuse(initRefused, s.dir, "name a directory of the project", "the directory belongs to %s", part)
		}
	}
	return nil
}

// lookUp finds the anchors above dir.
func (s *scaffold) lookUp() error {
	s.above = nil
	for dir := filepath.Dir(s.dir); ; dir = filepath.Dir(dir) {
		if err := s.lookAbove(dir); err != nil || dir == filepath.Dir(dir) {
			return err
		}
	}
}

// resolve puts the place that the directory's links lead to in its stead, and
// refuses one outside of a project that the directory was named in: a project can
// carry links, and nothing is written through one that leaves it.
func (s *scaffold) resolve() error {
	for dir := s.dir; ; dir = filepath.Dir(dir) {
		info, err := os.Lstat(dir)
		if err == nil && info.Mode()&fs.ModeSymlink != 0 {
			if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ELOOP) {
				return refuse(initRefused, dir, moveAway, "expected a directory or nothing, found a link that leads nowhere")
			}
		}
		if err == nil || dir == filepath.Dir(dir) {
			break
		}
	}
	real := realPath(s.dir)
	for _, a := range s.above {
		if _, inside := below(realPath(a.dir), real); !inside {
			return refuse(initRefused, s.dir, "if you mean the directory there, name it itself",
				"a link leads out of the project %s, to %s", a.dir, real)
		}
	}
	named := s.dir
	if len(s.above) > 0 {
		top := s.above[len(s.above)-1].dir
		rel, _ := below(realPath(top), real)
		real = filepath.Join(top, filepath.FromSlash(rel))
	}
	if real == named {
		return nil
	}
	s.dir = real
	if err := s.lookUp(); err != nil {
		return err
	}
	if len(s.above) == 0 {
		s.dir = named
	}
	return s.ours()
}

// first returns the first of the names that is in dir.
func (s *scaffold) first(names ...string) string {
	for _, n := range names {
		if _, err := os.Lstat(filepath.Join(s.dir, n)); err == nil {
			return n
		}
	}
	return ""
}

func (s *scaffold) lookAbove(dir string) error {
	a := parentAnchor{dir: dir, config: filepath.Join(dir, ".mwp"), state: filepath.Join(dir, ".mwp.d")}
	info, err := os.Lstat(a.config)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return initFailed(err, "look at", a.config)
	case info.IsDir():
		a.state = a.config
		a.config = filepath.Join(a.config, "config.toml")
	case !info.Mode().IsRegular():
		return nil
	}
	path := a.config
	if info, err := os.Lstat(path); err == nil && info.Mode()&fs.ModeSymlink != 0 {
		// As for a map, such a link may lead to another file of the project.
		path, err = filepath.EvalSymlinks(path)
		if _, inside := below(realPath(dir), path); err != nil || !inside {
			return refuse(ir.ConfigInvalid, a.config, "replace the link by the file",
				"the configuration is a link that does not lead to a file inside the project")
		}
	}
	a.text, err = readRegular(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return readFailed(ir.ConfigInvalid, err, a.config)
	}
	a.parsed, _ = nodes.ParseConfig(a.text)
	s.above = append(s.above, a)
	return nil
}

// workspace returns the anchor above that a new member joins: the nearest with
// members, else the nearest (D-05).
func (s *scaffold) workspace() *parentAnchor {
	for i := range s.above {
		if len(s.above[i].parsed.Members) > 0 {
			return &s.above[i]
		}
	}
	if len(s.above) > 0 {
		return &s.above[0]
	}
	return nil
}

func (s *scaffold) rel(a *parentAnchor) string {
	rel, _ := filepath.Rel(a.dir, s.dir)
	return filepath.ToSlash(rel)
}

// decide settles what is made (U-36).
func (s *scaffold) decide(here bool) error {
	ws := s.workspace()
	if ws == nil {
		if s.o.Member {
			return environment(ir.NoRoot, nil, "leave --member out, or run `mwp init` in the workspace's root first",
				"there is no .mwp above %s whose members it could join", s.dir)
		}
		return nil
	}
	s.r.Workspace = ws.config
	rel := s.rel(ws)
	listed := nodes.MemberMatch(ws.parsed.Members, rel)
	if !s.o.Member && !listed && !here && !s.anchor && s.instructions == "" {
		s.r.Kind = InitStub
	}
	if s.r.Kind == InitStub && s.o.WithBase {
		return refuse(initRefused, s.dir, "run `mwp init --with-base` in the workspace root",
			"the module that explains the conventions belongs to a project, and this makes a context file only")
	}
	if !listed {
		s.r.MembersLine = membersLine(ws.parsed.Members, rel)
	}
	if !s.o.Member || listed {
		return nil
	}
	if info, err := os.Lstat(ws.config); err == nil && !info.Mode().IsRegular() {
		return refuse(membersManual, ws.config, "write this line there, then run the command again: "+s.r.MembersLine,
			"the list of members cannot be changed safely: the configuration is a link")
	}
	// Told now, before anything is made; join looks again.
	if _, err := ws.add(ws.text, rel); err != nil {
		return err
	}
	s.joins, s.r.MembersLine = ws, ""
	return nil
}

// membersLine returns the line that makes rel a member.
func membersLine(members []string, rel string) string {
	all := append(slices.Clone(members), rel)
	for i, m := range all {
		all[i] = quoteTOML(m)
	}
	return "members = [" + strings.Join(all, ", ") + "]"
}

// make makes it, in an order in which a run that was interrupted can be run
// again: the configuration, by which the example is decided, comes last.
func (s *scaffold) make() (err error) {
	if s.anchor && s.form.IsRegular() {
		s.r.Kept = filepath.Join(s.dir, ".mwp")
		return s.join()
	}
	out := writer{s: s}
	defer func() { out.close(err != nil) }()
	if err := out.open(); err != nil {
		return err
	}
	if s.r.Kind == InitStub {
		if s.context != "" {
			s.r.Kept = filepath.Join(s.dir, s.context)
			return nil
		}
		return out.create(".mwp-context.md", stub(filepath.Base(s.dir), ""))
	}
	if err := out.check(); err != nil {
		return err
	}
	steps, err := s.steps(&out)
	if err != nil {
		return err
	}
	for _, step := range steps {
		if err := s.ctx.Err(); err != nil {
			return err
		}
		if err := step(); err != nil {
			return err
		}
	}
	if len(s.r.Made) == 0 {
		s.r.Kept = filepath.Join(s.dir, ".mwp")
	}
	return s.join()
}

// steps returns what makes an anchor.
func (s *scaffold) steps(out *writer) ([]func() error, error) {
	steps := []func() error{
		func() error { return out.mkdir(".mwp") },
		out.ignore,
		func() error { return out.keep("intents", intentsKeep) },
		func() error { return out.keep("pipelines", pipelinesKeep) },
	}
	imports := ""
	if s.o.WithBase {
		steps = append(steps, out.base)
		s.r.BaseLine, imports = BaseImport, "imports:\n  "+BaseImport+"\n"
	}
	config := filepath.Join(".mwp", "config.toml")
	if _, configured, err := out.at(config); err != nil || configured {
		return steps, err
	}
	if err := s.search(); err != nil {
		return nil, err
	}
	example := ".mwp-context.md"
	if s.instructions != "" {
		example = filepath.Join(".mwp", "example.mwp-context.md")
	}
	if s.context == "" || s.instructions != "" {
		steps = append(steps, func() error { return out.create(example, stub(filepath.Base(s.dir), imports)) })
		if s.instructions == "" {
			s.r.BaseLine = ""
		}
	}
	return append(steps, func() error { return out.create(config, s.config()) }), nil
}

// maxScan bounds the search for instruction files, in directories.
const maxScan = 20000

// unsearched are directories that hold other people's code.
func unsearched(name string) bool {
	return strings.HasPrefix(name, ".") || name == "node_modules" || name == "target" || name == "vendor"
}

// search looks for an instruction file below the directory, level by level and in
// name order, so that the one it names does not depend on the file system.
func (s *scaffold) search() error {
	if !s.exists {
		return nil
	}
	files := nodes.DefaultBoundaryFiles()
	queue := []string{s.dir}
	for seen := 0; len(queue) > 0; seen++ {
		if err := s.ctx.Err(); err != nil {
			return err
		}
		if seen == maxScan {
			s.r.Incomplete = true
			return nil
		}
		if s.o.Progress != nil {
			s.o.Progress(seen)
		}
		dir := queue[0]
		queue = queue[1:]
		// What cannot be read cannot be mapped either.
		entries, _ := os.ReadDir(dir)
		anchored := slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.Name() == ".mwp" })
		for _, e := range entries {
			switch {
			case e.IsDir():
				if !unsearched(e.Name()) && len(queue) < maxScan {
					queue = append(queue, filepath.Join(dir, e.Name()))
				}
			case dir != s.dir && !anchored && slices.Contains(files, e.Name()) && utf8.ValidString(dir):
				s.r.InstructionFile = filepath.Join(dir, e.Name())
				return nil
			}
		}
	}
	return nil
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

func sameDir(a, b string) bool {
	x, err := os.Stat(a)
	if err != nil {
		return filepath.Clean(a) == filepath.Clean(b)
	}
	y, err := os.Stat(b)
	return err == nil && os.SameFile(x, y)
}

func initFailed(err error, verb, path string) error {
	return environment(ir.Unreadable, err, "", "cannot %s %s: %s", verb, path, reason(err))
}
