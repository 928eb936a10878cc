package guard

import (
	"bytes"
	"context"
	"fmt"
	"path"
	"strings"
	"time"

	"github.com/model-workspace-protocol/mwp/eval/state"
	"github.com/model-workspace-protocol/mwp/graph"
)

const (
	// DiscoveriesName is the name of the file with the diagnostics of guards in a state
	// directory.
	DiscoveriesName = "discoveries.md"
	// maxSections is how many sections of ours the file gets: it is committed, and a
	// guard that fails now and then must not fill the project.
	maxSections = 500
	// maxDiscoveries is how long a file may be that is still added to. Five hundred
	// sections are a fifth of it; the rest is for people.
	maxDiscoveries = 1 << 20
)

// discoveriesHeader begins a file that AppendDiscovery makes.
const discoveriesHeader = "# Discoveries\n\nWhat checks found out, the newest last. Written by `mwp verify` when a result changes; notes of\npeople stay as they are.\n"

// DiscoveryKind is why something is noted.
type DiscoveryKind uint8

// The kinds: a guard failed, passed after it had failed, or fails and is overridden.
const (
	Failing DiscoveryKind = iota
	Recovered
	Overridden
)

var discoveryWords = [...]string{"failed", "recovered", "overridden"}

// Discovery is one section of discoveries.md (D-48). It has no output and no secrets.
// Its texts come from anybody's files and are escaped where they are written.
type Discovery struct {
	Kind DiscoveryKind
	// At is when it happened, in nanoseconds since 1970.
	At int64
	// Guard is the command, DeclaredIn the context file that names it, Target what a map
	// was asked for, "" for none.
	Guard, DeclaredIn, Target string
	// Exit is the exit code, nil without one; Reason then says why there is none.
	Exit   *int
	Reason string
	// Log is the file with the output; only the last part of a path is written.
	Log string
	// Override is why a person goes on, and Until, how long, for Overridden only.
	Override string
	Until    int64
}

// Changed reports whether a run is worth noting after the last recorded one of its
// guard, nil without one: a failure with another fingerprint or outcome than it, or a
// pass after a failure (D-48).
func Changed(previous *graph.Run, next graph.Run) bool {
	if next.Passed {
		return previous != nil && !previous.Passed
	}
	return previous == nil || previous.Passed || previous.Fingerprint != next.Fingerprint ||
		previous.Reason != next.Reason || !equal(previous.Exit, next.Exit)
}

func equal(a, b *int) bool { return a == b || a != nil && b != nil && *a == *b }

// AppendDiscovery adds a section to discoveries.md, which it makes when it is missing,
// under a lock for which it waits at most five seconds. What is in the file stays as it
// is, and decides how lines end. appended is false when the file is full: with five
// hundred sections, after which one more says so, or with more than 1 MiB. The error is
// a *state.FileError; a link, and what is no regular file, are left alone (cas.ErrLink).
func AppendDiscovery(ctx context.Context, dir state.Dir, d Discovery) (appended bool, err error) {
	err = dir.Locked(ctx, "discoveries", func(f *state.Files) error {
		old, err := f.Read(DiscoveriesName, maxDiscoveries)
		if err != nil || len(old) > maxDiscoveries {
			return err
		}
		if old == nil {
			if err := f.Create(DiscoveriesName, []byte(discoveriesHeader)); err != nil {
				return err
			}
			old = []byte(discoveriesHeader)
		}
		ours, closed := sections(old)
		var section string
		switch {
		case ours < maxSections:
			section, appended = d.section(), true
		case !closed:
			section = fullSection(d.At)
		default:
			return nil
		}
		err = f.Append(DiscoveriesName, joint(old, section), int64(len(old)))
		appended = appended && err == nil
		return err
	})
	return appended, err
}

const (
	headingForm = "2006-01-02T15:04:05Z"
	headingMark = "## "
	guardWord   = " guard "
	fullWords   = " no further guard results"
)

// sections counts the headings in a file that look like ours, and reports whether the
// last of them says that no more follow.
func sections(text []byte) (n int, closed bool) {
	for line := range bytes.Lines(text) {
		rest, ok := strings.CutPrefix(strings.TrimRight(string(line), "\r\n"), headingMark)
		if !ok || len(rest) < len(headingForm) {
			continue
		}
		if _, err := time.Parse(headingForm, rest[:len(headingForm)]); err != nil {
			continue
		}
		switch rest = rest[len(headingForm):]; {
		case strings.HasPrefix(rest, guardWord):
			n, closed = n+1, false
		case rest == fullWords:
			closed = true
		}
	}
	return n, closed
}

func heading(at int64) string { return headingMark + time.Unix(0, at).UTC().Format(headingForm) }

// section returns the text of a section.
func (d Discovery) section() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s%s%s\n\n", heading(d.At), guardWord, discoveryWords[d.Kind])
	line := func(name, text string) {
		if text != "" {
			fmt.Fprintf(&b, "- %s: %s\n", name, codeSpan(text))
		}
	}
	line("guard", d.Guard)
	line("context", d.DeclaredIn)
	line("target", d.Target)
	if d.Exit != nil {
		fmt.Fprintf(&b, "- exit code: %d\n", *d.Exit)
	}
	line("reason", d.Reason)
	if d.Log != "" {
		line("log", path.Base(strings.ReplaceAll(d.Log, `\`, "/")))
	}
	if d.Kind == Overridden {
		line("override", d.Override)
		fmt.Fprintf(&b, "- until: %s\n", time.Unix(0, d.Until).UTC().Format(headingForm))
	}
	return b.String()
}

func fullSection(at int64) string {
	return fmt.Sprintf("%s%s\n\nThis file has %d of them. Delete those that are settled, and new ones are noted again.\n", heading(at), fullWords, maxSections)
}

// codeSpan returns text as a span of code on one line, which nothing in it can end: a
// command must not become a heading, a link or an instruction of its own.
func codeSpan(text string) string {
	return "`" + strings.ReplaceAll(state.Shown(text), "`", `\x60`) + "`"
}

// joint returns what is added so that a section stands apart from what is there, with
// its ends of lines.
func joint(old []byte, section string) []byte {
	gap := "\n"
	if len(old) == 0 || bytes.HasSuffix(old, []byte("\n\n")) || bytes.HasSuffix(old, []byte("\n\r\n")) {
		gap = ""
	} else if !bytes.HasSuffix(old, []byte("\n")) {
		gap = "\n\n"
	}
	added := gap + section
	if i := bytes.IndexByte(old, '\n'); i > 0 && old[i-1] == '\r' {
		added = strings.ReplaceAll(added, "\n", "\r\n")
	}
	return []byte(added)
}
