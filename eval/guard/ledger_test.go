package guard

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/model-workspace-protocol/mwp/cas"
	"github.com/model-workspace-protocol/mwp/eval/state"
	"github.com/model-workspace-protocol/mwp/graph"
)

// textKey returns the key of a user whose MWP_TRUST_KEY begins with a name.
func textKey(t testing.TB, name string) *Key {
	t.Helper()
	k, err := OpenKey("", name+" has a long secret")
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// project returns a workspace with an empty state directory.
func project(t testing.TB) state.Dir {
	t.Helper()
	p := state.Dir{Path: filepath.Join(t.TempDir(), ".mwp"), Ignore: "cache/\n*.tmp\n"}
	if err := os.Mkdir(p.Path, 0o777); err != nil {
		t.Fatal(err)
	}
	return p
}

func ptr[T any](v T) *T { return &v }

// noon is 2026-05-17T12:00:00Z.
const noon int64 = 1779019200e9

// sample returns a record that uses every field; n makes it another one.
func sample(n int) Record {
	return Record{
		Key: cas.Key{31: byte(n), 30: byte(n >> 8)}, Guard: fmt.Sprintf("./check.sh --n %d \"täg\"\n", n), Cwd: "svc", DeclaredIn: "svc/.mwp-context.md",
		Log: fmt.Sprintf("check-%d.log", n),
		Run: graph.Run{
			Exit: ptr(n % 3), Passed: n%3 == 0, Duration: 1234, RanAt: noon + int64(n)*1e9, CacheUntil: noon + 600e9,
			Fingerprint: cas.Sum([]byte{byte(n)}), Declared: cas.Sum([]byte{1, byte(n)}),
		},
	}
}

// overridden returns a record of a run that timed out and that a person overrode.
func overridden(n int) Record {
	r := sample(n)
	r.Run.Passed, r.Run.Exit, r.Run.Reason = false, nil, "timeout"
	r.Run.Override = &graph.Override{Reason: "flaky disk, see #12", Until: noon + 4*3600e9, Declared: r.Run.Declared}
	return r
}

// record writes records into the ledger of a workspace.
func record(t testing.TB, p state.Dir, k *Key, records ...Record) (problem string) {
	t.Helper()
	problem, err := NewLedger(k).Update(context.Background(), p, func(r *Records) error {
		for _, rec := range records {
			r.Set(rec)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return problem
}

func readFile(t testing.TB, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func ledgerOf(t testing.TB, p state.Dir) []byte {
	return readFile(t, filepath.Join(p.Path, LedgerName))
}

// namesIn returns what is in a directory.
func namesIn(t testing.TB, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return strings.Join(names, " ")
}

func TestLedgerText(t *testing.T) {
	p := project(t)
	k := textKey(t, "ann")
	record(t, p, k, overridden(1), sample(3))
	got := string(ledgerOf(t, p))
	var codes []string
	for line := range strings.Lines(got) {
		if _, code, ok := strings.Cut(line, `"mac": "`); ok {
			codes = append(codes, code[:64])
		}
	}
	if len(codes) != 2 || codes[0] == codes[1] {
		t.Fatalf("codes = %q", codes)
	}
	want := `{
  "version": 1,
  "guards": [
    {
      "guard": "./check.sh --n 1 \"täg\"\n",
      "status": "failed",
      "exit_code": null,
      "duration_ms": 1234,
      "ran_at": "2026-05-17T12:00:01.000Z",
      "cache_until": "2026-05-17T12:10:00.000Z",
      "fingerprint": "` + sample(1).Run.Fingerprint.Tagged() + `",
      "declared": "` + sample(1).Run.Declared.Tagged() + `",
      "key": "0000000000000000000000000000000000000000000000000000000000000001",
      "cwd": "svc",
      "declared_in": "svc/.mwp-context.md",
      "reason": "timeout",
      "log": "check-1.log",
      "override": {
        "reason": "flaky disk, see #12",
        "until": "2026-05-17T16:00:00.000Z",
        "declared": "` + sample(1).Run.Declared.Tagged() + `"
      },
      "signer": "` + k.Signer() + `",
      "mac": "` + codes[0] + `"
    },
    {
      "guard": "./check.sh --n 3 \"täg\"\n",
      "status": "passed",
      "exit_code": 0,
      "duration_ms": 1234,
      "ran_at": "2026-05-17T12:00:03.000Z",
      "cache_until": "2026-05-17T12:10:00.000Z",
      "fingerprint": "` + sample(3).Run.Fingerprint.Tagged() + `",
      "declared": "` + sample(3).Run.Declared.Tagged() + `",
      "key": "0000000000000000000000000000000000000000000000000000000000000003",
      "cwd": "svc",
      "declared_in": "svc/.mwp-context.md",
      "reason": "",
      "log": "check-3.log",
      "override": null,
      "signer": "` + k.Signer() + `",
      "mac": "` + codes[1] + `"
    }
  ]
}
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the ledger (-want +got):\n%s", diff)
	}
	if !json.Valid([]byte(got)) {
		t.Error("encoding/json does not take it")
	}
	if got, want := namesIn(t, p.Path), ".gitignore cache guards.cache.json"; got != want {
		t.Errorf("the state directory holds %s, want %s", got, want)
	}
}

// TestParse: what was recorded comes back, less what is below a millisecond.
func TestParse(t *testing.T) {
	p := project(t)
	k := textKey(t, "ann")
	exact := overridden(2)
	exact.Run.RanAt += 999_999
	exact.Run.Override.Until += 1
	exact.Run.Exit = ptr(-1 << 31)
	before := sample(0)
	before.Run.RanAt = -1 // rounds down, not towards zero
	before.Guard, before.Cwd, before.Run.Reason = "", "a\xffb", "sig\x00nal \u202e𝒳"
	record(t, p, k, exact, before, sample(5))

	states, problem := NewLedger(k).parse(ledgerOf(t, p))
	want := map[cas.Key]graph.RecordState{}
	for _, r := range []Record{exact, before, sample(5)} {
		run := r.Run
		want[r.Key] = graph.RecordState{Signer: k.Signer(), Run: &run}
	}
	*want[exact.Key].Run = overridden(2).Run
	want[exact.Key].Run.Exit = exact.Run.Exit
	want[before.Key].Run.RanAt = -1e6
	if diff := cmp.Diff(want, states); diff != "" || problem != "" {
		t.Errorf("Parse (-want +got), problem %q:\n%s", problem, diff)
	}
	problem, err := NewLedger(k).Update(context.Background(), p, func(r *Records) error {
		got, ok := r.Get(before.Key)
		if !ok || got.Cwd != "a\ufffdb" || got.Run.Reason != before.Run.Reason || got.Guard != "" {
			t.Errorf("Get = %+v, %v", got, ok)
		}
		if _, ok := r.Get(cas.Key{9}); ok {
			t.Error("Get of a guard without a record = true")
		}
		return nil
	})
	if problem != "" || err != nil {
		t.Errorf("Update = %q, %v", problem, err)
	}
}

// TestSetKeepsNothing: what a caller does to a record after Set changes nothing.
func TestSetKeepsNothing(t *testing.T) {
	p := project(t)
	k := textKey(t, "ann")
	rec := overridden(1)
	rec.Run.Exit = ptr(1)
	_, err := NewLedger(k).Update(context.Background(), p, func(r *Records) error {
		r.Set(rec)
		*rec.Run.Exit, rec.Run.Override.Reason = 0, "none"
		if got, _ := r.Get(rec.Key); *got.Run.Exit != 1 || got.Run.Override.Reason == "none" {
			t.Errorf("Get = %+v", got.Run)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

func TestUsersSideBySide(t *testing.T) {
	p := project(t)
	ann, bob := textKey(t, "ann"), textKey(t, "bob")
	failing := sample(1)
	record(t, p, ann, failing, sample(2))
	anns := string(ledgerOf(t, p))
	passing := sample(1)
	passing.Run.Passed, passing.Run.Exit = true, ptr(0)
	record(t, p, bob, passing)
	both := ledgerOf(t, p)

	for _, object := range strings.Split(strings.TrimSuffix(strings.SplitN(anns, "[\n", 2)[1], "\n  ]\n}\n"), ",\n    {") {
		if !strings.Contains(string(both), strings.TrimSpace(object)) {
			t.Errorf("bob's ledger lacks ann's\n%s", object)
		}
	}
	for _, c := range []struct {
		key          *Key
		guard        int
		signer       string
		foreign, run bool
		passed       bool
	}{
		{ann, 1, ann.Signer(), false, true, false},
		{ann, 2, ann.Signer(), false, true, false},
		{bob, 1, bob.Signer(), false, true, true},
		{bob, 2, bob.Signer(), true, false, false},
		{textKey(t, "eve"), 1, textKey(t, "eve").Signer(), true, false, false},
		{&Key{signer: noSigner}, 1, "none", true, false, false},
		{ann, 3, "", false, false, false},
	} {
		states, problem := NewLedger(c.key).parse(both)
		got := states[sample(c.guard).Key]
		if got.Signer != c.signer || got.Foreign != c.foreign || (got.Run != nil) != c.run || c.run && got.Run.Passed != c.passed || problem != "" {
			t.Errorf("user %s, guard %d: %+v, problem %q", c.key.Signer(), c.guard, got, problem)
		}
	}
	record(t, p, bob, sample(2))
	record(t, p, ann, sample(2))
	states, _ := NewLedger(bob).parse(ledgerOf(t, p))
	if states[passing.Key].Run == nil || states[sample(2).Key].Run == nil {
		t.Error("bob's records are gone after ann's")
	}
}

// TestSharedSecret: with the same MWP_TRUST_KEY on both sides, what one recorded holds
// for the other (D-117); with another one, or the key of a directory, it does not.
func TestSharedSecret(t *testing.T) {
	p, q := project(t), project(t)
	dirKey, err := CreateKey(context.Background(), t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	record(t, p, textKey(t, "ci"), sample(1))
	if err := os.WriteFile(filepath.Join(q.Path, LedgerName), ledgerOf(t, p), 0o666); err != nil {
		t.Fatal(err)
	}
	blanks, err := OpenKey(t.TempDir(), "\tci has a long secret \r\n")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		key  *Key
		want bool
	}{{blanks, true}, {textKey(t, "CI"), false}, {dirKey, false}} {
		states, problem := NewLedger(c.key).parse(ledgerOf(t, q))
		if got := states[sample(1).Key].Run != nil; got != c.want || problem != "" {
			t.Errorf("signer %s believes the copied record: %v, want %v; %s", c.key.Signer(), got, c.want, problem)
		}
	}
}

// replaced returns text with one old replaced by new, which has to be there.
func replaced(t testing.TB, text []byte, old, new string) []byte {
	t.Helper()
	if !strings.Contains(string(text), old) {
		t.Fatalf("there is no %q", old)
	}
	return []byte(strings.Replace(string(text), old, new, 1))
}

// TestEdited: nothing that a record says can be changed by hand, and the others stay.
func TestEdited(t *testing.T) {
	p := project(t)
	ann, bob := textKey(t, "ann"), textKey(t, "bob")
	record(t, p, ann, overridden(1), sample(2))
	whole := ledgerOf(t, p)
	zero := cas.Digest{}.Tagged()
	for old, new := range map[string]string{
		`"./check.sh --n 1 `:                      `"./check.sh --n 7 `,
		`"status": "failed"`:                      `"status": "passed"`,
		`"exit_code": null`:                       `"exit_code": 0`,
		`"duration_ms": 1234`:                     `"duration_ms": 1`,
		`"ran_at": "2026-05-17T12:00:01.`:         `"ran_at": "2026-05-17T12:00:02.`,
		`"cache_until": "2026`:                    `"cache_until": "2036`,
		overridden(1).Run.Fingerprint.Tagged():    zero,
		overridden(1).Run.Declared.Tagged():       zero,
		`00001",`:                                 `00005",`,
		`"cwd": "svc"`:                            `"cwd": "."`,
		`"declared_in": "svc/`:                    `"declared_in": "lib/`,
		`"reason": "timeout"`:                     `"reason": ""`,
		`"log": "check-1.log"`:                    `"log": ""`,
		`"reason": "flaky`:                        `"reason": "Flaky`,
		`"until": "2026-05-17T16:00:00.000Z"`:     `"until": "2027-05-17T16:00:00.000Z"`,
		`"signer": "` + ann.Signer():              `"signer": "` + bob.Signer(),
		`"cwd": "svc",` + "\n" + `      "declare`: `"cwd": "sv",` + "\n" + `      "declare`,
		`"reason": "timeout",`:                    `"reason": "timeout", "more": 1,`,
		`"key": `:                                 `"key": "", "key": `,
		`"mac": "`:                                `"mac": "0`,
		`"override": {`:                           `"override": null, "x": {`,
	} {
		states, problem := NewLedger(ann).parse(replaced(t, whole, old, new))
		if run := states[sample(1).Key].Run; run != nil {
			t.Errorf("%s for %s: still believed", new, old)
		}
		if states[sample(2).Key].Run == nil {
			t.Errorf("%s for %s: the other record is lost: %s", new, old, problem)
		}
		if foreign := new == `"signer": "`+bob.Signer(); (problem == "") != foreign {
			t.Errorf("%s for %s: problem %q", new, old, problem)
		}
	}
}

// TestFlippedBits: no bit of a record can be changed without losing it, and no bit of a
// file without either keeping or losing each record.
func TestFlippedBits(t *testing.T) {
	p := project(t)
	k := textKey(t, "ann")
	record(t, p, k, overridden(1), sample(2))
	whole := ledgerOf(t, p)
	intact, _ := NewLedger(k).parse(whole)
	spans := map[cas.Key][2]int{}
	at := 0
	for _, n := range []int{1, 2} {
		start := at + strings.Index(string(whole[at:]), "    {\n") + 4
		end := start + strings.Index(string(whole[start:]), "\n    }") + 6
		spans[sample(n).Key], at = [2]int{start, end}, end
	}
	l := NewLedger(k)
	for i := range whole {
		// A digit into another one, a letter into one of the other case, text into none.
		for _, mask := range []byte{1, 0x20, 0xff} {
			bad := append([]byte{}, whole...)
			bad[i] ^= mask
			states, problem := l.parse(bad)
			if signer := strings.LastIndex(string(whole[:i+1]), `"signer": "`); problem == "" && (signer < 0 || i >= signer+27) {
				t.Fatalf("xor %#x at byte %d: no problem", mask, i)
			}
			for key, s := range states {
				if s.Run == nil {
					continue
				}
				if span := spans[key]; i >= span[0] && i < span[1] || !cmp.Equal(s, intact[key]) {
					t.Fatalf("xor %#x at byte %d: %s is believed as %+v", mask, i, key, s.Run)
				}
			}
		}
	}
}

// TestCutOff: of a file that ends too early, what is whole counts.
func TestCutOff(t *testing.T) {
	p := project(t)
	k := textKey(t, "ann")
	record(t, p, k, sample(1), sample(2), sample(3))
	whole := ledgerOf(t, p)
	last := 0
	for n := range len(whole) {
		states, problem := NewLedger(k).parse(whole[:n:n])
		if n < len(whole)-1 && problem == "" {
			t.Fatalf("%d bytes: no problem", n)
		}
		if len(states) < last || len(states) > 3 {
			t.Fatalf("%d bytes: %d records, %d before", n, len(states), last)
		}
		last = len(states)
	}
	if last != 3 {
		t.Errorf("%d records at the end, want 3", last)
	}
}

func TestBrokenFiles(t *testing.T) {
	k := textKey(t, "ann")
	good := project(t)
	record(t, good, k, sample(1))
	whole := string(ledgerOf(t, good))
	deep := strings.Repeat("[", 1000) + strings.Repeat("]", 1000)
	for _, c := range []struct {
		name, text, problem string
		keeps               bool
	}{
		{"empty", "", "1:1: expected {, found the end of the file; what follows counts for nothing", false},
		{"a list", "[1,2,3]\n", "1:1: expected {, found [; what follows counts for nothing", false},
		{"no JSON", "\x00\xff", `1:1: expected {, found \x00; what follows counts for nothing`, false},
		{"not UTF-8", "\xff", `1:1: expected {, found \xff; what follows counts for nothing`, false},
		{"another version", strings.Replace(whole, `"version": 1`, `"version": 2`, 1), "expected format 1, found format 2; what follows counts for nothing", false},
		{"a version that is no number", `{"version": "1"`, "1:13: expected a whole number, found \"; what follows counts for nothing", false},
		{"another list", `{"version": 1, "runs": []}`, "1:17: expected the field guards, found r; what follows counts for nothing", false},
		{"the version twice", strings.Replace(whole, `"version": 1,`, `"version": 1, "version": 1,`, 1), "2:18: expected the field guards, found v; what follows counts for nothing", false},
		{"something behind", whole + "x", "24:1: expected the end of the file, found x; what follows counts for nothing", true},
		{"another object", strings.Replace(whole, "    {\n", `    {"a": [1, null, {"b": "\u00e9"}]}, {`+"\n", 1), "1 record is damaged and counts for nothing", true},
		{"no object", strings.Replace(whole, "    {\n", "    7, null, {}, [], {\n", 1), "4 records are damaged and count for nothing", true},
		{"a deep object", strings.Replace(whole, "    {\n", "    "+deep+", {\n", 1), "4:25: expected less deeply nested values, found [; what follows counts for nothing; 1 record is damaged and counts for nothing", false},
		{"a comma too many", strings.Replace(whole, "\n  ]", ",\n  ]", 1), "22:3: expected a whole number, found ]; what follows counts for nothing; 1 record is damaged and counts for nothing", true},
		{"no comma", strings.Replace(whole, "    {\n", "    {} {\n", 1), "4:8: expected a comma, found {; what follows counts for nothing; 1 record is damaged and counts for nothing", false},
		{"CRLF", strings.ReplaceAll(whole, "\n", "\r\n"), "", true},
		{"a byte-order mark", "\ufeff" + whole, `1:1: expected {, found \ufeff; what follows counts for nothing`, false},
	} {
		p := project(t)
		path := filepath.Join(p.Path, LedgerName)
		if err := os.WriteFile(path, []byte(c.text), 0o640); err != nil {
			t.Fatal(err)
		}
		states, problem := NewLedger(k).parse([]byte(c.text))
		if problem != c.problem || (states[sample(1).Key].Run != nil) != c.keeps {
			t.Errorf("%s: %d records, problem %q, want %q", c.name, len(states), problem, c.problem)
		}
		if problem := record(t, p, k, sample(2)); problem != c.problem {
			t.Errorf("%s: Update's problem %q, want %q", c.name, problem, c.problem)
		}
		states, problem = NewLedger(k).parse(ledgerOf(t, p))
		if states[sample(2).Key].Run == nil || (states[sample(1).Key].Run != nil) != c.keeps || problem != "" {
			t.Errorf("%s: after an update %d records, problem %q", c.name, len(states), problem)
		}
		kept, err := os.ReadFile(path + ".broken")
		if (err == nil) != (c.problem != "") || err == nil && string(kept) != c.text {
			t.Errorf("%s: kept aside %q, %v", c.name, kept, err)
		}
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o640 && os.PathSeparator == '/' {
			t.Errorf("%s: the file's mode is now %v, %v", c.name, info.Mode(), err)
		}
	}
	if states, problem := NewLedger(k).parse(nil); states != nil || problem != "" {
		t.Errorf("Parse(nil) = %v, %q", states, problem)
	}
}

// TestBrokenIsKeptOnce: the first broken file is the interesting one.
func TestBrokenIsKeptOnce(t *testing.T) {
	p := project(t)
	k := textKey(t, "ann")
	path := filepath.Join(p.Path, LedgerName)
	for i := range 3 {
		if err := os.WriteFile(path, fmt.Append(nil, "broken ", i), 0o666); err != nil {
			t.Fatal(err)
		}
		record(t, p, k, sample(i))
	}
	if got := string(readFile(t, path+".broken")); got != "broken 0" {
		t.Errorf("kept aside: %q", got)
	}
	if got, want := namesIn(t, p.Path), ".gitignore cache guards.cache.json guards.cache.json.broken"; got != want {
		t.Errorf("the state directory holds %s, want %s", got, want)
	}
}

func TestHugeFile(t *testing.T) {
	p := project(t)
	k := textKey(t, "ann")
	path := filepath.Join(p.Path, LedgerName)
	huge := make([]byte, MaxLedger+100)
	if err := os.WriteFile(path, huge, 0o666); err != nil {
		t.Fatal(err)
	}
	const want = "the file has more than 16 MiB, and counts for nothing"
	if states, problem := NewLedger(k).parse(huge); states != nil || problem != want {
		t.Errorf("Parse = %v, %q", states, problem)
	}
	if problem := record(t, p, k, sample(1)); problem != want {
		t.Errorf("Update's problem %q", problem)
	}
	if states, problem := NewLedger(k).parse(ledgerOf(t, p)); len(states) != 1 || problem != "" {
		t.Errorf("after an update %v, %q", states, problem)
	}
}

// TestDoubled: a copy of an older record beside the newer one does not count, wherever
// it stands, and neither does one with an override beside the one without.
func TestDoubled(t *testing.T) {
	k := textKey(t, "ann")
	texts := func(recs ...Record) []byte {
		var list []listed
		for _, r := range recs {
			p := project(t)
			record(t, p, k, r)
			NewLedger(k).read(string(ledgerOf(t, p)), func(_ *Record, _ string, _ bool, raw string) {
				list = append(list, listed{text: raw})
			})
		}
		return appendList(nil, ledgerList, list)
	}
	old, failing := sample(3), sample(1)
	old.Key, old.Run.RanAt = failing.Key, failing.Run.RanAt-1e6
	set := failing
	set.Run.Override = overridden(1).Run.Override
	for name, list := range map[string][]Record{
		"older first": {old, failing}, "newer first": {failing, old}, "three": {old, failing, old},
		"override first": {set, failing}, "override last": {failing, set, old},
	} {
		text := texts(list...)
		states, problem := NewLedger(k).parse(text)
		if got := states[failing.Key]; got.Run == nil || !cmp.Equal(*got.Run, failing.Run) || problem != "" {
			t.Errorf("%s: %+v, problem %q", name, got.Run, problem)
		}
		p := project(t)
		if err := os.WriteFile(filepath.Join(p.Path, LedgerName), text, 0o666); err != nil {
			t.Fatal(err)
		}
		record(t, p, k, sample(7))
		if got := strings.Count(string(ledgerOf(t, p)), `"guard"`); got != 2 {
			t.Errorf("%s: %d records after an update, want 2", name, got)
		}
	}
}

// TestBounded: others' records go first, the oldest first, and never own ones for
// their number.
func TestBounded(t *testing.T) {
	p := project(t)
	ann, bob := textKey(t, "ann"), textKey(t, "bob")
	var bobs []Record
	for i := range maxListed {
		bobs = append(bobs, sample(i))
	}
	record(t, p, bob, bobs...)
	record(t, p, ann, sample(0), sample(1), sample(5000))
	if problem := record(t, p, ann, sample(5001)); problem != "" {
		t.Errorf("problem %q", problem)
	}
	file := ledgerOf(t, p)
	anns, _ := NewLedger(ann).parse(file)
	states, _ := NewLedger(bob).parse(file)
	if got := strings.Count(string(file), `"guard"`); got != maxListed {
		t.Errorf("%d records, want %d", got, maxListed)
	}
	for n, want := range map[int]bool{0: false, 3: false, 4: true, 1999: true} {
		if got := states[sample(n).Key].Run != nil; got != want {
			t.Errorf("bob's record %d is there: %v, want %v", n, got, want)
		}
	}
	for _, n := range []int{0, 1, 5000, 5001} {
		if anns[sample(n).Key].Run == nil {
			t.Errorf("ann's record %d is lost", n)
		}
	}
	list := bounded([]listed{{when: 3, text: "ccc", signer: "a"}, {when: 1, text: "aaa", signer: "a"}, {when: 9, text: "fff", signer: "b"}, {when: 2, text: "bbb", signer: "a"}}, "a", listOverhead+2*(3+listedOverhead))
	if len(list) != 2 || list[0].text != "bbb" || list[1].text != "ccc" {
		t.Errorf("bounded to two objects' bytes = %v", list)
	}
}

func TestUpdateFails(t *testing.T) {
	p := project(t)
	k := textKey(t, "ann")
	record(t, p, k, sample(1))
	before := string(ledgerOf(t, p))
	stop := errors.New("stop")
	_, err := NewLedger(k).Update(context.Background(), p, func(r *Records) error {
		r.Set(sample(2))
		return stop
	})
	if err != stop || string(ledgerOf(t, p)) != before {
		t.Errorf("Update = %v, the file is the same: %v", err, string(ledgerOf(t, p)) == before)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err = NewLedger(k).Update(ctx, p, func(*Records) error { t.Error("called with a context that is done"); return nil })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("Update with a context that is done = %v", err)
	}
	func() {
		defer func() {
			if recover() == nil {
				t.Error("Update without a key did not panic")
			}
		}()
		NewLedger(&Key{signer: noSigner}).Update(context.Background(), p, func(*Records) error { return nil })
	}()
}

// TestBusy: a lock that another process holds is waited for, and then named.
func TestBusy(t *testing.T) {
	p := project(t)
	k := textKey(t, "ann")
	record(t, p, k, sample(1))
	lock := filepath.Join(p.Path, "cache", "locks", "guards")
	unlock, err := cas.Lock(context.Background(), lock, nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
	defer cancel()
	_, err = NewLedger(k).Update(ctx, p, func(*Records) error { t.Error("called without the lock"); return nil })
	var f *state.FileError
	if !errors.Is(err, context.DeadlineExceeded) || !errors.As(err, &f) || f.Message != "lock "+lock+": given up" {
		t.Errorf("Update = %v", err)
	}
	unlock()
	record(t, p, k, sample(2))
}

func TestGoroutines(t *testing.T) {
	p := project(t)
	k := textKey(t, "ann")
	const each = 10
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range each {
				record(t, p, k, sample(g*each+i))
			}
		})
	}
	wg.Wait()
	states, problem := NewLedger(k).parse(ledgerOf(t, p))
	if len(states) != 8*each || problem != "" {
		t.Errorf("%d records, want %d; problem %q", len(states), 8*each, problem)
	}
}

func BenchmarkParse(b *testing.B) {
	k := textKey(b, "ann")
	for _, n := range []int{1, 50, 1000} {
		p := project(b)
		var recs []Record
		for i := range n {
			recs = append(recs, sample(i))
		}
		record(b, p, k, recs...)
		file := ledgerOf(b, p)
		b.Run(fmt.Sprintf("records=%d/reader=ours", n), func(b *testing.B) {
			b.SetBytes(int64(len(file)))
			b.ReportAllocs()
			l := NewLedger(k)
			for b.Loop() {
				if states, problem := l.parse(file); len(states) != n || problem != "" {
					b.Fatal(len(states), problem)
				}
			}
		})
		// What encoding/json takes to read the same fields, without a signature.
		b.Run(fmt.Sprintf("records=%d/reader=json", n), func(b *testing.B) {
			b.SetBytes(int64(len(file)))
			b.ReportAllocs()
			for b.Loop() {
				var v struct {
					Version int
					Guards  []struct {
						Guard, Status, Key, Cwd, Reason, Log, Signer, Mac, Fingerprint, Declared string
						ExitCode                                                                 *int      `json:"exit_code"`
						DurationMS                                                               int64     `json:"duration_ms"`
						DeclaredIn                                                               string    `json:"declared_in"`
						RanAt                                                                    time.Time `json:"ran_at"`
						CacheUntil                                                               time.Time `json:"cache_until"`
						Override                                                                 *struct{ Reason, Declared string }
					}
				}
				if err := json.Unmarshal(file, &v); err != nil || len(v.Guards) != n {
					b.Fatal(err)
				}
			}
		})
	}
}
