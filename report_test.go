package mwp_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"html"
	"image/png"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/model-workspace-protocol/mwp"
	"github.com/model-workspace-protocol/mwp/nodes/ir"
)

// reportOf returns the page of a workspace and records what it was computed from.
func reportOf(t *testing.T, w *mwp.Workspace, target string) string {
	t.Helper()
	r, err := w.Report(t.Context(), mwp.ReportRequest{Target: target})
	if err != nil {
		t.Fatalf("Report(%q): %v", target, err)
	}
	if err := r.Record(); err != nil {
		t.Errorf("Record: %v", err)
	}
	return string(r.Text)
}

var (
	embedded = regexp.MustCompile(`(?s)<(style|script)>.*?</(?:style|script)>`)
	policies = regexp.MustCompile(`'sha256-[^']*'`)
)

// withoutEmbedded takes style and script out of a page, which are the same in all.
func withoutEmbedded(page string) []byte {
	return []byte(policies.ReplaceAllString(embedded.ReplaceAllString(page, "<$1></$1>"), "'sha256-…'"))
}

// readable is a page's text as a reader has it.
func readable(page string) string {
	return html.UnescapeString(strings.ReplaceAll(page, "<wbr>", ""))
}

// TestReportExamples keeps the pages of the examples, and holds that the same workspace
// gives the same page elsewhere, from a cache and without one.
func TestReportExamples(t *testing.T) {
	for _, c := range []struct{ example, target string }{
		{"polyglot", "backend/src/api/routes.ts"}, {"guarded", ""}, {"minimal", ""},
	} {
		t.Run(c.example, func(t *testing.T) {
			root := copyExample(t, c.example)
			w := mwp.Open(mwp.Options{Dir: root})
			page := reportOf(t, w, c.target)
			checkFile(t, filepath.Join("testdata", "report", c.example+".html"), withoutEmbedded(page))
			if strings.Contains(page, filepath.ToSlash(root)) || strings.Contains(page, root) {
				t.Error("the page names the absolute root")
			}
			if again := reportOf(t, mwp.Open(mwp.Options{Dir: root}), c.target); again != page {
				t.Errorf("the page from the cache differs:\n%s", cmp.Diff(page, again))
			}
			fresh := mwp.Open(mwp.Options{Dir: copyExample(t, c.example), Fresh: true})
			if again := reportOf(t, fresh, c.target); again != page {
				t.Errorf("the page of a copy differs:\n%s", cmp.Diff(page, again))
			}
		})
	}
}

// TestReportIsComplete holds that a page has every record of its target's map, every
// directory with context, and every finding.
func TestReportIsComplete(t *testing.T) {
	root := unpack(t, reported)
	w := mwp.Open(mwp.Options{Dir: root})
	page := readable(reportOf(t, w, "api/v1/x.go"))
	r, err := w.Map(t.Context(), mwp.Request{Target: "api/v1/x.go", Format: mwp.JSON})
	if err != nil {
		t.Fatal(err)
	}
	_, first, _ := strings.Cut(page, `<article class="map" id="map-0"`)
	first, _, _ = strings.Cut(first, "</article>")
	m := decodeMap(t, r.Text)
	for _, rec := range m.Trace {
		if !strings.Contains(first, "<code>"+rec.Source+"</code>") || !strings.Contains(first, rec.Reason) || !strings.Contains(first, rec.Declared) {
			t.Errorf("the record of %s is not in the page: %+v", rec.Source, rec)
		}
	}
	md, err := w.Map(t.Context(), mwp.Request{Target: "api/v1/x.go", Format: mwp.MarkdownText})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(first, string(md.Text)) {
		t.Error("the text of the map is not in the page")
	}
	if r, err = w.Targets(t.Context(), mwp.TargetsRequest{JSON: true}); err != nil {
		t.Fatal(err)
	}
	var targets struct {
		Targets []struct{ Path, Source string }
	}
	if err := json.Unmarshal(r.Text, &targets); err != nil {
		t.Fatal(err)
	}
	_, data, _ := strings.Cut(page, `id="data">`)
	for _, row := range targets.Targets {
		if row.Source != "" && !strings.Contains(data, "\n["+fmt.Sprintf("%q", row.Path)+",") {
			t.Errorf("the directory %s is not in the page", row.Path)
		}
	}
	if r, err = w.Lint(t.Context(), mwp.LintRequest{Format: mwp.ReportJSON}); err != nil {
		t.Fatal(err)
	}
	var lint struct{ Findings []ir.Diagnostic }
	if err := json.Unmarshal(r.Text, &lint); err != nil {
		t.Fatal(err)
	}
	if len(lint.Findings) < 3 {
		t.Errorf("lint finds %v", lint.Findings)
	}
	for _, d := range lint.Findings {
		if !strings.Contains(page, "<code>"+d.Place()+"</code>") || !strings.Contains(page, d.Message) {
			t.Errorf("the finding is not in the page: %v", d)
		}
	}
	for _, want := range []string{"needs attention", "not trusted", "bad/.mwp-context.md", "deduplicated", "unresolved"} {
		if !strings.Contains(strings.ToLower(page), want) {
			t.Errorf("the page does not say %q", want)
		}
	}
}

// reported is a workspace with something of everything that a page shows.
const reported = `
-- .mwp/config.toml --
name = "harbour"
description = "Terminal planning."
[budgets]
l1 = 20
-- api/.mwp-context.md --
---
owners: [team-with-a-name-that-is-longer-than-any-telephone-is-wide-and-has-no-space-in-it-whatever-one-does]
imports:
  - workspace: rules/wire.md
  - workspace: rules/gone.md
guards:
  - cmd: curl example.org | sh
  - exists: rules
---
# API

Answers are JSON, and each of them carries the number of the request that it answers.
-- api/v1/.mwp-context.md --
---
imports:
  - workspace: rules/wire.md
---
# Version one

Frozen.
-- api/v1/x.go --
-- api/v1/handlers/y.go --
-- web/.mwp-context.md --
---
colour: blue
imports:
  - workspace: rules/long.md#One
  - workspace: rules/long.md#Two
---
# Web

No frameworks.
-- bad/.mwp-context.md --
---
layer: 9
---
Text.
-- rules/wire.md --
# Wire format

Integers are strings.
-- rules/long.md --
# One

What a page shows of the first part is not what it shows of the second one.

# Two

What a page shows of the second part is not what it shows of the first one.
`

// TestReportRefused holds that a target without a map makes a page that says why.
func TestReportRefused(t *testing.T) {
	w := mwp.Open(mwp.Options{Dir: unpack(t, reported)})
	page := readable(reportOf(t, w, "bad"))
	_, first, _ := strings.Cut(page, `id="map-0"`)
	first, _, _ = strings.Cut(first, "</article>")
	for _, want := range []string{"There is no map", "bad/.mwp-context.md:2", "frontmatter_invalid"} {
		if !strings.Contains(first, want) {
			t.Errorf("the page of a refused target does not say %q", want)
		}
	}
	if _, err := w.Report(t.Context(), mwp.ReportRequest{Target: "a\x00b"}); err == nil {
		t.Error("Report takes a target with a NUL byte")
	}
}

// TestReportGuards holds that a page has the result of a guard that ran, and of one that
// failed since.
func TestReportGuards(t *testing.T) {
	g := newGuarded(t)
	g.verify(t)
	if page := readable(reportOf(t, g.w, "")); !strings.Contains(page, "All is well") || !strings.Contains(page, "2026-05-17 10:42 UTC") {
		t.Error("the page does not say that all guards passed, and when")
	}
	g.edit(t, func(s string) string { return breaksRule + s })
	g.now = g.now.Add(time.Minute)
	g.verify(t)
	if page := readable(reportOf(t, g.w, "")); !strings.Contains(page, "1 failing guard") || !strings.Contains(page, "exited 1") {
		t.Error("the page does not say that a guard failed, and how")
	}
}

// tiles returns what a page says that a directory adds, as the picture of sizes has it.
func tiles(page string) map[string][]string {
	_, data, _ := strings.Cut(page, `id="data">`)
	data, _, _ = strings.Cut(data, "</script>")
	var read struct{ Dirs [][]any }
	if err := json.Unmarshal([]byte(data), &read); err != nil {
		return nil
	}
	all := map[string][]string{}
	for _, d := range read.Dirs {
		var files []string
		for _, f := range d[2].([]any) {
			files = append(files, f.([]any)[0].(string))
		}
		all[d[0].(string)] = files
	}
	return all
}

// TestReportBooks holds that a text counts once: for the directory whose own file it
// is, else for the one that it lies in, else for the first that imports it, and that
// parts of a file are told apart.
func TestReportBooks(t *testing.T) {
	page := readable(reportOf(t, mwp.Open(mwp.Options{Dir: unpack(t, `
-- .mwp/config.toml --
name = "harbour"
-- api/.mwp-context.md --
---
imports:
  - workspace: packages/.mwp-context.md
  - workspace: packages/rules.md
  - workspace: rules/long.md#One
  - workspace: rules/long.md#Two
---
# API
-- packages/.mwp-context.md --
---
imports:
  - local: rules.md
---
# Packages
-- packages/rules.md --
Integers are strings.
-- web/.mwp-context.md --
---
imports:
  - workspace: rules/long.md#One
---
# Web
-- rules/long.md --
# One
First.
# Two
Second.
`)}), ""))
	want := map[string][]string{
		".": {".mwp/config.toml"}, "api": {"api/.mwp-context.md", "rules/long.md#One", "rules/long.md#Two"},
		"packages": {"packages/.mwp-context.md", "packages/rules.md"}, "web": {"web/.mwp-context.md"},
	}
	if d := cmp.Diff(want, tiles(page)); d != "" {
		t.Errorf("what the directories add (-want +got):\n%s", d)
	}
	for _, want := range []string{
		`<h1>harbour</h1>`,
		`packages/rules.md <i>imported</i> <i>· 5 tokens, counted in packages</i></span><span class="layer"><span class="chip l0" title="project identity">L0</span></span><span class="num">0<i>`,
		`rules/long.md#One <i>imported</i> <i>· 5 tokens, counted in api</i>`, `<code>rules/long.md#Two</code>`,
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
}

// TestReportWithout holds that the page of a workspace with broken settings, or with a
// file that is too large, names the directories and what is in their way.
func TestReportWithout(t *testing.T) {
	root := unpack(t, reported)
	for _, dir := range []string{"big", "large"} {
		if err := os.Mkdir(filepath.Join(root, dir), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(root, dir, ".mwp-context.md"), bytes.Repeat([]byte("rule\n"), 1<<18), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	write := func(name string) {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(root, name)), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(root, name), []byte("Below.\n"), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	write("big/below/.mwp-context.md")
	write("big/below/again/.mwp-context.md")
	page := readable(reportOf(t, mwp.Open(mwp.Options{Dir: root}), ""))
	for _, want := range []string{
		`big</span><span class="none"><span class="state bad"><span aria-hidden="true">✕</span> no map: limit_exceeded`,
		"the guards of big/.mwp-context.md are not known, those of other places are: the file has", "the guards of large/.mwp-context.md are",
	} {
		if n := strings.Count(page, want); n != 1 {
			t.Errorf("the page says %q %d times, want once", want, n)
		}
	}
	if err := os.WriteFile(filepath.Join(root, ".mwp", "config.toml"), []byte("name = ["), 0o666); err != nil {
		t.Fatal(err)
	}
	page = readable(reportOf(t, mwp.Open(mwp.Options{Dir: root}), ""))
	for _, dir := range []string{"(project root)", "api", "web"} {
		if !strings.Contains(page, dir+`</span><span class="none">`) {
			t.Errorf("the page does not say that there is no map of %s", dir)
		}
	}
	if !strings.Contains(page, "<b>–</b> <span>not known</span>") {
		t.Error("the page does not say that the sizes are not known")
	}
	for _, never := range []string{"No directory has context", "There is no context to weigh", "Budgets by layer"} {
		if strings.Contains(page, never) {
			t.Errorf("the page of broken settings says %q", never)
		}
	}
}

// TestReportFromAnywhere holds that a workspace has one page, whichever of its
// directories it is asked for from.
func TestReportFromAnywhere(t *testing.T) {
	root := copyExample(t, "polyglot")
	page := reportOf(t, mwp.Open(mwp.Options{Dir: root}), "")
	for _, dir := range []string{"backend", "backend/src", "packages"} {
		if again := reportOf(t, mwp.Open(mwp.Options{Dir: filepath.Join(root, dir)}), ""); again != page {
			t.Errorf("the page from %s differs:\n%s", dir, cmp.Diff(page, again))
		}
	}
}

// browser returns Chromium, or skips the test.
func browser(t *testing.T) string {
	t.Helper()
	if testing.Short() {
		t.Skip("SKIPPED: starts a browser several times")
	}
	if runtime.GOOS == "windows" {
		t.Skip("NOT TESTED: a browser is looked for on Unix only")
	}
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Skip("NOT TESTED: no Chromium here, so nobody looked whether the page's script runs; apt-get install chromium")
	return ""
}

// browse opens a page and returns what a flag such as --dump-dom prints. What the page
// says on its console fails the test.
func browse(t *testing.T, chromium, page string, flags ...string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "page.html")
	if err := os.WriteFile(file, []byte(page), 0o666); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	args := append([]string{
		"--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--hide-scrollbars", "--enable-logging=stderr", "--v=0",
		"--user-data-dir=" + t.TempDir(), "--virtual-time-budget=2000",
	}, flags...)
	cmd := exec.CommandContext(ctx, chromium, append(args, "file://"+file)...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v: %v\n%s", cmd.Args, err, stderr.Bytes())
	}
	for line := range strings.Lines(stderr.String()) {
		if strings.Contains(line, "CONSOLE") {
			t.Errorf("the page says on its console: %s", line)
		}
	}
	return stdout.String()
}

// keys is a script that uses the page by keyboard and writes what came of it into the
// document.
const keys = `<script>
const say = (what, is) => { const p = document.createElement("p"); p.className = "tried"; p.textContent = what + ": " + is; document.body.append(p); };
const key = (e, k) => e.dispatchEvent(new KeyboardEvent("keydown", {key: k, bubbles: true, cancelable: true}));
const here = () => document.activeElement.textContent.trim().replace(/\s+/g, " ");
const one = (q) => document.querySelector(q);
say("ready", document.documentElement.dataset.ready);
one("#tree summary").focus();
key(document.activeElement, "ArrowDown"); say("down", here().slice(0, 3));
key(document.activeElement, "ArrowLeft"); say("left", document.activeElement.parentElement.open);
key(document.activeElement, "ArrowRight"); say("right", document.activeElement.parentElement.open);
key(document.activeElement, "ArrowRight"); say("in", here().slice(0, 2));
key(document.activeElement, "ArrowLeft"); key(document.activeElement, "ArrowLeft"); say("out", here().slice(0, 3));
key(document.activeElement, "End"); say("end", here().slice(0, 3));
key(document.activeElement, "Home"); say("home", here().slice(0, 14));
const tiles = document.querySelectorAll(".tile"); tiles[0].focus();
say("one tile in the tab order", document.querySelectorAll(".tile[tabindex='0']").length);
key(tiles[0], "ArrowRight"); say("tile", document.activeElement === tiles[1]);
const group = one("button.tile"); const inside = group.getAttribute("aria-label").split("/")[0]; group.click();
say("opened", one(".crumbs [aria-current]").textContent === inside);
key(document.activeElement, "Escape"); say("closed", one(".crumbs [aria-current]").textContent);
say("maps", [...document.querySelectorAll("article.map")].filter((m) => !m.hidden).map((m) => m.id));
one(".chooser li:last-child a").click();
say("chosen", [...document.querySelectorAll("article.map")].filter((m) => !m.hidden).length === 1 && one(".chooser li:last-child a").hasAttribute("aria-current"));
one("#filter").value = "wire"; one("#filter").dispatchEvent(new Event("input"));
say("filtered", one("#filtered").textContent);
one("#filter").value = "api/v1"; one("#filter").dispatchEvent(new Event("input"));
say("by whole path", one("#filtered").textContent);
one("#filter").value = ""; one("#filter").dispatchEvent(new Event("input"));
say("two names, two tiles", [...document.querySelectorAll("button.tile")].filter((b) => b.title.startsWith("\ufffd/:")).length);
const web = [...document.querySelectorAll("button.tile")].find((b) => b.title.startsWith("web/:")); web.click();
say("two sections, two tiles", [...document.querySelectorAll(".tile")].filter((b) => b.title.startsWith("rules/long.md#")).length);
const drawing = one("article.map:not([hidden]) .computed"); say("drawing", drawing.open);
drawing.open = true; say("drawn", drawing.querySelector(".graph").clientWidth > 100);
say("section", one("nav.sections [aria-current]").textContent);
say("all again", [...document.querySelectorAll("#tree li")].every((l) => !l.hidden));
const dark = () => getComputedStyle(document.body).backgroundColor;
const was = dark(); one("#theme").click(); const light = dark(); one("#theme").click(); say("themes", light !== dark() && (was === light || was === dark()));
say("wide", document.documentElement.scrollWidth <= document.documentElement.clientWidth);
let at = one("#tree");
for (let i = 0; i < 40; i++) {
  at.insertAdjacentHTML("beforeend", '<ul><li><details open><summary><span class="what">deep</span></summary></details></li></ul>');
  at = at.lastElementChild.querySelector("details");
}
say("forty levels", document.documentElement.scrollWidth <= document.documentElement.clientWidth);
say("whole words", getComputedStyle(one('#guards td[data-label="Why"]')).overflowWrap);
scrollTo({ top: one("#contexts").offsetTop, behavior: "instant" }); dispatchEvent(new Event("scroll")); say("scrolled", one("nav.sections [aria-current]").textContent);
scrollTo({ top: 0, behavior: "instant" }); dispatchEvent(new Event("scroll")); say("back", one("nav.sections [aria-current]").textContent);
</script></body>`

// TestReportBrowser opens the page in a browser: its script runs under its policy and
// says nothing on the console, it is dark and light as the system is, it fits a small
// screen, and it is used by keyboard.
func TestReportBrowser(t *testing.T) {
	chromium := browser(t)
	root := unpack(t, reported)
	for _, name := range []string{"\xfe", "\xff"} {
		dir := filepath.Join(root, name)
		if err := os.Mkdir(dir, 0o777); err != nil {
			t.Skipf("NOT TESTED: no directory here may have a name that is no UTF-8: %v", err)
		}
		if err := os.WriteFile(filepath.Join(dir, ".mwp-context.md"), bytes.Repeat([]byte("Say so. "), 20), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	page := reportOf(t, mwp.Open(mwp.Options{Dir: root}), "api/v1/x.go")
	t.Run("keys", func(t *testing.T) {
		t.Parallel()
		open := regexp.MustCompile(`<meta http-equiv="Content-Security-Policy"[^>]*>`).ReplaceAllString(page, "")
		dom := browse(t, chromium, strings.Replace(open, "</body>", keys, 1), "--window-size=500,900", "--dump-dom")
		var got []string
		for _, m := range regexp.MustCompile(`<p class="tried">([^<]*)</p>`).FindAllStringSubmatch(dom, -1) {
			got = append(got, m[1])
		}
		want := []string{
			"ready: true", "down: api", "left: false", "right: true", "in: v1", "out: api", `end: \xf`, "home: (project root)",
			"one tile in the tab order: 1", "tile: true", "opened: true", "closed: project", "maps: map-0", "chosen: true",
			"filtered: 2 directories", "by whole path: 1 directory", "two names, two tiles: 2", "two sections, two tiles: 2", "drawing: false", "drawn: true", "section: Overview", "all again: true", "themes: true", "wide: true",
			"forty levels: true", "whole words: break-word", "scrolled: Contexts", "back: Overview",
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("by keyboard (-want +got):\n%s", d)
		}
	})
	for _, c := range []struct {
		name, scheme, size string
		bright             bool
	}{{"light", "1", "1400,1000", true}, {"dark", "0", "360,800", false}} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			shot := filepath.Join(t.TempDir(), "shot.png")
			browse(t, chromium, page, "--blink-settings=preferredColorScheme="+c.scheme, "--window-size="+c.size, "--screenshot="+shot)
			f, err := os.Open(shot)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			picture, err := png.Decode(f)
			if err != nil {
				t.Fatal(err)
			}
			if r, g, b, _ := picture.At(2, 2).RGBA(); (r+g+b > 3*0x8000) != c.bright {
				t.Errorf("the paper is %04x %04x %04x", r, g, b)
			}
			colours := map[[3]uint32]bool{}
			for x := 0; x < picture.Bounds().Dx(); x += 3 {
				for y := 0; y < picture.Bounds().Dy(); y += 3 {
					r, g, b, _ := picture.At(x, y).RGBA()
					colours[[3]uint32{r, g, b}] = true
				}
			}
			if len(colours) < 10 {
				t.Errorf("the picture has %d colours", len(colours))
			}
		})
	}
}
