package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestPercentile(t *testing.T) {
	hundred := make([]int, 100)
	for i := range hundred {
		hundred[i] = 100 - i
	}
	for _, c := range []struct {
		vs      []int
		p, want int
	}{
		{[]int{7}, 0, 7}, {[]int{7}, 50, 7}, {[]int{7}, 95, 7}, {[]int{7}, 100, 7},
		{[]int{4, 1, 3, 2}, 50, 2}, {[]int{4, 1, 3, 2}, 51, 3}, {[]int{5, 1, 4, 2, 3}, 50, 3},
		{hundred, 50, 50}, {hundred, 95, 95}, {hundred, 100, 100}, {hundred[:11], 95, 100}, {hundred[:20], 95, 99},
	} {
		if got := percentile(c.vs, c.p); got != c.want {
			t.Errorf("percentile(%v, %d) = %d, want %d", c.vs, c.p, got, c.want)
		}
	}
	if hundred[0] != 100 {
		t.Error("percentile sorts what it is given")
	}
}

func TestSpread(t *testing.T) {
	var times []time.Duration
	for i := range 20 {
		times = append(times, time.Duration(20-i)*time.Millisecond)
	}
	s := spreadOf(times)
	if want := (spread{time.Millisecond, 10 * time.Millisecond, 19 * time.Millisecond}); s != want {
		t.Errorf("spreadOf = %+v, want %+v", s, want)
	}
	if got, want := s.String(), "1.00 / 10.00 / 19.00"; got != want {
		t.Errorf("String = %q, want %q", got, want)
	}
}

// TestAlternate holds that every run is done once a round, that rounds begin with
// another one each time, and that times go to who took them.
func TestAlternate(t *testing.T) {
	var order strings.Builder
	runs := []func() (time.Duration, error){
		func() (time.Duration, error) { order.WriteByte('a'); return 1, nil },
		func() (time.Duration, error) { order.WriteByte('b'); return 2, nil },
	}
	times, err := alternate(3, runs...)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := order.String(), "abbaab"; got != want {
		t.Errorf("the order is %s, want %s", got, want)
	}
	for i, ds := range times {
		if len(ds) != 3 || ds[0] != time.Duration(i+1) || ds[2] != ds[0] {
			t.Errorf("the times of run %d are %v", i, ds)
		}
	}
}

func TestRounds(t *testing.T) {
	for _, c := range []struct {
		runs int
		one  time.Duration
		want int
	}{
		{101, time.Millisecond, 101}, {101, 0, 101}, {101, rowTime / 40, 40}, {101, 10 * rowTime, fewRounds}, {3, 10 * rowTime, 3}, {3, 0, 3},
	} {
		l := &lab{c: &config{runs: c.runs}}
		if got := l.rounds(c.one); got != c.want {
			t.Errorf("%d runs asked for, one takes %v: %d rounds, want %d", c.runs, c.one, got, c.want)
		}
	}
}

func TestComputedIn(t *testing.T) {
	for said, want := range map[string]int64{
		"mwp: a/main.go: served from its slot, 20 lstats, 0 files read, 0 directories read, 300 µs\n":           0,
		"mwp: (project root): computed, 12 hits, 7 computed, 20 leaves, 40 lstats, 1 files read, 9 µs\n":        7,
		"warning: x\nmwp: a: computed, 0 hits, 1722 computed, 520 leaves, 40 lstats, 1 files read, 300000 µs\n": 1722,
	} {
		if got, err := computedIn(said); err != nil || got != want {
			t.Errorf("computedIn(%q) = %d, %v, want %d", said, got, err, want)
		}
	}
	if n, err := computedIn("mwp: nothing of the kind\n"); err == nil {
		t.Errorf("a text without a count has %d", n)
	}
}

func TestVersionIn(t *testing.T) {
	for said, want := range map[string]string{
		"mwp v1.2.3\ncommit        0a0b 2026-11-01\nmap schema    1\n": "mwp v1.2.3 at 0a0b 2026-11-01",
		"mwp (devel)\ncommit        unknown\n":                         "mwp (devel)",
		"mwp v1.0.0\n":                                                 "mwp v1.0.0",
	} {
		if got := versionIn(said); got != want {
			t.Errorf("versionIn(%q) = %q, want %q", said, got, want)
		}
	}
}

// sample is a report with a row of each kind.
func sample(date string) *report {
	calls, cache, computed := 180, int64(75_000), int64(3)
	p := &place{shape: shapes[1], files: 1000}
	within := inPlace(p, "map after a touch", "hello", []time.Duration{6e6, 4e6, 5e6}, []time.Duration{2e6, 2e6, 2e6})
	within.Target, within.Name, within.Command = "S5", "scenario=S5/shape=deep/files=1000", "go run ./bench --only S5"
	within.Figures.Calls, within.Figures.Cache, within.Figures.Computed = &calls, &cache, &computed
	within = nothingComputed(within)
	rows := []row{
		within,
		limited("warm map | hello", 1.5, 2, "", "d"),
		limited("bytes", 3000, 2000, "B", "d"),
		missing("warm map / git", "there is no git"),
	}
	for i := range rows[1:] {
		rows[i+1].Target, rows[i+1].Command = "T1", "go run ./bench --only T1"
	}
	return &report{Date: date, Version: "mwp v1.2.3", Machine: machine{Cores: 2, System: "linux/amd64", Go: "go1.26", FileSystem: "ext4"}, Seed: 1, Runs: 3, Files: 1000, Rows: rows}
}

func TestReport(t *testing.T) {
	var b strings.Builder
	if err := sample("2026-01-02").print(&b); err != nil {
		t.Fatal(err)
	}
	text := strings.Join(strings.Fields(b.String()), " ")
	at := 0
	for _, want := range []string{
		"2026-01-02, mwp v1.2.3, 2 cores, linux/amd64, go1.26, ext4",
		"S5 deep 1000 map after a touch 4.00 / 5.00 / 6.00 hello 2.00 / 2.00 / 2.00 2.50 180 - 73 3 3 short",
		"T1 warm map | hello 1.50 2.00 ok d",
		"T1 bytes 3000 B 2000 B short d",
		"T1 warm map / git - - absent there is no git",
		"S5: go run ./bench --only S5 T1: go run ./bench --only T1",
		"fell short scenario=S5/shape=deep/files=1000: map after a touch: 3 nodes were computed, and none is to be",
		"T1 bytes: 3000 B, limit 2000 B, 1.50 times the limit",
		"T1 warm map / git: absent: there is no git",
	} {
		i := strings.Index(text[at:], want)
		if i < 0 {
			t.Fatalf("the report does not say %q after its first %d characters:\n%s", want, at, b.String())
		}
		at += i + len(want)
	}
	r := &report{Rows: []row{limited("x", 1, 2, "", "")}}
	b.Reset()
	if err := r.print(&b); err != nil || !strings.HasSuffix(b.String(), "fell short\nnothing\n") || strings.Contains(b.String(), "scenario") {
		t.Errorf("a report without scenarios or shortfalls is %v\n%s", err, b.String())
	}
}

func TestReplaceBlock(t *testing.T) {
	for _, c := range []struct{ document, want string }{
		{"a\n<!-- bench -->\nold\n<!-- /bench -->\nz\n", "a\n<!-- bench -->\nnew\n<!-- /bench -->\nz\n"},
		{"<!-- bench -->\n<!-- /bench -->", "<!-- bench -->\nnew\n<!-- /bench -->"},
		{"none\n", ""},
		{"<!-- bench -->\nopen\n", ""},
		{"<!-- /bench -->\n<!-- bench -->\n", ""},
		{"<!-- bench -->\n<!-- /bench -->\n<!-- bench -->\n<!-- /bench -->\n", ""},
		{"<!-- bench -->\n<!-- bench -->\n<!-- /bench -->\n", ""},
	} {
		got, err := replaceBlock(c.document, "new\n")
		if got != c.want || (err == nil) != (c.want != "") {
			t.Errorf("replaceBlock(%q) = %q, %v, want %q", c.document, got, err, c.want)
		}
	}
}

// TestMarkdown writes the results of two files into a document, twice: the second time
// changes nothing, and what stands around the block stays.
func TestMarkdown(t *testing.T) {
	dir := t.TempDir()
	older, newer := sample("2026-01-02"), sample("2026-02-03")
	newer.Rows = newer.Rows[1:2]
	newer.Rows[0].Measured = 1.75
	var files []string
	for name, r := range map[string]*report{"b.json": newer, "a.json": older} {
		if err := r.writeJSON(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	files = append(files, filepath.Join(dir, "a.json"), filepath.Join(dir, "b.json"))
	document := filepath.Join(dir, "README.md")
	if err := os.WriteFile(document, []byte("# Title\n\n<!-- bench -->\n<!-- /bench -->\n\nThe end.\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	var texts []string
	for range 2 {
		var out, errs strings.Builder
		if err := run([]string{"--from", strings.Join(files, ","), "--markdown", document}, &out, &errs); err != nil || !strings.Contains(out.String(), "fell short") {
			t.Fatalf("%v: %s%s", err, out.String(), errs.String())
		}
		b, err := os.ReadFile(document)
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, string(b))
	}
	if texts[0] != texts[1] {
		t.Errorf("the second time differs:\n%s", texts[1])
	}
	if !strings.HasPrefix(texts[0], "# Title\n\n<!-- bench -->\n") || !strings.HasSuffix(texts[0], "```\n<!-- /bench -->\n\nThe end.\n") {
		t.Errorf("what stood around the block changed:\n%s", texts[0])
	}
	for want, n := range map[string]int{
		"Measured on 2026-01-02 with mwp v1.2.3, on 2 cores, linux/amd64, go1.26, ext4.": 1,
		"Measured on 2026-02-03":                         1,
		"| T1 | warm map \\| hello | 1.75 | 2.00 | ok |": 1,
		"warm map \\| hello | 1.50":                      0,
		"| S5 | map after a touch | deep | 1000 | 4.00 / 5.00 / 6.00 | hello 2.00 / 2.00 / 2.00 | 2.50 | 180 | - | 3 |": 1,
		"go run ./bench --only S5\n": 1,
	} {
		if got := strings.Count(texts[0], want); got != n {
			t.Errorf("%q is in the document %d times, want %d:\n%s", want, got, n, texts[0])
		}
	}
	var out strings.Builder
	if err := run([]string{"--from", files[0], "--only", "T1,S5", "--shape", "wide"}, &out, &out); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(out.String(), "touch") || !strings.Contains(out.String(), "warm map | hello") {
		t.Errorf("of T1 and S5 in the wide tree is shown:\n%s", out.String())
	}
}

func TestReadReports(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"text": "no JSON", "empty": "{}", "list": "[]", "rows": `{"date": "2026-01-02", "rows": []}`} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		if _, err := readReports(path); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v, want an error that names the file", name, err)
		}
	}
	if _, err := readReports(filepath.Join(dir, "gone")); !os.IsNotExist(err) {
		t.Errorf("a file that is not there: %v", err)
	}
}

// TestJSON holds the fields that other programs read.
func TestJSON(t *testing.T) {
	path := filepath.Join(t.TempDir(), "r.json")
	if err := sample("2026-01-02").writeJSON(path); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Date string
		Rows []struct {
			Name    string
			Verdict string
			Figures *struct {
				Shape   string
				Ours    struct{ Min, P50, P95 int }
				Calls   *int     `json:"system_calls"`
				Peak    *float64 `json:"peak_mb"`
				Against struct{ P50 int }
			}
		}
	}
	if err := json.Unmarshal(b, &got); err != nil {
		t.Fatal(err)
	}
	if got.Date != "2026-01-02" || len(got.Rows) != 4 || got.Rows[0].Name != "scenario=S5/shape=deep/files=1000" || got.Rows[3].Verdict != "absent" {
		t.Errorf("the report is %+v", got)
	}
	f := got.Rows[0].Figures
	if f == nil || f.Shape != "deep" || f.Ours.Min != 4e6 || f.Ours.P50 != 5e6 || f.Ours.P95 != 6e6 || f.Against.P50 != 2e6 || f.Calls == nil || *f.Calls != 180 || f.Peak != nil {
		t.Errorf("the figures are %+v", f)
	}
	if got.Rows[1].Figures != nil {
		t.Error("a target has figures")
	}
}

func TestChoose(t *testing.T) {
	c, err := choose("t3, S1,s11,T3")
	if err != nil {
		t.Fatal(err)
	}
	if got, want := strings.Join(c.names(), " "), "S1 S11 T3"; got != want {
		t.Errorf("chosen are %s, want %s", got, want)
	}
	if c, err = choose(""); err != nil || len(c.names()) != len(surveys)+len(scenarios) {
		t.Errorf("all are %v, %v", c.names(), err)
	}
	if _, err := choose("S1,"); err == nil {
		t.Error("an empty name is taken")
	}
	if got, err := chooseShapes("Deep,wide"); err != nil || len(got) != 2 || got[0].name != "deep" || got[1].name != "wide" {
		t.Errorf("the shapes are %v, %v", got, err)
	}
	if _, err := chooseShapes("flat"); err == nil || !strings.Contains(err.Error(), "flat") {
		t.Errorf("an unknown shape gives %v", err)
	}
}

// TestList holds that everything can be chosen by the name that --list gives.
func TestList(t *testing.T) {
	var said strings.Builder
	if err := run([]string{"--list"}, &said, &said); err != nil {
		t.Fatal(err)
	}
	names, trees, ok := strings.Cut(said.String(), "\n\n")
	if !ok {
		t.Fatalf("the list has no trees: %s", said.String())
	}
	seen := map[string]bool{}
	for line := range strings.Lines(names) {
		name := strings.Fields(line)[0]
		if _, err := choose(name); err != nil || seen[strings.ToLower(name)] {
			t.Errorf("%s: %v, or there are two", name, err)
		}
		seen[strings.ToLower(name)] = true
	}
	for i := range 11 {
		for _, kind := range []string{"s", "t"} {
			if name := kind + string(rune('1'+i)); i < 9 && !seen[name] {
				t.Errorf("the list has no %s", name)
			}
		}
	}
	for _, s := range shapes {
		if !strings.Contains(trees, "\n"+s.name+" ") {
			t.Errorf("the list has no tree %s:\n%s", s.name, trees)
		}
	}
}

// TestArrivedNote: a peer's ratio stands beside what arrived of the texts.
func TestArrivedNote(t *testing.T) {
	for detail, want := range map[string]string{
		"6 of 13 levels arrived whole, level 7 in part, without a word about it; 33000 bytes; like for like: a new process; minima 2": " (6 of 13 levels arrived whole, level 7 in part, without a word about it; like for like)",
		"13 of 13 levels arrived whole; 61784 bytes; not like for like: for the whole project; minima 2":                              " (13 of 13 levels arrived whole; not like for like)",
		"13 of 13 levels arrived whole; 61784 bytes; the same map without its cache; minima 2":                                        " (13 of 13 levels arrived whole)",
		"minima 1.85; medians 3.26 ms and 1.66 ms":                                                                                    "",
		"": "",
	} {
		if got := (row{Detail: detail}).arrivedNote(); got != want {
			t.Errorf("arrivedNote(%q) = %q, want %q", detail, got, want)
		}
	}
}
