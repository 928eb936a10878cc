package mwp

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/model-workspace-protocol/mwp/cas"
	"github.com/model-workspace-protocol/mwp/nodes"
)

const (
	// boundWords bounds how many words of a command are looked at, and boundBytes up to
	// which size a file is hashed; of a larger one size and time count.
	boundWords = 256
	boundDirs  = 8
	boundBytes = 64 << 20
)

// boundFiles returns the files that a command names, as it names them, and a digest
// over their contents: what an approval is bound to beside the text (D-42). Any word
// that leads to a regular file counts, whatever the program does with it, because
// nobody knows which programs run what they are given: `sh check.sh`, `env ./check.sh`,
// `awk -f check.awk`. A file of the system, named by an absolute path outside the
// workspace, does not. The digest is zero when no file is named.
//
// It looks at the files themselves, outside of every node: a script may lie outside
// the workspace root, where no map looks.
func (v *verifying) boundFiles(g *nodes.PlannedGuard) (files []string, digest cas.Digest) {
	texts := append(slices.Clone(g.Command().Words), g.Command().Text)
	words := slices.Clone(g.Command().Words)
	for _, t := range texts {
		// One word may be a whole command for a shell: sh -c './check.sh --all'.
		words = append(words, strings.FieldsFunc(t, func(r rune) bool { return strings.ContainsRune(" \t\r\n;&|<>()'\"`$={}", r) })...)
	}
	slices.Sort(words)
	words = slices.Compact(words)
	words = words[:min(len(words), boundWords)]
	dirs := []string{""}
	for _, w := range words {
		// A directory may be where the command goes first: cd sub && ./check.sh.
		if path, ok := v.named(g, w); ok && isDir(path) && len(dirs) < boundDirs {
			dirs = append(dirs, w)
		}
	}
	var e cas.Encoder
	for _, dir := range dirs {
		for _, w := range words {
			name := w
			if dir != "" {
				name = filepath.ToSlash(filepath.Join(dir, w))
			}
			path, ok := v.named(g, name)
			if !ok || dir != "" && filepath.IsAbs(filepath.FromSlash(w)) {
				continue
			}
			if state, ok := fileState(path); ok {
				files = append(files, name)
				e.String(name)
				e.Bytes(state)
			}
		}
	}
	if len(files) > 0 {
		digest = cas.Sum(e.Encoded())
	}
	return files, digest
}

// named returns where a word of a guard's command leads, false for what is not the
// workspace's.
func (v *verifying) named(g *nodes.PlannedGuard, word string) (string, bool) {
	path := filepath.FromSlash(word)
	if filepath.IsAbs(path) {
		_, inside := below(v.c.dir, path)
		return path, inside
	}
	return filepath.Join(v.c.dir, filepath.FromSlash(g.Dir), path), true
}

// fileState returns what a file holds in short, false for what is no regular file or
// cannot be read.
func fileState(path string) ([]byte, bool) {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() {
		return nil, false
	}
	var e cas.Encoder
	e.Bool(info.Mode()&0o111 != 0)
	if info.Size() > boundBytes {
		e.Int(info.Size())
		e.String(info.ModTime().UTC().Format(time.RFC3339Nano))
		return e.Encoded(), true
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, false
	}
	defer f.Close()
	var sum cas.Summer
	buf := make([]byte, 64<<10)
	for read := int64(0); read <= boundBytes; {
		n, err := f.Read(buf)
		sum.Write(buf[:n])
		read += int64(n)
		if err != nil {
			break
		}
	}
	e.Digest(sum.Digest())
	return e.Encoded(), true
}
