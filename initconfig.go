package mwp

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/model-workspace-protocol/mwp/nodes"
	"github.com/model-workspace-protocol/mwp/nodes/ir"
)

const (
	intentsKeep = `# Intents: one Markdown file for each task that is under way, written before the
# work begins. The file's name says what the task is, for example
# add-orders-view.md. Every map lists the names and opens none of the files.
`
	pipelinesKeep = `# Pipelines: work that is done again and again, for example release-checklist.md,
# usually an intent that proved worth repeating. Every map lists the names and
# opens none of the files.
`
)

// config returns the text of a new configuration.
func (s *scaffold) config() string {
	var b strings.Builder
	b.WriteString("# What mwp knows about this project. Keys that start with # show the defaults or\n# an example; ")
	b.WriteString("`mwp config` prints what is in effect and where it comes from.\n\n")
	b.WriteString("name = " + quoteTOML(projectName(s.dir)) + "\n")
	b.WriteString(`
# One sentence, shown at the top of every map.
# description = ""

# Directories of a monorepo that are projects of their own. Globs are allowed, and
# "!" excludes: members = ["packages/*", "!packages/old"]
# members = []

# The most tokens that a layer of a map may hold, or "none". Too much is reported,
# never cut; policy says what else happens: report, drop or error.
# [budgets]
# l0 = 800
# l1 = 300
# l2 = 500
# l3 = 2000
# policy = "report"

# What the project's parts are for. It is shown at the top of every map.
# [directories]
# "backend" = { role = "HTTP service", stack = ["go"], shared = false }

# How many levels above a target's directory a map reaches; 0 is all of them.
# [render]
# window = 0

# What counts as a token; the budgets are in its unit.
# [tokens]
# counter = "o200k_base"

# Commands that guards may run besides the built-in ones.
# [trust]
# allowed_guards = []

# Where modules may be fetched from, as beginnings of URLs; without the key, anywhere.
# [modules]
# allow = ["https://github.com/your-organisation/"]

# Whether a map names the tests beside its target, found by their names.
# [signals]
# tests = true

# How large the cache of computed maps may grow.
# [cache]
# max_size = "256MiB"
`)
	if s.r.InstructionFile != "" && !s.o.Member {
		rel, err := filepath.Rel(s.dir, s.r.InstructionFile)
		if err != nil {
			rel = s.r.InstructionFile
		}
		b.WriteString("\n[boundary]\n# Soft, because of files like " + ir.EscapeControls(filepath.ToSlash(rel)) +
			": maps reach into directories of other tools; remove the next line to close them.\nmode = \"soft\"\n")
	} else {
		b.WriteString("\n# How maps treat directories with an instruction file of another tool and no .mwp:\n" +
			"# opaque (no map inside), soft (a member without configuration), transparent.\n# [boundary]\n# mode = \"opaque\"\n")
	}
	return b.String()
}

func projectName(dir string) string {
	// A configuration's name has no characters that cannot be seen.
	return ir.EscapeControls(strings.ToValidUTF8(filepath.Base(dir), "\uFFFD"))
}

// stub is an example context file: valid as it is, and short, because it is in
// every map from the start. imports is the part of the header that has them.
func stub(name, imports string) string {
	name = strings.TrimSpace(ir.EscapeControls(strings.ToValidUTF8(name, "\uFFFD")))
	return `---
# layer: 1          # 0 identity, 1 module, 2 stage, 3 reference, 4 artefact; by depth when left out
# scope: recursive  # or local: for targets directly in this directory only
# owners: []        # who to ask
` + imports + `---
# ` + name + `

` + nodes.ExampleText + "\n"
}

// quoteTOML returns s as a basic string.
func quoteTOML(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r < 0x20 || r == 0x7f:
			fmt.Fprintf(&b, "\\u%04X", r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}
