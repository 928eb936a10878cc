package vcs

import (
	"bufio"
	"context"
	"errors"
	"io"
	"path"
	"strconv"
	"strings"

	"github.com/model-workspace-protocol/mwp/nodes/pin"
)

// Modes of an Entry, as git has them.
const (
	ModeFile       = 0o100644
	ModeExecutable = 0o100755
	ModeLink       = 0o120000
	ModeSubmodule  = 0o160000
)

// Entry is one file of a commit.
type Entry struct {
	// Path is relative to the repository's top, with '/' between names, in the bytes
	// that git has: it comes from strangers and need not be fit for a file.
	Path string
	Mode int
	// Object is the id of the content, or of a submodule's commit.
	Object string
	// Size is in bytes, and -1 for a submodule and for what this clone does not have.
	Size int64
}

// ListTree calls each for every file of a commit, given in full, below the
// directory under, in git's order; "" is the whole commit. A name that is a file
// lists that file, one that is nothing lists nothing. An error of each ends it.
func (r *Repository) ListTree(ctx context.Context, commit, under string, each func(Entry) error) error {
	doing := "list the files of " + commit
	args := []string{"ls-tree", "-r", "-z", "--long", "--full-tree"}
	switch {
	case !pin.IsCommit(commit):
		return notFound(doing, "it is no commit in full", "")
	case under != "" && !clean(under):
		return notFound(doing, "expected a clean path, found "+under, "")
	}
	if args = append(args, commit, "--"); under != "" {
		args = append(args, under)
	}
	return r.git.stream(ctx, call{doing: doing, args: args}, func(_ io.Writer, out *bufio.Reader) error {
		for {
			line, err := entry(doing, out, 0)
			if err == io.EOF {
				return nil
			}
			if err != nil {
				return err
			}
			e, ok := parseEntry(string(line))
			if !ok {
				return unexpected(doing)
			}
			if err := each(e); err != nil {
				return err
			}
		}
	})
}

// clean reports whether a path means the same to everybody.
func clean(p string) bool {
	return path.Clean(p) == p && p != "." && p != ".." && p[0] != '/' && !strings.HasPrefix(p, "../") && !strings.ContainsRune(p, 0)
}

// parseEntry reads "MODE TYPE OBJECT SIZE<tab>PATH".
func parseEntry(line string) (e Entry, ok bool) {
	head, name, _ := strings.Cut(line, "\t")
	f := strings.Fields(head)
	if len(f) != 4 || name == "" || !pin.IsCommit(f[2]) {
		return e, false
	}
	mode, err := strconv.ParseUint(f[0], 8, 31)
	if err != nil {
		return e, false
	}
	e = Entry{Path: name, Mode: int(mode), Object: f[2], Size: -1}
	if f[3] != "-" && f[3] != "BAD" {
		e.Size, err = strconv.ParseInt(f[3], 10, 64)
	}
	return e, err == nil && e.Size >= -1
}

// Blob is a file's content in a commit.
type Blob struct {
	Path string
	// Size is in bytes.
	Size int64
	// Content yields exactly Size bytes. It is valid until each returns, and need not
	// be read.
	Content io.Reader
}

// ReadBlobs calls each with the content of files of a commit, given in full, in the
// order of paths. One git serves them all, and nothing is held but what each keeps.
// A link's content is where it points. A path that the commit does not have, or
// this clone does not have the content of, ends it with ErrNotFound.
func (r *Repository) ReadBlobs(ctx context.Context, commit string, paths []string, each func(Blob) error) error {
	doing := "read files of " + commit
	if !pin.IsCommit(commit) {
		return notFound(doing, "it is no commit in full", "")
	}
	names := make([]string, len(paths))
	for i, p := range paths {
		if p == "" || !clean(p) {
			return notFound(doing, "expected a clean path, found "+p, "")
		}
		names[i] = commit + ":" + p
		if strings.ContainsAny(p, "\r\n") {
			// A request is one line, and git drops a carriage return at its end.
			object, err := r.object(ctx, commit, p)
			if err != nil {
				return err
			}
			names[i] = object
		}
	}
	return r.git.stream(ctx, call{doing: doing, args: []string{"cat-file", "--batch"}}, func(in io.Writer, out *bufio.Reader) error {
		for i, p := range paths {
			// One after the other: with several requests under way both pipes could fill.
			if _, err := io.WriteString(in, names[i]+"\n"); err != nil {
				return errEnded
			}
			if err := readBlob(doing, p, out, each); err != nil {
				return err
			}
		}
		return nil
	})
}

// object returns the id of one path's content.
func (r *Repository) object(ctx context.Context, commit, name string) (id string, err error) {
	err = r.ListTree(ctx, commit, name, func(e Entry) error {
		if e.Path == name {
			id = e.Object
		}
		return nil
	})
	if err == nil && id == "" {
		err = missing("read files of "+commit, name)
	}
	return id, err
}

func missing(doing, name string) *Error {
	return notFound(doing, "the commit has no file "+name+", or this clone does not have its content", "")
}

// readBlob reads one answer, "OBJECT TYPE SIZE", the content and a line end.
func readBlob(doing, name string, out *bufio.Reader, each func(Blob) error) error {
	line, err := entry(doing, out, '\n')
	if err != nil {
		return errors.Join(errEnded, err)
	}
	f := strings.Fields(string(line))
	if len(f) != 3 || f[1] != "blob" || !pin.IsCommit(f[0]) {
		return missing(doing, name)
	}
	size, err := strconv.ParseInt(f[2], 10, 64)
	if err != nil || size < 0 {
		return unexpected(doing)
	}
	content := &io.LimitedReader{R: out, N: size}
	if err := each(Blob{name, size, content}); err != nil {
		return err
	}
	if _, err := io.Copy(io.Discard, content); err != nil || content.N > 0 {
		return errEnded
	}
	if end, err := out.ReadByte(); err != nil || end != '\n' {
		return errEnded
	}
	return nil
}
