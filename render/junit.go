package render

import (
	"cmp"
	"strconv"
	"strings"

	"github.com/model-workspace-protocol/mwp/nodes/ir"
)

// JUnit returns the outcome of verify as the XML that CI services read: one suite
// "mwp" with a case per guard, whose class is the declaring file and whose name is
// the command. A guard that fails is a failure. One that verify could not or must not
// run is an error, because services count what is skipped as well (D-87); what was
// left alone for another reason is skipped.
//
// It is written by hand: encoding/xml would be linked into the program for this
// alone. Guard output is no part of it.
func JUnit(r *ir.VerifyReport) []byte {
	var cases xmlText
	var failures, errors, skipped int
	var total int64
	for i := range r.Guards {
		g := &r.Guards[i]
		element := junitElement(g)
		switch element {
		case "failure":
			failures++
		case "error":
			errors++
		case "skipped":
			skipped++
		}
		took := junitTime(g)
		total += took
		cases.testcase(g, element, took)
	}
	for i := range r.Problems {
		cases.problem(&r.Problems[i])
		errors++
	}
	var w xmlText
	w.raw(`<?xml version="1.0" encoding="UTF-8"?>` + "\n")
	for _, name := range []string{"testsuites", "testsuite"} {
		if name == "testsuite" {
			w.raw("  ")
		}
		w.raw("<" + name)
		w.attribute("name", "mwp")
		w.attribute("tests", strconv.Itoa(len(r.Guards)+len(r.Problems)))
		w.attribute("failures", strconv.Itoa(failures))
		w.attribute("errors", strconv.Itoa(errors))
		w.attribute("skipped", strconv.Itoa(skipped))
		w.attribute("time", seconds(total))
		w.raw(">\n")
	}
	w.raw(string(cases))
	w.raw("  </testsuite>\n</testsuites>\n")
	return w
}

// junitElement returns what stands in a guard's case, "" for one that passed.
func junitElement(g *ir.VerifiedGuard) string {
	switch g.Status {
	case ir.Passed:
		return ""
	case ir.FailedCheck:
		return "failure"
	}
	switch g.Reason {
	case ir.ReasonNotTrusted, ir.ReasonNotFound, ir.ReasonNotExecutable:
		return "error"
	}
	return "skipped"
}

// junitTime returns the milliseconds that this run of verify spent on a guard.
func junitTime(g *ir.VerifiedGuard) int64 {
	if !g.Ran {
		return 0
	}
	return max(g.DurationMS, 0)
}

// seconds returns milliseconds as a decimal number of seconds.
func seconds(ms int64) string {
	fraction := strconv.FormatInt(ms%1000, 10)
	return strconv.FormatInt(ms/1000, 10) + "." + strings.Repeat("0", 3-len(fraction)) + fraction
}

// xmlText is XML in the making.
type xmlText []byte

func (w *xmlText) raw(s string) { *w = append(*w, s...) }

func (w *xmlText) attribute(name, value string) {
	w.raw(" " + name + `="` + xmlSafe(value) + `"`)
}

// xmlSafe returns s as it may stand in an attribute or between tags, one line of it.
// XML has no way at all to write most control characters, so they are shown.
func xmlSafe(s string) string {
	s = ir.EscapeControls(s)
	if strings.ContainsAny(s, "\ufffe\uffff") {
		s = strings.NewReplacer("\ufffe", `\u{fffe}`, "\uffff", `\u{ffff}`).Replace(s)
	}
	return xmlEscaper.Replace(s)
}

func (w *xmlText) testcase(g *ir.VerifiedGuard, element string, took int64) {
	w.raw("    <testcase")
	w.attribute("classname", declaringFile(g))
	w.attribute("name", cmp.Or(g.Name, g.Guard))
	w.attribute("time", seconds(took))
	if element == "" {
		w.raw("/>\n")
		return
	}
	w.raw(">\n      <" + element)
	word := "not run"
	if g.Status == ir.FailedCheck {
		word = g.Status
	}
	w.attribute("message", joined(": ", word, notPassed(g)))
	if element != "skipped" {
		reason := g.Reason
		if reason == "" {
			reason = "exit_status"
		}
		w.attribute("type", reason)
	}
	w.raw(">")
	for i, line := range details(g) {
		if i > 0 {
			w.raw("\n")
		}
		w.raw(xmlSafe(line))
	}
	w.raw("</" + element + ">\n    </testcase>\n")
}

// problem writes an error behind which there may be guards as a case of its own: a
// service that reads the report must not be green over it.
func (w *xmlText) problem(d *ir.Diagnostic) {
	w.raw("    <testcase")
	w.attribute("classname", d.Source)
	w.attribute("name", string(d.Code)+" "+d.Place())
	w.attribute("time", seconds(0))
	w.raw(">\n      <error")
	w.attribute("message", d.Message)
	w.attribute("type", string(d.Code))
	w.raw("/>\n    </testcase>\n")
}

// declaringFile is the context file of a guard without the line, which moves: services
// know a case again by class and name.
func declaringFile(g *ir.VerifiedGuard) string {
	file := g.DeclaredIn
	if i := strings.LastIndexByte(file, ':'); i > 0 {
		if _, err := strconv.Atoi(file[i+1:]); err == nil {
			file = file[:i]
		}
	}
	if file == "" && len(g.Sources) > 0 {
		file = g.Sources[0]
	}
	return file
}

// details is what a reader of a report needs to act, a line each.
func details(g *ir.VerifiedGuard) []string {
	lines := []string{g.Guard + " in " + directory(g.Cwd)}
	add := func(name, value string) {
		if value != "" {
			lines = append(lines, name+": "+value)
		}
	}
	add("declared", g.DeclaredIn)
	add("for", some(g.Sources))
	add("owner", some(g.Owners))
	if g.Status != ir.FailedCheck {
		add("why", g.Why)
	}
	add("log", g.Log)
	add("detail", g.Detail)
	add("hint", g.Hint)
	return lines
}
