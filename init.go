package mwp

import (
	"context"
	"errors"
	"fmt"
	"io"
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
	// InstructionFile is one that was found below Dir, "" when none was. The new
	// configuration then has boundary mode "soft" (D-20).
	InstructionFile string
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
	s := scaffold{ctx: ctx, o: o, dir: w.o.Dir}
	if o.Dir != "" {
		if strings.ContainsRune(o.Dir, 0) {
			return nil, refuse(initRefused, "", "", "the directory's name holds a NUL byte")
		}
		if s.dir = filepath.Clean(o.Dir); !filepath.IsAbs(s.dir) {
			s.dir = filepath.Join(w.o.Dir, o.Dir)
		}
	}
	here := s.dir == filepath.Clean(w.o.Dir)
	if err := s.look(); err != nil {
		return nil, err
	}
	s.r.Dir = s.dir
	if err := s.decide(here); err != nil {
		return nil, err
	}
	if err := s.make(); err != nil {
		return nil, err
	}
	return &s.r, nil
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
		return out.create(".mwp-context.md", stub(filepath.Base(s.dir)))
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
		steps = append(steps, func() error { return out.create(example, stub(filepath.Base(s.dir))) })
	}
	return append(steps, func() error { return out.create(config, s.config()) }), nil
}

// writer makes files below the directory and follows no link out of it. It
// remembers what it made.
type writer struct {
	s    *scaffold
	root *os.Root // nil in a dry run in a directory that does not exist
	// dirs are the directories it made down to s.dir, outermost first; undo takes back
	// what it did below s.dir, in the order in which it was done.
	dirs []string
	undo []func()
}

// open makes the directory and opens it, from a directory that exists: the project
// around it, so that no link that is put in the way meanwhile leads out of that.
func (w *writer) open() error {
	s := w.s
	if !s.exists && s.o.DryRun {
		return nil
	}
	base := s.dir
	if ws := s.workspace(); ws != nil {
		base = ws.dir
	} else {
		for !isDir(base) && base != filepath.Dir(base) {
			base = filepath.Dir(base)
		}
	}
	root, err := os.OpenRoot(base)
	if err != nil {
		return initFailed(err, "open", base)
	}
	rel, err := filepath.Rel(base, s.dir)
	if err != nil || rel == "." {
		w.root = root
		return nil
	}
	defer root.Close()
	if !s.exists {
		if err := w.mkdirs(root, base, rel); err != nil {
			return err
		}
	}
	if w.root, err = root.OpenRoot(rel); err != nil {
		return initFailed(err, "open", s.dir)
	}
	return nil
}

func (w *writer) mkdirs(root *os.Root, base, rel string) error {
	name := ""
	for part := range strings.SplitSeq(rel, string(filepath.Separator)) {
		name = filepath.Join(name, part)
		if _, err := root.Lstat(name); err == nil {
			continue
		}
		switch err := root.Mkdir(name, 0o777); {
		case err == nil:
			w.dirs = append(w.dirs, filepath.Join(base, name))
		case !errors.Is(err, fs.ErrExist):
			return initFailed(err, "make", filepath.Join(base, name))
		}
	}
	return nil
}

// close ends the work. When it failed, an anchor that was only begun must not
// stay: it would be one, and change every map below it.
func (w *writer) close(failed bool) {
	if failed {
		for _, undo := range slices.Backward(w.undo) {
			undo()
		}
	}
	if w.root != nil {
		w.root.Close()
	}
	if failed {
		for _, dir := range slices.Backward(w.dirs) {
			os.Remove(dir)
		}
	}
}

// made notes what undoing has to remove; of a directory, only an empty one.
func (w *writer) made(name string) {
	w.undo = append(w.undo, func() { w.root.Remove(name) })
}

// at returns the mode of what has a name; there is false when nothing has.
func (w *writer) at(name string) (mode fs.FileMode, there bool, err error) {
	if w.root == nil {
		return 0, false, nil
	}
	info, err := w.root.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return 0, false, nil
	case err != nil:
		return 0, false, initFailed(err, "look at", w.path(name))
	}
	return info.Mode(), true, nil
}

// check refuses an anchor with something else in the place of one of its parts,
// before anything is made.
func (w *writer) check() error {
	for _, part := range []struct {
		name string
		dir  bool
	}{
		{".mwp.d", true}, {".mwp/intents", true}, {".mwp/pipelines", true},
		{".mwp/.gitignore", false}, {".mwp/config.toml", false},
	} {
		name := filepath.FromSlash(part.name)
		mode, there, err := w.at(name)
		switch {
		case err != nil:
			return err
		case !there, part.dir && mode.IsDir(), !part.dir && mode.IsRegular():
		case part.dir:
			return refuse(initRefused, w.path(name), moveAway, "expected a directory or nothing, found %s", noun(mode))
		default:
			return refuse(initRefused, w.path(name), moveAway, "expected a regular file or nothing, found %s", noun(mode))
		}
	}
	return nil
}

func (w *writer) path(name string) string { return filepath.Join(w.s.dir, name) }

func (w *writer) mkdir(name string) error {
	_, there, err := w.at(name)
	if err != nil || there || w.s.o.DryRun {
		return err
	}
	switch err := w.root.Mkdir(name, 0o777); {
	case err == nil:
		w.made(name)
	case !errors.Is(err, fs.ErrExist):
		return initFailed(err, "make", w.path(name))
	}
	return nil
}

// create makes a file unless something has its name.
func (w *writer) create(name, content string) error {
	_, there, err := w.at(name)
	if err != nil || there {
		return err
	}
	if !w.s.o.DryRun {
		f, err := w.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
		if errors.Is(err, fs.ErrExist) {
			return nil
		}
		if err != nil {
			return initFailed(err, "make", w.path(name))
		}
		w.made(name)
		_, err = f.WriteString(content)
		if err = errors.Join(err, f.Close()); err != nil {
			return initFailed(err, "write", w.path(name))
		}
	}
	w.s.r.Made = append(w.s.r.Made, w.path(name))
	return nil
}

// keep makes an empty directory that git keeps.
func (w *writer) keep(name, comment string) error {
	dir := filepath.Join(".mwp", name)
	if _, there, err := w.at(dir); err != nil || there {
		return err
	}
	if err := w.mkdir(dir); err != nil {
		return err
	}
	return w.create(filepath.Join(dir, ".gitkeep"), comment)
}

const (
	ignoreBegin = "# >>> mwp: made again on demand, or personal; everything else here is for version control"
	ignoreEnd   = "# <<< mwp"
)

// ignoredFiles are the seed's six lines, and what the proposal does not list: trust
// is personal, temporary files and personal values too (D-09, N-08). Scripts are
// ignored at the top level only, so that hooks/*.sh is kept (N-18).
var ignoredFiles = []string{
	"modules/", "cache/", "guards.cache.json", "sessions/", "/*.sh", "protocol.md",
	"trust.lock", "vars.local.toml", "*.tmp", "*.lock.tmp",
}

// ignore writes .mwp/.gitignore, or adds what its marked block lacks (D-09).
func (w *writer) ignore() error {
	name := filepath.Join(".mwp", ".gitignore")
	_, there, err := w.at(name)
	if err != nil {
		return err
	}
	if !there {
		return w.create(name, ignoreBegin+"\n"+strings.Join(ignoredFiles, "\n")+"\n"+ignoreEnd+"\n")
	}
	old, err := readRegular(w.path(name))
	if err != nil {
		return readFailed(initRefused, err, w.path(name))
	}
	text, changed := completeIgnore(string(old))
	if !changed {
		return nil
	}
	if !w.s.o.DryRun {
		if err := replaceFile(w.path(name), []byte(text)); err != nil {
			return initFailed(err, "write", w.path(name))
		}
		w.undo = append(w.undo, func() { replaceFile(w.path(name), old) })
	}
	w.s.r.Made = append(w.s.r.Made, w.path(name))
	return nil
}

// completeIgnore adds the patterns that an ignore file lacks to its marked block,
// which it appends when there is none. Nothing is ever removed.
func completeIgnore(old string) (text string, changed bool) {
	lines := strings.Split(old, "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " \t\r")
	}
	var missing []string
	for _, p := range ignoredFiles {
		if !slices.Contains(lines, p) {
			missing = append(missing, p)
		}
	}
	if len(missing) == 0 {
		return old, false
	}
	add := strings.Join(missing, "\n") + "\n"
	// The block of an earlier version may begin with other words.
	begin := slices.IndexFunc(lines, func(l string) bool { return strings.HasPrefix(l, "# >>> mwp") })
	if begin >= 0 {
		if at := strings.Index(old, "\n"+ignoreEnd); at >= 0 {
			return old[:at+1] + add + old[at+1:], true
		}
	}
	if old != "" && !strings.HasSuffix(old, "\n") {
		old += "\n"
	}
	return old + ignoreBegin + "\n" + add + ignoreEnd + "\n", true
}

const (
	intentsKeep = `# Intents: one Markdown file for each task that is under way, written before the
# work begins. The file's name says what the task is, for example
# add-orders-view.md. Every map lists the names and opens none of the files.
`
	pipelinesKeep = `# Pipelines: work that is done again and again, for example release-checklist.md,
# usually an intent that proved worth repeating. Every map lists the names and
# opens none of the files.
`
)

// config returns the text of a new configuration.
func (s *scaffold) config() string {
	var b strings.Builder
	b.WriteString("# What mwp knows about this project. Keys that start with # show the defaults or\n# an example; ")
	b.WriteString("`mwp config` prints what is in effect and where it comes from.\n\n")
	b.WriteString("name = " + quoteTOML(projectName(s.dir)) + "\n")
	b.WriteString(`
# One sentence, shown at the top of every map.
# description = ""

# Directories of a monorepo that are projects of their own. Globs are allowed, and
# "!" excludes: members = ["packages/*", "!packages/old"]
# members = []

# The most tokens that a layer of a map may hold, or "none". Too much is reported,
# never cut; policy says what else happens: report, drop or error.
# [budgets]
# l0 = 800
# l1 = 300
# l2 = 500
# l3 = 2000
# policy = "report"

# What the project's parts are for. It is shown at the top of every map.
# [directories]
# "backend" = { role = "HTTP service", stack = ["go"], shared = false }

# How many levels above a target's directory a map reaches; 0 is all of them.
# [render]
# window = 0

# What counts as a token; the budgets are in its unit.
# [tokens]
# counter = "o200k_base"

# Commands that guards may run besides the built-in ones.
# [trust]
# allowed_guards = []

# How large the cache of computed maps may grow.
# [cache]
# max_size = "256MiB"
`)
	if s.r.InstructionFile != "" && !s.o.Member {
		rel, err := filepath.Rel(s.dir, s.r.InstructionFile)
		if err != nil {
			rel = s.r.InstructionFile
		}
		b.WriteString("\n[boundary]\n# Soft, because of files like " + ir.EscapeControls(filepath.ToSlash(rel)) +
			": maps reach into directories of other tools; remove the next line to close them.\nmode = \"soft\"\n")
	} else {
		b.WriteString("\n# How maps treat directories with an instruction file of another tool and no .mwp:\n" +
			"# opaque (no map inside), soft (a member without configuration), transparent.\n# [boundary]\n# mode = \"opaque\"\n")
	}
	return b.String()
}

func projectName(dir string) string {
	// A configuration's name has no characters that cannot be seen.
	return ir.EscapeControls(strings.ToValidUTF8(filepath.Base(dir), "\uFFFD"))
}

// stub is an example context file: valid as it is, and short, because it is in
// every map from the start.
func stub(name string) string {
	name = strings.TrimSpace(ir.EscapeControls(strings.ToValidUTF8(name, "\uFFFD")))
	return `---
# layer: 1          # 0 identity, 1 module, 2 stage, 3 reference, 4 artefact; by depth when left out
# scope: recursive  # or local: for targets directly in this directory only
# owners: []        # who to ask
---
# ` + name + `

What this directory is for, and what to know before changing anything in it.
`
}

// quoteTOML returns s as a basic string.
func quoteTOML(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r < 0x20 || r == 0x7f:
			fmt.Fprintf(&b, "\\u%04X", r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
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

// maxInitBytes bounds what init reads of one file. It is the limit of a
// configuration; an ignore file is never as long.
const maxInitBytes = 256 << 10

// unfit is the error of a file that init does not read.
type unfit string

func (u unfit) Error() string { return string(u) }

// readRegular returns the content of a regular file. It follows no link and waits
// for no pipe: anybody's project may hold either.
func readRegular(path string) ([]byte, error) {
	// Another process may replace the file at any time, by rename.
	for range 100 {
		before, err := os.Lstat(path)
		if err != nil {
			return nil, err
		}
		if !before.Mode().IsRegular() {
			return nil, unfit("expected a regular file, found " + noun(before.Mode()))
		}
		f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		b, err := readAs(f, before)
		if err != errReplaced {
			return b, err
		}
	}
	return nil, errReplaced
}

const errReplaced = unfit("the file is replaced again and again")

// readAs reads and closes a file, if it is the one that was looked at.
func readAs(f *os.File, before fs.FileInfo) ([]byte, error) {
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !os.SameFile(before, info) {
		return nil, errReplaced
	}
	b, err := io.ReadAll(io.LimitReader(f, maxInitBytes+1))
	if len(b) > maxInitBytes {
		return nil, unfit(fmt.Sprintf("the file has %d bytes, the limit is %d", max(info.Size(), int64(len(b))), maxInitBytes))
	}
	return b, err
}

// readFailed returns the error of reading a file that somebody wrote.
func readFailed(code ir.Code, err error, path string) error {
	var u unfit
	if errors.As(err, &u) {
		return refuse(code, path, "put a regular file of at most 256 KiB there", "%s", u)
	}
	return initFailed(err, "read", path)
}

// noun says what a file is.
func noun(m fs.FileMode) string {
	switch {
	case m.IsRegular():
		return "a file"
	case m.IsDir():
		return "a directory"
	case m&fs.ModeSymlink != 0:
		return "a link"
	}
	return "a socket, pipe or device"
}
