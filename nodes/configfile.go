package nodes

import (
	"fmt"

	"github.com/model-workspace-protocol/mwp/cas"
	"github.com/model-workspace-protocol/mwp/graph"
	"github.com/model-workspace-protocol/mwp/nodes/ir"
)

// ConfigFile is the configuration of one anchor, read from the file at Path. An
// absent file is an empty configuration (D-01). It changes with the file's
// content; comments and layout do not change its value, except for line numbers.
type ConfigFile struct{ Path string }

// ConfigFileValue is a parsed configuration and what is wrong with it.
type ConfigFileValue struct {
	Present  bool
	Config   Config
	Problems []ir.Diagnostic
}

var configFileKind = graph.Define(graph.Definition[ConfigFileValue, ConfigFile]{
	Name: "config", Version: 2, Order: 10,
	Params: func(c *cas.Coder, n *ConfigFile) { c.String(&n.Path) },
	Value: func(c *cas.Coder, v *ConfigFileValue) {
		c.Bool(&v.Present)
		codeConfig(c, &v.Config)
		cas.Slice(c, &v.Problems, codeDiagnostic)
	},
})

// Kind returns the kind "config".
func (ConfigFile) Kind() *graph.Kind { return configFileKind }

// Compute reads and parses the file (D-02).
func (n ConfigFile) Compute(r graph.Reader) (v ConfigFileValue, err error) {
	f, err := graph.Need(r, graph.File{Path: n.Path})
	if err != nil {
		return v, err
	}
	refuse := func(code ir.Code, format string, args ...any) (ConfigFileValue, error) {
		return ConfigFileValue{Present: true, Problems: []ir.Diagnostic{{
			Code: code, Severity: ir.SeverityError, Source: n.Path, Message: fmt.Sprintf(format, args...),
		}}}, nil
	}
	if f.Type == graph.Link {
		to, err := resolve(r, ".", n.Path)
		if err != nil {
			return v, err
		}
		if to.Escapes || to.Loop || to.Type == graph.Absent {
			return refuse(ir.ConfigInvalid, "the configuration is a link that does not lead to a file inside the root")
		}
		if f, err = graph.Need(r, graph.File{Path: to.Path}); err != nil {
			return v, err
		}
	}
	switch f.Type {
	case graph.Absent:
		return v, nil
	case graph.Regular:
		v.Present = true
		v.Config, v.Problems = ParseConfig(f.Bytes)
		for i := range v.Problems {
			v.Problems[i].Source = n.Path
		}
		return v, nil
	case graph.TooLarge:
		return refuse(ir.LimitExceeded, "the configuration has %d bytes, the limit is %d", f.Size, maxConfigBytes)
	default:
		return refuse(ir.ConfigInvalid, "expected a file, found a %s", f.Type.Noun())
	}
}

// failed reports whether a list holds an error.
func failed(ds []ir.Diagnostic) bool {
	for _, d := range ds {
		if d.Severity == ir.SeverityError {
			return true
		}
	}
	return false
}
