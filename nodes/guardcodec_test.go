package nodes

import (
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/model-workspace-protocol/mwp/cas"
	"github.com/model-workspace-protocol/mwp/graph"
	"github.com/model-workspace-protocol/mwp/nodes/ir"
)

// fillCoded is fillValue for parameters and values of guards, which hold digests and
// have fields that mean something together.
func fillCoded(v reflect.Value, rng *rand.Rand) {
	switch v.Kind() {
	case reflect.Uint8:
		v.SetUint(uint64(rng.IntN(256)))
	case reflect.Pointer:
		if rng.IntN(3) > 0 {
			v.Set(reflect.New(v.Type().Elem()))
			fillCoded(v.Elem(), rng)
		}
	case reflect.Slice:
		if n := rng.IntN(3); n > 0 {
			v.Set(reflect.MakeSlice(v.Type(), n, n))
			for i := range n {
				fillCoded(v.Index(i), rng)
			}
		}
	case reflect.Array:
		for i := range v.Len() {
			fillCoded(v.Index(i), rng)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			fillCoded(v.Field(i), rng)
		}
		switch x := v.Addr().Interface().(type) {
		case *Guard:
			if x.Real == "" {
				x.Real = "real"
			}
		case *OptionalInt:
			if !x.Set {
				x.Value = 0
			}
		}
	default:
		fillValue(v, rng)
	}
}

// TestGuardEncodingsKeepEveryField: parameters and values of every kind that guards
// brought survive, so a field that is added and not written fails here.
func TestGuardEncodingsKeepEveryField(t *testing.T) {
	for _, c := range []struct {
		task  graph.Task
		value any
	}{
		{Trust{}, TrustValue{}},
		{TrustTables{}, cas.Digest{}},
		{Sources{}, SourcesValue{}},
		{GuardInputs{}, GuardInputsValue{}},
		{GuardInputsText{}, nil},
		{Check{}, CheckValue{}},
		{Verifications{}, VerificationsValue{}},
		{GuardAccounts{}, []ir.GuardAccount(nil)},
		{PlaceGuards{}, PlaceGuardsValue{}},
		{GuardPlan{}, GuardPlanValue{}},
		{GuardPlanText{}, nil},
		{graph.Record{}, nil},
		{graph.Content{}, nil},
	} {
		k := c.task.Kind()
		for seed := range uint64(300) {
			rng := rand.New(rand.NewPCG(seed, 11))
			task := reflect.New(reflect.TypeOf(c.task)).Elem()
			fillCoded(task, rng)
			back, err := k.DecodeParams(k.EncodeParams(task.Interface().(graph.Task)))
			if err != nil || !reflect.DeepEqual(back, task.Interface()) {
				t.Fatalf("%s, seed %d: %+v comes back as %+v, %v", k.Name, seed, task, back, err)
			}
			if c.value == nil {
				continue
			}
			value := reflect.New(reflect.TypeOf(c.value)).Elem()
			fillCoded(value, rng)
			got, err := k.DecodeValue(k.EncodeValue(value.Interface()))
			if err != nil || !reflect.DeepEqual(got, value.Interface()) {
				t.Fatalf("%s, seed %d: %+v comes back as %+v, %v", k.Name, seed, value, got, err)
			}
		}
	}
}

// TestEncodedGuards: the text that names a guard in parameters gives it back, and one
// that is no guard is refused without a panic.
func TestEncodedGuards(t *testing.T) {
	for seed := range uint64(300) {
		var g Guard
		fillCoded(reflect.ValueOf(&g).Elem(), rand.New(rand.NewPCG(seed, 13)))
		back, err := decodeGuard(encodeGuard(g))
		if err != nil {
			t.Fatal(err)
		}
		if back.Key() != g.Key() || back.Real != g.Real || !reflect.DeepEqual(back.Texts, g.Texts) || back.HasVerifiedPaths != g.HasVerifiedPaths || len(back.VerifiedPaths) != len(g.VerifiedPaths) {
			t.Errorf("seed %d: %+v comes back as %+v", seed, g, back)
		}
		if encodeGuard(back) != encodeGuard(g) {
			t.Errorf("seed %d: two texts for one guard", seed)
		}
	}
	for _, s := range []string{"", "x", "\xff\xff\xff\xff", encodeGuard(Guard{Real: "r"}) + "x"} {
		if g, err := decodeGuard(s); err == nil {
			t.Errorf("decodeGuard(%q) = %+v", s, g)
		}
	}
}

// TestPathPattern: '**' after '**' says nothing more, and what is longer than any path
// that a scan meets is not walked for.
func TestPathPattern(t *testing.T) {
	for _, c := range []struct {
		pattern string
		want    string
		ok      bool
	}{
		{"**", "**", true},
		{"**/**/a/**/**/**/b/**", "**/a/**/b/**", true},
		{strings.Repeat("**/", 5000) + "x", "**/x", true},
		{"**/*/**", "**/*/**", true},
		{strings.Repeat("*/", maxScanDepth) + "*", strings.Repeat("*/", maxScanDepth) + "*", true},
		{strings.Repeat("*/", maxScanDepth+1) + "*", strings.Repeat("*/", maxScanDepth+1) + "*", false},
	} {
		p, ok := newPathPattern(segments(c.pattern))
		if got := strings.Join(p, "/"); got != c.want || ok != c.ok {
			t.Errorf("newPathPattern(%.20q) = %.40q, %v, want %.40q, %v", c.pattern, got, ok, c.want, c.ok)
		}
	}
}
