package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/model-workspace-protocol/mwp"
	"github.com/model-workspace-protocol/mwp/mcp/harness"
	"github.com/model-workspace-protocol/mwp/nodes/ir"
)

// runHook answers one event of a harness (D-114).
func (a *app) runHook() error {
	// A harness that does not read the answer is no reason to fail: the write fails instead.
	signal.Ignore(syscall.SIGPIPE)
	said, err := a.saidHarness()
	if err != nil {
		return err
	}
	if f, ok := a.stdin.(*os.File); ok && isTerminal(f) {
		return usage("a harness runs it; see `mwp help hook`", "hook reads an event as JSON from stdin, and stdin is a terminal")
	}
	e, err := harness.ReadHook(a.stdin, said)
	if err != nil {
		return usage("", "%v", err)
	}
	h := &hook{app: a, Event: e}
	if !h.matters() {
		return nil
	}
	if h.base, err = h.workplace(); err != nil || h.base == "" {
		return err
	}
	// Nobody was asked whether something may be fetched.
	a.dirs, a.offline = []string{h.base}, true
	if h.ws, err = a.workspace(); err != nil {
		return err
	}
	return h.answer()
}

// saidHarness returns the harness that the command line names, "" for none.
func (a *app) saidHarness() (string, error) {
	if len(a.words) == 0 {
		return "", nil
	}
	for _, n := range harness.HookNames() {
		if n == a.words[0] {
			return n, nil
		}
	}
	return "", usage("", "%s", oneOf(a.words[0], harness.HookNames()))
}

// isHook reports whether a harness is listening, to which no exit status is harmless but 0.
func (a *app) isHook() bool { return a.invocation != nil && a.command == &cmdHook }

// hooked reports what a hook could not do, in one line, and returns its exit status: a
// hook never fails a session, and what blocks one is only what --strict-guards is for.
func (a *app) hooked(err error) int {
	switch {
	case err == nil:
		return 0
	case errors.Is(err, errBlocked):
		return 2
	}
	if ds := a.findings(err); len(ds) > 0 {
		line, _, _ := strings.Cut(ds[0].String(), "\n")
		a.stderr.Write([]byte("mwp hook: " + line + "\n"))
	}
	return 0
}

// patience is how long a hook waits for a lock. Holding one takes a millisecond.
const patience = 2 * time.Second

// hook is one run of mwp hook.
type hook struct {
	*app
	harness.Event
	// base is the directory whose workspace is meant.
	base    string
	ws      *mwp.Workspace
	session *mwp.Session
	// root is the directory of the workspace, once an answer showed it.
	root string
}

// matters reports whether the event can have a consequence.
func (h *hook) matters() bool {
	switch h.Moment {
	case harness.Unrelated:
		return false
	case harness.Compacted, harness.Ended:
		return h.Session != ""
	case harness.Started:
		return h.Carries()
	case harness.BeforeTool, harness.AfterTool:
		return len(h.Paths) > 0 && (h.guards() || h.Carries() && h.Session != "")
	}
	return h.Carries() && h.Session != ""
}

// guards reports whether the event is a write that --strict-guards may block.
func (h *hook) guards() bool {
	return h.strictGuards && h.Moment == harness.BeforeTool && h.Writes
}

// workplace returns the first of the directories that the event, the harness or the
// command line name which lies in a workspace, "" when none does. A root that was named is
// one.
func (h *hook) workplace() (string, error) {
	started, err := h.dir()
	if err != nil {
		return "", err
	}
	if !filepath.IsAbs(h.Cwd) {
		h.Cwd = started
	}
	if root := h.app.root; root != "" {
		if !filepath.IsAbs(root) {
			// From here on the base is where relative paths start.
			root = filepath.Join(started, root)
			h.app.root = root
		}
		if within(root, h.Cwd) {
			root = h.Cwd
		}
		return root, nil
	}
	for _, dir := range []string{h.Cwd, h.env("CLAUDE_PROJECT_DIR")} {
		if filepath.IsAbs(dir) && anchorAbove(dir) {
			return filepath.Clean(dir), nil
		}
	}
	return "", nil
}

// anchorAbove reports whether a directory that exists, or one above it, has an anchor.
func anchorAbove(dir string) bool {
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return false
	}
	for dir = filepath.Clean(dir); ; dir = filepath.Dir(dir) {
		if _, err := os.Lstat(filepath.Join(dir, ".mwp")); err == nil {
			return true
		}
		if dir == filepath.Dir(dir) {
			return false
		}
	}
}

// answer does what the event asks for.
func (h *hook) answer() error {
	id := h.SessionID()
	if h.Moment == harness.Ended {
		return h.remove(id)
	}
	if err := h.load(id); err != nil {
		return err
	}
	switch h.Moment {
	case harness.Compacted:
		h.session.Clear()
		return h.save()
	case harness.Started:
		h.session.Clear()
		err := h.say("")
		if err != nil && id != "" {
			// What the reader had is gone all the same.
			h.save()
		}
		return err
	case harness.Prompted:
		return h.say("")
	}
	return h.say(h.targets()...)
}

// load takes the session of the event's reader from the disk. A reader whom nothing names
// has had nothing, and nothing is kept for it.
func (h *hook) load(id string) (err error) {
	if id == "" {
		h.session = mwp.NewSession("")
		return nil
	}
	h.session, err = h.ws.LoadSession(id)
	return err
}

// save writes what happened to the reader.
func (h *hook) save() error {
	ctx, cancel := h.brief()
	defer cancel()
	return h.ws.SaveSession(ctx, h.session)
}

// remove forgets a reader, who may be one that was never told anything.
func (h *hook) remove(id string) error {
	ctx, cancel := h.brief()
	defer cancel()
	err := h.ws.RemoveSession(ctx, id)
	if errors.As(err, new(*mwp.Refusal)) {
		return nil
	}
	return err
}

// brief returns a context for work on the session's file, which another hook may have
// locked: a harness waits for us, and what is not noted is only sent again. What was
// printed ended the context that signals end.
func (h *hook) brief() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(h.ctx), patience)
}

// targets returns the event's paths as absolute ones, those that can be in the workspace.
func (h *hook) targets() []string {
	var list []string
	for _, p := range h.Paths {
		if p = filepath.FromSlash(p); !filepath.IsAbs(p) {
			p = filepath.Join(h.Cwd, p)
		}
		if p = h.inside(filepath.Clean(p)); p != "" {
			list = append(list, p)
		}
	}
	return list
}

// inside returns a path by which some workspace is around both it and the base, "" when
// there is none: a path elsewhere would be answered from whatever workspace a stranger put
// there. A harness and a model may spell a path through different links.
func (h *hook) inside(p string) string {
	if h.app.root != "" || commonAnchor(h.base, p) {
		return p
	}
	if real := resolved(p); commonAnchor(resolved(h.base), real) {
		return real
	}
	return ""
}

func commonAnchor(a, b string) bool {
	for ; !within(a, b); a = filepath.Dir(a) {
		if a == filepath.Dir(a) {
			return false
		}
	}
	return anchorAbove(a)
}

// within reports whether a path is a directory or below it.
func within(dir, p string) bool {
	rel, err := filepath.Rel(dir, p)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}

// resolved returns a path without links, as far as it exists.
func resolved(p string) string {
	rest := ""
	for dir := p; ; dir = filepath.Dir(dir) {
		if real, err := filepath.EvalSymlinks(dir); err == nil {
			return filepath.Join(real, rest)
		}
		if dir == filepath.Dir(dir) {
			return p
		}
		rest = filepath.Join(filepath.Base(dir), rest)
	}
}

// say answers with the maps of targets, as far as the reader lacks them. A target whose
// map cannot be made does not keep the others back.
func (h *hook) say(targets ...string) error {
	var text []byte
	var first error
	var sent []*mwp.Result
	for _, target := range targets {
		x, err := h.send(target)
		if refusal := (*mwp.Refusal)(nil); h.guards() && errors.As(err, &refusal) && !isContext(target) {
			// Whether a guard fails is not known.
			return h.blockRefused(target, refusal)
		}
		if err == nil && x != nil {
			sent = append(sent, x.Result)
			switch {
			case h.guards() && x.ReadOnly:
				return h.block(target)
			case !x.Nothing && h.Carries():
				text, err = h.add(text, target, x)
			}
		}
		first = cmp.Or(first, err)
	}
	first = cmp.Or(h.tell(text), first)
	for _, r := range sent {
		if err := r.Record(); err != nil {
			// The next hook is slower, and that is all.
			break
		}
	}
	return first
}

// tell prints a text and then notes that it was read. Two hooks that run at once both tell
// what neither knows of the other, and the record has both: a map may come twice and is
// never missed.
func (h *hook) tell(text []byte) error {
	if len(text) == 0 {
		return nil
	}
	if err := h.print(h.Answer(string(text))); err != nil || h.Session == "" {
		return err
	}
	return h.save()
}

// send returns what a reader lacks of a target's map, nil for what is no place in the
// workspace.
func (h *hook) send(target string) (*mwp.Sending, error) {
	x, err := h.ws.Send(h.ctx, h.session, mwp.Request{Target: target, Format: mwp.MarkdownText}, mwp.SendOptions{Shell: true})
	if err != nil {
		return nil, h.elsewhere(err)
	}
	if h.root == x.Root {
		return x, nil
	}
	if !within(x.Root, h.base) && !within(x.Root, resolved(h.base)) {
		// A workspace inside this one, to which the session does not belong.
		if h.root == "" {
			// It took its root from this answer.
			err = h.load(h.SessionID())
		}
		return nil, err
	}
	h.root = x.Root
	return x, nil
}

// elsewhere drops the errors of a path that is nobody's mistake: outside of the root,
// through a link out of it, or where no workspace is.
func (h *hook) elsewhere(err error) error {
	var refusal *mwp.Refusal
	var environment *mwp.EnvironmentError
	var misuse *mwp.UsageError
	code := ir.Code("")
	switch {
	case errors.As(err, &refusal) && len(refusal.Diagnostics) > 0:
		code = refusal.Diagnostics[0].Code
	case errors.As(err, &environment):
		code = environment.Diagnostic.Code
	case errors.As(err, &misuse):
		code = misuse.Diagnostic.Code
	}
	if code == ir.TargetOutsideRoot || code == ir.NoRoot || code == ir.TargetInvalid {
		return nil
	}
	return h.cause(err)
}

// block says why a write may not happen, where the harness takes the reason from.
func (h *hook) block(target string) error {
	r, err := h.ws.Verify(h.ctx, mwp.VerifyRequest{Targets: []string{target}, List: true, NoDiscoveries: true})
	if err != nil {
		return h.cause(err)
	}
	name := target
	if rel, err := filepath.Rel(h.root, target); err == nil {
		name = filepath.ToSlash(rel)
	}
	text := "mwp: " + ir.EscapeControls(name) + " is read-only while a guard of its workspace map fails:\n" +
		string(mwp.VerifyListing(&r.Report, false, h.ascii)) +
		"Correct what the guard checks, outside of what it protects, and run `mwp verify`; or ask a person to run `mwp verify --override GUARD --reason TEXT`.\n"
	h.stderr.Write([]byte(text))
	return errBlocked
}

// isContext reports whether a file can be what makes a map refused: whoever mends it has to
// write it.
func isContext(p string) bool {
	base := filepath.Base(p)
	return strings.HasPrefix(base, ".mwp") || base == "config.toml" && filepath.Base(filepath.Dir(p)) == ".mwp"
}

func (h *hook) blockRefused(target string, r *mwp.Refusal) error {
	text := "mwp: " + ir.EscapeControls(target) + " may not be written while there is no map of it, because nobody knows whether its guards pass:\n" +
		r.Error() + "\n"
	h.stderr.Write([]byte(text))
	return errBlocked
}

// add puts what a reader lacks of a target's map behind other texts, when the harness
// passes that on whole. A map that is too long comes in steps, from the root down to the
// target, as far as there is room, and the text says what is missing, which comes when the
// target is touched again. No entry is cut.
func (h *hook) add(text []byte, target string, x *mwp.Sending) ([]byte, error) {
	if more := join(text, x.Text); h.fits(more) {
		h.deliver(x)
		return more, nil
	}
	if h.Moment == harness.Prompted {
		// The start said it.
		return text, nil
	}
	rest := missing(x)
	for _, dir := range h.above(target) {
		step, err := h.send(dir)
		if err != nil {
			return text, err
		}
		if step == nil || step.Nothing {
			continue
		}
		more := join(text, step.Text)
		if !h.fits(join(more, rest)) {
			break
		}
		h.deliver(step)
		text = more
	}
	if more := join(text, rest); h.fits(more) {
		text = more
	}
	return text, nil
}

// deliver notes what the next answer of this run need not repeat.
func (h *hook) deliver(x *mwp.Sending) {
	if h.Counts() {
		x.Delivered()
	}
}

// above returns the directories from the workspace's root down to a target, without it.
func (h *hook) above(target string) []string {
	if target == "" {
		return nil
	}
	var dirs []string
	for dir := filepath.Dir(target); within(h.root, dir); dir = filepath.Dir(dir) {
		dirs = append(dirs, dir)
	}
	slices.Reverse(dirs)
	return dirs
}

// fits reports whether the harness passes an answer on whole.
func (h *hook) fits(text []byte) bool {
	limit := h.Limit()
	// An answer is longer than its text by escapes, which only encoding shows.
	return limit == 0 || h.Size(h.Answer(string(text))) <= limit
}

// missing says that a map is not there whole, how much there was to tell, and how to read it.
func missing(x *mwp.Sending) []byte {
	target, call, command := "the project", "map_workspace()", "mwp map --render markdown"
	if x.Target != "" {
		target = strconv.Quote(x.Target)
		call, command = "map_workspace("+target+")", "mwp map "+x.Target+" --render markdown"
	}
	text := "You lack rules: the workspace map of " + target + " has " + strconv.Itoa(len(x.Text)) +
		" bytes that you were not told, more than a hook can pass on here, and not all of them are above. Read it before you go on: call the tool " + call
	// A model may type what it reads into a shell, and whoever named the file chose the words.
	if strings.IndexFunc(x.Target, unusual) < 0 && !strings.HasPrefix(x.Target, "-") {
		text += ", or run `" + command + "` in " + ir.EscapeControls(filepath.ToSlash(x.Root))
	}
	return []byte(text + ".\n")
}

// unusual reports whether a shell may take a character for something else than itself.
func unusual(r rune) bool {
	return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("/._-+@", r))
}

// join puts a text after others.
func join(texts, text []byte) []byte {
	if len(texts) == 0 {
		return text
	}
	return append(append(bytes.Clone(texts), '\n'), text...)
}
