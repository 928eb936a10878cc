package nodes

import (
	"strings"
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
