package mwp

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/model-workspace-protocol/mwp/graph"
)

// DescribeNode names the node or leaf of an event by kind, version and
// parameters. Parameters that are zero are left out.
func DescribeNode(e Event) string { return describe(e.Task) }

// DescribeKey says, one fact a line, what went into the keys of an event's node:
// its parameters, what it read with the digest of each answer, in order, and the
// keys and the digest that came of it. All of it is read from the recorded trace.
func DescribeKey(e Event) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s\n  id     %s\n", e.Status, describe(e.Task), e.ID)
	if e.Trace != nil {
		for i, g := range e.Trace.Groups {
			for _, d := range g {
				fmt.Fprintf(&b, "  needs  %d %s = %s\n", i, describe(d.Task), d.Value)
			}
		}
		fmt.Fprintf(&b, "  trace  %s\n", graph.TraceKey(e.ID, e.Trace))
	}
	if !e.Value.IsZero() {
		fmt.Fprintf(&b, "  value  %s\n", e.Value)
	}
	if e.Mismatch {
		b.WriteString("  the recorded value was another one\n")
	}
	return b.String()
}

func describe(t graph.Task) string {
	k := t.Kind()
	b := []byte(k.Name + "/" + strconv.Itoa(k.Version) + "(")
	start := len(b)
	var fields func(v reflect.Value)
	fields = func(v reflect.Value) {
		for i := range v.NumField() {
			f, name := v.Field(i), v.Type().Field(i)
			switch {
			case name.Anonymous && f.Kind() == reflect.Struct:
				fields(f)
				continue
			case !name.IsExported(), f.IsZero(), f.Kind() == reflect.Pointer:
				// What a pointer leads to is no parameter: a digest stands for it.
				continue
			}
			if len(b) > start {
				b = append(b, ", "...)
			}
			b = append(append(b, name.Name...), '=')
			if s, ok := f.Interface().(fmt.Stringer); ok {
				b = append(b, s.String()...)
			} else if f.Kind() == reflect.String {
				b = strconv.AppendQuote(b, f.String())
			} else {
				b = fmt.Appendf(b, "%v", f.Interface())
			}
		}
	}
	fields(reflect.ValueOf(t))
	return string(append(b, ')'))
}
