package eval

import (
	"os"
	"path/filepath"
	"strings"
)

// OnDiskCase returns a root-relative path with each component spelled as the
// directory lists it (D-100), for systems that find a file under any spelling.
// A component that is listed exactly, or not at all, is kept, and so is what
// follows the latter. It lists directories, so it is for after a slot was missed.
func OnDiskCase(root, rel string) string {
	dir := root
	names := strings.Split(rel, "/")
	for i, name := range names {
		entries, err := os.ReadDir(dir)
		if err != nil {
			break
		}
		listed := ""
		for _, e := range entries {
			if e.Name() == name {
				listed = name
				break
			}
			if listed == "" && strings.EqualFold(e.Name(), name) {
				listed = e.Name()
			}
		}
		if listed == "" {
			break
		}
		names[i] = listed
		dir = filepath.Join(dir, listed)
	}
	return strings.Join(names, "/")
}
