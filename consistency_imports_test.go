package mwp_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/model-workspace-protocol/mwp/cas"
	"github.com/model-workspace-protocol/mwp/nodes"
	"github.com/model-workspace-protocol/mwp/nodes/pin"
)

// importables are files that imports lead to.
var importables = []string{
	"rules.md", "docs/style.md", "docs/a.md", "docs/b.md", "pkg/rules.md", "pkg/app/rules.md", "pkg/lib/notes.txt", "pkg/lib/.mwp-context.md", "svc/api/data.json",
}

// manifestDirs are modules in the tree. A scan leaves two of them out, and an
// import reaches all.
var manifestDirs = []string{"mods/m", "mods/n", "node_modules/m", "vendor/m", "pkg/lib"}

var (
	goodImports = []string{
		"local: ./rules.md", "local: ./lib", "local: rules.md#Tone", "local: rules.md#Style", "local: ./lib/notes.txt", "local: ./src/link",
		"workspace: rules.md", "workspace: docs/style.md", "workspace: docs/style.md#Tone", "workspace: docs/style.md#Style", "workspace: docs/style.md#Tone",
		"workspace: docs/a.md", "workspace: docs/linked.md", "workspace: docs/linked.md", "workspace: docs/linked.md#Tone", "workspace: docs/linkdir/style.md", "workspace: docs", "workspace: svc/api/data.json",
		"workspace: mods/m", "workspace: mods/m", "workspace: mods/m/part.md", "workspace: mods/m/part.md#Tone", "workspace: node_modules/m", "workspace: vendor/m", "workspace: pkg/lib", "workspace: svc", "workspace: ./docs/../rules.md",
		"workspace: mods/n\n    git: https://example.com/p/kit.git@v1",
	}
	oddImports = []string{
		"local: ../rules.md", "local: /etc/rules.md", "local: ./gone.md", "local: ''", "local: ./rules.md#", "local: https://example.com/x", "workspace: ../outside.md",
		"workspace: docs/gone.md#Tone", "workspace: docs/style.md#Gone", "workspace: .mwp/modules/x.md", "workspace: pkg", "workspace: docs/loop.md",
		"git: https://example.com/q/refused.git@v1", "git: https://example.com/o/rules.git", "git: https://u:secret@example.com/o/rules.git@v1", "git: not a url", "lokal: ./rules.md",
	}
	sectionBodies = []string{
		"# Tone\n\nCalm.\n\n# Style\n\nShort.\n", "# Tone\n\nLoud.\n\n# Style\n\nShort.\n", "# Tone\n\nCalm.\n\n## Style\n\nLong words.\n", "# Tone\n\nCalm.\n\n# Manner\n\nShort.\n",
		"Before.\n\n# Tone\n\nCalm. <!-- aside -->\n\n# Style\n", "# Tone\n\nQuiet. <!-- aside -->\n", "# Style\n\nShort.\n", "# Tone\n\n# Tone\n\n# Style\n", "# Style\n\nShort.\n\n# Tone\n\nCalm.\n",
	}
)

// gitModule is a module in the store below the state directory.
type gitModule struct{ commit, dir string }

var gitModules = []gitModule{{commitOf('1'), ""}, {commitOf('2'), ""}, {commitOf('1'), "sub"}, {commitOf('3'), ""}}

func commitOf(digit rune) string { return strings.Repeat(string(digit), 40) }

func (m gitModule) file(name string) string {
	files, _ := pin.Store(m.commit, m.dir)
	return ".mwp/modules/" + files + "/" + name
}

func (m gitModule) list() string {
	_, list := pin.Store(m.commit, m.dir)
	return ".mwp/modules/" + list
}

// gitRefs are references with the modules that they may be pinned to.
var gitRefs = []struct {
	key, kind string
	modules   []gitModule
}{
	{"https://example.com/o/rules.git@v1", pin.Tag, []gitModule{gitModules[0], gitModules[1]}},
	{"https://example.com/o/rules.git@v2", pin.Tag, []gitModule{gitModules[1], gitModules[3]}},
	{"https://example.com/o/rules.git//sub@v1", pin.Tag, []gitModule{gitModules[2]}},
	{"https://example.com/o/rules.git@main", pin.Branch, []gitModule{gitModules[1], gitModules[0]}},
	{"https://example.com/o/rules.git@" + commitOf('2'), pin.Commit, []gitModule{gitModules[1]}},
	{"https://example.com/p/kit.git@v1", pin.Tag, []gitModule{gitModules[3], gitModules[0]}},
}

// moduleVariants are what a module may consist of.
var moduleVariants = [][][2]string{
	{
		{nodes.ManifestName, "---\nname: one\nversion: 1.0\nimports:\n  - local: ./part.md\n  - local: deep\npipelines:\n  - local: ./flow.md\n---\nOne.\n"},
		{"part.md", "---\nlayer: 2\n---\n# Tone\n\nA part. <!-- aside -->\n"}, {"flow.md", "Flow.\n"}, {"deep/" + nodes.ManifestName, "---\nname: deep\n---\nDeep.\n"},
	},
	{
		{nodes.ManifestName, "---\nname: two\nversion: 2.10\nlayer: 1\nimports:\n  - local: ./part.md#Tone\n  - local: ./gone.md\n  - workspace: part.md\npipelines:\n  - local: part.md\n---\n"},
		{"part.md", "# Tone\n\nAnother part.\n\n# Style\n"},
	},
	{
		{".mwp", "name = \"three\"\ndescription = \"an anchored module\"\n"},
		{".mwp-context.md", "---\nimports:\n  - workspace: part.md\n  - local: ./rules\n---\nThree.\n"}, {"part.md", "Part of three.\n"}, {"rules/.mwp-context.md", "Rules of three.\n"},
	},
	{{"part.md", "No module.\n"}},
	{
		{nodes.ManifestName, "---\nname: five\nimports:\n  - git: https://example.com/p/kit.git@v1\n  - local: part.md\n---\nFive.\n"},
		{"part.md", "---\nimports:\n  - local: other.md\n---\nPart of five.\n"}, {"other.md", "Other.\n"},
	},
	{{".mwp/config.toml", "name = \"six\"\n"}, {".mwp-context.yaml", "schema: 1\ndescription: Six.\nimports:\n  - local: part.md\n"}, {"part.md", "Part of six.\n"}},
}

// sumsOf returns the text of a variant's list.
func sumsOf(variant int) []byte {
	var sums []pin.Sum
	for _, f := range moduleVariants[variant] {
		sums = append(sums, pin.Sum{Digest: cas.Sum([]byte(f[1])).String(), Path: f[0]})
	}
	return pin.AppendSums(nil, sums)
}

// anImport returns an entry of imports, one in twelve of them odd.
func (e *editor) anImport() string {
	switch n := e.rng.IntN(12); {
	case n == 0:
		return pick(e, oddImports)
	case n < 5:
		return "git: " + pick(e, gitRefs).key
	}
	return pick(e, goodImports)
}

// importing returns a header with imports.
func (e *editor) importing() string {
	b := "---\n" + pick(e, []string{"", "", "", "layer: 3\n", "priority: 80\nowners: [a]\n", "max_tokens: 3\n", "scope: local\n"})
	b += e.guardKeys() + "imports:\n"
	for range 1 + e.rng.IntN(4) {
		b += "  - " + e.anImport() + "\n"
	}
	return b + "---\n"
}

// importedText returns content for a file that is imported.
func (e *editor) importedText(path string) string {
	if strings.HasSuffix(path, ".json") {
		return pick(e, []string{"{}\n", "{\"a\": 1}\n"})
	}
	header := pick(e, []string{"", "", "---\nlayer: 1\n---\n", "---\npriority: 20\nscope: local\n---\n", "---\nmax_tokens: 2\nowners: [b]\n---\n"})
	// Mostly from a.md to b.md: imports all ways would be one great cycle.
	switch e.rng.IntN(6) {
	case 0:
		header = "---\nimports:\n  - local: ./b.md\n---\n"
	case 1:
		header = "---\nimports:\n  - workspace: mods/m\n  - git: " + pick(e, gitRefs).key + "\n---\n"
	case 2:
		if e.rng.IntN(3) == 0 {
			header = e.importing()
		}
	}
	if e.rng.IntN(3) == 0 {
		return header + pick(e, bodies)
	}
	return header + pick(e, sectionBodies)
}

func (e *editor) manifestText() string {
	b := "---\n" + pick(e, []string{"name: m\nversion: 1.0\n", "name: m\nversion: 1.1\ndescription: words\n", "name: other\nlayer: 1\n", "version: 3\n"})
	if e.rng.IntN(3) > 0 {
		b += "imports:\n  - local: ./part.md\n" + pick(e, []string{"", "  - local: part.md#Tone\n", "  - local: sub\n", "  - workspace: rules.md\n", "  - git: " + pick(e, gitRefs).key + "\n", "  - local: .\n"})
	}
	if e.rng.IntN(3) == 0 {
		b += "pipelines:\n  - local: " + pick(e, []string{"flow.md", "part.md", "part.md", "part.md", "gone.md"}) + "\n"
	}
	return b + "---\n" + pick(e, bodies)
}

// parts returns a file's header, with its fences, and its body.
func (e *editor) parts(path string) (header, body string) {
	b, _ := os.ReadFile(filepath.Join(e.places[0], path))
	text, ok := strings.CutPrefix(string(b), "---\n")
	inner, rest, closed := strings.Cut(text, "---\n")
	if !ok || !closed {
		return "", string(b)
	}
	return "---\n" + inner + "---\n", rest
}

// editContext changes the imports of a context file that many questions rest on.
func (e *editor) editContext() string {
	path := pick(e, []string{"pkg", "pkg/app", "svc"}) + "/.mwp-context.md"
	_, body := e.parts(path)
	if e.rng.IntN(2) == 0 {
		body = pick(e, bodies)
	}
	text := e.importing() + body
	e.replace(path, text)
	return fmt.Sprintf("write %s %q", path, text)
}

// editImported changes a file that is imported; half of the time its body alone,
// because a changed header hides what a changed heading does.
func (e *editor) editImported() string {
	path := pick(e, append([]string{"rules.md", "docs/style.md", "docs/style.md", "pkg/rules.md"}, importables...))
	if e.rng.IntN(8) == 0 {
		e.delete(path)
		return "remove " + path
	}
	text := e.importedText(path)
	if header, _ := e.parts(path); e.rng.IntN(2) == 0 {
		text = header + pick(e, sectionBodies)
	}
	e.replace(path, text)
	return fmt.Sprintf("write %s %q", path, text)
}

func (e *editor) editManifest() string {
	dir := pick(e, manifestDirs[:4])
	path := filepath.Join(dir, pick(e, []string{nodes.ManifestName, nodes.ManifestName, "part.md", "part.md", "flow.md", "sub/" + nodes.ManifestName}))
	if e.rng.IntN(5) == 0 {
		e.delete(path)
		return "remove " + path
	}
	text := pick(e, sectionBodies)
	if filepath.Base(path) == nodes.ManifestName {
		text = e.manifestText()
	}
	e.replace(path, text)
	return fmt.Sprintf("write %s %q", path, text)
}

// editIndex lets a file that a directory stands for appear beside others, or go.
func (e *editor) editIndex() string {
	dir := pick(e, []string{"pkg/lib", "pkg/lib", "docs", "svc", "mods/m", "mods/n", "vendor/m"})
	name := pick(e, []string{nodes.ManifestName, nodes.ManifestName, ".mwp-context.md", ".mwp-context.md", ".mwp"})
	text := pick(e, bodies)
	switch name {
	case nodes.ManifestName:
		text = e.manifestText()
	case ".mwp":
		text = pick(e, soundConfigs)
	}
	e.toggle(filepath.Join(dir, name), text)
	return "toggle " + filepath.Join(dir, name)
}

// linkImported makes a link of a file that imports lead to, or of a directory on
// the way.
func (e *editor) linkImported() string {
	l := pick(e, [][2]string{
		{"style.md", "docs/linked.md"}, {"a.md", "docs/linked.md"}, {"../pkg/rules.md", "docs/linked.md"}, {"style.md", "docs/linked.md"}, {"../rules.md", "docs/linked.md"}, {"linked.md", "docs/loop.md"}, {"loop.md", "docs/loop.md"},
		{".", "docs/linkdir"}, {"../pkg/lib", "docs/linkdir"}, {"../../../rules.md", "pkg/app/src/link"}, {"../rules.md", "pkg/app/src/link"}, {"../../../../../outside", "docs/linked.md"},
		{"../lib", "pkg/lib/part.md"}, {"../docs/style.md", "pkg/rules.md"}, {"../m/part.md", "mods/n/part.md"},
	})
	e.symlink(l[0], l[1])
	return fmt.Sprintf("link %s to %s", l[1], l[0])
}

// treeOf returns the digest of the list of the variant of a module that was
// fetched last.
func (e *editor) treeOf(m gitModule) string { return cas.Sum(sumsOf(e.fetched[m])).String() }

func (e *editor) writeLock() { e.replace(".mwp/modules.lock", string(pin.AppendLock(nil, e.lock))) }

// pinAll writes a sound lock file.
func (e *editor) pinAll() {
	e.lock = pin.Lock{}
	for _, ref := range gitRefs {
		m := pick(e, ref.modules)
		e.lock.Set(pin.Record{Key: ref.key, Kind: ref.kind, Commit: m.commit, Tree: e.treeOf(m)})
	}
	e.writeLock()
}

// editLock changes one record, or the file.
func (e *editor) editLock() string {
	ref := pick(e, gitRefs)
	m := pick(e, ref.modules)
	rec := pin.Record{Key: ref.key, Kind: ref.kind, Commit: m.commit, Tree: e.treeOf(m)}
	text := string(pin.AppendLock(nil, e.lock))
	switch n := e.rng.IntN(14); {
	case n < 5:
		e.lock.Set(rec)
	case n < 7:
		e.lock.Remove(ref.key)
	case n < 8:
		e.pinAll()
	case n < 9:
		rec.Tree = cas.Sum([]byte("another")).String()
		e.lock.Set(rec)
	case n < 10 && ref.kind != pin.Commit:
		rec.Kind = pick(e, []string{pin.Tag, pin.Branch})
		e.lock.Set(rec)
	case n < 11:
		e.replace(".mwp/modules.lock", text+"# A comment.\n")
		return "comment in the lock file"
	case n < 12:
		e.replace(".mwp/modules.lock", text+pick(e, []string{"broken line\n", "<<<<<<< ours\n", ref.key + " tag 123 blake3:0\n"}))
		return "break the lock file"
	case n < 13:
		e.replace(".mwp/modules.lock", strings.Replace(text, "modules 1\n", "modules 2\n", 1))
		return "another format of the lock file"
	default:
		e.delete(".mwp/modules.lock")
		return "remove the lock file"
	}
	e.writeLock()
	return "pin " + ref.key
}

// fetch puts a variant of a module into the store, the list last.
func (e *editor) fetch(m gitModule, variant int) {
	// A file can stand where a directory was.
	e.each(func(root string) error { os.RemoveAll(filepath.Join(root, m.list())); return nil })
	e.delete(m.file("."))
	for _, f := range moduleVariants[variant] {
		e.write(m.file(f[0]), f[1])
	}
	e.write(m.list(), string(sumsOf(variant)))
	e.fetched[m] = variant
}

// repin brings the records of a module up to date, as mwp import does.
func (e *editor) repin(m gitModule) {
	for _, r := range slices.Clone(e.lock.Records) {
		if ref, err := pin.ParseRef(r.Key); err == nil && r.Commit == m.commit && ref.Dir == m.dir {
			r.Tree = e.treeOf(m)
			e.lock.Set(r)
		}
	}
	e.writeLock()
}

// editModule fetches another variant, or changes what was fetched.
func (e *editor) editModule() string {
	m := pick(e, gitModules)
	variant := e.fetched[m]
	file := m.file(pick(e, moduleVariants[variant])[0])
	victim := pick(e, []string{file, m.list()})
	list := string(sumsOf(variant))
	switch n := e.rng.IntN(16); {
	case n < 5:
		e.fetch(m, e.rng.IntN(len(moduleVariants)))
		e.repin(m)
		return fmt.Sprintf("fetch variant %d of %v and pin it", e.fetched[m], m)
	case n < 6:
		e.fetch(m, e.rng.IntN(len(moduleVariants)))
		return fmt.Sprintf("fetch variant %d of %v", e.fetched[m], m)
	case n < 8:
		e.fetch(m, variant)
		return fmt.Sprintf("fetch %v again", m)
	case n < 10:
		e.delete(victim)
		return "remove " + victim
	case n < 11:
		e.replace(file, "Changed.\n")
		return "change " + file
	case n < 12:
		e.replace(m.list(), pick(e, []string{"", list[:len(list)/2], list[:strings.IndexByte(list, '\n')+1], list + list, strings.ReplaceAll(list, "part.md", "../part.md")}))
		return "cut " + m.list()
	case n < 13:
		e.delete(m.file("."))
		return "remove the files of " + m.list()
	case n < 14:
		e.symlink(pick(e, []string{"gone", filepath.Base(gitModules[0].list()), "part.md"}), victim)
		return "link instead of " + victim
	case n < 15:
		e.delete(victim)
		e.each(func(root string) error { return os.MkdirAll(filepath.Join(root, victim, "x"), 0o755) })
		e.stampUp(victim)
		return "directory instead of " + victim
	}
	e.write(m.file("unlisted.md"), "Not in the list.\n")
	return "file beside those of " + m.list()
}

func (e *editor) editIgnore() string {
	path := pick(e, []string{".gitignore", ".gitignore", ".mwpignore", "pkg/.gitignore", "pkg/.mwpignore", "docs/.gitignore", "svc/.gitignore", "../.gitignore", "../.gitignore", "../.git/info/exclude"})
	e.prime()
	switch e.rng.IntN(8) {
	case 0, 1, 2:
		e.delete(path)
		return "remove " + path
	case 3:
		e.symlink("rules.md", path)
		return "link instead of " + path
	}
	text := pick(e, ignoreRules)
	e.replace(path, text)
	return fmt.Sprintf("write %s %q", path, text)
}

var ignoreRules = []string{
	"", "lib/\n", "svc\n", "docs/*\n!docs/style.md\n", "*.md\n", "/pkg/app\n", ".mwp-context.md\n", "app\n!app/src\n", "mods\nvendor\n", "many/1*\n", "check.sh\n", "tree/svc\n",
}

// editRepository moves the top of the git repository around the root.
func (e *editor) editRepository() string {
	path := pick(e, []string{".git", "../.git", "../.git", "../.git", "pkg/.git"})
	if e.rng.IntN(2) == 0 {
		e.replace("../.gitignore", pick(e, ignoreRules))
	}
	e.prime()
	if _, err := os.Lstat(filepath.Join(e.places[0], path)); err == nil || e.rng.IntN(4) == 0 {
		e.toggle(path, "gitdir: elsewhere\n")
	} else {
		e.each(func(root string) error { return os.MkdirAll(filepath.Join(root, path), 0o755) })
		e.stampUp(path)
	}
	return "toggle " + path
}

func (e *editor) editAllow() string {
	text := pick(e, soundConfigs[1:3]) + pick(e, []string{"", "[modules]\nallow = [\"https://example.com/o\"]\n", "[modules]\nallow = [\"https://example.com/p/\"]\n", "[modules]\nallow = [\"https://example.com/o/rules.git//sub\"]\n", "[modules]\nallow = []\n"})
	e.replace(".mwp/config.toml", text)
	return fmt.Sprintf("write .mwp/config.toml %q", text)
}

// editMany changes one of the many directories.
func (e *editor) editMany() string {
	dir := fmt.Sprintf("many/%d", e.rng.IntN(e.wide))
	path := filepath.Join(dir, pick(e, []string{".mwp-context.md", nodes.ManifestName, "sub/.mwp-context.md", "unrelated"}))
	e.toggle(path, "Text.\n")
	return "toggle " + path
}

// mendImports makes everything that imports lead to sound again.
func (e *editor) mendImports() {
	for _, p := range []string{"docs/linkdir", "docs/loop.md", "docs/linked.md", "docs/" + nodes.ManifestName, "pkg/app/src/link"} {
		e.delete(p)
	}
	for _, p := range importables {
		e.replace(p, e.importedText(p))
	}
	e.replace("docs/b.md", pick(e, sectionBodies))
	for _, d := range manifestDirs[:4] {
		e.replace(d+"/"+nodes.ManifestName, e.manifestText())
		e.replace(d+"/part.md", pick(e, sectionBodies))
	}
	e.symlink("style.md", "docs/linked.md")
	for _, m := range gitModules {
		e.fetch(m, e.rng.IntN(len(moduleVariants)))
	}
	e.pinAll()
}
