package nodes_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/model-workspace-protocol/mwp/nodes"
	"github.com/model-workspace-protocol/mwp/nodes/ir"
	"github.com/model-workspace-protocol/mwp/nodes/pin"
)

func allowFloating(m *nodes.Map) { m.AllowFloating = true }

// TestModulesInTheTree is: what a manifest lists, and nothing else.
func TestModulesInTheTree(t *testing.T) {
	runScenarios(t, []scenario{
		{"R-111: in node_modules and vendor, ignored by git or not", `
-- .mwp --
description = "d"
-- .gitignore --
node_modules/
vendor/
-- a/.mwp-context.md --
---
imports:
  - local: node_modules/rules
  - local: ./vendor/@team/rules/
---
A
-- a/node_modules/rules/.mwp-module.md --
---
name: npm-rules
version: 2.10
description: From a registry.
imports:
  - local: r.md
  - local: lib
pipelines:
  - local: workflows/ship.md
---
-- a/node_modules/rules/package.json --
{"name": "rules"}
-- a/node_modules/rules/.mwp-context.md --
NOT THIS
-- a/node_modules/rules/CLAUDE.md --
NOR THIS
-- a/node_modules/rules/r.md --
R
-- a/node_modules/rules/lib/.mwp-context.md --
NOR THIS
-- a/node_modules/rules/lib/AGENTS.md --
NOR THIS
-- a/node_modules/rules/workflows/ship.md --
-- a/vendor/@team/rules/.mwp-module.md --
---
name: rules
imports: []
---
-- a/x --
`, "a/x", nil, `
included L0/50 .mwp
included L1/50 a/.mwp-context.md
expanded L3/49 a/node_modules/rules/.mwp-module.md
expanded L3/49 a/vendor/@team/rules/.mwp-module.md
included L3/48 a/node_modules/rules/r.md
unresolved - a/node_modules/rules/lib
module npm-rules 2.10 a/node_modules/rules/.mwp-module.md
module rules a/vendor/@team/rules/.mwp-module.md
pipeline a/node_modules/rules/workflows/ship.md (npm-rules)
error unresolved_import a/node_modules/rules/.mwp-module.md:7:5
`},
		{"R-103: a directory of a module needs a manifest of its own, a nested one is a module of its own", `
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
name: outer
imports:
  - local: sub
  - local: index
---
-- a/mod/sub/.mwp-module.md --
---
name: inner
layer: 4
imports:
  - local: r.md
---
-- a/mod/sub/r.md --
R
-- a/mod/index/.mwp-context.md --
NOT THIS
-- a/x --
`, "a/x", nil, `
included L0/50 .mwp
included L1/50 a/.mwp-context.md
expanded L3/49 a/mod/.mwp-module.md
expanded L4/48 a/mod/sub/.mwp-module.md
included L4/47 a/mod/sub/r.md
unresolved - a/mod/index
module outer a/mod/.mwp-module.md
module inner a/mod/sub/.mwp-module.md
error unresolved_import a/mod/.mwp-module.md:5:5
`},
		{"R-106: a module has no workspace around it", `
-- .mwp --
description = "d"
-- rules.md --
NOT THIS
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
  - workspace: rules.md
  - local: r.md
---
-- a/mod/r.md --
---
imports:
  - workspace: rules.md
  - local: more.md
---
R
-- a/mod/more.md --
M
-- a/mod/rules.md --
NOR THIS
-- a/x --
`, "a/x", nil, `
included L0/50 .mwp
included L1/50 a/.mwp-context.md
expanded L3/49 a/mod/.mwp-module.md
included L3/48 a/mod/r.md
included L3/47 a/mod/more.md
unresolved - rules.md
unresolved - rules.md
module mod a/mod/.mwp-module.md
error unresolved_import a/mod/.mwp-module.md:4:5
error unresolved_import a/mod/r.md:3:5
`},
		{"D-25: no name is a warning, no imports are fine, the body is for people, unknown keys are warnings", `
-- .mwp --
description = "d"
-- a/.mwp-context.md --
---
imports:
  - local: bare
  - local: empty
  - local: keys
  - workspace: a/direct/.mwp-module.md
---
A
-- a/bare/.mwp-module.md --
NOT THIS
-- a/empty/.mwp-module.md --
-- a/keys/.mwp-module.md --
---
name: keys
scope: local
max_tokens: 5
---
NOR THIS
-- a/direct/.mwp-module.md --
---
name: direct
imports:
  - local: r.md
---
-- a/direct/r.md --
R
-- a/x --
`, "a/x", nil, `
included L0/50 .mwp
included L1/50 a/.mwp-context.md
expanded L3/49 a/bare/.mwp-module.md
expanded L3/49 a/direct/.mwp-module.md
expanded L3/49 a/empty/.mwp-module.md
expanded L3/49 a/keys/.mwp-module.md
included L3/48 a/direct/r.md
module bare a/bare/.mwp-module.md
module empty a/empty/.mwp-module.md
module keys a/keys/.mwp-module.md
module direct a/direct/.mwp-module.md
warning frontmatter_invalid a/bare/.mwp-module.md:1
warning frontmatter_invalid a/empty/.mwp-module.md:1
warning frontmatter_unknown_key a/keys/.mwp-module.md:3:1
warning frontmatter_unknown_key a/keys/.mwp-module.md:4:1
`},
		{"R-109: pipelines that are not there, or are no files, or are no local paths that stay", `
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
pipelines:
  - local: gone.md
  - local: dir
  - local: ../up.md
  - local: ship.md
  - local: out.md
---
-- a/mod/dir/.mwp-context.md --
-- a/mod/ship.md --
-- a/mod/out.md -> ../../../secret --
-- a/up.md --
-- a/x --
`, "a/x", nil, `
included L0/50 .mwp
included L1/50 a/.mwp-context.md
expanded L3/49 a/mod/.mwp-module.md
module mod a/mod/.mwp-module.md
pipeline a/mod/ship.md (mod)
error unresolved_import a/mod/.mwp-module.md:4:5
error unresolved_import a/mod/.mwp-module.md:5:5
error import_escapes a/mod/.mwp-module.md:6:12
error import_escapes_root a/mod/.mwp-module.md:8:5
`},
		{"D-28: a mistake in a manifest refuses the map", `
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
name: [mod]
pipelines:
  - workspace: x
imports: r.md
---
-- a/x --
`, "a/x", nil, `
refused: error frontmatter_invalid a/mod/.mwp-module.md:2:7
refused: error import_kind_invalid a/mod/.mwp-module.md:4:5
refused: error import_kind_invalid a/mod/.mwp-module.md:5:10
`},
		{"D-74: a link inside the workspace may lead a module out of its directory", `
-- .mwp --
description = "d"
-- a/.mwp-context.md --
---
imports:
  - local: mod
---
A
-- a/mod -> ../store/mod --
-- store/mod/.mwp-module.md --
---
name: mod
imports:
  - local: r.md
  - local: s.md
---
-- store/mod/r.md -> ../r.md --
-- store/mod/s.md --
S
-- store/r.md --
R
-- a/x --
`, "a/x", nil, `
included L0/50 .mwp
included L1/50 a/.mwp-context.md
expanded L3/49 a/mod/.mwp-module.md
included L3/48 a/mod/r.md
included L3/48 a/mod/s.md
module mod a/mod/.mwp-module.md
`},
		{"D-112: hidden text is an error in a module and a warning at home, at its place in the file", `
-- .mwp --
description = "d"
-- a/.mwp-context.md --
---
imports:
  - local: mod
  - local: own.md
  - local: own.md#Part
---
A
-- a/mod/.mwp-module.md --
---
name: mod
imports:
  - local: r.md
  - local: r.md#Part
---
-- a/mod/r.md --
---
owners: [x]
---

R <!-- obey -->
# Part
a` + "\u200b" + `b
-- a/own.md --
---
owners: [x]
---

Fine <!-- a comment of ours -->
# Part
a` + "\u202e" + `b
-- a/x --
`, "a/x", nil, `
included L0/50 .mwp
included L1/50 a/.mwp-context.md
included L1/49 a/own.md
deduplicated L1/49 a/own.md (by a/.mwp-context.md)
expanded L3/49 a/mod/.mwp-module.md
included L3/48 a/mod/r.md
deduplicated L3/48 a/mod/r.md (by a/mod/.mwp-module.md)
module mod a/mod/.mwp-module.md
error hidden_text a/mod/r.md:5:3
error hidden_text a/mod/r.md:7:2
warning hidden_text a/own.md:7:2
`},
	})
}

// TestGitModules is D-33 to D-37 as far as a map goes: what is pinned and fetched is
// in it, and what is not is named.
func TestGitModules(t *testing.T) {
	const manifest = `
-- .mwp/config.toml --
description = "d"
-- a/.mwp-context.md --
---
imports:
  - git: https://example.org/o/rules.git@v1.0.0
---
A
-- .mwp/modules/$A/.mwp-module.md --
---
name: rules
version: 1.0.0
description: Rules.
imports:
  - local: r.md
  - local: deep/s.md#One
pipelines:
  - local: flows/ship.md
---
For people.
-- .mwp/modules/$A/.mwp-context.md --
NOT THIS
-- .mwp/modules/$A/AGENTS.md --
NOR THIS
-- .mwp/modules/$A/r.md --
---
imports:
  - local: deep/s.md#Two
---
R
-- .mwp/modules/$A/deep/s.md --
# One
1
# Two
2
-- .mwp/modules/$A/flows/ship.md --
-- a/x --
`
	runScenarios(t, []scenario{
		{"a module with a manifest", manifest + `
-- PINS --
https://example.org/o/rules.git@v1.0.0 tag $A
`, "a/x", nil, `
included L0/50 .mwp/config.toml
included L1/50 a/.mwp-context.md
expanded L3/49 .mwp/modules/$A/.mwp-module.md
included L3/48 .mwp/modules/$A/deep/s.md
included L3/48 .mwp/modules/$A/r.md
included L3/47 .mwp/modules/$A/deep/s.md
module rules 1.0.0 .mwp/modules/$A/.mwp-module.md from https://example.org/o/rules.git@v1.0.0
pipeline .mwp/modules/$A/flows/ship.md (rules)
`},
		{"D-01: the state directory beside an anchor that is a file", `
-- .mwp --
description = "d"
-- a/.mwp-context.md --
---
imports:
  - git: git@example.org:o/rules.git@v1
---
A
-- .mwp.d/modules/$A/.mwp-module.md --
---
name: rules
imports:
  - local: r.md
---
-- .mwp.d/modules/$A/r.md --
R
-- a/x --
-- PINS --
git@example.org:o/rules.git@v1 tag $A
`, "a/x", nil, `
included L0/50 .mwp
included L1/50 a/.mwp-context.md
expanded L3/49 .mwp.d/modules/$A/.mwp-module.md
included L3/48 .mwp.d/modules/$A/r.md
module rules .mwp.d/modules/$A/.mwp-module.md from git@example.org:o/rules.git@v1
`},
		{"D-36: without a manifest, the anchor and the context file", `
-- .mwp/config.toml --
description = "d"
-- a/.mwp-context.md --
---
imports:
  - git: https://example.org/o/app.git@release/v1
---
A
-- .mwp/modules/$A/.mwp --
name = "app"
description = "An application."
members = ["sub"]
-- .mwp/modules/$A/.mwp-context.md --
---
imports:
  - workspace: sub
  - workspace: sub/r.md
  - local: sub/../sub
  - workspace: gone.md
---
M
-- .mwp/modules/$A/sub/.mwp-context.md --
S
-- .mwp/modules/$A/sub/r.md --
R
-- .mwp/modules/$A/other/.mwp-context.md --
NOT THIS
-- a/x --
-- PINS --
https://example.org/o/app.git@release/v1 tag $A
`, "a/x", nil, `
included L0/50 .mwp/config.toml
included L1/50 a/.mwp-context.md
included L1/49 .mwp/modules/$A/.mwp
included L1/49 .mwp/modules/$A/.mwp-context.md
included L1/48 .mwp/modules/$A/sub/.mwp-context.md
deduplicated L1/48 .mwp/modules/$A/sub/.mwp-context.md (by .mwp/modules/$A/.mwp-context.md)
included L1/48 .mwp/modules/$A/sub/r.md
unresolved - gone.md
module app .mwp/modules/$A/.mwp from https://example.org/o/app.git@release/v1
error unresolved_import .mwp/modules/$A/.mwp-context.md:6:5
`},
		{"D-36: an anchor that is a directory, without a context file, one that is empty, and neither", `
-- .mwp/config.toml --
description = "d"
-- a/.mwp-context.md --
---
imports:
  - git: https://example.org/o/app.git@v1
  - git: https://example.org/o/bare.git@v1
  - git: https://example.org/o/plain.git@v1
---
A
-- .mwp/modules/$A/.mwp/config.toml --
description = "An application."
-- .mwp/modules/$B/.mwp/.gitignore --
cache/
-- .mwp/modules/$C/readme.md --
NOT THIS
-- a/x --
-- PINS --
https://example.org/o/app.git@v1 tag $A
https://example.org/o/bare.git@v1 tag $B
https://example.org/o/plain.git@v1 tag $C
`, "a/x", nil, `
included L0/50 .mwp/config.toml
included L1/50 a/.mwp-context.md
included L1/49 .mwp/modules/$A/.mwp/config.toml
unresolved - https://example.org/o/bare.git@v1
unresolved - https://example.org/o/plain.git@v1
module app .mwp/modules/$A/.mwp/config.toml from https://example.org/o/app.git@v1
error unresolved_import a/.mwp-context.md:4:5
error unresolved_import a/.mwp-context.md:5:5
`},
		{"D-36: a directory of a repository, beside the whole of it", `
-- .mwp/config.toml --
description = "d"
-- a/.mwp-context.md --
---
imports:
  - git: https://example.org/o/mono.git//packages/rules@v1
  - git: https://example.org/o/mono.git//packages/other@v1
---
A
-- .mwp/modules/$A/packages/rules/.mwp-module.md --
---
name: rules
imports:
  - local: r.md
---
-- .mwp/modules/$A/packages/rules/r.md --
R
-- .mwp/modules/$B/packages/other/.mwp-context.md --
O
-- .mwp/modules/$B/packages/other/.mwp/config.toml --
-- a/x --
-- PINS --
https://example.org/o/mono.git//packages/rules@v1 tag $A
https://example.org/o/mono.git//packages/other@v1 tag $B
`, "a/x", nil, `
included L0/50 .mwp/config.toml
included L1/50 a/.mwp-context.md
empty L1/49 .mwp/modules/$B/packages/other/.mwp/config.toml
included L1/49 .mwp/modules/$B/packages/other/.mwp-context.md
expanded L3/49 .mwp/modules/$A/packages/rules/.mwp-module.md
included L3/48 .mwp/modules/$A/packages/rules/r.md
module rules .mwp/modules/$A/packages/rules/.mwp-module.md from https://example.org/o/mono.git//packages/rules@v1
module other .mwp/modules/$B/packages/other/.mwp/config.toml from https://example.org/o/mono.git//packages/other@v1
`},
		{"D-34: a module's dependencies have pins of their own", `
-- .mwp/config.toml --
description = "d"
-- a/.mwp-context.md --
---
imports:
  - git: https://example.org/o/one.git@v1
---
A
-- .mwp/modules/$A/.mwp-module.md --
---
name: one
imports:
  - git: https://example.org/o/two.git@$B
  - git: https://example.org/o/three.git@v3
  - local: r.md
---
-- .mwp/modules/$A/r.md --
1
-- .mwp/modules/$B/.mwp-module.md --
---
name: two
layer: 2
imports:
  - local: r.md
---
-- .mwp/modules/$B/r.md --
2
-- a/x --
-- PINS --
https://example.org/o/one.git@v1 tag $A
https://example.org/o/two.git@$B commit $B
`, "a/x", nil, `
included L0/50 .mwp/config.toml
included L1/50 a/.mwp-context.md
expanded L2/48 .mwp/modules/$B/.mwp-module.md
included L2/47 .mwp/modules/$B/r.md
expanded L3/49 .mwp/modules/$A/.mwp-module.md
included L3/48 .mwp/modules/$A/r.md
unresolved - https://example.org/o/three.git@v3
module one .mwp/modules/$A/.mwp-module.md from https://example.org/o/one.git@v1
module two .mwp/modules/$B/.mwp-module.md from https://example.org/o/two.git@$B
missing https://example.org/o/three.git@v3
error unresolved_import .mwp/modules/$A/.mwp-module.md:5:5
`},
		{"D-37: two versions of one repository stay, and the map says so", `
-- .mwp/config.toml --
description = "d"
-- a/.mwp-context.md --
---
imports:
  - git: https://example.org/o/rules.git@v1
  - git: https://EXAMPLE.org/o/rules@v2
  - git: https://example.org/o/rules.git@v1.0
---
A
-- .mwp/modules/$A/.mwp-module.md --
---
name: rules
imports:
  - local: r.md
---
-- .mwp/modules/$A/r.md --
1
-- .mwp/modules/$B/.mwp-module.md --
---
name: rules
imports:
  - local: r.md
---
-- .mwp/modules/$B/r.md --
1
-- a/x --
-- PINS --
https://example.org/o/rules.git@v1 tag $A
https://example.org/o/rules.git@v1.0 tag $A
https://EXAMPLE.org/o/rules@v2 tag $B
`, "a/x", nil, `
included L0/50 .mwp/config.toml
included L1/50 a/.mwp-context.md
expanded L3/49 .mwp/modules/$B/.mwp-module.md
expanded L3/49 .mwp/modules/$A/.mwp-module.md
deduplicated L3/49 .mwp/modules/$A/.mwp-module.md (by a/.mwp-context.md)
included L3/48 .mwp/modules/$B/r.md
included L3/48 .mwp/modules/$A/r.md
module rules .mwp/modules/$A/.mwp-module.md from https://example.org/o/rules.git@v1
module rules .mwp/modules/$B/.mwp-module.md from https://EXAMPLE.org/o/rules@v2
warning module_version_conflict .mwp/modules/$B/.mwp-module.md
`},
		{"D-33: a branch is refused", floatingTree, "a/x", nil, `
included L0/50 .mwp/config.toml
included L1/50 a/.mwp-context.md
unresolved - https://example.org/o/bare.git
unresolved - https://example.org/o/new.git
unresolved - https://example.org/o/rules.git@main
error floating_ref a/.mwp-context.md:3:5
error floating_ref a/.mwp-context.md:4:5
error floating_ref a/.mwp-context.md:5:5
`},
		{"D-33: a branch that was allowed is in the map, with a warning for each import of it", floatingTree, "a/x", allowFloating, `
included L0/50 .mwp/config.toml
included L1/50 a/.mwp-context.md
included L1/49 .mwp/modules/$B/.mwp
included L1/49 .mwp/modules/$B/.mwp-context.md
expanded L3/49 .mwp/modules/$A/.mwp-module.md
included L3/48 .mwp/modules/$A/r.md
unresolved - https://example.org/o/new.git
module rules .mwp/modules/$A/.mwp-module.md from https://example.org/o/rules.git@main
module bare .mwp/modules/$B/.mwp from https://example.org/o/bare.git
missing https://example.org/o/new.git
warning floating_ref a/.mwp-context.md:3:5
warning floating_ref a/.mwp-context.md:4:5
error unresolved_import a/.mwp-context.md:5:5
`},
		{"D-35: no pin, and a pin whose module is not there", `
-- .mwp/config.toml --
description = "d"
-- a/.mwp-context.md --
---
imports:
  - git: https://example.org/o/new.git@v1
  - git: https://example.org/o/gone.git@v1
  - git: https://example.org/o/gone.git@v1
---
A
-- a/x --
-- PINS --
https://example.org/o/gone.git@v1 tag $C
`, "a/x", nil, `
included L0/50 .mwp/config.toml
included L1/50 a/.mwp-context.md
unresolved - https://example.org/o/gone.git@v1
unresolved - https://example.org/o/gone.git@v1
unresolved - https://example.org/o/new.git@v1
missing https://example.org/o/new.git@v1
missing https://example.org/o/gone.git@v1
error unresolved_import a/.mwp-context.md:3:5
error unresolved_import a/.mwp-context.md:4:5
error unresolved_import a/.mwp-context.md:5:5
`},
		{"U-45: a password is neither shown nor looked for in the lock file", `
-- .mwp/config.toml --
description = "d"
-- a/.mwp-context.md --
---
imports:
  - git: https://me:secret@example.org/o/rules.git@v1
  - git: https://me:secret@example.org/o/gone.git@v1
---
A
-- .mwp/modules/$A/.mwp-module.md --
---
name: rules
imports:
  - local: r.md
---
-- .mwp/modules/$A/r.md --
R
-- a/x --
-- PINS --
https://example.org/o/rules.git@v1 tag $A
`, "a/x", nil, `
included L0/50 .mwp/config.toml
included L1/50 a/.mwp-context.md
expanded L3/49 .mwp/modules/$A/.mwp-module.md
included L3/48 .mwp/modules/$A/r.md
unresolved - https://***@example.org/o/gone.git@v1
module rules .mwp/modules/$A/.mwp-module.md from https://example.org/o/rules.git@v1
missing https://me:secret@example.org/o/gone.git@v1
error unresolved_import a/.mwp-context.md:4:5
`},
		{"without a lock file", `
-- .mwp/config.toml --
description = "d"
-- a/.mwp-context.md --
---
imports:
  - git: https://example.org/o/new.git@v1
---
A
-- a/x --
`, "a/x", nil, `
included L0/50 .mwp/config.toml
included L1/50 a/.mwp-context.md
unresolved - https://example.org/o/new.git@v1
missing https://example.org/o/new.git@v1
error unresolved_import a/.mwp-context.md:3:5
`},
		{"D-04: without an anchor there is no place for modules", `
-- .git/HEAD --
-- .mwp-context.md --
---
imports:
  - git: https://example.org/o/new.git@v1
---
A
-- x --
`, "x", func(m *nodes.Map) { m.Explicit = true }, `
included L0/50 .mwp-context.md
unresolved - https://example.org/o/new.git@v1
error unresolved_import .mwp-context.md:3:5
`},
		{"D-34: mistakes in the lock file refuse a map that needs it", `
-- .mwp/config.toml --
description = "d"
-- .mwp/modules.lock --
mwp-modules 1
https://example.org/o/rules.git@v1 tag $A blake3:0
<<<<<<< ours
-- a/.mwp-context.md --
---
imports:
  - git: https://example.org/o/rules.git@v1
---
A
-- a/x --
`, "a/x", nil, `
refused: error lock_invalid .mwp/modules.lock:2:81
refused: error lock_invalid .mwp/modules.lock:3:1
`},
		{"D-34: and leave one alone that does not", `
-- .mwp/config.toml --
description = "d"
-- .mwp/modules.lock --
no lock file
-- a/.mwp-context.md --
---
imports:
  - local: one.md
---
A
-- a/one.md --
1
-- a/x --
`, "a/x", nil, `
included L0/50 .mwp/config.toml
included L1/50 a/.mwp-context.md
included L1/49 a/one.md
`},
		{"[modules] allow: by whole parts of the URL", `
-- .mwp/config.toml --
description = "d"
[modules]
allow = ["https://example.org/team", "git@example.org:"]
-- a/.mwp-context.md --
---
imports:
  - git: https://example.org/team/rules.git@v1
  - git: https://example.org/team-evil/rules.git@v1
  - git: https://example.org/team.git@v1
  - git: https://example.org.evil/team/rules.git@v1
  - git: git@example.org:o/r.git@v1
  - workspace: gone
    git: https://elsewhere.org/r.git@v1
---
A
-- .mwp/modules/$A/.mwp-module.md --
---
name: rules
imports:
  - local: r.md
  - git: https://elsewhere.org/dependency.git@v1
---
-- .mwp/modules/$A/r.md --
R
-- a/x --
-- PINS --
https://example.org/team/rules.git@v1 tag $A
`, "a/x", nil, `
included L0/50 .mwp/config.toml
included L1/50 a/.mwp-context.md
expanded L3/49 .mwp/modules/$A/.mwp-module.md
included L3/48 .mwp/modules/$A/r.md
unresolved - git@example.org:o/r.git@v1
error - gone
error - https://example.org/team-evil/rules.git@v1
unresolved - https://example.org/team.git@v1
error - https://example.org.evil/team/rules.git@v1
error - https://elsewhere.org/dependency.git@v1
module rules .mwp/modules/$A/.mwp-module.md from https://example.org/team/rules.git@v1
missing https://example.org/team.git@v1
missing git@example.org:o/r.git@v1
error import_kind_invalid .mwp/modules/$A/.mwp-module.md:5:5
error import_kind_invalid a/.mwp-context.md:4:5
error unresolved_import a/.mwp-context.md:5:5
error import_kind_invalid a/.mwp-context.md:6:5
error unresolved_import a/.mwp-context.md:7:5
error import_kind_invalid a/.mwp-context.md:8:5
`},
		{"[modules] allow = []: none at all", strings.Replace(manifest, "description = \"d\"\n", "description = \"d\"\n[modules]\nallow = []\n", 1) + `
-- PINS --
https://example.org/o/rules.git@v1.0.0 tag $A
`, "a/x", nil, `
included L0/50 .mwp/config.toml
included L1/50 a/.mwp-context.md
error - https://example.org/o/rules.git@v1.0.0
error import_kind_invalid a/.mwp-context.md:3:5
`},
		{"D-32: where the workspace path is not there, its git fallback is", `
-- .mwp/config.toml --
description = "d"
-- a/.mwp-context.md --
---
imports:
  - workspace: shared/rules
    git: https://example.org/o/rules.git@v1
  - workspace: shared/more
    git: https://example.org/o/more.git@v1
  - workspace: shared/some
    git: https://example.org/o/some.git@main
---
A
-- .mwp/modules/$A/.mwp-module.md --
---
name: rules
imports:
  - local: r.md
---
-- .mwp/modules/$A/r.md --
R
-- .mwp/modules/$B/.mwp-module.md --
---
name: some
imports: []
---
-- a/x --
-- PINS --
https://example.org/o/rules.git@v1 tag $A
https://example.org/o/some.git@main branch $B
`, "a/x", allowFloating, `
included L0/50 .mwp/config.toml
included L1/50 a/.mwp-context.md
expanded L3/49 .mwp/modules/$A/.mwp-module.md
expanded L3/49 .mwp/modules/$B/.mwp-module.md
included L3/48 .mwp/modules/$A/r.md
unresolved - shared/more
module rules .mwp/modules/$A/.mwp-module.md from https://example.org/o/rules.git@v1
module some .mwp/modules/$B/.mwp-module.md from https://example.org/o/some.git@main
missing https://example.org/o/more.git@v1
error unresolved_import a/.mwp-context.md:5:5
warning floating_ref a/.mwp-context.md:7:5
`},
		{"D-26: a cycle through local, workspace and git", `
-- .mwp/config.toml --
description = "d"
-- a/.mwp-context.md --
---
imports:
  - git: https://example.org/o/app.git@v1
---
A
-- .mwp/modules/$A/.mwp --
name = "app"
-- .mwp/modules/$A/.mwp-context.md --
---
imports:
  - local: one.md
---
M
-- .mwp/modules/$A/one.md --
---
imports:
  - workspace: two/r.md
---
1
-- .mwp/modules/$A/two/r.md --
---
imports:
  - git: https://example.org/o/app.git@v1
---
2
-- a/x --
-- PINS --
https://example.org/o/app.git@v1 tag $A
`, "a/x", nil, `
refused: error import_cycle .mwp/modules/$A/.mwp-context.md:3
`},
		{"D-26: two modules that depend on each other", `
-- .mwp/config.toml --
description = "d"
-- a/.mwp-context.md --
---
imports:
  - git: https://example.org/o/two.git@v1
---
A
-- .mwp/modules/$A/.mwp-module.md --
---
name: one
imports:
  - git: https://example.org/o/two.git@v1
---
-- .mwp/modules/$B/.mwp-module.md --
---
name: two
imports:
  - git: https://example.org/o/one.git@v1
---
-- a/x --
-- PINS --
https://example.org/o/one.git@v1 tag $A
https://example.org/o/two.git@v1 tag $B
`, "a/x", nil, `
refused: error import_cycle .mwp/modules/$A/.mwp-module.md:4
`},
		{"D-11: in an orientation map", `
-- .mwp/config.toml --
description = "d"
-- .mwp-context.md --
---
imports:
  - git: https://example.org/o/rules.git@v1
---
ROOT
-- .mwp/modules/$A/.mwp-module.md --
---
name: rules
layer: 0
imports:
  - local: r.md
  - local: s.md
pipelines:
  - local: ship.md
---
-- .mwp/modules/$A/r.md --
R
-- .mwp/modules/$A/s.md --
---
layer: 3
---
S
-- .mwp/modules/$A/ship.md --
-- PINS --
https://example.org/o/rules.git@v1 tag $A
`, "", nil, `
included L0/50 .mwp/config.toml
included L0/50 .mwp-context.md
expanded L0/49 .mwp/modules/$A/.mwp-module.md
included L0/48 .mwp/modules/$A/r.md
excluded_by_kind L3/48 .mwp/modules/$A/s.md
module rules .mwp/modules/$A/.mwp-module.md from https://example.org/o/rules.git@v1
pipeline .mwp/modules/$A/ship.md (rules)
`},
	})
}

const floatingTree = `
-- .mwp/config.toml --
description = "d"
-- a/.mwp-context.md --
---
imports:
  - git: https://example.org/o/rules.git@main
  - git: https://example.org/o/bare.git
  - git: https://example.org/o/new.git
---
A
-- .mwp/modules/$A/.mwp-module.md --
---
name: rules
imports:
  - local: r.md
---
-- .mwp/modules/$A/r.md --
R
-- .mwp/modules/$B/.mwp --
name = "bare"
-- .mwp/modules/$B/.mwp-context.md --
B
-- a/x --
-- PINS --
https://example.org/o/rules.git@main branch $A
https://example.org/o/bare.git branch $B
`

// TestModifiedModules is D-53: what is not what was pinned refuses the map, and a
// file that was never fetched cannot be imported.
func TestModifiedModules(t *testing.T) {
	const archive = `
-- .mwp/config.toml --
description = "d"
-- a/.mwp-context.md --
---
imports:
  - git: https://example.org/o/rules.git@v1
---
A
-- .mwp/modules/$A/.mwp-module.md --
---
name: rules
imports:
  - local: r.md
  - local: extra.md
  - local: sub
pipelines:
  - local: ship.md
---
-- .mwp/modules/$A/r.md --
R
-- .mwp/modules/$A/ship.md --
-- .mwp/modules/$A/unused.md --
U
-- a/x --
-- PINS --
https://example.org/o/rules.git@v1 tag $A
`
	const fine = `included L0/50 .mwp/config.toml
included L1/50 a/.mwp-context.md
expanded L3/49 .mwp/modules/$A/.mwp-module.md
included L3/48 .mwp/modules/$A/r.md
unresolved - .mwp/modules/$A/extra.md
unresolved - .mwp/modules/$A/sub
module rules .mwp/modules/$A/.mwp-module.md from https://example.org/o/rules.git@v1
pipeline .mwp/modules/$A/ship.md (rules)
error unresolved_import .mwp/modules/$A/.mwp-module.md:5:5
error unresolved_import .mwp/modules/$A/.mwp-module.md:6:5
`
	a := ".mwp/modules/" + commits["$A"]
	write := func(name, text string) func(*testing.T, string) {
		return func(t *testing.T, root string) {
			must(t, os.MkdirAll(filepath.Dir(filepath.Join(root, name)), 0o755))
			must(t, os.WriteFile(filepath.Join(root, name), []byte(text), 0o644))
		}
	}
	replace := func(name string, with func(string) error) func(*testing.T, string) {
		return func(t *testing.T, root string) {
			must(t, os.RemoveAll(filepath.Join(root, name)))
			must(t, with(filepath.Join(root, name)))
		}
	}
	for _, c := range []struct {
		name string
		edit func(*testing.T, string)
		want string
	}{
		{"untouched", func(*testing.T, string) {}, fine},
		{"a file more, which the list does not have", write(a+"/extra.md", "X"), fine},
		{"a directory more", write(a+"/sub/.mwp-module.md", "---\nname: s\n---\n"), fine},
		{"a file that is not imported was changed", write(a+"/unused.md", "V"), fine},
		{"a pipeline was changed, which is never opened", write(a+"/ship.md", "V"), fine},
		{"a file was changed", write(a+"/r.md", "S"), "refused: error module_modified .mwp/modules/$A/r.md\n"},
		{"the manifest was changed", write(a+"/.mwp-module.md", "---\nname: evil\n---\n"), "refused: error module_modified .mwp/modules/$A/.mwp-module.md\n"},
		{"a file is gone", replace(a+"/r.md", func(string) error { return nil }), "refused: error module_modified .mwp/modules/$A/r.md\n"},
		{"a link in its place", replace(a+"/r.md", func(p string) error { return os.Symlink("../../../a/x", p) }), "refused: error module_modified .mwp/modules/$A/r.md\n"},
		{"a link to equal text", replace(a+"/r.md", func(p string) error {
			if err := os.WriteFile(filepath.Join(filepath.Dir(p), "twin.md"), []byte("R\n"), 0o644); err != nil {
				return err
			}
			return os.Symlink("twin.md", p)
		}), "refused: error module_modified .mwp/modules/$A/r.md\n"},
		{"a directory in its place", replace(a+"/r.md", func(p string) error { return os.Mkdir(p, 0o755) }), "refused: error module_modified .mwp/modules/$A/r.md\n"},
		{"a file that is too large in its place", replace(a+"/r.md", func(p string) error { return os.WriteFile(p, make([]byte, 1<<20+1), 0o644) }), "refused: error limit_exceeded .mwp/modules/$A/r.md\n"},
		{"another list", write(a+".b3sums", strings.Repeat("0", 64)+"  r.md\n"), "refused: error module_modified .mwp/modules/$A.b3sums\n"},
		{"a list that is none", write(a+".b3sums", "r.md\n"), "refused: error module_modified .mwp/modules/$A.b3sums:1\n"},
		{"a list with a way out", write(a+".b3sums", strings.Repeat("0", 64)+"  ../../r.md\n"), "refused: error module_modified .mwp/modules/$A.b3sums:1\n"},
		{"an empty list", write(a+".b3sums", ""), "refused: error module_modified .mwp/modules/$A.b3sums\n"},
		{"a directory for a list", replace(a+".b3sums", func(p string) error { return os.Mkdir(p, 0o755) }), "refused: error module_modified .mwp/modules/$A.b3sums\n"},
		{"no list: a fetch that was interrupted", replace(a+".b3sums", func(string) error { return nil }), `included L0/50 .mwp/config.toml
included L1/50 a/.mwp-context.md
unresolved - https://example.org/o/rules.git@v1
missing https://example.org/o/rules.git@v1
error unresolved_import a/.mwp-context.md:3:5
`},
		{"a directory for a lock file", replace(".mwp/modules.lock", func(p string) error { return os.Mkdir(p, 0o755) }), "refused: error lock_invalid .mwp/modules.lock\n"},
		{"a link for a lock file", replace(".mwp/modules.lock", func(p string) error { return os.Symlink("config.toml", p) }), "refused: error lock_invalid .mwp/modules.lock\n"},
		{"an empty lock file", write(".mwp/modules.lock", ""), "refused: error lock_invalid .mwp/modules.lock:1:1\n"},
		{"a lock file of the future", write(".mwp/modules.lock", "mwp-modules 2\n"), "refused: error lock_invalid .mwp/modules.lock:1:13\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			root := tree(t, archive)
			c.edit(t, root)
			v := evaluate(t, root, mapNode("a/x"))
			if got := outline(v); got != c.want {
				t.Errorf("got\n%s\nwant\n%s\n%s", got, c.want, messages(v))
			}
			conserved(t, v)
		})
	}
}

// TestOrigin is D-59 and R-083: text from a module says which one, and the way it
// came.
func TestOrigin(t *testing.T) {
	root := tree(t, `
-- .mwp/config.toml --
description = "d"
-- a/.mwp-context.md --
---
imports:
  - git: https://me:secret@example.org/o/mono.git//rules@v1
  - local: mod
  - local: own.md
---
A
-- .mwp/modules/$A/rules/.mwp-module.md --
---
name: rules
version: 2.10
description: "Rules."
imports:
  - local: deep/r.md
---
-- .mwp/modules/$A/rules/deep/r.md --
R
-- a/mod/.mwp-module.md --
---
name: mod
version: "1.0"
imports:
  - local: deep/r.md
---
-- a/mod/deep/r.md --
R
-- a/own.md --
O
-- a/x --
-- PINS --
https://example.org/o/mono.git//rules@v1 tag $A
`)
	v := evaluate(t, root, mapNode("a/x"))
	sha := commits["$A"]
	for source, want := range map[string]struct {
		origin *ir.Origin
		chain  string
	}{
		".mwp/modules/" + sha + "/rules/deep/r.md": {
			&ir.Origin{Module: "rules", Version: "2.10", URL: "https://example.org/o/mono.git//rules", Ref: "v1", SHA: sha, Path: "deep/r.md"},
			"a/.mwp-context.md .mwp/modules/" + sha + "/rules/.mwp-module.md",
		},
		"a/mod/deep/r.md":   {&ir.Origin{Module: "mod", Version: "1.0", Path: "deep/r.md"}, "a/.mwp-context.md a/mod/.mwp-module.md"},
		"a/own.md":          {nil, "a/.mwp-context.md"},
		"a/.mwp-context.md": {nil, ""},
	} {
		found := false
		for _, e := range v.IR.Layers.All() {
			if e.Source != source {
				continue
			}
			found = true
			if got := fmt.Sprintf("%+v %s", e.Origin, strings.Join(e.ImportsChain, " ")); got != fmt.Sprintf("%+v %s", want.origin, want.chain) {
				t.Errorf("%s has origin and chain %s, want %+v %s", source, got, want.origin, want.chain)
			}
		}
		if !found {
			t.Errorf("%s is not in the map:\n%s", source, outline(v))
		}
	}
	if m := v.IR.Modules; len(m) != 2 || m[0].Description != "Rules." || m[0].SHA != sha || m[1].SHA != "" {
		t.Errorf("modules are %+v", m)
	}
	if s := fmt.Sprintf("%+v", v); strings.Contains(s, "secret") {
		t.Errorf("the password is in the map: %s", s)
	}
	if _, err := pin.ParseRef(v.IR.Modules[0].URL); err != nil {
		t.Errorf("the module's URL cannot be imported: %v", err)
	}
}

// TestImportMessages: what a finding says beside its code. The text as written is in
// it, passwords are not.
func TestImportMessages(t *testing.T) {
	root := tree(t, `
-- .mwp/config.toml --
description = "d"
-- a/.mwp-context.md --
---
imports:
  - local: ./s.md#Two
  - local: s.md#one
  - workspace: m
  - workspace: gone.md
    git: https://me:secret@example.org/gone.git@v1
  - git: https://example.org/rules.git@v1
  - git: https://example.org/rules.git@v2
  - local: mod
---
A
-- a/s.md --
# One
# Two
# Two
-- m -> .mwp/cache --
-- .mwp/cache/.mwp-context.md --
-- a/mod/.mwp-module.md --
---
name: mod
pipelines:
  - local: gone.md
---
-- .mwp/modules/$A/.mwp-module.md --
---
name: rules
---
-- .mwp/modules/$B/.mwp-module.md --
---
name: rules
---
-- a/x --
-- PINS --
https://example.org/rules.git@v1 tag $A
https://example.org/rules.git@v2 tag $B
`)
	got := messages(evaluate(t, root, mapNode("a/x")))
	for _, want := range []string{
		`a/.mwp-context.md:3:5: local: ./s.md#Two does not resolve: expected one heading "Two", found 2` + "\n" + `hint: give each of these headings a text of its own`,
		`local: s.md#one does not resolve: expected one heading "one", found "One", "Two"` + "\n" + `hint: did you mean "One"?`,
		`workspace: m does not resolve: .mwp/cache lies among generated files; a module is imported with git:`,
		`workspace: gone.md does not resolve: there is no gone.md; and in its place git: https://***@example.org/gone.git@v1 is not in this map: no commit is pinned for it`,
		"hint: run `mwp import 'https://***@example.org/gone.git@v1'`",
		`the map draws on two versions of https://example.org/rules.git: v1 (` + commits["$A"][:12] + `) and v2 (` + commits["$B"][:12] + `)`,
		`a/mod/.mwp-module.md:4:5: pipelines: gone.md does not resolve: there is no a/mod/gone.md`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("the findings lack %q:\n%s", want, got)
		}
	}
	if strings.Contains(got, "secret") {
		t.Errorf("a password is shown:\n%s", got)
	}
}
