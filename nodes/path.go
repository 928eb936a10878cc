package nodes

import (
	"strings"

	"github.com/model-workspace-protocol/mwp/graph"
)

// Paths here are relative to the workspace root, '/'-separated, "." for the root.

func join(dir, name string) string {
	if dir == "." {
		return name
	}
	return dir + "/" + name
}

func parent(path string) string {
	if i := strings.LastIndexByte(path, '/'); i >= 0 {
		return path[:i]
	}
	return "."
}

func base(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }

func segments(path string) []string {
	if path == "." || path == "" {
		return nil
	}
	return strings.Split(path, "/")
}

func depth(path string) int { return len(segments(path)) }

// within reports whether path is dir or lies below it.
func within(path, dir string) bool {
	return dir == "." || path == dir || strings.HasPrefix(path, dir+"/")
}

// maxLinks bounds a chain of links, as the kernel does.
const maxLinks = 40

// resolved is where a path leads when its links are followed inside the root.
type resolved struct {
	Path string
	Type graph.FileType
	// Escapes is set when a link leads out of the root, Loop when links go round.
	Escapes, Loop bool
}

// resolve follows a path's links from a directory that has none, one component
// after the other as the kernel would, and never leaves the root (D-74).
func resolve(r graph.Reader, dir, path string) (resolved, error) {
	cur, pending, links := dir, segments(path), 0
	for len(pending) > 0 {
		name := pending[0]
		pending = pending[1:]
		switch name {
		case "", ".":
			continue
		case "..":
			if cur == "." {
				return resolved{Escapes: true}, nil
			}
			cur = parent(cur)
			continue
		}
		probe, err := graph.Need(r, graph.NewProbe(cur, name))
		if err != nil {
			return resolved{}, err
		}
		switch t := probe.Types[0]; t {
		case graph.Directory:
			cur = join(cur, name)
		case graph.Link:
			if links++; links > maxLinks {
				return resolved{Loop: true}, nil
			}
			l, err := graph.Need(r, graph.SymLink{Path: join(cur, name)})
			if err != nil {
				return resolved{}, err
			}
			target := l.Target
			if strings.HasPrefix(target, "/") {
				if l.Inside == "" {
					return resolved{Escapes: true}, nil
				}
				cur, target = ".", l.Inside
			}
			pending = append(segments(target), pending...)
		default:
			if len(pending) > 0 {
				t = graph.Absent
			}
			return resolved{Path: join(cur, name), Type: t}, nil
		}
	}
	return resolved{Path: cur, Type: graph.Directory}, nil
}
