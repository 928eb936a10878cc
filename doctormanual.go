package mwp

import (
	"bytes"
	"os"
	"path"
)

// manualDirs are where the scripts lay. In the last ones other projects have scripts with
// such names too, so there a script has to speak of .mwp.
func manualDirs(state string) (ours, shared []string) {
	ours = []string{".mwp", ".mwp/scripts"}
	if state != "" && state != ".mwp" {
		ours = append(ours, state, state+"/scripts")
	}
	return ours, []string{"scripts", "."}
}

// manual looks for what people used before there was a program (U-35). It names the
// scripts and touches none.
func (l *looking) manual() {
	v := &l.f.manual
	ours, shared := manualDirs(l.f.anchor.state)
	for _, dir := range ours {
		if !l.isDir(dir) {
			continue
		}
		for _, r := range manualReplacements() {
			if l.isFile(path.Join(dir, r[0])) {
				v.scripts = append(v.scripts, manualScript{path.Join(dir, r[0]), r[0]})
			}
		}
	}
	for _, dir := range shared {
		if !l.isDir(dir) {
			continue
		}
		for _, r := range manualReplacements() {
			p := path.Join(dir, r[0])
			if !l.isFile(p) {
				continue
			}
			if text, err := readRegular(l.at(p)); err == nil && bytes.Contains(text, []byte(".mwp")) {
				v.scripts = append(v.scripts, manualScript{p, r[0]})
			}
		}
	}
	if len(v.scripts) == 0 {
		return
	}
	for _, p := range []string{path.Join(l.f.anchor.state, "discoveries.md"), path.Join(l.f.anchor.state, "topology.md"), ".mwpignore"} {
		if l.isFile(p) {
			v.kept = append(v.kept, p)
		}
	}
}

func (l *looking) isFile(p string) bool {
	info, err := os.Lstat(l.at(p))
	return err == nil && info.Mode().IsRegular()
}

// isDir reports whether a directory of the workspace is one, and no link on the way to it
// leads elsewhere.
func (l *looking) isDir(p string) bool {
	for ; p != "."; p = path.Dir(p) {
		if info, err := os.Lstat(l.at(p)); err != nil || !info.IsDir() {
			return false
		}
	}
	return true
}
