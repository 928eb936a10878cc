package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
)

const sumsFile = "SHA256SUMS"

// programs are what an archive holds and a user runs, as packages of this module.
var programs = []string{"mwp", "mwp-git"}

type platform struct{ os, arch string }

var platforms = []platform{
	{"linux", "amd64"}, {"linux", "arm64"}, {"darwin", "amd64"}, {"darwin", "arm64"}, {"windows", "amd64"}, {"windows", "arm64"},
}

// platformsNamed returns those of a list with commas, all of them for an empty one.
func platformsNamed(list string) ([]platform, error) {
	if list == "" {
		return platforms, nil
	}
	var named []platform
	for name := range strings.SplitSeq(list, ",") {
		i := slices.IndexFunc(platforms, func(p platform) bool { return p.os+"/"+p.arch == name })
		if i < 0 {
			return nil, fmt.Errorf("no release is made for %q", name)
		}
		if !slices.Contains(named, platforms[i]) {
			named = append(named, platforms[i])
		}
	}
	return named, nil
}

// release is what makes two of them differ.
type release struct {
	ctx       context.Context
	stderr    io.Writer
	source    string
	version   string
	commit    string // "" when it is not known
	modified  bool   // the sources are not those of the commit
	platforms []platform
	cache     string // of go, "" for the user's
}

var versionSyntax = regexp.MustCompile(`^v(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[0-9A-Za-z.-]+)?$`)

// identify finds out what the sources are: asked of git, where there is a repository.
func (r *release) identify() error {
	git := func(args ...string) (string, error) {
		c := exec.CommandContext(r.ctx, "git", args...)
		c.Dir = r.source
		out, err := c.Output()
		return strings.TrimSpace(string(out)), err
	}
	if commit, err := git("rev-parse", "HEAD"); err == nil {
		changes, err := git("status", "--porcelain", "--", ".")
		if err != nil {
			return fmt.Errorf("cannot ask git for changes: %w", err)
		}
		r.commit, r.modified = commit, changes != ""
	}
	if r.version == "" {
		tag, err := git("describe", "--tags", "--exact-match", "--match", "v[0-9]*")
		switch {
		case err != nil:
			return errors.New("there is no tag on the commit that is checked out\nhint: make release VERSION=v0.1.0, for archives that nobody publishes")
		case r.modified:
			return fmt.Errorf("the sources are not those of %s: `git status` shows changes\nhint: commit or remove them", tag)
		}
		r.version = tag
	}
	if !versionSyntax.MatchString(r.version) {
		return fmt.Errorf("%q is no version: expected v1.2.3, with -rc.1 or the like behind it", r.version)
	}
	return nil
}

// stamp is what `mwp version` says of these programs.
func (r *release) stamp() string {
	s := r.version
	if r.commit != "" {
		s += "," + r.commit
	}
	if r.modified {
		s += ",modified"
	}
	return s
}

// build writes the archives and their digests, and returns the digests' text.
func (r *release) build(dir string) (string, error) {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return "", err
	}
	work, err := os.MkdirTemp("", "mwp-build-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(work)
	common, err := r.common(work)
	if err != nil {
		return "", err
	}
	sums := ""
	for _, p := range r.platforms {
		files, err := r.programs(work, p)
		if err != nil {
			return "", err
		}
		licences, err := r.licences(p)
		if err != nil {
			return "", err
		}
		files = append(append(files, licences), common...)
		name, data, err := pack("mwp-"+strings.TrimPrefix(r.version, "v")+"-"+p.os+"-"+p.arch, p.os == "windows", files)
		if err != nil {
			return "", err
		}
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o666); err != nil {
			return "", err
		}
		// The form that sha256sum --check reads.
		sums += fmt.Sprintf("%x  %s\n", sha256.Sum256(data), name)
	}
	return sums, os.WriteFile(filepath.Join(dir, sumsFile), []byte(sums), 0o666)
}

// goCommand returns a run of go for a platform, with nothing of this machine's settings
// that would change what it builds.
func (r *release) goCommand(p platform, args ...string) *exec.Cmd {
	c := exec.CommandContext(r.ctx, "go", args...)
	c.Dir, c.Stderr = r.source, r.stderr
	c.Env = append(os.Environ(),
		"GOOS="+p.os, "GOARCH="+p.arch, "CGO_ENABLED=0", "GOFLAGS=", "GOENV=off", "GOWORK=off",
		"GOAMD64=v1", "GOARM64=v8.0", "GOEXPERIMENT=", "GOFIPS140=off")
	for _, name := range []string{"GOPROXY", "GOMODCACHE", "GOSUMDB", "GONOSUMDB", "GOTOOLCHAIN"} {
		// GOENV=off hides what `go env -w` kept; where modules come from does not change them.
		if out, err := exec.CommandContext(r.ctx, "go", "env", name).Output(); err == nil {
			c.Env = append(c.Env, name+"="+strings.TrimSpace(string(out)))
		}
	}
	if r.cache != "" {
		c.Env = append(c.Env, "GOCACHE="+r.cache)
	}
	return c
}

// compile builds one program and returns its bytes.
func (r *release) compile(work string, p platform, program string) ([]byte, error) {
	out := filepath.Join(work, p.os+"-"+p.arch+"-"+program)
	flags := "-s -w -buildid="
	if program == "mwp" {
		flags += " -X main.stamp=" + r.stamp()
	}
	c := r.goCommand(p, "build", "-trimpath", "-buildvcs=false", "-ldflags="+flags, "-o", out, "./cmd/"+program)
	c.Stdout = r.stderr
	if err := c.Run(); err != nil {
		return nil, fmt.Errorf("cannot build %s for %s/%s: %w", program, p.os, p.arch, err)
	}
	return os.ReadFile(out)
}

func (r *release) programs(work string, p platform) ([]file, error) {
	var files []file
	for _, program := range programs {
		data, err := r.compile(work, p, program)
		if err != nil {
			return nil, err
		}
		if p.os == "windows" {
			program += ".exe"
		}
		files = append(files, file{program, data, true})
	}
	return files, nil
}

// common returns what every archive holds. mwp writes its page and its completions
// itself, so it is built for this machine too.
func (r *release) common(work string) ([]file, error) {
	host := platform{runtime.GOOS, runtime.GOARCH}
	if _, err := r.compile(work, host, "mwp"); err != nil {
		return nil, err
	}
	mwp := filepath.Join(work, host.os+"-"+host.arch+"-mwp")
	var files []file
	for _, f := range []struct {
		name string
		args []string
	}{
		{"mwp.1", []string{"help", "man"}},
		{"completions/mwp.bash", []string{"completion", "bash"}},
		{"completions/_mwp", []string{"completion", "zsh"}},
		{"completions/mwp.fish", []string{"completion", "fish"}},
		{"completions/mwp.ps1", []string{"completion", "powershell"}},
	} {
		c := exec.CommandContext(r.ctx, mwp, f.args...)
		c.Stderr = r.stderr
		out, err := c.Output()
		if err != nil {
			return nil, fmt.Errorf("mwp %s: %w", strings.Join(f.args, " "), err)
		}
		files = append(files, file{f.name, out, false})
	}
	for _, name := range []string{"LICENSE", "README.md", "CHANGELOG.md"} {
		data, err := os.ReadFile(filepath.Join(r.source, name))
		if err != nil {
			return nil, err
		}
		files = append(files, file{name, data, false})
	}
	return files, nil
}

// licences returns the texts that those who wrote the linked code want to be handed on.
func (r *release) licences(p platform) (file, error) {
	args := []string{"list", "-deps", "-f", "{{with .Module}}{{if not .Main}}{{.Path}}\t{{.Version}}\t{{.Dir}}{{end}}{{end}}"}
	for _, program := range programs {
		args = append(args, "./cmd/"+program)
	}
	out, err := r.goCommand(p, args...).Output()
	if err != nil {
		return file{}, fmt.Errorf("cannot list the linked modules: %w", err)
	}
	goroot, err := exec.CommandContext(r.ctx, "go", "env", "GOROOT").Output()
	if err != nil {
		return file{}, err
	}
	modules := strings.Split(strings.TrimSpace(string(out)), "\n")
	slices.Sort(modules)
	modules = append([]string{"Go\tthe standard library\t" + strings.TrimSpace(string(goroot))}, slices.Compact(modules)...)
	var b bytes.Buffer
	b.WriteString("The programs in this archive contain code of the following projects.\n")
	for _, m := range modules {
		if m == "" {
			continue
		}
		part := strings.Split(m, "\t")
		text, err := licence(part[2])
		if err != nil {
			return file{}, fmt.Errorf("%s %s: %w", part[0], part[1], err)
		}
		fmt.Fprintf(&b, "\n==== %s %s ====\n%s", part[0], part[1], text)
	}
	return file{"LICENSES-OF-OTHERS", b.Bytes(), false}, nil
}

var licenceName = regexp.MustCompile(`(?i)^(licen[cs]e|copying|notice|patents)([.-].*)?$`)

// licence returns the licence files of a directory.
func licence(dir string) (string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return "", err
	}
	text := ""
	for _, e := range entries {
		if e.IsDir() || !licenceName.MatchString(e.Name()) {
			continue
		}
		b, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return "", err
		}
		text += "\n" + strings.TrimSpace(strings.ReplaceAll(string(b), "\r\n", "\n")) + "\n"
	}
	if text == "" {
		return "", errors.New("found no licence, expected a file LICENSE, COPYING or the like")
	}
	return text, nil
}

// copyTree copies the sources, without what git and builds keep beside them.
func copyTree(to, from string) error {
	return filepath.WalkDir(from, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, p)
		if err != nil {
			return err
		}
		target := filepath.Join(to, rel)
		switch {
		case d.IsDir() && (rel == ".git" || rel == "dist" || d.Name() == "node_modules"):
			return filepath.SkipDir
		case d.IsDir():
			return os.MkdirAll(target, 0o777)
		case !d.Type().IsRegular():
			return nil
		}
		data, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		return os.WriteFile(target, data, 0o666)
	})
}
