package ir

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"testing"
	"unicode/utf8"
)

// fill sets every field reachable from v to a pseudo-random value, so that a
// field added to the IR and forgotten in AppendJSON fails the comparison.
func fill(v reflect.Value, rng *rand.Rand) {
	switch v.Kind() {
	case reflect.Pointer:
		if rng.IntN(3) > 0 {
			v.Set(reflect.New(v.Type().Elem()))
			fill(v.Elem(), rng)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i), rng)
		}
	case reflect.Slice:
		n := rng.IntN(3)
		v.Set(reflect.MakeSlice(v.Type(), n, n))
		fallthrough
	case reflect.Array:
		for i := range v.Len() {
			fill(v.Index(i), rng)
		}
	case reflect.String:
		pool := []string{"", "plain", "a\"b\\c", "line\nfeed\r\t\b\f\x01", "<&>", "\u2028é\u2029", "bad\xffutf", "日本", "\x7f", "\u009b31m\u202eb\U000e0041"}
		v.SetString(pool[rng.IntN(len(pool))])
	case reflect.Int, reflect.Int64:
		v.SetInt(rng.Int64N(2000) - 1000)
	case reflect.Bool:
		v.SetBool(rng.IntN(2) == 0)
	default:
		panic("fill: " + v.Kind().String())
	}
}

func TestAppendJSONEqualsEncodingJSON(t *testing.T) {
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 1))
		var m Map
		fill(reflect.ValueOf(&m).Elem(), rng)
		var want bytes.Buffer
		enc := json.NewEncoder(&want)
		enc.SetEscapeHTML(false)
		enc.SetIndent("", "  ")
		if err := enc.Encode(&m); err != nil {
			t.Fatal(err)
		}
		var escaped []byte
		for _, r := range want.String() {
			if Hidden(r) {
				escaped = appendEscaped(escaped, r)
			} else {
				escaped = utf8.AppendRune(escaped, r)
			}
		}
		if got := AppendJSON(nil, &m, FullForm); !bytes.Equal(got, escaped) {
			t.Fatalf("seed %d: AppendJSON differs from encoding/json\n got %s\nwant %s", seed, got, escaped)
		}
	}
}

func TestEmptyMapHasNoNulls(t *testing.T) {
	got := string(AppendJSON(nil, &Map{}, FullForm))
	for _, name := range []string{"l0", "directories", "sub_applications", "intents", "pipelines", "notes", "modules", "verifications", "trace", "warnings"} {
		if !bytes.Contains([]byte(got), []byte(`"`+name+`": []`)) {
			t.Errorf("AppendJSON of an empty map: %s is not []", name)
		}
	}
}

func TestHashedFormLeavesOutVolatileFields(t *testing.T) {
	a := Map{Root: "/a", IRHash: "x", Delta: &Delta{Session: "s"}, Verifications: []Verification{{Guard: "g", RanAt: "1", CacheUntil: "2", DurationMS: 3}}}
	b := a
	b.Root, b.IRHash, b.Delta = "/b", "y", nil
	b.Verifications = []Verification{{Guard: "g", RanAt: "4", CacheUntil: "5", DurationMS: 6}}
	if !bytes.Equal(AppendJSON(nil, &a, HashedForm), AppendJSON(nil, &b, HashedForm)) {
		t.Error("HashedForm depends on root, delta, ir_hash or times")
	}
	b.Verifications[0].Status = "failed"
	if bytes.Equal(AppendJSON(nil, &a, HashedForm), AppendJSON(nil, &b, HashedForm)) {
		t.Error("HashedForm does not depend on a verification's status")
	}
}
