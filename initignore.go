package mwp

import (
	"path/filepath"
	"slices"
	"strings"
)

const (
	ignoreBegin = "# >>> mwp: made again on demand, or personal; everything else here is for version control"
	ignoreEnd   = "# <<< mwp"
)

// ignoredFiles are the seed's six lines, and what the proposal does not list: trust
// is personal, temporary files and personal values too (D-09, N-08). Scripts are
// ignored at the top level only, so that hooks/*.sh is kept (N-18).
var ignoredFiles = []string{
	"modules/", "cache/", "guards.cache.json", "sessions/", "/*.sh", "protocol.md",
	"trust.lock", "vars.local.toml", "*.tmp", "*.lock.tmp", "*.broken",
}

// stateIgnore is the text of a new state directory's .gitignore.
func stateIgnore() string {
	return ignoreBegin + "\n" + strings.Join(ignoredFiles, "\n") + "\n" + ignoreEnd + "\n"
}

// ignore writes .mwp/.gitignore, or adds what its marked block lacks (D-09).
func (w *writer) ignore() error {
	name := filepath.Join(".mwp", ".gitignore")
	_, there, err := w.at(name)
	if err != nil {
		return err
	}
	if !there {
		return w.create(name, stateIgnore())
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
