package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/go-git/go-billy/v5"
	"github.com/go-git/go-billy/v5/osfs"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/cache"
	"github.com/go-git/go-git/v5/plumbing/transport"
	"github.com/go-git/go-git/v5/storage/filesystem"
	"github.com/go-git/go-git/v5/storage/filesystem/dotgit"

	"github.com/model-workspace-protocol/mwp/eval/module/protocol"
)

// local is a repository on this machine, read as files. The library's file
// transport and git's own run git-upload-pack inside the repository, under its
// configuration and only when it belongs to this user; reading its objects needs
// neither the program nor that trust, because nothing in it is a command.
type local struct {
	job     *job
	storage *filesystem.Storage
}

// maxConfig bounds a repository's configuration.
const maxConfig = 1 << 20

// list implements remote.
func (r *local) list(ctx context.Context) (*listing, error) {
	dir, err := localDir(r.job.place)
	if err != nil {
		return nil, err
	}
	fs, err := findRepository(dir)
	if err != nil {
		return nil, err
	}
	if err := checkFormat(fs); err != nil {
		return nil, err
	}
	r.storage = filesystem.NewStorageWithOptions(fs, cache.NewObjectLRU(32<<20), filesystem.Options{ExclusiveAccess: true})
	return r.references(ctx)
}

func localDir(p *place) (string, error) {
	dir := p.path
	if runtime.GOOS == "windows" {
		// file:///C:/x
		dir = strings.TrimPrefix(dir, "/")
	}
	dir = filepath.FromSlash(dir)
	if !filepath.IsAbs(dir) {
		return "", refuse("expected file:/// and an absolute path, found %q", p.url)
	}
	return dir, nil
}

// findRepository looks where git looks: a work tree's .git, the directory itself,
// the name with .git behind it.
func findRepository(dir string) (billy.Filesystem, error) {
	for _, d := range []string{filepath.Join(dir, ".git"), dir, dir + ".git"} {
		info, err := os.Stat(d)
		if err != nil {
			continue
		}
		if info.Mode().IsRegular() {
			return linkedRepository(d)
		}
		if isRepository(d) {
			return osfs.New(d), nil
		}
	}
	return nil, transport.ErrRepositoryNotFound
}

func isRepository(dir string) bool {
	return isDir(filepath.Join(dir, "objects")) && isDir(filepath.Join(dir, "refs")) && isFile(filepath.Join(dir, "HEAD"))
}

func isDir(p string) bool {
	info, err := os.Stat(p)
	return err == nil && info.IsDir()
}

// isFile keeps pipes and devices out, which would be read for ever.
func isFile(p string) bool {
	info, err := os.Stat(p)
	return err == nil && info.Mode().IsRegular()
}

// linkedRepository follows the file .git of a linked work tree or submodule.
func linkedRepository(file string) (billy.Filesystem, error) {
	own, err := readPointer(file, "gitdir:", filepath.Dir(file))
	if err != nil {
		return nil, err
	}
	if isRepository(own) {
		return osfs.New(own), nil
	}
	common, err := readPointer(filepath.Join(own, "commondir"), "", own)
	if err != nil || !isDir(filepath.Join(common, "objects")) || !isFile(filepath.Join(own, "HEAD")) {
		return nil, transport.ErrRepositoryNotFound
	}
	return dotgit.NewRepositoryFilesystem(osfs.New(own), osfs.New(common)), nil
}

// readPointer returns the path in a file of one line.
func readPointer(file, label, base string) (string, error) {
	info, err := os.Stat(file)
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxLink {
		return "", transport.ErrRepositoryNotFound
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	line, ok := strings.CutPrefix(strings.TrimSpace(string(text)), label)
	if !ok {
		return "", transport.ErrRepositoryNotFound
	}
	p := filepath.FromSlash(strings.TrimSpace(line))
	if !filepath.IsAbs(p) {
		p = filepath.Join(base, p)
	}
	return p, nil
}

// checkFormat sends repositories that the library cannot read to the git program,
// unless their configuration could make that run or ask something else: git of
// some years fetches what a partial clone lacks by a command in its configuration.
func checkFormat(fs billy.Filesystem) error {
	_, err := fs.Stat("objects/info/alternates")
	lent := err == nil
	info, err := fs.Stat("config")
	if errors.Is(err, os.ErrNotExist) && !lent {
		return nil
	}
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() || info.Size() > maxConfig {
		return fail(protocol.Unsafe, "the repository's configuration is no file of a reasonable size")
	}
	f, err := fs.Open("config")
	if err != nil {
		return err
	}
	defer f.Close()
	raw, err := io.ReadAll(io.LimitReader(f, maxConfig))
	if err != nil {
		return err
	}
	text := bytes.ToLower(raw)
	odd := slices.ContainsFunc([]string{"sha256", "reftable"}, func(s string) bool { return bytes.Contains(text, []byte(s)) })
	if !odd && !lent {
		return nil
	}
	for _, s := range []string{"promisor", "partialclone", "include", "worktreeconfig"} {
		if bytes.Contains(text, []byte(s)) {
			return fail(protocol.Refused, "the git program would have to read this repository, whose configuration has the word %s", s).hint("clone it to a plain repository first")
		}
	}
	return fmt.Errorf("%w: it has SHA-256 ids, a reference table or the objects of another", errNeedsGit)
}

// maxRefs bounds the references of a local repository, maxSymbolic a chain of
// symbolic ones.
const (
	maxRefs     = 500000
	maxSymbolic = 5
)

func (r *local) references(ctx context.Context) (*listing, error) {
	l := &listing{refs: map[string]string{}, peeled: map[string]string{}}
	all, err := r.storage.IterReferences()
	if err != nil {
		return nil, err
	}
	defer all.Close()
	err = all.ForEach(func(ref *plumbing.Reference) error {
		if len(l.refs) == maxRefs {
			return tooMuch("references", maxRefs)
		}
		if id, ok := r.stands(ref); ok && ref.Name() == plumbing.HEAD {
			l.head = id
		} else if ok {
			l.refs[ref.Name().String()] = id
		}
		return ctx.Err()
	})
	if err == nil && r.job.request.Op == protocol.Tags {
		err = r.peelTags(ctx, l)
	}
	return l, err
}

// stands follows symbolic references.
func (r *local) stands(ref *plumbing.Reference) (string, bool) {
	for range maxSymbolic {
		if ref.Type() == plumbing.HashReference {
			return ref.Hash().String(), true
		}
		next, err := r.storage.Reference(ref.Target())
		if err != nil {
			return "", false
		}
		ref = next
	}
	return "", false
}

// peelTags does what a server does when it lists.
func (r *local) peelTags(ctx context.Context, l *listing) error {
	for name, id := range l.refs {
		if err := ctx.Err(); err != nil {
			return err
		}
		if !strings.HasPrefix(name, tagPrefix) {
			continue
		}
		if commit, _, err := peel(ctx, r.objects(), want{kind: "", id: id, ref: name}); err == nil {
			l.peeled[name] = commit
		}
	}
	return nil
}

// fetch implements remote: everything is here.
func (r *local) fetch(context.Context, want, *listing) (objects, error) { return r.objects(), nil }

// fetchAll implements remote.
func (r *local) fetchAll(context.Context, *listing) (objects, error) { return r.objects(), nil }

func (r *local) objects() objects { return localObjects{r.storage} }

func (r *local) close() {
	if r.storage != nil {
		_ = r.storage.Close()
	}
}

// localObjects reads objects of a local repository.
type localObjects struct{ storage *filesystem.Storage }

// object implements objects. A file there may hold another object than its name
// says.
func (o localObjects) object(_ context.Context, id string, limit int64) (string, []byte, error) {
	hash := plumbing.NewHash(id)
	if len(id) != 40 {
		return "", nil, fmt.Errorf("%w: %s", errMissing, id)
	}
	size, err := o.storage.EncodedObjectSize(hash)
	if errors.Is(err, plumbing.ErrObjectNotFound) {
		return "", nil, fmt.Errorf("%w: %s", errMissing, id)
	}
	if err != nil {
		return "", nil, err
	}
	if size > limit {
		return "", nil, tooLong(id, size, limit)
	}
	e, err := o.storage.EncodedObject(plumbing.AnyObject, hash)
	if err != nil {
		return "", nil, err
	}
	reader, err := e.Reader()
	if err != nil {
		return "", nil, err
	}
	defer reader.Close()
	content, err := io.ReadAll(io.LimitReader(reader, limit+1))
	if err != nil {
		return "", nil, err
	}
	if int64(len(content)) > limit {
		return "", nil, tooLong(id, int64(len(content)), limit)
	}
	if plumbing.ComputeHash(e.Type(), content) != hash {
		return "", nil, fail(protocol.Unsafe, "the object %s is not what its name says", id)
	}
	return e.Type().String(), content, nil
}

func (localObjects) close() {}
