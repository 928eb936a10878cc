package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"

	"github.com/model-workspace-protocol/mwp/eval/module/protocol"
	"github.com/model-workspace-protocol/mwp/nodes/pin"
)

// maxEntries bounds what is looked at in a tree: directories, links and submodules
// make no files but take as much time.
const maxEntries = 4 * pin.MaxFiles

// tree is a module's directory, listed and judged, before anything is written.
type tree struct {
	objects objects
	// entries are files, links, directories and submodules by path.
	entries map[string]treeEntry
	// folded has every path as a file system that ignores case and composition
	// sees it.
	folded map[string]string
	fold   cases.Caser
	// lists are the directories that were read, by id: all their entries count, so
	// that there are few of them, and a bomb has the same ones again and again.
	lists map[string][]treeEntry
	// links and submodules are paths in the order of the tree.
	links, submodules []string
	files             []file
	notes             []string
}

// file is one file to write.
type file struct {
	path, id string
	exec     bool
}

// readTree lists the directory dir of a commit's tree. It fails when one thing in
// it must not be written: half a module is none.
func readTree(ctx context.Context, o objects, root, dir string) (*tree, error) {
	t := &tree{objects: o, entries: map[string]treeEntry{}, folded: map[string]string{}, fold: cases.Fold(), lists: map[string][]treeEntry{}}
	id, err := t.find(ctx, root, dir)
	if err == nil {
		err = t.walk(ctx, id, "")
	}
	if err == nil {
		err = t.follow(ctx)
	}
	if err != nil {
		return nil, err
	}
	if len(t.files) > pin.MaxFiles {
		return nil, tooMany("files", pin.MaxFiles)
	}
	slices.SortFunc(t.files, func(a, b file) int { return strings.Compare(a.path, b.path) })
	t.notes = append(t.notes, listed("left out the submodule", "left out the submodules", t.submodules)...)
	return t, nil
}

// find returns the id of a directory of the repository.
func (t *tree) find(ctx context.Context, id, dir string) (string, error) {
	if dir == "" {
		return id, nil
	}
	for segment := range strings.SplitSeq(dir, "/") {
		entries, err := t.list(ctx, id)
		if err != nil {
			return "", err
		}
		i := slices.IndexFunc(entries, func(e treeEntry) bool { return e.name == segment })
		if i < 0 || entries[i].mode != modeDir {
			return "", fail(protocol.RefNotFound, "the repository has no directory %s at this commit", quote(dir)).hint("check what stands after // in the import")
		}
		id = entries[i].id
	}
	return id, nil
}

func (t *tree) list(ctx context.Context, id string) ([]treeEntry, error) {
	if entries, ok := t.lists[id]; ok {
		return entries, ctx.Err()
	}
	kind, content, err := t.objects.object(ctx, id, maxTree)
	if err != nil {
		return nil, err
	}
	if kind != "tree" {
		return nil, unsafe(id, "is listed as a directory and is a "+kind)
	}
	entries, err := parseTree(content, len(id))
	if err == nil {
		t.lists[id] = entries
	}
	return entries, err
}

// walk adds what lies below a directory. The depth ends with pin.CheckPath, the
// breadth with maxEntries: a tree of 33 objects can name 2^32 paths.
func (t *tree) walk(ctx context.Context, id, dir string) error {
	entries, err := t.list(ctx, id)
	if err != nil {
		return err
	}
	for _, e := range entries {
		p := e.name
		if dir != "" {
			p = dir + "/" + e.name
		}
		if err := t.add(p, e); err != nil {
			return err
		}
		switch e.mode {
		case modeDir:
			err = t.walk(ctx, e.id, p)
		case modeFile, modeExec:
			t.files = append(t.files, file{p, e.id, e.mode == modeExec})
		case modeLink:
			t.links = append(t.links, p)
		case modeSubmodule:
			t.submodules = append(t.submodules, p)
		default:
			err = unsafe(p, fmt.Sprintf("has the mode %o", e.mode))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// add records a path unless it is no name for a file here or the same name as
// another on some file system.
func (t *tree) add(p string, e treeEntry) error {
	switch {
	case len(t.entries) == maxEntries:
		return tooMany("entries", maxEntries)
	case len(t.files) > pin.MaxFiles:
		return tooMany("files", pin.MaxFiles)
	case strings.Contains(e.name, "/"):
		return unsafe(p, "is one name with a slash in it")
	case strings.Count(p, "/") >= pin.MaxDepth:
		return fail(protocol.TooLarge, "%s lies in more than %d directories inside each other", quote(p), pin.MaxDepth)
	case len(p) > pin.MaxPathBytes:
		return fail(protocol.TooLarge, "the path %s has %d bytes; the limit is %d", quote(p), len(p), pin.MaxPathBytes)
	}
	if err := pin.CheckPath(p); err != nil {
		return unsafe(p, "has "+err.Error())
	}
	// Unicode's canonical caseless match; file systems differ in which part of it
	// they do.
	key := norm.NFD.String(t.fold.String(norm.NFD.String(p)))
	if other, ok := t.folded[key]; ok {
		return unsafe(p, "is the same name as "+quote(other)+" on some systems")
	}
	t.folded[key] = p
	t.entries[p] = e
	return nil
}

func unsafe(p, why string) error {
	return fail(protocol.Unsafe, "%s %s", quote(p), why).hint("nothing of the module was kept; tell its authors")
}

func tooMany(what string, limit int) error {
	return fail(protocol.TooLarge, "the module has more than %d %s", limit, what).hint("import one directory of it: URL//DIRECTORY@TAG")
}

// write puts the files below dir, an existing empty directory. When it fails, the
// directory is empty again. It returns how many bytes it wrote and which files are
// pointers to Git LFS.
func (t *tree) write(ctx context.Context, dir string, p *progress) (total int64, pointers []string, err error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return 0, nil, err
	}
	defer root.Close()
	if err := checkEmpty(root); err != nil {
		return 0, nil, err
	}
	defer func() {
		if err != nil {
			for _, f := range t.files {
				first, _, _ := strings.Cut(f.path, "/")
				_ = root.RemoveAll(first)
			}
		}
	}()
	made := map[string]bool{".": true}
	for i, f := range t.files {
		content, err := t.blob(ctx, f, pin.MaxBytes-total)
		if err != nil {
			return 0, nil, err
		}
		if err := writeFile(root, f, content, made); err != nil {
			return 0, nil, err
		}
		total += int64(len(content))
		if isPointer(content) {
			pointers = append(pointers, f.path)
		}
		p.count("wrote %d of %d files", i+1, len(t.files))
	}
	return total, pointers, nil
}

// blob returns the content of a file of which the module may still have so many
// bytes.
func (t *tree) blob(ctx context.Context, f file, limit int64) ([]byte, error) {
	kind, content, err := t.objects.object(ctx, f.id, limit)
	if e, ok := errors.AsType[*failure](err); ok && e.answer.Code == protocol.TooLarge {
		return nil, fail(protocol.TooLarge, "the module has more than %d bytes; %s does not fit", int64(pin.MaxBytes), quote(f.path)).hint("import one directory of it: URL//DIRECTORY@TAG")
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", quote(f.path), err)
	}
	if kind != "blob" {
		return nil, unsafe(f.path, "is listed as a file and is a "+kind)
	}
	return content, nil
}

func checkEmpty(root *os.Root) error {
	d, err := root.Open(".")
	if err != nil {
		return err
	}
	defer d.Close()
	names, err := d.Readdirnames(1)
	if len(names) > 0 {
		return fail(protocol.IO, "expected an empty directory, found %s in %s", quote(names[0]), quote(root.Name()))
	}
	if !errors.Is(err, io.EOF) {
		return err
	}
	return nil
}

func writeFile(root *os.Root, f file, content []byte, made map[string]bool) error {
	if dir := path.Dir(f.path); !made[dir] {
		if err := root.MkdirAll(dir, 0o755); err != nil {
			return err
		}
		made[dir] = true
	}
	mode := os.FileMode(0o644)
	if f.exec {
		mode = 0o755
	}
	w, err := root.OpenFile(f.path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = w.Write(content)
	return errors.Join(err, w.Close())
}

// isPointer reports whether a file stands for one in Git LFS, whose content lies
// elsewhere.
func isPointer(content []byte) bool {
	return len(content) < 1024 && (bytes.HasPrefix(content, []byte("version https://git-lfs.github.com/spec/")) ||
		bytes.HasPrefix(content, []byte("version https://hawser.github.com/spec/")))
}

// listed returns a sentence that names some paths, none for no path.
func listed(one, many string, paths []string) []string {
	const limit = 5
	switch {
	case len(paths) == 0:
		return nil
	case len(paths) == 1:
		return []string{one + " " + quote(paths[0])}
	}
	var names []string
	for _, p := range paths[:min(len(paths), limit)] {
		names = append(names, quote(p))
	}
	s := many + " " + strings.Join(names, ", ")
	if more := len(paths) - limit; more > 0 {
		s += " and " + strconv.Itoa(more) + " more"
	}
	return []string{s}
}

func counted(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + many
}

func quoted(s string) string { return strconv.QuoteToASCII(s) }
