package guard

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/model-workspace-protocol/mwp/cas"
)

func TestReadString(t *testing.T) {
	for _, c := range []struct{ in, want, mistake string }{
		{`""`, "", ""},
		{`"a b"`, "a b", ""},
		{` "ä𝒳"`, "ä𝒳", ""},
		{`"\"\\\b\f\n\r\t"`, "\"\\\b\f\n\r\t", ""},
		{`"\u00e9\ud835\udcb3x"`, "é𝒳x", ""},
		{`"a`, "", "the end of a string"},
		{`"a\`, "", "an escape"},
		{`"ä`, "", "the end of a string"},
		{`"\/"`, "", "an escape"},
		{`"\u00E9"`, "", "an escape"},
		{`"\u00e"`, "", "an escape"},
		{`"\ud835"`, "", "an escape"},
		{`"\ud835\u0041"`, "", "two halves of a character"},
		{`"\udcb3\ud835"`, "", "two halves of a character"},
		{"\"a\nb\"", "", "text in UTF-8"},
		{"\"ä\nb\"", "", "text in UTF-8"},
		{"\"\xff\"", "", "text in UTF-8"},
		{"\"\xed\xa0\x80\"", "", "text in UTF-8"},
		{`7`, "", "a string"},
		{``, "", "a string"},
	} {
		r := &jsonReader{text: c.in}
		if got := r.str(); got != c.want || r.want != c.mistake {
			t.Errorf("str of %s = %q, mistake %q; want %q, %q", c.in, got, r.want, c.want, c.mistake)
		}
		if c.mistake == "" && r.at != len(c.in) {
			t.Errorf("str of %s ends at %d", c.in, r.at)
		}
	}
}

func TestReadInteger(t *testing.T) {
	for in, want := range map[string]int64{
		"0": 0, "-1": -1, " 12": 12, "9223372036854775807": math.MaxInt64, "-9223372036854775808": math.MinInt64,
	} {
		r := &jsonReader{text: in}
		if got := r.integer(); got != want || r.want != "" {
			t.Errorf("integer of %s = %d, mistake %q; want %d", in, got, r.want, want)
		}
	}
	for _, in := range []string{"", "-", "01", "-0", "-01", "+1", "1e3x"[:0], "--1", "1-1", "9223372036854775808", "x", `"1"`} {
		r := &jsonReader{text: in}
		if got := r.integer(); got != 0 || r.want == "" {
			t.Errorf("integer of %s = %d without a mistake", in, got)
		}
	}
	r := &jsonReader{text: "1.5"}
	if r.integer(); r.next(',') || r.at != 1 {
		t.Errorf("a fraction is read up to %d", r.at)
	}
}

func TestMoments(t *testing.T) {
	for _, s := range []string{
		"1970-01-01T00:00:00.000Z", "2026-05-17T10:42:11.007Z", "2024-02-29T23:59:59.999Z", "1969-12-31T23:59:59.999Z",
		"1678-01-01T00:00:00.000Z", "2261-12-31T23:59:59.999Z",
	} {
		want, err := time.Parse(momentForm, s)
		if err != nil {
			t.Fatal(err)
		}
		ns, ok := parseMoment(s)
		if !ok || ns != want.UnixNano() {
			t.Errorf("parseMoment(%s) = %d, %v, want %d", s, ns, ok, want.UnixNano())
		}
		if got := string(appendMoment(nil, ns)); got != s || wholeMillis(ns) != ns {
			t.Errorf("appendMoment = %s, want %s", got, s)
		}
	}
	for _, s := range []string{
		"", "2026-05-17T10:42:11Z", "2026-05-17T10:42:11.007+00:00", "2026-05-17t10:42:11.007Z", "2026-05-17 10:42:11.007Z",
		"2026-02-29T00:00:00.000Z", "2026-13-01T00:00:00.000Z", "2026-00-01T00:00:00.000Z", "2026-01-00T00:00:00.000Z", "2026-01-01T24:00:00.000Z",
		"2026-01-01T23:60:00.000Z", "2026-01-01T23:59:60.000Z", "1677-12-31T23:59:59.999Z", "2262-01-01T00:00:00.000Z", "9999-01-01T00:00:00.000Z",
		"2026-05-17T10:42:11.0x7Z", "+026-05-17T10:42:11.007Z",
	} {
		if ns, ok := parseMoment(s); ok {
			t.Errorf("parseMoment(%s) = %d", s, ns)
		}
	}
	for in, want := range map[int64]int64{
		0: 0, 999_999: 0, 1_000_000: 1_000_000, -1: -1_000_000, -1_000_000: -1_000_000, noon + 1_999_999: noon + 1_000_000,
		math.MaxInt64: lastMoment, math.MinInt64: firstMoment,
	} {
		if got := wholeMillis(in); got != want {
			t.Errorf("wholeMillis(%d) = %d, want %d", in, got, want)
		}
	}
}

func TestReadDigest(t *testing.T) {
	d := cas.Sum([]byte("x"))
	for in, ok := range map[string]bool{
		d.Tagged():                              true,
		d.String():                              false,
		"blake3:":                               false,
		strings.ToUpper(d.Tagged()):             false,
		"blake3:" + strings.ToUpper(d.String()): false,
		d.Tagged() + "0":                        false,
		d.Tagged()[:70]:                         false,
		d.Tagged()[:70] + "g":                   false,
		d.Tagged()[:69] + "g0":                  false,
		d.Tagged()[:70] + "/":                   false,
		d.Tagged()[:70] + "`":                   false,
		d.Tagged()[:70] + ":":                   false,
		`blake3:\u0030` + d.String()[1:]:        false,
		"sha256:" + d.String():                  false,
		"blake3:" + strings.Repeat("0", 62) + "\xff\xff": false,
		"blake3:" + strings.Repeat("0", 64):              true,
	} {
		r := &jsonReader{text: `"` + in + `"`}
		if got := r.digest(); (r.want == "") != ok || ok && got.Tagged() != in || !ok && !got.IsZero() {
			t.Errorf("digest of %s = %s, mistake %q", in, got, r.want)
		}
	}
}

// FuzzString: what is written is JSON, is fit for a terminal, and is read again as it
// was, less what is no UTF-8.
func FuzzString(f *testing.F) {
	for _, s := range []string{"", "a", "\"\\\b\f\n\r\t", "\x00\x1b[2J\x7f\u0085", "é𝒳\u202e\u2028\ufeff", "\xff\xed\xa0\x80", "\ufffd", "\U000e0041"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		w := jsonWriter{}
		w.str(s)
		var std string
		if err := json.Unmarshal(w.b, &std); err != nil {
			t.Fatalf("%q: %v", w.b, err)
		}
		want := strings.ToValidUTF8(s, "\ufffd")
		// ToValidUTF8 makes one of several; the writer makes as many as there are bytes.
		if valid := want == s; valid && std != s {
			t.Errorf("encoding/json reads %q, want %q", std, s)
		}
		for _, c := range string(w.b) {
			if c < ' ' || c == 0x7f || c >= 0x80 && c < 0xa0 || c >= 0x202a && c <= 0x202e {
				t.Errorf("%q is written as %q", s, w.b)
			}
		}
		r := &jsonReader{text: string(w.b)}
		if got := r.str(); got != std || r.want != "" || r.at != len(w.b) {
			t.Errorf("%q is read as %q, mistake %q", w.b, got, r.want)
		}
	})
}

// FuzzLedger: any file is read in bounded time without a panic, and what is written
// after it is read as the same records.
func FuzzLedger(f *testing.F) {
	k, bob := textKey(f, "ann"), textKey(f, "bob")
	p := project(f)
	record(f, p, k, overridden(1), sample(2))
	record(f, p, bob, sample(1), sample(3))
	whole := ledgerOf(f, p)
	f.Add(whole)
	f.Add(whole[:len(whole)/2])
	f.Add([]byte(`{"version": 1, "guards": [{}, {"a": "\u00e9"}, [[[[]]]], 7]}`))
	f.Add([]byte(`{"version":1,"guards":[]}`))
	f.Add(appendList(nil, ledgerList, []listed{{text: "{}"}, {text: "null"}}))
	f.Fuzz(func(t *testing.T, file []byte) {
		l := NewLedger(k)
		states := l.Parse(file)
		r, problem := l.records(file)
		if want := l.Problem(file); problem != want {
			t.Errorf("records' problem %q, want %q", problem, want)
		}
		for key, s := range states {
			own, ok := r.Get(key)
			if (s.Run != nil) != ok || ok && own.Run.Fingerprint != s.Run.Fingerprint || s.Signer != l.Signer() || s.Foreign == ok {
				t.Errorf("%s: %+v, %+v", key, s, own)
			}
		}
		text := r.text()
		again, problem := l.records(text)
		if problem != "" || len(again.own) != len(r.own) || len(again.others) != len(r.others) {
			t.Fatalf("read again: problem %q, %d of %d own, %d of %d others", problem, len(again.own), len(r.own), len(again.others), len(r.others))
		}
		if got := again.text(); string(got) != string(text) {
			t.Errorf("written again:\n%s\nwant\n%s", got, text)
		}
	})
}
