package nodes

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/model-workspace-protocol/mwp/nodes/ir"
)

func (r *headerReader) guards(v *yaml.Node) {
	items, ok := r.items(v)
	if !ok {
		hint := "- cmd: ./check.sh"
		if v.Kind == yaml.ScalarNode {
			hint = "- cmd: " + abbreviate(v.Value)
		}
		r.fail(v, "guards: expected a list, found "+describe(v), hint)
		return
	}
	for _, item := range items {
		if g, ok := r.guard(item); ok {
			r.header.Guards = append(r.header.Guards, g)
		}
	}
}

// guard reads one entry (R-065, D-44, D-45, D-86, D-97, D-113).
func (r *headerReader) guard(item *yaml.Node) (g GuardSpec, ok bool) {
	g.Line = item.Line + r.lineOffset
	if item.Kind != yaml.MappingNode {
		hint := "- cmd: ./check.sh"
		if item.Kind == yaml.ScalarNode && item.Value != "" {
			hint = "- cmd: " + abbreviate(item.Value)
		}
		r.fail(item, "guards: expected an entry such as cmd: COMMAND, found "+describe(item), hint)
		return g, false
	}
	errorsBefore := r.list.errors
	var checks, timed []*yaml.Node
	r.pairs(item, func(key string, k, v *yaml.Node) {
		switch key {
		case "cmd":
			checks = append(checks, k)
			g.Cmd, g.Argv = r.command(v)
		case "exists":
			checks = append(checks, k)
			if s, ok := r.line(key, key+": ", v); ok && r.relativePath(key, v) {
				g.Exists = s
			}
		case "contains":
			checks = append(checks, k)
			g.ContainsPath, g.ContainsText = r.contains(v)
		case "script":
			checks = append(checks, k)
			g.Script = r.script(v)
		case "name":
			g.Name, _ = r.line(key, key+": ", v)
		case "cache_for":
			g.CacheFor = r.duration(key, v, 0)
			timed = append(timed, k)
		case "timeout":
			g.Timeout = r.duration(key, v, 1)
			timed = append(timed, k)
		case "trust":
			g.Trust, _ = r.oneOf(key, v, TrustBuiltin, TrustProject, TrustAdHoc)
			timed = append(timed, k)
		case "verified_paths":
			g.VerifiedPaths, g.HasVerifiedPaths = r.verifiedPaths(v)
			timed = append(timed, k)
		default:
			r.unknownKey(k, guardKeys())
		}
	})
	switch {
	case len(checks) > 1:
		r.fail(checks[1], fmt.Sprintf("guards: expected one check in an entry, found %s and %s", checks[0].Value, checks[1].Value), "write one entry for each")
	case len(checks) == 0 && r.list.errors == errorsBefore && !r.refusedBelow(item):
		r.fail(item, "guards: expected one of cmd, exists, contains or script in the entry, found none", "- cmd: ./check.sh")
	case len(checks) == 1 && checks[0].Value != "cmd":
		for _, k := range timed {
			r.list.add(r.at(ir.FrontmatterInvalid, ir.SeverityWarning, k, fmt.Sprintf("guards: %s has no effect beside %s, which runs nothing and is always current", k.Value, checks[0].Value), "delete the line"))
		}
	}
	return g, r.list.errors == errorsBefore
}

func (r *headerReader) refusedBelow(n *yaml.Node) bool {
	return slices.ContainsFunc(n.Content, func(c *yaml.Node) bool { return r.refused[c] })
}

// command reads cmd: a text for the shell's rules, or a list of words.
func (r *headerReader) command(v *yaml.Node) (string, []string) {
	if v.Kind != yaml.SequenceNode {
		s, _ := r.text("cmd", "cmd: ", v)
		return s, nil
	}
	var argv []string
	items, _ := r.items(v)
	for i, item := range items {
		// An argument may be empty, the program may not.
		if i > 0 && item.Kind == yaml.ScalarNode && item.ShortTag() == "!!str" && item.Value == "" {
			argv = append(argv, "")
			continue
		}
		if s, ok := r.text("cmd", "- ", item); ok {
			argv = append(argv, s)
		}
	}
	if len(v.Content) == 0 {
		r.fail(v, "cmd: expected a command, found an empty list", `cmd: ["go", "vet", "./..."]`)
	}
	return "", argv
}

func (r *headerReader) contains(v *yaml.Node) (file, text string) {
	const hint = "contains: {path: FILE, text: TEXT}"
	if v.Kind != yaml.MappingNode {
		r.fail(v, "contains: expected path and text, found "+describe(v), hint)
		return "", ""
	}
	seen := map[string]bool{}
	r.pairs(v, func(key string, k, n *yaml.Node) {
		seen[key] = true
		switch key {
		case "path":
			if s, ok := r.line(key, "path: ", n); ok && r.relativePath(key, n) {
				file = s
			}
		case "text":
			text, _ = r.text(key, "text: ", n)
		default:
			r.unknownKey(k, []string{"path", "text"})
		}
	})
	for _, key := range []string{"path", "text"} {
		if !seen[key] && !r.refusedBelow(v) {
			r.fail(v, "contains: expected path and text, found no "+key, hint)
		}
	}
	return file, text
}

func (r *headerReader) script(v *yaml.Node) string {
	s, ok := r.line("script", "script: ", v)
	if !ok {
		return ""
	}
	runner, name, _ := strings.Cut(s, ":")
	if (runner != "npm" && runner != "make") || strings.TrimSpace(name) == "" {
		hint := "script: npm:NAME or script: make:NAME"
		if name == "" && runner == s {
			hint = "script: npm:" + abbreviate(s)
		}
		r.fail(v, "script: expected npm:NAME or make:NAME, found "+describe(v), hint)
		return ""
	}
	return s
}

func (r *headerReader) duration(key string, v *yaml.Node, least time.Duration) *time.Duration {
	expected := key + ": expected a duration such as 10m, 2h or 1d, found " + describe(v)
	if v.Kind != yaml.ScalarNode {
		r.fail(v, expected, key+": 10m")
		return nil
	}
	d, err := ParseDuration(v.Value)
	switch {
	case err == nil && d >= least:
		return &d
	case err == nil:
		r.fail(v, key+": expected a duration above 0, found "+describe(v), key+": 10m")
	case strings.HasPrefix(err.Error(), "longer"):
		r.fail(v, expected+", which is "+err.Error(), key+": 1w")
	case isDecimal(v.Value) && v.Value[0] != '-':
		r.fail(v, expected+" without a unit", key+": "+v.Value+"s")
	default:
		r.fail(v, expected, key+": 10m")
	}
	return nil
}
