package mcp

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"

	"github.com/model-workspace-protocol/mwp"
	"github.com/model-workspace-protocol/mwp/mcp/rpc"
)

// Types of arguments, as JSON Schema names them.
const (
	typeString  = "string"
	typeBoolean = "boolean"
	typeInteger = "integer"
)

// argument is one property of a tool's input.
type argument struct {
	name, kind, about string
	required          bool
	// one, when set, lists the values that a string may have.
	one []string
	// most bounds an integer, which is at least 1.
	most int
}

// schema is a tool's input: a closed object. What clients are shown and what is
// checked are made of the same values, because some clients strip from a schema what
// closes it.
type schema []argument

// json returns the JSON Schema, with neither references nor alternatives: some clients
// refuse a whole list of tools for one of them.
func (s schema) json() []byte {
	r := newResult()
	r.text("type", "object")
	properties, required := newResult(), [][]byte(nil)
	for _, a := range s {
		p := newResult()
		p.text("type", a.kind)
		if len(a.one) > 0 {
			p.list("enum", jsonStrings(a.one))
		}
		if a.kind == typeInteger {
			p.raw("minimum", []byte("1"))
			p.raw("maximum", strconv.AppendInt(nil, int64(a.most), 10))
		}
		if a.about != "" {
			p.text("description", a.about)
		}
		properties.raw(a.name, p.close())
		if a.required {
			required = append(required, jsonStrings([]string{a.name})...)
		}
	}
	if len(s) > 0 {
		r.raw("properties", properties.close())
	}
	if len(required) > 0 {
		r.list("required", required)
	}
	r.raw("additionalProperties", []byte("false"))
	return r.close()
}

func jsonStrings(names []string) [][]byte {
	var all [][]byte
	for _, n := range names {
		all = append(all, strconv.AppendQuote(nil, n))
	}
	return all
}

// arguments are checked ones, by name: a string, a bool or an int each.
type arguments map[string]any

func (a arguments) text(name string) (string, bool) { s, ok := a[name].(string); return s, ok }
func (a arguments) flag(name string) bool           { b, _ := a[name].(bool); return b }
func (a arguments) number(name string) int          { n, _ := a[name].(int); return n }

// check returns the arguments of a call, or what is wrong with one, which it names with
// the ones that there are. null stands for an argument that is left out: so some clients
// leave out what is optional.
func (s schema) check(tool string, raw json.RawMessage) (arguments, error) {
	given, ok := rpc.Object(raw)
	if !ok {
		return nil, invalid(tool + ": expected an object as arguments, found " + kindOf(raw))
	}
	for name := range given {
		if s.named(name) == nil {
			return nil, s.unknown(tool, given)
		}
	}
	checked := arguments{}
	for i := range s {
		a := &s[i]
		value := given[a.name]
		if len(value) == 0 || string(value) == "null" {
			if a.required {
				return nil, invalid(tool + ": the argument " + a.name + " is missing; " + s.takes(tool))
			}
			continue
		}
		v, expected := a.read(value)
		if expected != "" {
			return nil, invalid(tool + ": expected " + expected + " as " + a.name + ", found " + found(value) + "; " + s.takes(tool))
		}
		checked[a.name] = v
	}
	return checked, nil
}

func (s schema) named(name string) *argument {
	for i := range s {
		if s[i].name == name {
			return &s[i]
		}
	}
	return nil
}

// unknown names the first argument, in the order of their names, that there is not.
func (s schema) unknown(tool string, given map[string]json.RawMessage) error {
	first := ""
	for name := range given {
		if s.named(name) == nil && (first == "" || name < first) {
			first = name
		}
	}
	text := tool + ": there is no argument " + quoted(first)
	if near := s.near(first); near != "" {
		text += "; did you mean " + near + "?"
	} else {
		text += ";"
	}
	return invalid(text + " " + s.takes(tool))
}

func (s schema) near(name string) string {
	for _, a := range s {
		if strings.EqualFold(a.name, name) {
			return a.name
		}
	}
	return mwp.Suggest(name, s.names())
}

func (s schema) names() []string {
	names := make([]string, len(s))
	for i, a := range s {
		names[i] = a.name
	}
	return names
}

// takes lists the arguments.
func (s schema) takes(tool string) string {
	if len(s) == 0 {
		return tool + " takes no arguments"
	}
	return tool + " takes " + strings.Join(s.names(), ", ")
}

// read decodes a value, or says what was expected.
func (a *argument) read(raw json.RawMessage) (v any, expected string) {
	switch a.kind {
	case typeString:
		var s string
		if raw[0] != '"' || json.Unmarshal(raw, &s) != nil {
			return nil, "a string"
		}
		for _, o := range a.one {
			if s == o {
				return s, ""
			}
		}
		if len(a.one) > 0 {
			return nil, strings.Join(a.one, " or ")
		}
		return s, ""
	case typeBoolean:
		var b bool
		if json.Unmarshal(raw, &b) != nil {
			return nil, "true or false"
		}
		return b, ""
	}
	f, err := strconv.ParseFloat(string(raw), 64)
	if err != nil || f != math.Trunc(f) || f < 1 || f > float64(a.most) {
		return nil, "a whole number from 1 to " + strconv.Itoa(a.most)
	}
	return int(f), ""
}

// found shows a short value, and of a long one what it is.
func found(raw json.RawMessage) string {
	var s string
	if raw[0] == '"' && json.Unmarshal(raw, &s) == nil {
		return quoted(s)
	}
	if k := kindOf(raw); k != "a number" || len(raw) > 40 {
		return k
	}
	return "the number " + string(raw)
}
