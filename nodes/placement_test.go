package nodes_test

import (
	"testing"

	"github.com/model-workspace-protocol/mwp/nodes"
)

func window(n int) func(*nodes.Map) {
	return func(m *nodes.Map) { m.Window = nodes.OptionalInt{Set: true, Value: n} }
}

// TestSectionImports is D-116 as far as maps go; what a section is has tests of its
// own.
func TestSectionImports(t *testing.T) {
	const file = `
-- a/s.md --
---
priority: 20
---
Before.

# One
1
## Inner
2
# Two
3
# Two
4
# C# notes
5
-- a/x --
`
	runScenarios(t, []scenario{
		{"a section, one below it, one whose heading has a #", `
-- .mwp --
description = "d"
-- a/.mwp-context.md --
---
imports:
  - local: s.md#One
  - local: "s.md# Inner "
  - workspace: "a/s.md#C# notes"
---
A
` + file, "a/x", nil, `
included L0/50 .mwp
included L1/50 a/.mwp-context.md
included L1/20 a/s.md
included L1/20 a/s.md
included L1/20 a/s.md
`},
		{"unknown, ambiguous, in another case, with the mark", `
-- .mwp --
description = "d"
-- a/.mwp-context.md --
---
imports:
  - local: s.md#Three
  - local: s.md#Two
  - local: s.md#one
  - local: "s.md## One"
---
A
` + file, "a/x", nil, `
included L0/50 .mwp
included L1/50 a/.mwp-context.md
unresolved - a/s.md
unresolved - a/s.md
unresolved - a/s.md
unresolved - a/s.md
error section_unknown a/.mwp-context.md:3:5
error section_unknown a/.mwp-context.md:4:5
error section_unknown a/.mwp-context.md:5:5
error section_unknown a/.mwp-context.md:6:5
`},
		{"what has no sections: an anchor, a manifest; what has: a context file", `
-- .mwp --
description = "d"
members = ["m"]
-- a/.mwp-context.md --
---
imports:
  - workspace: m#One
  - local: mod#One
  - local: index#One
  - local: gone.md#One
---
A
-- m/.mwp --
name = "m"
-- a/mod/.mwp-module.md --
---
name: mod
---
# One
-- a/index/.mwp-context.md --
# One
1
-- a/x --
`, "a/x", nil, `
included L0/50 .mwp
included L1/50 a/.mwp-context.md
included L1/49 a/index/.mwp-context.md
unresolved - a/gone.md
unresolved - a/mod
unresolved - m
error unresolved_import a/.mwp-context.md:3:5
error unresolved_import a/.mwp-context.md:4:5
error unresolved_import a/.mwp-context.md:6:5
`},
		{"in a manifest", `
-- .mwp --
description = "d"
-- a/.mwp-context.md --
---
imports:
  - local: mod
---
A
-- a/mod/.mwp-module.md --
---
name: mod
imports:
  - local: s.md#One
  - local: s.md#Nothing
---
-- a/mod/s.md --
# One
1
# Two
2
-- a/x --
`, "a/x", nil, `
included L0/50 .mwp
included L1/50 a/.mwp-context.md
expanded L3/49 a/mod/.mwp-module.md
included L3/48 a/mod/s.md
unresolved - a/mod/s.md
module mod a/mod/.mwp-module.md
error section_unknown a/mod/.mwp-module.md:5:5
`},
		{"the same section twice is one; another of the same file is another", `
-- .mwp --
description = "d"
-- a/.mwp-context.md --
---
imports:
  - local: s.md#One
  - workspace: a/./s.md#  One
  - local: s.md#Inner
---
A
` + file, "a/x", nil, `
included L0/50 .mwp
included L1/50 a/.mwp-context.md
included L1/20 a/s.md
included L1/20 a/s.md
deduplicated L1/20 a/s.md (by a/.mwp-context.md)
`},
		{"the whole file before its section, on one level", `
-- .mwp --
description = "d"
-- a/.mwp-context.md --
---
imports:
  - local: s.md
  - local: s.md#One
---
A
` + file, "a/x", nil, `
included L0/50 .mwp
included L1/50 a/.mwp-context.md
included L1/20 a/s.md
deduplicated L1/20 a/s.md (by a/.mwp-context.md)
`},
		{"the section before the whole file, on one level", `
-- .mwp --
description = "d"
-- a/.mwp-context.md --
---
imports:
  - local: s.md#One
  - local: s.md
---
A
` + file, "a/x", nil, `
included L0/50 .mwp
included L1/50 a/.mwp-context.md
included L1/20 a/s.md
included L1/20 a/s.md
`},
		{"the whole file nearer to the root", `
-- .mwp --
description = "d"
-- .mwp-context.md --
---
imports:
  - local: a/s.md
---
ROOT
-- a/.mwp-context.md --
---
imports:
  - local: s.md#One
---
A
` + file, "a/x", nil, `
included L0/50 .mwp
included L0/50 .mwp-context.md
included L0/20 a/s.md
included L1/50 a/.mwp-context.md
deduplicated L1/20 a/s.md (by .mwp-context.md)
`},
		{"the section nearer to the root", `
-- .mwp --
description = "d"
-- .mwp-context.md --
---
imports:
  - local: a/s.md#One
---
ROOT
-- a/.mwp-context.md --
---
imports:
  - local: s.md
---
A
` + file, "a/x", nil, `
included L0/50 .mwp
included L0/50 .mwp-context.md
included L0/20 a/s.md
included L1/50 a/.mwp-context.md
included L1/20 a/s.md
`},
		{"a section of an ancestor's own context file is in the map already", `
-- .mwp --
description = "d"
-- a/.mwp-context.md --
# One
1
-- a/b/.mwp-context.md --
---
imports:
  - workspace: a/.mwp-context.md#One
---
B
-- a/b/x --
`, "a/b/x", nil, `
included L0/50 .mwp
included L1/50 a/.mwp-context.md
included L2/50 a/b/.mwp-context.md
deduplicated L2/49 a/.mwp-context.md (by a/.mwp-context.md)
`},
		{"what a section that is not there imports stays out, and it makes no cycle", `
-- .mwp --
description = "d"
-- a/.mwp-context.md --
---
imports:
  - local: one.md#Nothing
  - local: .mwp-context.md#Nothing
---
A
-- a/one.md --
---
imports:
  - local: two.md
  - workspace: a
---
1
-- a/two.md --
NOT THIS
-- a/x --
`, "a/x", nil, `
included L0/50 .mwp
included L1/50 a/.mwp-context.md
unresolved - a/.mwp-context.md
unresolved - a/one.md
error section_unknown a/.mwp-context.md:3:5
error section_unknown a/.mwp-context.md:4:5
`},
		{"a section that is not there is not there the second time either", `
-- .mwp --
description = "d"
-- a/.mwp-context.md --
---
imports:
  - local: s.md#Three
  - local: one.md
  - local: three.md
---
A
-- a/one.md --
---
imports:
  - local: s.md#Three
  - local: three.md
---
1
-- a/three.md --
---
layer: 3
---
3
` + file, "a/x", nil, `
included L0/50 .mwp
included L1/50 a/.mwp-context.md
included L1/49 a/one.md
included L3/49 a/three.md
deduplicated L3/48 a/three.md (by a/.mwp-context.md)
unresolved - a/s.md
unresolved - a/s.md
error section_unknown a/.mwp-context.md:3:5
error section_unknown a/one.md:3:5
`},
		{"D-26: a section of oneself is oneself", `
-- .mwp --
description = "d"
-- a/.mwp-context.md --
---
imports:
  - local: .mwp-context.md#One
---
# One
-- a/x --
`, "a/x", nil, `
refused: error import_cycle a/.mwp-context.md:3
`},
	})
}

// TestPlacement is D-24 and D-25: which layer and priority an import has.
func TestPlacement(t *testing.T) {
	runScenarios(t, []scenario{
		{"the importer's layer and one less than its priority, for each import on the way", `
-- .mwp --
description = "d"
-- a/.mwp-context.md --
---
layer: 2
priority: 70
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
imports:
  - local: three.md
---
2
-- a/three.md --
3
-- a/x --
`, "a/x", nil, `
included L0/50 .mwp
included L2/70 a/.mwp-context.md
included L2/69 a/one.md
included L2/68 a/two.md
included L2/67 a/three.md
`},
		{"its own layer, which what it imports has too", `
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
layer: 3
imports:
  - local: two.md
---
1
-- a/two.md --
---
imports:
  - local: three.md
---
2
-- a/three.md --
---
layer: 0
---
3
-- a/x --
`, "a/x", nil, `
included L0/50 .mwp
included L0/47 a/three.md
included L1/50 a/.mwp-context.md
included L3/49 a/one.md
included L3/48 a/two.md
`},
		{"its own priority, but never up to the importer's", `
-- .mwp --
description = "d"
-- a/.mwp-context.md --
---
imports:
  - local: high.md
  - local: same.md
  - local: low.md
---
A
-- a/high.md --
---
priority: 100
imports:
  - local: under-high.md
---
1
-- a/under-high.md --
---
priority: 1000
---
2
-- a/same.md --
---
priority: 50
---
3
-- a/low.md --
---
priority: 10
imports:
  - local: under-low.md
---
4
-- a/under-low.md --
5
-- a/x --
`, "a/x", nil, `
included L0/50 .mwp
included L1/50 a/.mwp-context.md
included L1/49 a/high.md
included L1/49 a/same.md
included L1/48 a/under-high.md
included L1/10 a/low.md
included L1/9 a/under-low.md
`},
		{"not below 0, but below an importer that is", `
-- .mwp --
description = "d"
-- a/.mwp-context.md --
---
priority: 1
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
priority: -9
imports:
  - local: three.md
---
2
-- a/three.md --
3
-- a/b/.mwp-context.md --
---
layer: 1
priority: -5
imports:
  - local: four.md
  - local: five.md
---
B
-- a/b/four.md --
4
-- a/b/five.md --
---
priority: 40
---
5
-- a/b/x --
`, "a/b/x", nil, `
included L0/50 .mwp
included L1/1 a/.mwp-context.md
included L1/0 a/one.md
included L1/0 a/two.md
included L1/0 a/three.md
included L1/-5 a/b/.mwp-context.md
included L1/-5 a/b/five.md
included L1/-5 a/b/four.md
`},
		{"D-25: a manifest's layer is 3 unless it says otherwise; a file of the module may say otherwise again", `
-- .mwp --
description = "d"
-- a/.mwp-context.md --
---
imports:
  - local: three
  - local: one
---
A
-- a/three/.mwp-module.md --
---
name: three
imports:
  - local: r.md
  - local: own.md
---
-- a/three/r.md --
R
-- a/three/own.md --
---
layer: 1
priority: 99
---
O
-- a/one/.mwp-module.md --
---
name: one
layer: 1
imports:
  - local: r.md
---
-- a/one/r.md --
R
-- a/x --
`, "a/x", nil, `
included L0/50 .mwp
included L1/50 a/.mwp-context.md
expanded L1/49 a/one/.mwp-module.md
included L1/48 a/one/r.md
included L1/48 a/three/own.md
expanded L3/49 a/three/.mwp-module.md
included L3/48 a/three/r.md
module three a/three/.mwp-module.md
module one a/one/.mwp-module.md
`},
		{"D-13: L4 is where someone says so; imports of L0 are L0", `
-- .mwp --
description = "d"
-- .mwp-context.md --
---
imports:
  - local: zero.md
  - local: four.md
---
ROOT
-- zero.md --
0
-- four.md --
---
layer: 4
imports:
  - local: more.md
---
4
-- more.md --
5
-- x --
`, "x", nil, `
included L0/50 .mwp
included L0/50 .mwp-context.md
included L0/49 zero.md
included L4/49 four.md
included L4/48 more.md
`},
		{"D-22: layer, priority, directory, imports after what imports them, then paths by segments", `
-- .mwp --
description = "d"
-- a/.mwp-context.md --
---
layer: 2
priority: 40
imports:
  - local: z.md
  - local: d-x/f.md
  - local: d/f.md
---
A
-- a/z.md --
1
-- a/d-x/f.md --
2
-- a/d/f.md --
3
-- a/b/.mwp-context.md --
---
imports:
  - local: one.md
---
B
-- a/b/one.md --
---
priority: 39
---
4
-- a/b/x --
`, "a/b/x", nil, `
included L0/50 .mwp
included L2/50 a/b/.mwp-context.md
included L2/40 a/.mwp-context.md
included L2/39 a/d/f.md
included L2/39 a/d-x/f.md
included L2/39 a/z.md
included L2/39 a/b/one.md
`},
		{"D-16: the scope of an imported file has no effect", `
-- .mwp --
description = "d"
-- a/.mwp-context.md --
---
imports:
  - local: c/one.md
---
A
-- a/c/one.md --
---
scope: local
window: 1
---
1
-- a/b/b/x --
`, "a/b/b/x", nil, `
included L0/50 .mwp
included L1/50 a/.mwp-context.md
included L1/49 a/c/one.md
`},
		{"D-16: what a file that is out of scope imports goes with it, mistakes of paths included", `
-- .mwp --
description = "d"
-- a/.mwp-context.md --
---
scope: local
imports:
  - local: one.md
  - local: gone.md
---
A
-- a/one.md --
---
imports:
  - local: two.md
---
1
-- a/two.md --
2
-- a/b/x --
`, "a/b/x", nil, `
included L0/50 .mwp
excluded_by_scope L1/50 a/.mwp-context.md
excluded_by_scope L1/49 a/one.md
excluded_by_scope L1/48 a/two.md
excluded_by_scope - a/gone.md
`},
		{"D-14: imports go with the level that the window removes, an L0 import too", `
-- .mwp --
description = "d"
-- a/.mwp-context.md --
---
imports:
  - local: one.md
  - local: zero.md
  - local: gone.md
  - local: mod
---
A
-- a/one.md --
1
-- a/zero.md --
---
layer: 0
---
0
-- a/mod/.mwp-module.md --
---
name: mod
imports:
  - local: r.md
pipelines:
  - local: r.md
---
-- a/mod/r.md --
R
-- a/b/c/d/x --
`, "a/b/c/d/x", window(1), `
included L0/50 .mwp
excluded_by_window L0/49 a/zero.md
excluded_by_window L1/50 a/.mwp-context.md
excluded_by_window L1/49 a/one.md
excluded_by_window L3/49 a/mod/.mwp-module.md
excluded_by_window L3/48 a/mod/r.md
excluded_by_window - a/gone.md
`},
		{"D-14: an L0 level stays from anywhere, with those of its imports that are L0", `
-- .mwp --
description = "d"
-- a/.mwp-context.md --
---
layer: 0
imports:
  - local: zero.md
  - local: three.md
  - local: gone.md
---
A
-- a/zero.md --
0
-- a/three.md --
---
layer: 3
imports:
  - local: back.md
---
3
-- a/back.md --
---
layer: 0
---
4
-- a/b/c/d/x --
`, "a/b/c/d/x", window(1), `
included L0/50 .mwp
included L0/50 a/.mwp-context.md
included L0/49 a/zero.md
excluded_by_window L0/48 a/back.md
excluded_by_window L3/49 a/three.md
unresolved - a/gone.md
error unresolved_import a/.mwp-context.md:6:5
`},
		{"fixture 3: one module at the root and below is there once, from the root", fixture3, "dev/app/src/x", nil, `
included L0/50 .mwp
included L1/50 .mwp-context.md
included L1/50 dev/.mwp-context.md
expanded L3/49 vendor/mod/.mwp-module.md
deduplicated L3/49 vendor/mod/.mwp-module.md (by .mwp-context.md)
included L3/48 vendor/mod/rules.md
deduplicated L3/48 vendor/mod/rules.md (by vendor/mod/.mwp-module.md)
module mod vendor/mod/.mwp-module.md
pipeline vendor/mod/ship.md (mod)
`},
		{"fixture 3: with a window that takes the root away, the lower one survives", fixture3, "dev/app/x", window(1), `
included L0/50 .mwp
excluded_by_window L1/50 .mwp-context.md
included L1/50 dev/.mwp-context.md
excluded_by_window L3/49 vendor/mod/.mwp-module.md
expanded L3/49 vendor/mod/.mwp-module.md
excluded_by_window L3/48 vendor/mod/rules.md
included L3/48 vendor/mod/rules.md
module mod vendor/mod/.mwp-module.md
pipeline vendor/mod/ship.md (mod)
`},
		{"fixture 3: with one that takes both away, neither does", fixture3, "dev/app/src/x", window(1), `
included L0/50 .mwp
excluded_by_window L1/50 .mwp-context.md
excluded_by_window L1/50 dev/.mwp-context.md
excluded_by_window L3/49 vendor/mod/.mwp-module.md
excluded_by_window L3/49 vendor/mod/.mwp-module.md
excluded_by_window L3/48 vendor/mod/rules.md
excluded_by_window L3/48 vendor/mod/rules.md
`},
	})
}

const fixture3 = `
-- .mwp --
description = "d"
-- .mwp-context.md --
---
layer: 1
imports:
  - workspace: vendor/mod
---
ROOT
-- dev/.mwp-context.md --
---
imports:
  - workspace: vendor/mod
---
DEV
-- vendor/mod/.mwp-module.md --
---
name: mod
imports:
  - local: rules.md
pipelines:
  - local: ship.md
---
-- vendor/mod/rules.md --
R
-- vendor/mod/ship.md --
-- dev/app/x --
-- dev/app/src/x --
`

// TestDeduplication is D-37: what is one text is in a map once.
func TestDeduplication(t *testing.T) {
	runScenarios(t, []scenario{
		{"case 14: one file by many spellings, nearest to the root", `
-- .mwp --
description = "d"
-- dev/shared/rules.md --
R
-- dev/.mwp-context.md --
---
layer: 1
imports:
  - local: ./shared/rules.md
---
DEV
-- dev/app/.mwp-context.md --
---
layer: 2
imports:
  - workspace: dev/shared/rules.md
  - workspace: dev//shared/./rules.md
  - local: ./alias.md
---
APP
-- dev/app/alias.md -> ../shared/rules.md --
-- dev/app/x --
`, "dev/app/x", nil, `
included L0/50 .mwp
included L1/50 dev/.mwp-context.md
included L1/49 dev/shared/rules.md
included L2/50 dev/app/.mwp-context.md
deduplicated L2/49 dev/app/alias.md (by dev/.mwp-context.md)
deduplicated L2/49 dev/shared/rules.md (by dev/.mwp-context.md)
deduplicated L2/49 dev/shared/rules.md (by dev/.mwp-context.md)
`},
		{"a diamond: the way with fewer imports wins, whatever is declared first", `
-- .mwp --
description = "d"
-- a/.mwp-context.md --
---
imports:
  - local: left.md
  - local: right.md
  - local: down.md
---
A
-- a/left.md --
---
imports:
  - local: down.md
---
L
-- a/right.md --
---
imports:
  - local: down.md
---
R
-- a/down.md --
---
imports:
  - local: deeper.md
---
D
-- a/deeper.md --
E
-- a/x --
`, "a/x", nil, `
included L0/50 .mwp
included L1/50 a/.mwp-context.md
included L1/49 a/down.md
included L1/49 a/left.md
included L1/49 a/right.md
included L1/48 a/deeper.md
deduplicated L1/48 a/down.md (by a/.mwp-context.md)
deduplicated L1/48 a/down.md (by a/.mwp-context.md)
`},
		{"two ways of one length: the first that is declared, and its layer", `
-- .mwp --
description = "d"
-- a/.mwp-context.md --
---
imports:
  - local: left.md
  - local: right.md
---
A
-- a/left.md --
---
layer: 3
imports:
  - local: down.md
---
L
-- a/right.md --
---
layer: 4
imports:
  - local: down.md
---
R
-- a/down.md --
D
-- a/x --
`, "a/x", nil, `
included L0/50 .mwp
included L1/50 a/.mwp-context.md
included L3/49 a/left.md
included L3/48 a/down.md
included L4/49 a/right.md
deduplicated L4/48 a/down.md (by a/left.md)
`},
		{"a level nearer to the root wins over fewer imports", `
-- .mwp --
description = "d"
-- a/.mwp-context.md --
---
imports:
  - local: left.md
---
A
-- a/left.md --
---
imports:
  - local: down.md
---
L
-- a/down.md --
D
-- a/b/.mwp-context.md --
---
imports:
  - workspace: a/down.md
---
B
-- a/b/x --
`, "a/b/x", nil, `
included L0/50 .mwp
included L1/50 a/.mwp-context.md
included L1/49 a/left.md
included L1/48 a/down.md
included L2/50 a/b/.mwp-context.md
deduplicated L2/49 a/down.md (by a/left.md)
`},
		{"a context file of the cascade that one below imports stays where it is", `
-- .mwp --
description = "d"
-- a/.mwp-context.md --
A
-- a/b/.mwp-context.md --
---
imports:
  - workspace: a
---
B
-- a/b/x --
`, "a/b/x", nil, `
included L0/50 .mwp
included L1/50 a/.mwp-context.md
included L2/50 a/b/.mwp-context.md
deduplicated L2/49 a/.mwp-context.md (by a/.mwp-context.md)
`},
		{"one that a level above imports goes there, with what it imports", `
-- .mwp --
description = "d"
-- a/.mwp-context.md --
---
imports:
  - local: b
---
A
-- a/b/.mwp-context.md --
---
imports:
  - local: one.md
---
B
-- a/b/one.md --
1
-- a/b/x --
`, "a/b/x", nil, `
included L0/50 .mwp
included L1/50 a/.mwp-context.md
included L1/49 a/b/.mwp-context.md
included L1/48 a/b/one.md
deduplicated L2/50 a/b/.mwp-context.md (by a/.mwp-context.md)
deduplicated L2/49 a/b/one.md (by a/b/.mwp-context.md)
`},
		{"anchors: the workspace's own, a member's that is on the way, one imported twice", `
-- .mwp --
description = "d"
members = ["m", "n"]
-- m/.mwp --
description = "m"
-- m/.mwp-context.md --
---
imports:
  - workspace: .
  - workspace: m/.mwp
  - workspace: n
  - workspace: l
---
M
-- n/.mwp --
description = "n"
-- l -> n --
-- m/x --
`, "m/x", nil, `
included L0/50 .mwp
included L1/50 m/.mwp
included L1/50 m/.mwp-context.md
deduplicated L1/49 .mwp (by .mwp)
deduplicated L1/49 l/.mwp (by m/.mwp-context.md)
deduplicated L1/49 m/.mwp (by m/.mwp)
included L1/49 n/.mwp
`},
		{"D-37: equal text in two files is two texts", `
-- .mwp --
description = "d"
-- a/.mwp-context.md --
---
imports:
  - local: one.md
  - local: two.md
---
A
-- a/one.md --
SAME
-- a/two.md --
SAME
-- a/x --
`, "a/x", nil, `
included L0/50 .mwp
included L1/50 a/.mwp-context.md
included L1/49 a/one.md
included L1/49 a/two.md
`},
		{"D-37: scope and window come first, so what they remove swallows nothing", `
-- .mwp --
description = "d"
-- a/.mwp-context.md --
---
scope: local
imports:
  - local: one.md
---
A
-- a/one.md --
1
-- a/b/.mwp-context.md --
---
imports:
  - workspace: a/one.md
---
B
-- a/b/x --
`, "a/b/x", nil, `
included L0/50 .mwp
excluded_by_scope L1/50 a/.mwp-context.md
excluded_by_scope L1/49 a/one.md
included L2/50 a/b/.mwp-context.md
included L2/49 a/one.md
`},
	})
}
