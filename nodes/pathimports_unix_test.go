//go:build unix

package nodes_test

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
)

// TestSpecialFiles: a pipe or a socket is named and never opened, so that nothing
// waits for a writer.
func TestSpecialFiles(t *testing.T) {
	root := tree(t, `
-- .mwp --
description = "d"
-- a/.mwp-context.md --
---
imports:
  - local: pipe.md
  - local: pipe.md/x
  - local: link.md
  - local: index
  - local: mod
  - local: closed.md
---
A
-- a/link.md -> pipe.md --
-- a/index/x --
-- a/mod/.mwp-module.md --
---
name: mod
pipelines:
  - local: pipe.md
---
-- a/x --
`)
	for _, p := range []string{"a/pipe.md", "a/index/.mwp-context.md", "a/mod/pipe.md"} {
		must(t, syscall.Mkfifo(filepath.Join(root, p), 0o644))
	}
	want := `included L0/50 .mwp
included L1/50 a/.mwp-context.md
expanded L3/49 a/mod/.mwp-module.md
unresolved - a/closed.md
unresolved - a/index
unresolved - a/link.md
unresolved - a/pipe.md
unresolved - a/pipe.md/x
module mod a/mod/.mwp-module.md
error unresolved_import a/.mwp-context.md:3:5
error unresolved_import a/.mwp-context.md:4:5
error unresolved_import a/.mwp-context.md:5:5
error unresolved_import a/.mwp-context.md:6:5
error unresolved_import a/.mwp-context.md:8:5
error unresolved_import a/mod/.mwp-module.md:4:5
`
	if got := outline(evaluate(t, root, mapNode("a/x"))); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestSpelling is D-100: a name in another case is another name, and what a path
// passes through may be called anything.
func TestSpelling(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the file system may take other cases for the same")
	}
	root := tree(t, `
-- .mwp --
description = "d"
-- a/x --
-- a/Rules.md --
R
`)
	write(t, root, "a/.mwp-context.md", "---\nimports:\n  - local: rules.md\n  - local: Rules.md\n  - local: RULES.MD\n  - workspace: A/Rules.md\n---\nA\n")
	write(t, root, "a/b\nc\x1b[31m/.mwp-context.md", "---\nimports:\n  - local: r.md\n  - local: gone.md\n---\nB\n")
	write(t, root, "a/b\nc\x1b[31m/r.md", "R\n")
	write(t, root, "a/b\nc\x1b[31m/x", "")
	v := evaluate(t, root, mapNode("a/b\nc\x1b[31m/x"))
	want := `included L0/50 .mwp
included L1/50 a/.mwp-context.md
included L1/49 a/Rules.md
included L2/50 a/b\nc\x1b[31m/.mwp-context.md
included L2/49 a/b\nc\x1b[31m/r.md
unresolved - A/Rules.md
unresolved - a/RULES.MD
unresolved - a/rules.md
unresolved - a/b\nc\x1b[31m/gone.md
error unresolved_import a/.mwp-context.md:3:5
error unresolved_import a/.mwp-context.md:5:5
error unresolved_import a/.mwp-context.md:6:5
error unresolved_import a/b\nc\x1b[31m/.mwp-context.md:4:5
`
	escape := strings.NewReplacer("b\nc\x1b[31m", `b\nc\x1b[31m`)
	if got := escape.Replace(outline(v)); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if s := messages(v); strings.ContainsAny(s, "\x1b") || strings.Count(s, "\n")-strings.Count(s, "\nhint: ") != len(v.IR.Warnings) {
		t.Errorf("a name reaches a message unescaped: %q", s)
	}
	conserved(t, v)
}

// TestAbsoluteLinks: a link by an absolute path is followed as far as that lies in
// the workspace, wherever the workspace lies.
func TestAbsoluteLinks(t *testing.T) {
	root := tree(t, `
-- .mwp --
description = "d"
-- a/.mwp-context.md --
---
imports:
  - local: in.md
  - local: dir/r.md
  - local: root/real/s.md
  - local: out.md
---
A
-- real/r.md --
R
-- real/s.md --
S
-- real/t.md --
T
-- a/x --
`)
	for name, target := range map[string]string{"in.md": "real/t.md", "dir": "real", "root": "", "out.md": "../elsewhere.md"} {
		must(t, os.Symlink(filepath.Join(root, target), filepath.Join(root, "a", name)))
	}
	want := `included L0/50 .mwp
included L1/50 a/.mwp-context.md
included L1/49 a/dir/r.md
included L1/49 a/in.md
included L1/49 a/root/real/s.md
error - a/out.md
error import_escapes_root a/.mwp-context.md:6:5
`
	if got := outline(evaluate(t, root, mapNode("a/x"))); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
