package nodes

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/model-workspace-protocol/mwp/cas"
	"github.com/model-workspace-protocol/mwp/graph"
	"github.com/model-workspace-protocol/mwp/nodes/ir"
)

// Check is what is known of one guard: a static guard's outcome (D-113), or what the
// record of the last run is worth now (D-46, D-47). It changes with the record, with
// the files behind its fingerprint, and when the run expires; never by running
// anything.
type Check struct {
	// Guard is the guard as encodeGuard writes it.
	Guard string
	// Records is where results are kept, relative to the root, "" for a workspace that
	// keeps none.
	Records string
}

// CheckValue is a status with its reasons (constants of nodes/ir).
type CheckValue struct {
	Status, Reason string
	// Expired and FilesChanged say what makes a failed run old.
	Expired, FilesChanged bool
	// Overridden is set while a person's override is in force.
	Overridden bool
	// Run is the record, nil without one.
	Run *graph.Run
}

var checkKind = graph.Define(graph.Definition[CheckValue, Check]{
	Name: "check", Version: 3, Order: 61,
	Params: func(c *cas.Coder, n *Check) { c.String(&n.Records); c.String(&n.Guard) },
	Value:  codeCheckValue,
})

func codeCheckValue(c *cas.Coder, v *CheckValue) {
	c.String(&v.Status)
	c.String(&v.Reason)
	c.Bool(&v.Expired)
	c.Bool(&v.FilesChanged)
	c.Bool(&v.Overridden)
	cas.Optional(c, &v.Run, graph.CodeRun)
}

// Kind returns the kind "check".
func (Check) Kind() *graph.Kind { return checkKind }

// Compute compares.
func (n Check) Compute(r graph.Reader) (v CheckValue, err error) {
	g, err := decodeGuard(n.Guard)
	if err != nil {
		return v, graph.ErrUnbuildable
	}
	if g.Static() {
		v, err := staticCheck(trying{r}, &g)
		if unreadableBy(err) != "" {
			return CheckValue{Status: ir.FailedCheck, Reason: ir.ReasonUnreadable}, nil
		}
		return v, err
	}
	v.Status, v.Reason = ir.Unverified, ir.ReasonNeverRun
	if n.Records == "" {
		return v, nil
	}
	rec, err := graph.Need(trying{r}, graph.Record{File: n.Records, Guard: g.Key()})
	if unreadableBy(err) != "" {
		v.Reason = ir.ReasonUnreadable
		return v, nil
	}
	if err != nil {
		return v, err
	}
	if rec.Run == nil {
		if rec.Foreign {
			v.Reason = ir.ReasonForeign
		}
		return v, nil
	}
	now, err := graph.Need(r, GuardInputs{Guard: n.Guard})
	if err != nil {
		return v, err
	}
	v.Run = rec.Run
	changed := now.Fingerprint != rec.Run.Declared
	switch {
	case !rec.Run.Passed:
		// Nothing shows that it was mended but a run (D-47).
		v.Status, v.Reason = ir.FailedCheck, rec.Run.Reason
		v.Expired, v.FilesChanged = rec.Phase == graph.Expired, changed
		v.Overridden = rec.Overridden && rec.Run.Override.Declared == now.Fingerprint
	case now.Unreadable != "":
		v.Status, v.Reason = ir.Stale, ir.ReasonUnreadable
	case rec.Phase == graph.Early:
		v.Status, v.Reason = ir.Stale, ir.ReasonEarly
	case changed:
		v.Status, v.Reason = ir.Stale, ir.ReasonFilesChanged
	case rec.Phase == graph.Expired:
		v.Status, v.Reason = ir.Stale, ir.ReasonExpired
	default:
		v.Status, v.Reason = ir.Passed, ""
	}
	return v, nil
}

// staticCheck evaluates a guard that runs nothing.
func staticCheck(r graph.Reader, g *Guard) (v CheckValue, err error) {
	reason := ""
	switch {
	case g.Exists != "":
		_, reason, err = staticPath(r, g.Dir, g.Exists)
	case g.ContainsPath != "":
		reason, err = containsText(r, g)
	default:
		reason, err = hasScript(r, g)
	}
	if v.Status = ir.Passed; reason != "" {
		v.Status, v.Reason = ir.FailedCheck, reason
	}
	return v, err
}

// staticPath resolves a path of a static guard, or says what is wrong with it.
func staticPath(r graph.Reader, dir, file string) (to resolved, reason string, err error) {
	to, err = resolve(r, dir, strings.TrimSuffix(file, "/"))
	switch {
	case err != nil:
	case to.Escapes:
		reason = ir.ReasonOutside
	case to.Loop || to.Type == graph.Absent || strings.HasSuffix(file, "/") && to.Type != graph.Directory:
		reason = ir.ReasonAbsent
	}
	return to, reason, err
}

// staticFile reads a file, or says why that cannot be done.
func staticFile(r graph.Reader, path string) (f graph.FileState, reason string, err error) {
	if f, err = graph.Need(r, graph.File{Path: path}); err == nil && f.Type == graph.TooLarge {
		reason = ir.ReasonTooLarge
	}
	return f, reason, err
}

func containsText(r graph.Reader, g *Guard) (reason string, err error) {
	to, reason, err := staticPath(r, g.Dir, g.ContainsPath)
	if err != nil || reason != "" {
		return reason, err
	}
	f, reason, err := staticFile(r, to.Path)
	switch {
	case err != nil || reason != "":
		return reason, err
	case f.Type != graph.Regular:
		return ir.ReasonAbsent, nil
	}
	// The checkout's line ends are nobody's statement.
	text := bytes.ReplaceAll(f.Bytes, []byte("\r\n"), []byte("\n"))
	if !bytes.Contains(text, []byte(strings.ReplaceAll(g.ContainsText, "\r\n", "\n"))) {
		return ir.ReasonTextAbsent, nil
	}
	return "", nil
}

// hasScript looks for a script in the nearest package.json or makefile at the guard's
// directory or above it.
func hasScript(r graph.Reader, g *Guard) (reason string, err error) {
	runner, name, _ := strings.Cut(g.Script, ":")
	files, has := []string{"package.json"}, npmScript
	if runner == "make" {
		files, has = []string{"GNUmakefile", "makefile", "Makefile"}, makeTarget
	}
	for dir := g.Dir; ; dir = parent(dir) {
		probe, err := graph.Need(r, graph.NewProbe(dir, files...))
		if err != nil {
			return "", err
		}
		for i, t := range probe.Types {
			if t != graph.Regular && t != graph.Link {
				continue
			}
			to, err := resolve(r, dir, files[i])
			if err != nil {
				return "", err
			}
			if to.Type != graph.Regular {
				continue
			}
			f, reason, err := staticFile(r, to.Path)
			switch {
			case err != nil || reason != "":
				return reason, err
			case has(f.Bytes, strings.TrimSpace(name)):
				return "", nil
			}
			return ir.ReasonScriptAbsent, nil
		}
		if dir == "." {
			return ir.ReasonScriptAbsent, nil
		}
	}
}

// byteOrderMark begins files that some editors write; readers skip it.
var byteOrderMark = []byte("\xef\xbb\xbf")

// npmScript looks for a script by npm's rules: keys are compared exactly, where
// encoding/json would take "Scripts" for a field named scripts, and a script is a
// string.
func npmScript(text []byte, name string) bool {
	var manifest, scripts map[string]json.RawMessage
	if json.Unmarshal(bytes.TrimPrefix(text, byteOrderMark), &manifest) != nil || json.Unmarshal(manifest["scripts"], &scripts) != nil {
		return false
	}
	return bytes.HasPrefix(scripts[name], []byte{'"'})
}

// makeTarget reports whether a makefile has a rule for a target that is written out.
// Targets that make would compute are not seen.
func makeTarget(text []byte, name string) bool {
	var line strings.Builder
	for part := range strings.Lines(string(bytes.TrimPrefix(text, byteOrderMark))) {
		part = strings.TrimRight(part, "\r\n")
		if kept := strings.TrimRight(part, `\`); (len(part)-len(kept))%2 == 1 {
			line.WriteString(part[:len(part)-1] + " ")
			continue
		}
		line.WriteString(part)
		if slices.Contains(ruleTargets(line.String()), name) {
			return true
		}
		line.Reset()
	}
	return slices.Contains(ruleTargets(line.String()), name)
}

// ruleTargets returns the targets of a makefile's line, nil for one that is no rule.
func ruleTargets(line string) []string {
	if strings.HasPrefix(line, "\t") {
		return nil
	}
	line, _, _ = strings.Cut(line, "#")
	targets, rest, ok := strings.Cut(line, ":")
	if !ok || strings.HasPrefix(strings.TrimLeft(rest, ":"), "=") || strings.Contains(targets, "=") {
		return nil
	}
	// "a b &: c" makes several targets at once.
	return strings.Fields(strings.TrimSuffix(targets, "&"))
}

// recordTime writes a moment of a record as the IR does.
func recordTime(ns int64) string { return time.Unix(0, ns).UTC().Format("2006-01-02T15:04:05.000Z") }
