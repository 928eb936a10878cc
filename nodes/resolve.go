package nodes

import (
	"slices"
	"strings"

	"github.com/model-workspace-protocol/mwp/graph"
)

// maxLinks bounds a chain of links, as the kernel does.
const maxLinks = 40

// resolved is where a path leads when its links are followed inside the root.
type resolved struct {
	Path string
	Type graph.FileType
	// Escapes is set when a link leads out of the root, Loop when links go round.
	Escapes, Loop bool
}

// route is a path on its way: cur has no links, pending is still to be walked.
type route struct {
	cur     string
	pending []string
	links   int
	done    bool
	to      resolved
}

// resolve follows a path's links from a directory that has none, one component
// after the other as the kernel would, and never leaves the root (D-74).
func resolve(r graph.Reader, dir, path string) (resolved, error) {
	tos, err := resolveAll(r, []string{dir}, []string{path})
	if err != nil {
		return resolved{}, err
	}
	return tos[0], nil
}

// resolveAll resolves paths[i] from dirs[i]. All paths take their next step
// together, so that names in one directory are one question.
func resolveAll(r graph.Reader, dirs, paths []string) ([]resolved, error) {
	routes := make([]route, len(paths))
	for i := range routes {
		routes[i] = route{cur: dirs[i], pending: segments(paths[i])}
	}
	for {
		// Names by directory, each in the order in which the paths ask for them.
		var order []string
		names := map[string][]string{}
		for i := range routes {
			if w := &routes[i]; w.advance() {
				if names[w.cur] == nil {
					order = append(order, w.cur)
				}
				if !slices.Contains(names[w.cur], w.pending[0]) {
					names[w.cur] = append(names[w.cur], w.pending[0])
				}
			}
		}
		if len(order) == 0 {
			break
		}
		probes := make([]graph.Probe, len(order))
		for i, dir := range order {
			probes[i] = graph.NewProbe(dir, names[dir]...)
		}
		states, err := graph.NeedAll(r, probes)
		if err != nil {
			return nil, err
		}
		for i := range routes {
			w := &routes[i]
			if w.done {
				continue
			}
			at := slices.Index(order, w.cur)
			if err := w.step(r, states[at].Types[slices.Index(names[w.cur], w.pending[0])]); err != nil {
				return nil, err
			}
		}
	}
	out := make([]resolved, len(routes))
	for i := range routes {
		out[i] = routes[i].to
	}
	return out, nil
}

// advance takes the steps that need no look, and reports whether one is left that
// does.
func (w *route) advance() bool {
	for !w.done && len(w.pending) > 0 {
		switch w.pending[0] {
		case "", ".":
		case "..":
			if w.cur == "." {
				w.end(resolved{Escapes: true})
				return false
			}
			w.cur = parent(w.cur)
		default:
			return true
		}
		w.pending = w.pending[1:]
	}
	if !w.done {
		w.end(resolved{Path: w.cur, Type: graph.Directory})
	}
	return false
}

func (w *route) end(to resolved) { w.done, w.to = true, to }

// step takes the next component, given its type.
func (w *route) step(r graph.Reader, t graph.FileType) error {
	name := w.pending[0]
	w.pending = w.pending[1:]
	switch t {
	case graph.Directory:
		w.cur = join(w.cur, name)
	case graph.Link:
		if w.links++; w.links > maxLinks {
			w.end(resolved{Loop: true})
			return nil
		}
		l, err := graph.Need(r, graph.SymLink{Path: join(w.cur, name)})
		if err != nil {
			return err
		}
		target := l.Target
		if strings.HasPrefix(target, "/") {
			if l.Inside == "" {
				w.end(resolved{Escapes: true})
				return nil
			}
			w.cur, target = ".", l.Inside
		}
		w.pending = append(segments(target), w.pending...)
	default:
		if len(w.pending) > 0 {
			t = graph.Absent
		}
		w.end(resolved{Path: join(w.cur, name), Type: t})
	}
	return nil
}
