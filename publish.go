package mwp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/model-workspace-protocol/mwp/eval/vcs"
	"github.com/model-workspace-protocol/mwp/nodes"
	"github.com/model-workspace-protocol/mwp/nodes/ir"
	"github.com/model-workspace-protocol/mwp/nodes/pin"
)

// PublishRequest says which module to publish.
type PublishRequest struct {
	// Dir is the module's directory, relative to Options.Dir; "" is Options.Dir
	// itself. It may lie below the top of its repository.
	Dir string
	// DryRun checks everything, asks the remote, and makes and pushes nothing.
	DryRun bool
	// Remote is the name of the remote; "" is origin, or the only one there is.
	Remote string
	// Terminal lets git ask for a password on the terminal.
	Terminal bool
}

// Publication is what Publish did, or would do.
type Publication struct {
	// Tag stands for Commit, which is in full. For a module that is the repository's
	// top the tag is v and the version (D-80); for one in a directory that comes
	// first, as in rules/go/v1.2.0: each module of a repository has versions of its
	// own, and they may not claim one another's tags.
	Tag, Commit string
	// Remote is the remote's name and URL where it is, without user-info (U-45).
	Remote, URL string
	// Line imports the module by its tag, Pinned by its commit.
	Line, Pinned string
	// Made is set when the tag was made and Pushed when it was pushed, or would be
	// without DryRun. A tag that is on the commit already is left as it is; neither
	// is set when the remote has it.
	Made, Pushed bool
	// Notices are findings that stop nobody.
	Notices []ir.Diagnostic
}

// Codes of Publish.
const (
	publishRefused ir.Code = "publish_refused"
	publishLocal   ir.Code = "publish_local"
	gitMissing     ir.Code = "git_missing"
	gitFailed      ir.Code = "git_failed"
)

// undoTime is how long deleting a tag may take after everything else failed.
const undoTime = 10 * time.Second

// Publish tags the current commit with the version of a module's manifest and
// pushes the tag, so that others can import the module (R-240, D-80). Before that
// it checks that they could: the manifest has a name and a semantic version and no
// errors, what it lists is in the commit, the work tree is clean, and the commit's
// files pass the limits of a module. It moves no tag, neither here nor there, and
// when the push fails it deletes the tag that it made. The error is a *Refusal, an
// *EnvironmentError or the context's.
func (w *Workspace) Publish(ctx context.Context, q PublishRequest) (*Publication, error) {
	if strings.ContainsRune(q.Dir, 0) {
		return nil, refuse(publishRefused, "", "", "the directory's name holds a NUL byte")
	}
	p := publishing{dir: q.Dir, q: q}
	if !filepath.IsAbs(p.dir) {
		p.dir = filepath.Join(w.o.Dir, q.Dir)
	}
	for _, step := range []func(context.Context) error{p.open, p.check, p.address, p.compare, p.release} {
		if err := step(ctx); err != nil {
			return nil, gitError(err)
		}
	}
	return &p.to, nil
}

// gitError puts a failure of package vcs into words; other errors are left alone.
func gitError(err error) error {
	var e *vcs.Error
	if !errors.As(err, &e) {
		return err
	}
	code := gitFailed
	if errors.Is(err, vcs.ErrNoGit) {
		code = gitMissing
	}
	return environment(code, err, e.Hint, "%s", e.Error())
}

// publishing is one call of Publish.
type publishing struct {
	q    PublishRequest
	dir  string // absolute
	repo *vcs.Repository
	// manifest is the manifest's path from the repository's top.
	manifest string
	module   nodes.ModuleManifest
	to       Publication
}

// open finds the manifest and the repository around it.
func (p *publishing) open(ctx context.Context) error {
	file := filepath.Join(p.dir, nodes.ManifestName)
	if _, err := os.Lstat(file); errors.Is(err, fs.ErrNotExist) {
		return refuse(publishRefused, p.dir, "write one, or name the module's directory: mwp publish path/to/module",
			"expected a module, found no %s", nodes.ManifestName)
	}
	repo, err := vcs.Open(ctx, vcs.Options{Dir: p.dir, Terminal: p.q.Terminal})
	if err != nil {
		return err
	}
	p.repo = repo
	p.manifest = path.Join(repo.Prefix(), nodes.ManifestName)
	return nil
}

// check reads the manifest and reports everything that is wrong at once.
func (p *publishing) check(ctx context.Context) error {
	changes, err := p.repo.Status(ctx)
	if err != nil {
		return err
	}
	if p.to.Commit, err = p.repo.Head(ctx); err != nil {
		if errors.Is(err, vcs.ErrNotFound) {
			return refuse(publishRefused, p.dir, "git add --all && git commit", "the repository has no commit yet, so there is nothing to tag")
		}
		return err
	}
	files, found, err := p.files(ctx)
	if err != nil {
		return err
	}
	text, err := p.text(ctx, len(changes) == 0, files)
	if err != nil {
		return err
	}
	p.module = nodes.ParseManifest(text)
	found = slices.Concat(found, p.declared(), p.listed(files))
	ir.SortDiagnostics(found)
	if len(changes) > 0 {
		found = append(found, unclean(changes))
	}
	if slices.ContainsFunc(found, func(d ir.Diagnostic) bool { return d.Severity == ir.SeverityError }) {
		return &Refusal{found}
	}
	p.to.Notices = found
	return nil
}

// text returns the manifest: as it is in the commit, which is what others get, or
// in a tree that is not clean as its author sees it.
func (p *publishing) text(ctx context.Context, clean bool, files map[string]int) ([]byte, error) {
	file := filepath.Join(p.dir, nodes.ManifestName)
	if mode, ok := files[nodes.ManifestName]; !ok || !regular(mode) || !clean {
		text, err := readRegular(file)
		if err != nil {
			return nil, readFailed(ir.Unreadable, err, file)
		}
		return text, nil
	}
	var text []byte
	err := p.repo.ReadBlobs(ctx, p.to.Commit, []string{p.manifest}, func(b vcs.Blob) (err error) {
		if b.Size > maxInitBytes {
			return readFailed(ir.Unreadable, unfit("the file has "+strconv.FormatInt(b.Size, 10)+" bytes, the limit is "+strconv.Itoa(maxInitBytes)), file)
		}
		text, err = io.ReadAll(b.Content)
		return err
	})
	return text, err
}

func regular(mode int) bool { return mode == vcs.ModeFile || mode == vcs.ModeExecutable }

// files returns the module's files in the commit with their modes, and what would
// keep others from fetching them (package pin's limits).
func (p *publishing) files(ctx context.Context) (files map[string]int, found []ir.Diagnostic, err error) {
	const hint = "keep the module in a directory or repository of its own"
	files = map[string]int{}
	size := int64(0)
	err = p.repo.ListTree(ctx, p.to.Commit, p.repo.Prefix(), func(e vcs.Entry) error {
		name := strings.TrimPrefix(strings.TrimPrefix(e.Path, p.repo.Prefix()), "/")
		files[name] = e.Mode
		if size += max(e.Size, 0); size > pin.MaxBytes {
			return refuse(ir.LimitExceeded, p.repo.Prefix(), hint, "the module has more than %d bytes", pin.MaxBytes)
		}
		if len(files) > pin.MaxFiles {
			return refuse(ir.LimitExceeded, p.repo.Prefix(), hint, "the module has more than %d files", pin.MaxFiles)
		}
		if err := pin.CheckPath(name); err != nil && len(found) < maxUnsafe {
			found = append(found, ir.Diagnostic{
				Code: publishRefused, Severity: ir.SeverityError, Source: e.Path,
				Message: "expected a name that every system can have, found " + err.Error(), Hint: "rename the file",
			})
		}
		return nil
	})
	return files, found, err
}

// maxUnsafe bounds the findings about names.
const maxUnsafe = 20

// problem makes a finding about the manifest.
func (p *publishing) problem(code ir.Code, at nodes.ImportRef, hint, format string, args ...any) ir.Diagnostic {
	return ir.Diagnostic{
		Code: code, Severity: ir.SeverityError, Source: p.manifest, Line: at.Line, Column: at.Column,
		Message: fmt.Sprintf(format, args...), Hint: hint,
	}
}

// declared returns the findings about the manifest by itself.
func (p *publishing) declared() []ir.Diagnostic {
	found := slices.Clone(p.module.Problems)
	for i := range found {
		found[i].Source = p.manifest
	}
	if failed(found) {
		// Without a header that can be read, what it does not say is no news.
		return found
	}
	if why := badVersion(p.module.Version); why != "" {
		found = append(found, p.problem(publishRefused, nodes.ImportRef{}, "version: 1.0.0", "version: expected MAJOR.MINOR.PATCH, found %s", why))
	}
	return found
}

func failed(ds []ir.Diagnostic) bool {
	return slices.ContainsFunc(ds, func(d ir.Diagnostic) bool { return d.Severity == ir.SeverityError })
}

// badVersion says why a text is no semantic version, "" for one that is. Build
// metadata is refused: semver takes versions that differ only there for the same.
func badVersion(v string) string {
	quoted := strconv.Quote(v)
	switch {
	case v == "":
		return "none"
	case len(v) > 64:
		return "more than 64 characters"
	case strings.HasPrefix(v, "v"):
		return quoted + "; the tag gets the v"
	case strings.Contains(v, "+"):
		return quoted + "; build metadata makes no version of its own"
	}
	core, pre, hasPre := strings.Cut(v, "-")
	numbers := strings.Split(core, ".")
	if len(numbers) != 3 {
		return quoted
	}
	for _, n := range numbers {
		if !number(n) {
			return quoted
		}
	}
	for part := range strings.SplitSeq(pre, ".") {
		digits := strings.Trim(part, "0123456789") == ""
		if hasPre && (part == "" || digits && !number(part) || strings.Trim(strings.ToLower(part), "0123456789abcdefghijklmnopqrstuvwxyz-") != "") {
			return quoted
		}
	}
	return ""
}

// number reports whether s is a number of a semantic version: without leading
// zeros.
func number(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == "" && (s == "0" || s[0] != '0')
}

// listed returns the findings about what the manifest lists: others get the
// commit's files and nothing else.
func (p *publishing) listed(files map[string]int) []ir.Diagnostic {
	var found []ir.Diagnostic
	if mode, ok := files[nodes.ManifestName]; !ok || !regular(mode) {
		found = append(found, p.problem(publishRefused, nodes.ImportRef{}, "git add "+nodes.ManifestName, "the manifest is not in the current commit"))
	}
	for _, i := range p.module.Imports {
		if i.Refused.Code == "" {
			found = append(found, p.imported(i, files)...)
		}
	}
	for _, i := range p.module.Pipelines {
		if i.Refused.Code == "" {
			found = append(found, p.local("pipelines", i, files, false)...)
		}
	}
	return found
}

// imported checks one import.
func (p *publishing) imported(i nodes.ImportRef, files map[string]int) []ir.Diagnostic {
	value := i.Value
	switch {
	case i.Kind == nodes.ImportLocal:
		return p.local(nodes.ImportLocal, i, files, true)
	case i.Kind == nodes.ImportWorkspace && i.Git == "":
		return []ir.Diagnostic{p.problem(ir.UnresolvedImport, i, "list the module's own files with local: and its dependencies with git:",
			"workspace: %s is out of reach: a module has no workspace around it", i.Value)}
	case i.Kind == nodes.ImportWorkspace:
		value = i.Git
	}
	ref, err := pin.ParseRef(value)
	switch {
	case err != nil:
		return []ir.Diagnostic{p.problem(ir.ImportKindInvalid, i, "", "git: %s", err)}
	case ref.Name == "":
		return []ir.Diagnostic{p.problem(ir.FloatingRef, i, "name a tag or a commit after the @", "git: %s names no version", pin.Mask(value))}
	case ref.Secret():
		return []ir.Diagnostic{p.problem(ir.ImportSecret, i, "keep it in ~/.netrc or MWP_GIT_TOKEN", "git: the URL carries a password or token, and this file is shared")}
	}
	return nil
}

// local checks a path of the module. A directory will do where a module can be
// imported, if it is one.
func (p *publishing) local(what string, i nodes.ImportRef, files map[string]int, modules bool) []ir.Diagnostic {
	file, _ := i.Target()
	mode, ok := files[file]
	say := func(hint, format string, args ...any) []ir.Diagnostic {
		return []ir.Diagnostic{p.problem(ir.UnresolvedImport, i, hint, what+": "+format, args...)}
	}
	switch {
	case ok && regular(mode):
		return nil
	case ok && mode == vcs.ModeLink:
		return say("name the file that it leads to", "%s is a symbolic link", file)
	case ok:
		return say("import it as a module of its own: - git: URL@TAG", "%s is a submodule", file)
	case file == ".":
		return say("name a file of the module", "%s is the module itself", i.Value)
	}
	for name := range files {
		if strings.EqualFold(name, file) {
			return say("write "+name, "%s is not in the current commit, which has %s", file, name)
		}
		if modules && (name == file+"/"+nodes.ManifestName || name == file+"/.mwp" || strings.HasPrefix(name, file+"/.mwp/")) {
			return nil
		}
	}
	info, err := os.Lstat(filepath.Join(p.dir, filepath.FromSlash(file)))
	switch {
	case err != nil:
		return say("", "%s does not exist", file)
	case info.IsDir():
		return say("name a file", "%s is a directory and no module", file)
	}
	return say("git add --force "+file, "%s exists here, and is not in the current commit", file)
}

// unclean is the finding about uncommitted changes.
func unclean(changes []vcs.Change) ir.Diagnostic {
	const shown = 5
	var names []string
	for _, c := range changes[:min(len(changes), shown)] {
		names = append(names, string(c.Kind)+" "+c.Path)
	}
	if more := len(changes) - shown; more > 0 {
		names = append(names, "and "+strconv.Itoa(more)+" more")
	}
	return ir.Diagnostic{
		Code: publishRefused, Severity: ir.SeverityError, Hint: "commit them, or put them aside with `git stash --include-untracked`",
		Message: "expected a clean work tree, found uncommitted changes: " + strings.Join(names, ", "),
	}
}

// address chooses the remote and puts together how others name the module.
func (p *publishing) address(ctx context.Context) error {
	remotes, err := p.repo.Remotes(ctx)
	if err != nil {
		return err
	}
	if p.to.Remote, err = chooseRemote(p.q.Remote, remotes); err != nil {
		return err
	}
	configured, effective, err := p.repo.RemoteURL(ctx, p.to.Remote)
	if err != nil {
		return err
	}
	dir := p.repo.Prefix()
	p.to.Tag = path.Join(dir, "v"+p.module.Version)
	// What the user wrote is what others can use, unless it is an abbreviation:
	// rewriting often puts in the user's own way, or a token.
	ref, err := reference(p.fileURL(configured), dir, p.to.Tag)
	if err != nil {
		var again error
		if ref, again = reference(p.fileURL(effective), dir, p.to.Tag); again != nil {
			return refuse(publishRefused, p.manifest, "an import is written url//directory@tag; give the remote another URL, or rename the directory",
				"no import can name the tag %s on %s: %v", p.to.Tag, p.to.Remote, err)
		}
	}
	bare := ref
	bare.Dir, bare.Name = "", ""
	p.to.URL = bare.Key()
	p.to.Line = "- git: " + ref.Key()
	ref.Name = p.to.Commit
	p.to.Pinned = "- git: " + ref.Key()
	if strings.HasPrefix(p.to.URL, "file:") {
		p.to.Notices = append(p.to.Notices, ir.Diagnostic{
			Code: publishLocal, Severity: ir.SeverityWarning,
			Message: "the remote " + p.to.Remote + " is a directory, so only this machine can import the module from it",
		})
	}
	return nil
}

// chooseRemote returns the remote that was asked for, else origin, else the only
// one.
func chooseRemote(asked string, remotes []string) (string, error) {
	all := strings.Join(remotes, ", ")
	switch {
	case len(remotes) == 0:
		return "", refuse(publishRefused, "", "git remote add origin URL", "the repository has no remote to push to")
	case asked != "" && !slices.Contains(remotes, asked):
		return "", refuse(publishRefused, "", "the remotes are "+all, "the repository has no remote %s", strconv.Quote(asked))
	case asked != "":
		return asked, nil
	case slices.Contains(remotes, "origin"):
		return "origin", nil
	case len(remotes) > 1:
		return "", refuse(publishRefused, "", "name one of "+all+" with --remote", "the repository has %d remotes, and none is origin", len(remotes))
	}
	return remotes[0], nil
}

// fileURL returns the URL of a remote that is a path. Others are as they were.
func (p *publishing) fileURL(remote string) string {
	colon, slash := strings.IndexByte(remote, ':'), strings.IndexByte(remote, '/')
	switch {
	case filepath.IsAbs(remote):
	case strings.Contains(remote, "://"), colon >= 0 && (slash < 0 || colon < slash):
		return remote
	default:
		remote = filepath.Join(p.repo.Top(), remote)
	}
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~/:@+,="
	u := []byte("file:///")
	for _, c := range []byte(strings.TrimPrefix(filepath.ToSlash(filepath.Clean(remote)), "/")) {
		if strings.IndexByte(plain, c) >= 0 {
			u = append(u, c)
		} else {
			u = fmt.Appendf(u, "%%%02X", c)
		}
	}
	return string(u)
}

// reference returns how a module is imported by a tag. It fails when a reader
// would take the text apart in another way (D-36).
func reference(remote, dir, tag string) (pin.Ref, error) {
	// After a slash an @ belongs to the path.
	want := pin.Ref{URL: strings.TrimRight(remote, "/"), Dir: dir}
	for _, name := range []string{strings.Repeat("0", 40), tag} {
		want.Name = name
		// As a reader sees it, without the user-info.
		got, err := pin.ParseRef(want.Key())
		switch {
		case err != nil:
			return want, err
		case got.Key() != want.Key() || got.Dir != dir || got.Name != name:
			return want, errors.New("in " + want.Key() + " the tag would be read as " + strconv.Quote(got.Name))
		case got.Vague() != "":
			return want, errors.New(got.Vague())
		}
	}
	return want, nil
}

// compare looks where the tag is already, and on which commit.
func (p *publishing) compare(ctx context.Context) error {
	here, err := p.repo.Tag(ctx, p.to.Tag)
	if err != nil {
		return err
	}
	there, err := p.repo.RemoteTag(ctx, p.to.Remote, p.to.Tag)
	if err != nil {
		return err
	}
	for _, at := range []struct{ where, commit string }{{"in this repository", here}, {"on " + p.to.Remote, there}} {
		if at.commit != "" && at.commit != p.to.Commit {
			return refuse(ir.TagMoved, p.manifest, "raise the version: a tag that others have pinned is never moved",
				"the tag %s stands for %s %s, and the current commit is %s", p.to.Tag, at.commit, at.where, p.to.Commit)
		}
	}
	p.to.Made, p.to.Pushed = here == "" && there == "", there == ""
	return nil
}

// release makes and pushes the tag.
func (p *publishing) release(ctx context.Context) error {
	if p.q.DryRun {
		return nil
	}
	object := ""
	if p.to.Made {
		var err error
		if object, err = p.repo.CreateTag(ctx, p.to.Tag, p.to.Commit, p.module.Name+" "+p.module.Version); err != nil {
			return err
		}
	}
	if p.to.Pushed {
		if err := p.repo.PushTag(ctx, p.to.Remote, p.to.Tag); err != nil {
			return p.undo(ctx, object, err)
		}
	}
	return nil
}

// undo deletes the tag that was made for a push that failed, also when the push
// was interrupted, and returns why it failed.
func (p *publishing) undo(ctx context.Context, object string, cause error) error {
	if object == "" {
		return cause
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), undoTime)
	defer cancel()
	if err := p.repo.DeleteTag(ctx, p.to.Tag, object); err != nil {
		var e *vcs.Error
		if errors.As(cause, &e) {
			e.Hint = "the tag is still in this repository; delete it with `git tag -d " + p.to.Tag + "`"
		}
	}
	return cause
}
