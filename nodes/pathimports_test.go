package nodes_test

import "testing"

// TestPathImports is what local: and workspace: lead to (D-30, D-31, D-74, D-101).
func TestPathImports(t *testing.T) {
	runScenarios(t, []scenario{
		{"D-30: a file, with and without ./, in a directory below", `
-- .mwp --
description = "d"
-- a/.mwp-context.md --
---
imports:
  - local: ./one.md
  - local: two.md
  - local: deep/er/three.md
---
A
-- a/one.md --
1
-- a/two.md --
2
-- a/deep/er/three.md --
3
-- a/x --
`, "a/x", nil, `
included L0/50 .mwp
included L1/50 a/.mwp-context.md
included L1/49 a/deep/er/three.md
included L1/49 a/one.md
included L1/49 a/two.md
`},
		{"D-30: spellings of one path are one file, and those that go down and up are fine", `
-- .mwp --
description = "d"
-- a/.mwp-context.md --
---
imports:
  - local: ./b/../one.md
  - local: ././/one.md
  - local: gone/../one.md
  - workspace: a/./one.md
  - workspace: b/../a//one.md
  - local: one.md/
---
A
-- a/one.md --
1
-- a/x --
`, "a/x", nil, `
included L0/50 .mwp
included L1/50 a/.mwp-context.md
included L1/49 a/one.md
deduplicated L1/49 a/one.md (by a/.mwp-context.md)
deduplicated L1/49 a/one.md (by a/.mwp-context.md)
deduplicated L1/49 a/one.md (by a/.mwp-context.md)
deduplicated L1/49 a/one.md (by a/.mwp-context.md)
deduplicated L1/49 a/one.md (by a/.mwp-context.md)
`},
		{"D-30: a directory with a manifest is a module, and nothing else of it is looked at", `
-- .mwp --
description = "d"
-- a/.mwp-context.md --
---
imports:
  - local: ./mod
---
A
-- a/mod/.mwp-module.md --
---
name: mod
version: 1.0
imports:
  - local: ./rules.md
---
For people.
-- a/mod/.mwp-context.md --
NOT THIS
-- a/mod/AGENTS.md --
NOR THIS
-- a/mod/rules.md --
R
-- a/x --
`, "a/x", nil, `
included L0/50 .mwp
included L1/50 a/.mwp-context.md
expanded L3/49 a/mod/.mwp-module.md
included L3/48 a/mod/rules.md
module mod 1.0 a/mod/.mwp-module.md
`},
		{"D-30: a directory with a context file, in the order of their names", `
-- .mwp --
description = "d"
-- a/.mwp-context.md --
---
imports:
  - local: yaml
  - local: yml
  - local: md/
  - local: both
---
A
-- a/yaml/.mwp-context.yaml --
description: one
-- a/yml/.mwp-context.yml --
description: two
-- a/md/.mwp-context.md --
three
-- a/both/.mwp-context.md --
NOT THIS
-- a/both/.mwp-context.yaml --
description: four
-- a/x --
`, "a/x", nil, `
included L0/50 .mwp
included L1/50 a/.mwp-context.md
included L1/49 a/both/.mwp-context.yaml
included L1/49 a/md/.mwp-context.md
included L1/49 a/yaml/.mwp-context.yaml
included L1/49 a/yml/.mwp-context.yml
`},
		{"N-02: a directory with two YAML files stands for neither", `
-- .mwp --
description = "d"
-- a/.mwp-context.md --
---
imports:
  - local: two
---
A
-- a/two/.mwp-context.yaml --
description: one
-- a/two/.mwp-context.yml --
description: two
-- a/x --
`, "a/x", nil, `
included L0/50 .mwp
included L1/50 a/.mwp-context.md
unresolved - a/two
error unresolved_import a/.mwp-context.md:3:5
`},
		{"D-31: an anchor alone stands for a directory in a workspace import only", `
-- .mwp --
description = "d"
members = ["m/*"]
-- a/.mwp-context.md --
---
imports:
  - local: in
  - workspace: m/file
  - workspace: m/dir
  - workspace: m/empty
  - workspace: m/bare
---
A
-- a/in/.mwp --
description = "not by local"
-- m/file/.mwp --
name = "file"
description = "the first"
-- m/dir/.mwp/config.toml --
name = "dir"
-- m/empty/.mwp --
-- m/bare/.mwp/ --
-- a/x --
`, "a/x", nil, `
included L0/50 .mwp
included L1/50 a/.mwp-context.md
empty L1/49 m/bare/.mwp/config.toml
included L1/49 m/dir/.mwp/config.toml
empty L1/49 m/empty/.mwp
included L1/49 m/file/.mwp
unresolved - a/in
error unresolved_import a/.mwp-context.md:3:5
`},
		{"D-31: an index wins over an anchor, and only it and its imports are loaded", `
-- .mwp --
description = "d"
members = ["m"]
-- a/.mwp-context.md --
---
imports:
  - workspace: m/sub
---
A
-- m/.mwp --
description = "not above"
-- m/.mwp-context.md --
NOT ABOVE
-- m/sub/.mwp-context.md --
---
imports:
  - local: ./rules.md
---
S
-- m/sub/rules.md --
R
-- m/sub/deeper/.mwp-context.md --
NOT BELOW
-- a/x --
`, "a/x", nil, `
included L0/50 .mwp
included L1/50 a/.mwp-context.md
included L1/49 m/sub/.mwp-context.md
included L1/48 m/sub/rules.md
`},
		{"D-32: nothing there, nothing that stands for it, a file used as a directory", `
-- .mwp --
description = "d"
-- a/.mwp-context.md --
---
imports:
  - local: gone.md
  - local: gone/deep.md
  - local: plain
  - local: told
  - local: one.md/deep.md
  - workspace: gone
  - local: ""
  - local: "one.md,"
---
A
-- a/one.md --
NOT THIS
-- a/plain/readme.md --
NOT THIS
-- a/told/AGENTS.md --
NOT THIS
-- a/x --
`, "a/x", nil, `
included L0/50 .mwp
included L1/50 a/.mwp-context.md
unresolved - ""
unresolved - a/gone/deep.md
unresolved - a/gone.md
unresolved - a/one.md/deep.md
unresolved - a/one.md,
unresolved - a/plain
unresolved - a/told
unresolved - gone
error unresolved_import a/.mwp-context.md:3:5
error unresolved_import a/.mwp-context.md:4:5
error unresolved_import a/.mwp-context.md:5:5
error unresolved_import a/.mwp-context.md:6:5
error unresolved_import a/.mwp-context.md:7:5
error unresolved_import a/.mwp-context.md:8:5
error unresolved_import a/.mwp-context.md:9:12
error unresolved_import a/.mwp-context.md:10:5
`},
		{"D-30, D-95, D-116: what can be no import, each by its code, and the rest is loaded", `
-- .mwp --
description = "d"
-- a/.mwp-context.md --
---
layer: 1
imports:
  - local: ../up.md
  - local: b/../../up.md
  - workspace: ../out.md
  - workspace: a/../../out.md
  - local: /etc/hostname
  - workspace: /etc/hostname
  - git: short@v1
  - local: https://example.org/x.md
  - local: one.md#
  - local: one.md
---
A
-- a/one.md --
1
-- up.md --
NOT THIS
-- a/x --
`, "a/x", nil, `
included L0/50 .mwp
included L1/50 a/.mwp-context.md
included L1/49 a/one.md
error - /etc/hostname
error - /etc/hostname
error - ../out.md
error - ../up.md
error - a/../../out.md
error - b/../../up.md
error - https://example.org/x.md
unresolved - one.md#
error - short@v1
error import_escapes a/.mwp-context.md:4:12
error import_escapes a/.mwp-context.md:5:12
error import_escapes_root a/.mwp-context.md:6:16
error import_escapes_root a/.mwp-context.md:7:16
error import_absolute a/.mwp-context.md:8:12
error import_absolute a/.mwp-context.md:9:16
error import_kind_invalid a/.mwp-context.md:10:10
error import_kind_invalid a/.mwp-context.md:11:12
error unresolved_import a/.mwp-context.md:12:12
`},
		{"D-74: links in every position", `
-- .mwp --
description = "d"
-- a/.mwp-context.md --
---
imports:
  - local: file.md
  - local: dir/two.md
  - local: over.md
  - local: dir
  - local: index
  - local: up/real/three.md
  - workspace: short/real/four.md
---
A
-- real/one.md --
1
-- real/two.md --
2
-- real/three.md --
3
-- real/four.md --
4
-- real/.mwp-context.md --
5
-- real/six.md --
6
-- a/file.md -> ../real/one.md --
-- a/over.md -> file.md --
-- a/dir -> ../real --
-- a/up -> .. --
-- short -> a/.. --
-- a/index/.mwp-context.md -> ../../real/six.md --
-- a/x --
`, "a/x", nil, `
included L0/50 .mwp
included L1/50 a/.mwp-context.md
included L1/49 a/dir/.mwp-context.md
included L1/49 a/dir/two.md
included L1/49 a/file.md
included L1/49 a/index/.mwp-context.md
deduplicated L1/49 a/over.md (by a/.mwp-context.md)
included L1/49 a/up/real/three.md
included L1/49 short/real/four.md
`},
		{"D-74: links that lead out, round, or nowhere", `
-- .mwp --
description = "d"
-- a/.mwp-context.md --
---
imports:
  - local: out.md
  - local: far.md
  - local: door/secret.md
  - local: back.md
  - local: self.md
  - local: ring
  - local: dead.md
  - local: index
---
A
-- a/out.md -> ../../secret.md --
-- a/far.md -> /usr/lib/os-release --
-- a/door -> ../.. --
-- a/back.md -> ../../nowhere/../x --
-- a/self.md -> self.md --
-- a/ring -> gnir/x --
-- a/gnir -> ring/x --
-- a/dead.md -> gone.md --
-- a/index/.mwp-context.md -> ../../../secret.md --
-- a/x --
`, "a/x", nil, `
included L0/50 .mwp
included L1/50 a/.mwp-context.md
error - a/back.md
unresolved - a/dead.md
error - a/door/secret.md
error - a/far.md
error - a/index
error - a/out.md
error - a/ring
error - a/self.md
error import_escapes_root a/.mwp-context.md:3:5
error import_escapes_root a/.mwp-context.md:4:5
error import_escapes_root a/.mwp-context.md:5:5
error import_escapes_root a/.mwp-context.md:6:5
error link_loop a/.mwp-context.md:7:5
error link_loop a/.mwp-context.md:8:5
error unresolved_import a/.mwp-context.md:9:5
error import_escapes_root a/.mwp-context.md:10:5
`},
		{"D-102: a file that is too large refuses the map", "\n-- .mwp --\ndescription = \"d\"\n-- a/.mwp-context.md --\n---\nimports:\n  - local: big.md\n---\nA\n-- a/x --\n-- a/big.md --\n" + big + `
`, "a/x", nil, `
refused: error limit_exceeded a/big.md
`},
		{"D-101: so does one that is no text", "\n-- .mwp --\ndescription = \"d\"\n-- a/.mwp-context.md --\n---\nimports:\n  - local: nul.bin\n  - local: latin.txt\n---\nA\n-- a/x --\n-- a/nul.bin --\na\x00b\n-- a/latin.txt --\n\xe9t\xe9\n", "a/x", nil, `
refused: error encoding_invalid a/latin.txt:1:1
refused: error encoding_invalid a/nul.bin:1:2
`},
		{"D-28: so does a header with a mistake, and an unknown key is a warning at its place", `
-- .mwp --
description = "d"
-- a/.mwp-context.md --
---
imports:
  - local: strange.md
---
A
-- a/strange.md --
---
lair: 3
---
S
-- a/x --
`, "a/x", nil, `
included L0/50 .mwp
included L1/50 a/.mwp-context.md
included L1/49 a/strange.md
warning frontmatter_unknown_key a/strange.md:2:1
`},
		{"D-28: a mistake two imports away", `
-- .mwp --
description = "d"
-- a/.mwp-context.md --
---
imports:
  - local: one.md
---
A
-- a/one.md --
---
imports:
  - local: two.md
---
1
-- a/two.md --
---
layer: 9
priority: x
---
2
-- a/x --
`, "a/x", nil, `
refused: error frontmatter_invalid a/two.md:2:8
refused: error frontmatter_invalid a/two.md:3:11
`},
		{"U-17: names with #, blanks, quotes, emoji and dashes", `
-- .mwp --
description = "d"
-- a/.mwp-context.md --
---
imports:
  - local: "c%23 notes.md"
  - local: "it's \"so\".md"
  - local: "🦀/crab.md"
  - local: "-- x -->.md"
  - local: "..dots/...md"
  - local: "100%.md"
---
A
-- a/c# notes.md --
1
-- a/it's "so".md --
2
-- a/🦀/crab.md --
3
-- a/-- x -->.md --
4
-- a/..dots/...md --
5
-- a/100%.md --
6
-- a/x --
`, "a/x", nil, `
included L0/50 .mwp
included L1/50 a/.mwp-context.md
included L1/49 a/-- x -->.md
included L1/49 a/..dots/...md
included L1/49 a/100%.md
included L1/49 a/c# notes.md
included L1/49 a/it's "so".md
included L1/49 a/🦀/crab.md
`},
		{"D-37, D-26: . is the directory itself, and importing oneself is a cycle", `
-- .mwp --
description = "d"
-- a/.mwp-context.md --
---
imports:
  - local: .
---
A
-- a/x --
`, "a/x", nil, `
refused: error import_cycle a/.mwp-context.md:3
`},
		{"D-53: generated parts of a state directory are reached through pins only", `
-- .mwp/config.toml --
description = "d"
-- .mwp-context.md --
---
imports:
  - local: .mwp/modules/$A/rules.md
  - workspace: .mwp/cache/x.md
  - local: .mwp/intents/plan.md
  - workspace: m
---
ROOT
-- .mwp/modules/$A/rules.md --
NOT THIS
-- .mwp/modules/$A/.mwp-context.md --
NOT THIS
-- .mwp/cache/x.md --
NOT THIS
-- .mwp/intents/plan.md --
PLAN
-- m -> .mwp/modules/$A --
-- x --
`, "x", nil, `
included L0/50 .mwp/config.toml
included L0/50 .mwp-context.md
included L0/49 .mwp/intents/plan.md
unresolved - .mwp/cache/x.md
unresolved - .mwp/modules/$A/rules.md
unresolved - m
error unresolved_import .mwp-context.md:3:5
error unresolved_import .mwp-context.md:4:5
error unresolved_import .mwp-context.md:6:5
`},
		{"case 06: an import of an ancestor starts at the ancestor, one of an import at the import", `
-- .mwp --
description = "d"
-- dev/.mwp-context.md --
---
imports:
  - local: ./shared/rules.md
---
DEV
-- dev/shared/rules.md --
---
imports:
  - local: ./more.md
---
RULES
-- dev/shared/more.md --
MORE
-- dev/more.md --
NOT THIS
-- shared/rules.md --
NOR THIS
-- dev/app/shared/rules.md --
NOR THIS
-- dev/app/x --
`, "dev/app/x", nil, `
included L0/50 .mwp
included L1/50 dev/.mwp-context.md
included L1/49 dev/shared/rules.md
included L1/48 dev/shared/more.md
`},
		{"N-02: a YAML context file imports as well", `
-- .mwp --
description = "d"
-- a/.mwp-context.yaml --
schema: 1
imports:
  - local: one.md
description: A
-- a/one.md --
1
-- a/x --
`, "a/x", nil, `
included L0/50 .mwp
included L1/50 a/.mwp-context.yaml
included L1/49 a/one.md
`},
		{"R-025: workspace: starts at the workspace root, from a member too", `
-- .mwp --
description = "d"
members = ["m"]
-- m/.mwp --
description = "m"
-- m/.mwp-context.md --
---
imports:
  - workspace: shared/rules.md
  - workspace: m/own.md
---
M
-- m/own.md --
OWN
-- m/shared/rules.md --
NOT THIS
-- shared/rules.md --
R
-- m/x --
`, "m/x", nil, `
included L0/50 .mwp
included L1/50 m/.mwp
included L1/50 m/.mwp-context.md
included L1/49 m/own.md
included L1/49 shared/rules.md
`},
		{"R-026: standing alone, it starts at the project's own root, and what is not there is said", `
-- .mwp --
description = "m"
-- .mwp-context.md --
---
imports:
  - workspace: shared/rules.md
  - workspace: m/own.md
---
M
-- own.md --
NOT THIS
-- shared/other.md --
-- x --
`, "x", nil, `
included L0/50 .mwp
included L0/50 .mwp-context.md
unresolved - m/own.md
unresolved - shared/rules.md
error unresolved_import .mwp-context.md:3:5
error unresolved_import .mwp-context.md:4:5
`},
		{"D-32: a workspace path that resolves leaves its git fallback alone", `
-- .mwp/config.toml --
description = "d"
-- a/.mwp-context.md --
---
imports:
  - workspace: shared/rules.md
    git: https://example.org/never.git@v1
---
A
-- shared/rules.md --
R
-- a/x --
`, "a/x", nil, `
included L0/50 .mwp/config.toml
included L1/50 a/.mwp-context.md
included L1/49 shared/rules.md
`},
		{"D-11: an orientation map has the imports that are L0, and accounts for the others", `
-- .mwp --
description = "d"
-- .mwp-context.md --
---
imports:
  - local: zero.md
  - local: three.md
  - local: gone.md
---
ROOT
-- zero.md --
Z
-- three.md --
---
layer: 3
---
T
-- a/.mwp-context.md --
NOT ON THE WAY
`, "", nil, `
included L0/50 .mwp
included L0/50 .mwp-context.md
included L0/49 zero.md
excluded_by_kind L3/49 three.md
unresolved - gone.md
error unresolved_import .mwp-context.md:5:5
`},
		{"D-99: an empty file is accounted for, and what it imports is there", `
-- .mwp --
description = "d"
-- a/.mwp-context.md --
---
imports:
  - local: list.md
---
A
-- a/list.md --
---
imports:
  - local: one.md
---
-- a/one.md --
1
-- a/x --
`, "a/x", nil, `
included L0/50 .mwp
included L1/50 a/.mwp-context.md
empty L1/49 a/list.md
included L1/48 a/one.md
`},
	})
}

var big = bigText()

func bigText() string {
	b := make([]byte, 1<<20)
	for i := range b {
		b[i] = 'x'
	}
	return string(b)
}
