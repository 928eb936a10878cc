package nodes

import (
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"github.com/model-workspace-protocol/mwp/cas"
	"github.com/model-workspace-protocol/mwp/nodes/ir"
)

func TestParseDuration(t *testing.T) {
	const day = 24 * time.Hour
	for _, tt := range []struct {
		in   string
		want time.Duration
		err  string
	}{
		{"0", 0, ""},
		{"0s", 0, ""},
		{"10m", 10 * time.Minute, ""},
		{"1h30m", 90 * time.Minute, ""},
		{"1d", day, ""},
		{"2w", 14 * day, ""},
		{"1w2d3h", 9*day + 3*time.Hour, ""},
		{"1.5d", 36 * time.Hour, ""},
		{".5h", 30 * time.Minute, ""},
		{"1.h", time.Hour, ""},
		{"100ms", 100 * time.Millisecond, ""},
		{"1us", time.Microsecond, ""},
		{"1µs", time.Microsecond, ""},
		{"1μs", time.Microsecond, ""},
		{"5ns", 5, ""},
		{"0.5ns", 0, ""},
		{"0.1234567890123456789s", 123456789, ""},
		{"15250w", 15250 * 7 * day, ""},
		{"15251w", 0, "longer than 15250w"},
		{"9223372036854775807ns", 1<<63 - 1, ""},
		{"9223372036854775808ns", 0, "longer than 15250w"},
		{"9223372036854775807ns1ns", 0, "longer than 15250w"},
		{"99999999999999999999999999w", 0, "longer than 15250w"},
		{"15250w15250w", 0, "longer than 15250w"},
		{"", 0, "not a duration"},
		{"10", 0, "not a duration"},
		{"m", 0, "not a duration"},
		{"-5m", 0, "not a duration"},
		{"+5m", 0, "not a duration"},
		{"5 m", 0, "not a duration"},
		{"5m ", 0, "not a duration"},
		{"5y", 0, "not a duration"},
		{"5M", 0, "not a duration"},
		{".m", 0, "not a duration"},
		{"1_0m", 0, "not a duration"},
		{"1e3s", 0, "not a duration"},
		{"00", 0, "not a duration"},
	} {
		got, err := ParseDuration(tt.in)
		text := ""
		if err != nil {
			text = err.Error()
		}
		if got != tt.want || text != tt.err {
			t.Errorf("ParseDuration(%q) = %v, %q, want %v, %q", tt.in, got, text, tt.want, tt.err)
		}
	}
}

// What Go can read, and signs aside, is read alike.
func FuzzParseDuration(f *testing.F) {
	for _, s := range []string{"1h2m3.5s", "1d", "0.000000001h", "µs", "9223372036.854775807s"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got, err := ParseDuration(s)
		want, wantErr := time.ParseDuration(s)
		if wantErr == nil && s[0] != '-' && s[0] != '+' {
			// Go computes fractions in floats and may be off by a little for each part.
			if diff := got - want; err != nil || diff < -1000 || diff > 1000 {
				t.Errorf("ParseDuration(%q) = %v, %v, want %v", s, got, err, want)
			}
		}
		if err == nil && got < 0 {
			t.Errorf("ParseDuration(%q) = %v, a negative duration", s, got)
		}
	})
}

func TestImportTarget(t *testing.T) {
	for _, tt := range []struct{ value, file, section string }{
		{"./rules.md", "rules.md", ""},
		{"rules.md", "rules.md", ""},
		{"./a/../b.md", "b.md", ""},
		{"skills/", "skills", ""},
		{".", ".", ""},
		{"./rules.md#Error handling", "rules.md", "Error handling"},
		{"rules.md# C# notes ", "rules.md", "C# notes"},
		{"c%23.md#C%23", "c#.md", "C%23"},
		{"a%2fb.md", "a%2fb.md", ""},
	} {
		file, section := ImportRef{Value: tt.value}.Target()
		if file != tt.file || section != tt.section {
			t.Errorf("ImportRef{%q}.Target() = %q, %q, want %q, %q", tt.value, file, section, tt.file, tt.section)
		}
	}
}

// fillValue sets every field reachable from v to a pseudo-random value, so that a
// field added to a type and forgotten in its encoding fails the round trip. Lists
// are nil or filled: the encoding reads an empty list as nil.
func fillValue(v reflect.Value, rng *rand.Rand) {
	switch v.Kind() {
	case reflect.Pointer:
		if rng.IntN(3) > 0 {
			v.Set(reflect.New(v.Type().Elem()))
			fillValue(v.Elem(), rng)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			fillValue(v.Field(i), rng)
		}
		// A refusal without a code is none, and is not written.
		if ref, ok := v.Addr().Interface().(*ImportRef); ok && ref.Refused.Code == "" {
			ref.Refused = ir.Diagnostic{}
		}
	case reflect.Slice:
		if n := rng.IntN(4); n > 0 {
			v.Set(reflect.MakeSlice(v.Type(), n, n))
			for i := range n {
				fillValue(v.Index(i), rng)
			}
		}
	case reflect.Array:
		for i := range v.Len() {
			fillValue(v.Index(i), rng)
		}
	case reflect.String:
		v.SetString([]string{"", "x", "text", "\x00\xff", "日本"}[rng.IntN(5)])
	case reflect.Int, reflect.Int64:
		v.SetInt(rng.Int64() >> rng.IntN(63))
	case reflect.Bool:
		v.SetBool(rng.IntN(2) == 0)
	default:
		panic("fillValue: " + v.Kind().String())
	}
}

func checkRoundTrip[V any](t *testing.T, v V, code func(*cas.Coder, *V)) {
	t.Helper()
	got, err := cas.DecodeValue(cas.EncodeValue(&v, code), code)
	if err != nil || !reflect.DeepEqual(got, v) {
		t.Fatalf("DecodeValue(EncodeValue(%+v)) = %+v, %v", v, got, err)
	}
}

func TestEncodingsKeepEveryField(t *testing.T) {
	for seed := range uint64(500) {
		rng := rand.New(rand.NewPCG(seed, 7))
		var h Header
		fillValue(reflect.ValueOf(&h).Elem(), rng)
		checkRoundTrip(t, h, codeHeader)
		var d Document
		fillValue(reflect.ValueOf(&d).Elem(), rng)
		checkRoundTrip(t, d, codeDocument)
		var p ir.Diagnostic
		fillValue(reflect.ValueOf(&p).Elem(), rng)
		checkRoundTrip(t, p, codeDiagnostic)
		var c Config
		fillValue(reflect.ValueOf(&c).Elem(), rng)
		checkRoundTrip(t, c, codeConfig)
	}
}

// Two headers that say different things must never share an encoding.
func TestEncodingsTellAbsentFromZero(t *testing.T) {
	zero, none := 0, time.Duration(0)
	for _, pair := range [][2]Header{
		{{}, {Layer: &zero}},
		{{}, {Window: &zero}},
		{{}, {HasVerifiedPaths: true}},
		{{Guards: []GuardSpec{{}}}, {Guards: []GuardSpec{{CacheFor: &none}}}},
		{{Guards: []GuardSpec{{Cmd: "a b"}}}, {Guards: []GuardSpec{{Argv: []string{"a b"}}}}},
		{{Guards: []GuardSpec{{Argv: []string{"a", "b"}}}}, {Guards: []GuardSpec{{Argv: []string{"a b"}}}}},
		{{Owners: []string{"a", "b"}}, {Owners: []string{"ab"}}},
		{{Imports: []ImportRef{{Kind: ImportWorkspace, Value: "x", Git: "y"}}}, {Imports: []ImportRef{{Kind: ImportWorkspace, Value: "xy"}}}},
	} {
		if a, b := cas.EncodeValue(&pair[0], codeHeader), cas.EncodeValue(&pair[1], codeHeader); string(a) == string(b) {
			t.Errorf("codeHeader writes %+v and %+v alike", pair[0], pair[1])
		}
	}
}

func FuzzDecodeHeader(f *testing.F) {
	d := ParseDocument([]byte(richHeader), Markdown)
	f.Add(cas.EncodeValue(&d, codeDocument))
	f.Fuzz(func(t *testing.T, b []byte) {
		d, err := cas.DecodeValue(b, codeDocument)
		if err != nil {
			return
		}
		if got := cas.EncodeValue(&d, codeDocument); string(got) != string(b) {
			t.Errorf("EncodeValue(DecodeValue(%x)) = %x", b, got)
		}
	})
}
