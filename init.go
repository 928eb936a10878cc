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
// in .mwp/.gitignore and, with Member, the members of the workspace above.
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
	s.r.Dir = s.dir
	if err := s.look(); err != nil {
		return nil, err
	}
	if err := s.decide(s.dir == filepath.Clean(w.o.Dir)); err != nil {
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
	// edited is the new text of the workspace's configuration.
	edited []byte
}

// parentAnchor is an anchor above the directory, with its configuration.
type parentAnchor struct {
	dir, config string // absolute
	text        []byte
	parsed      nodes.Config
	problems    []ir.Diagnostic
}

// look finds out what is there.
func (s *scaffold) look() error {
	for _, part := range strings.Split(filepath.ToSlash(s.dir), "/") {
		if part == ".mwp" || part == ".mwp.d" || part == ".git" {
			return refuse(initRefused, s.dir, "name a directory of the project", "the directory belongs to %s", part)
		}
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
			what := "a socket, pipe or device"
			if info.Mode()&fs.ModeSymlink != 0 {
				what = "a link"
			}
			return refuse(initRefused, filepath.Join(s.dir, ".mwp"), "move it away, then run the command again",
				"expected a directory or nothing, found %s", what)
		}
		s.context = s.first(".mwp-context.md", ".mwp-context.yaml", ".mwp-context.yml")
	}
	for dir := filepath.Dir(s.dir); ; dir = filepath.Dir(dir) {
		if err := s.lookAbove(dir); err != nil {
			return err
		}
		if dir == filepath.Dir(dir) {
			break
		}
	}
	files := nodes.DefaultBoundaryFiles()
	if ws := s.workspace(); ws != nil && ws.parsed.HasBoundaryFiles {
		files = ws.parsed.BoundaryFiles
	}
	s.instructions = s.first(files...)
	return nil
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
	a := parentAnchor{dir: dir, config: filepath.Join(dir, ".mwp")}
	info, err := os.Lstat(a.config)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return initFailed(err, "look at", a.config)
	case info.IsDir():
		a.config = filepath.Join(a.config, "config.toml")
	case !info.Mode().IsRegular():
		return nil
	}
	a.text, err = os.ReadFile(a.config)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return initFailed(err, "read", a.config)
	}
	a.parsed, a.problems = nodes.ParseConfig(a.text)
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
	text, err := addMember(ws.text, rel)
	if err != nil {
		return refuse(membersManual, ws.config, "write this line there, then run the command again: "+s.r.MembersLine,
			"the list of members cannot be changed safely: %v", err)
	}
	if info, err := os.Lstat(ws.config); err == nil && !info.Mode().IsRegular() {
		return refuse(membersManual, ws.config, "write this line there, then run the command again: "+s.r.MembersLine,
			"the list of members cannot be changed safely: the configuration is a link")
	}
	s.edited, s.r.MembersLine = text, ""
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
func (s *scaffold) make() error {
	if s.anchor && s.form.IsRegular() {
		s.r.Kept = filepath.Join(s.dir, ".mwp")
		return s.join()
	}
	out := writer{s: s}
	if err := out.open(); err != nil {
		return err
	}
	defer out.close()
	if s.r.Kind == InitStub {
		if s.context != "" {
			s.r.Kept = filepath.Join(s.dir, s.context)
			return nil
		}
		return out.create(".mwp-context.md", stub(filepath.Base(s.dir)))
	}
	configured := false
	if s.anchor {
		_, err := os.Lstat(filepath.Join(s.dir, ".mwp", "config.toml"))
		configured = err == nil
	}
	if !configured {
		if err := s.search(); err != nil {
			return err
		}
	}
	steps := []func() error{
		func() error { return out.mkdir(".mwp") },
		out.ignore,
		func() error { return out.keep("intents", intentsKeep) },
		func() error { return out.keep("pipelines", pipelinesKeep) },
	}
	if !configured {
		example := ".mwp-context.md"
		if s.instructions != "" {
			example = filepath.Join(".mwp", "example.mwp-context.md")
		}
		if s.context == "" || s.instructions != "" {
			steps = append(steps, func() error { return out.create(example, stub(filepath.Base(s.dir))) })
		}
		steps = append(steps, func() error {
			return out.create(filepath.Join(".mwp", "config.toml"), s.config())
		})
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	if len(s.r.Made) == 0 {
		s.r.Kept = filepath.Join(s.dir, ".mwp")
	}
	return s.join()
}

// join writes the workspace's changed list of members.
func (s *scaffold) join() error {
	if s.edited == nil {
		return nil
	}
	if !s.o.DryRun {
		if err := WriteFile(s.r.Workspace, s.edited); err != nil {
			return initFailed(err, "write", s.r.Workspace)
		}
	}
	s.r.Made = append(s.r.Made, s.r.Workspace)
	return nil
}

// writer makes files below the directory and follows no link out of it.
type writer struct {
	s    *scaffold
	root *os.Root // nil in a dry run in a directory that does not exist
}

func (w *writer) open() error {
	s := w.s
	if !s.exists {
		if s.o.DryRun {
			return nil
		}
		if err := os.MkdirAll(s.dir, 0o777); err != nil {
			return initFailed(err, "make", s.dir)
		}
	}
	var err error
	if w.root, err = os.OpenRoot(s.dir); err != nil {
		return initFailed(err, "open", s.dir)
	}
	return nil
}

func (w *writer) close() {
	if w.root != nil {
		w.root.Close()
	}
}

func (w *writer) present(name string) bool {
	if w.root == nil {
		return false
	}
	_, err := w.root.Lstat(name)
	return !errors.Is(err, fs.ErrNotExist)
}

func (w *writer) path(name string) string { return filepath.Join(w.s.dir, name) }

func (w *writer) mkdir(name string) error {
	if w.s.o.DryRun || w.present(name) {
		return nil
	}
	if err := w.root.Mkdir(name, 0o777); err != nil && !errors.Is(err, fs.ErrExist) {
		return initFailed(err, "make", w.path(name))
	}
	return nil
}

// create makes a file unless something has its name.
func (w *writer) create(name, content string) error {
	if w.present(name) {
		return nil
	}
	if !w.s.o.DryRun {
		f, err := w.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
		if errors.Is(err, fs.ErrExist) {
			return nil
		}
		if err != nil {
			return initFailed(err, "make", w.path(name))
		}
		_, err = f.WriteString(content)
		if err = errors.Join(err, f.Close()); err != nil {
			// A part of a file would be kept by the next run.
			w.root.Remove(name)
			return initFailed(err, "write", w.path(name))
		}
	}
	w.s.r.Made = append(w.s.r.Made, w.path(name))
	return nil
}

// keep makes an empty directory that git keeps.
func (w *writer) keep(name, comment string) error {
	dir := filepath.Join(".mwp", name)
	if w.present(dir) {
		return nil
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
	if !w.present(name) {
		return w.create(name, ignoreBegin+"\n"+strings.Join(ignoredFiles, "\n")+"\n"+ignoreEnd+"\n")
	}
	info, err := w.root.Lstat(name)
	if err != nil || !info.Mode().IsRegular() {
		return refuse(initRefused, w.path(name), "replace it by a regular file", "expected a regular file")
	}
	old, err := w.root.ReadFile(name)
	if err != nil {
		return initFailed(err, "read", w.path(name))
	}
	text, changed := completeIgnore(string(old))
	if !changed {
		return nil
	}
	if !w.s.o.DryRun {
		if err := WriteFile(w.path(name), []byte(text)); err != nil {
			return initFailed(err, "write", w.path(name))
		}
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
