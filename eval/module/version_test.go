package module

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/model-workspace-protocol/mwp/eval/module/protocol"
	"github.com/model-workspace-protocol/mwp/nodes/pin"
)

// TestVersionOrder: each tag is lower than the next one of its line.
func TestVersionOrder(t *testing.T) {
	for _, line := range [][]string{
		{"v0.9.9", "v1.0.0-alpha", "v1.0.0-alpha.1", "v1.0.0-alpha.beta", "v1.0.0-beta", "v1.0.0-beta.2", "v1.0.0-beta.11", "v1.0.0-rc.1", "v1.0.0", "v1.0.1", "v1.2", "v1.10", "v2", "10.0.0"},
		{"1.0.99999999999999999999", "1.0.100000000000000000000", "1.1"},
		{"v1.0.0-1", "v1.0.0-a"},
		{"pkg@1.2.0", "pkg@1.10.0"},
		{"pkg/v1.2.0", "pkg/v1.10.0-rc1", "pkg/v1.10.0"},
		{"a/b/v1", "a/b/v2"},
		{"pkg-v1.0.0-rc1", "pkg-v1.0.0"},
		{"2024.01.05", "2024.10.01"},
	} {
		for i := range line[1:] {
			a, aok := parseVersion(line[i])
			b, bok := parseVersion(line[i+1])
			if !aok || !bok || a.prefix != b.prefix || a.compare(b) >= 0 || b.compare(a) <= 0 || a.compare(a) != 0 {
				t.Errorf("%s is not lower than %s: %+v, %+v", line[i], line[i+1], a, b)
			}
		}
	}
	for _, same := range [][2]string{{"v1", "1.0.0"}, {"v1.0.0+a", "v1.0.0+b"}, {"v01.2", "v1.2.0"}} {
		a, _ := parseVersion(same[0])
		b, _ := parseVersion(same[1])
		if a.compare(b) != 0 {
			t.Errorf("%s and %s differ", same[0], same[1])
		}
	}
	for _, tag := range []string{"", "v", "main", "release", "v1.2.3.4", "1.x", "v1.2.3-", "v1 "} {
		if v, ok := parseVersion(tag); ok {
			t.Errorf("parseVersion(%q) = %+v", tag, v)
		}
	}
}

func TestNewest(t *testing.T) {
	for _, c := range []struct {
		pinned string
		tags   []string
		want   string
	}{
		{"v1.0.0", []string{"v1.0.0", "v1.2.0", "v1.10.0", "v2.0.0-rc1", "w9", "other/v9.0.0"}, "v1.10.0"},
		{"v2.0.0-rc1", []string{"v1.9.0", "v2.0.0-rc2"}, "v2.0.0-rc2"},
		{"v2.0.0-rc1", []string{"v2.0.0-rc2", "v2.0.0"}, "v2.0.0"},
		{"v1", []string{"v1", "v1.0.0", "v2", "v2.0.0", "2.0.0"}, "v2.0.0"},
		{"pkg@1.0.0", []string{"pkg@1.1.0", "other@3.0.0", "v4.0.0"}, "pkg@1.1.0"},
		{"v3.0.0", []string{"v1.0.0", "v3.0.0"}, ""},
		{"main", []string{"v1.0.0"}, ""},
	} {
		var tags []protocol.TagName
		for _, name := range c.tags {
			tags = append(tags, protocol.TagName{Name: name, Commit: commit(name)})
		}
		got, ok := newest(c.pinned, tags)
		if got.Name != c.want || ok != (c.want != "") {
			t.Errorf("newest(%s, %v) = %v, %v, want %s", c.pinned, c.tags, got.Name, ok, c.want)
		}
	}
}

func FuzzVersion(f *testing.F) {
	f.Add("v1.2.3-rc.1+b", "pkg@1.2")
	f.Add("v1.0.0-01", "v1.0.0-1.a")
	f.Fuzz(func(t *testing.T, x, y string) {
		a, aok := parseVersion(x)
		b, bok := parseVersion(y)
		if aok && bok && a.compare(b) != -b.compare(a) {
			t.Errorf("%q and %q: %d and %d", x, y, a.compare(b), b.compare(a))
		}
	})
}

func TestOutdated(t *testing.T) {
	w := newWorld(t)
	r := simple("m")
	r.Branches = map[string]string{"main": commit("m")}
	r.Tags["stay"], r.Tags["gone"], r.Tags["v0.1.0"] = commit("m"), commit("m"), commit("m")
	url := w.serve("m", r)
	rests := []string{"@v1.0.0", "@stay", "@gone", "@v0.1.0", "@" + commit("m"), "@main", "//pkg/a@v1.0.0"}
	var wants []Want
	for _, rest := range rests {
		wants = append(wants, Want{Ref: ref(t, url+rest), Floating: true})
	}
	var records []pin.Record
	for _, o := range w.store.Fetch(t.Context(), wants) {
		if o.Err != nil {
			t.Fatal(o.Err)
		}
		records = append(records, o.Record)
	}
	before, asked := w.snapshot(), w.calls("m")
	delete(r.Tags, "gone")
	r.Tags["v0.1.0"], r.Tags["v2.0.0"], r.Tags["v3\x1b"] = commit("moved"), commit("two"), commit("three")
	w.serve("m", r)
	wants = append(wants, Want{Ref: ref(t, url+"@unknown")})
	got := w.store.Outdated(t.Context(), wants)
	two := commit("two")
	want := []Status{
		{Record: records[0], Newest: "v2.0.0", NewestCommit: two, Found: commit("m")},
		{Record: records[1], Found: commit("m")},
		{Record: records[2], Moved: true},
		{Record: records[3], Newest: "v2.0.0", NewestCommit: two, Moved: true, Found: commit("moved")},
		{Record: records[4]},
		{Record: records[5]},
		{Record: records[6], Newest: "v2.0.0", NewestCommit: two, Found: commit("m")},
		{},
	}
	for i := range want {
		want[i].Want = wants[i]
	}
	if code(got[7].Err) != Unresolved {
		t.Errorf("an unknown reference: %v", got[7].Err)
	}
	got[7].Err = nil
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(asked+"tags  \n", w.calls("m")); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(before, w.snapshot()); diff != "" {
		t.Error(diff)
	}
	r.Answer = `{"error":{"code":"unreachable","message":"nobody home"}}`
	w.serve("m", r)
	if got := w.store.Outdated(t.Context(), wants)[0]; code(got.Err) != protocol.Unreachable || got.Moved {
		t.Errorf("without an answer: %+v", got)
	}
}
