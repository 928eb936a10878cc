// Package vscode_test compiles the extension for VS Code and drives it against the
// mwp of this tree, in a copy, with the node and npm that are there (D-82). The
// extension is TypeScript: no Go package is in this folder.
package vscode_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// oldest is the node of the oldest VS Code that package.json admits, by major version.
const oldest = 20

// TestExtension installs what package-lock.json pins, compiles, and runs the
// extension's own tests, the ones against the real server among them.
func TestExtension(t *testing.T) {
	if testing.Short() {
		t.Skip("NOT TESTED: the extension, with -short: it has no Go in it")
	}
	for _, program := range []string{"node", "npm"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("NOT TESTED: the extension needs node %d or later and npm to be compiled: %v", oldest, err)
		}
	}
	if version := output(t, ".", "node", "--version"); major(version) < oldest {
		t.Skipf("NOT TESTED: the extension needs node %d or later, and there is %s", oldest, version)
	}
	dir := copied(t)
	install(t, dir)

	mwp := filepath.Join(t.TempDir(), "mwp")
	if os.PathSeparator == '\\' {
		mwp += ".exe"
	}
	output(t, ".", "go", "build", "-o", mwp, "../../cmd/mwp")
	t.Setenv("MWP_BINARY", mwp)
	t.Setenv("TMPDIR", t.TempDir())
	said := output(t, dir, "npm", "test")
	if strings.Contains(said, "NOT TESTED") {
		t.Errorf("npm test left something out though all is there:\n%s", said)
	}
	if info, err := os.Stat(filepath.Join(dir, "dist", "src", "extension.js")); err != nil || info.Size() == 0 {
		t.Errorf("npm test compiled no extension: %v", err)
	}
}

// install runs npm ci. When that fails, it asks the registry for one line, to tell a
// registry that is out of reach from a broken lock file.
func install(t *testing.T, dir string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	out, err := run(ctx, dir, "npm", "ci", "--ignore-scripts", "--prefer-offline", "--no-audit", "--no-fund", "--fetch-retries=1")
	if err == nil {
		return
	}
	if _, gone := run(ctx, dir, "npm", "view", "typescript", "name", "--prefer-online", "--fetch-retries=0"); gone != nil {
		t.Skipf("NOT TESTED: the extension's compiler is not here and the npm registry cannot be reached: %v\n%s", err, out)
	}
	t.Fatalf("npm ci: %v\n%s", err, out)
}

// copied is a copy of this folder without what building leaves in it.
func copied(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	err := filepath.WalkDir(".", func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if d.Name() == "node_modules" || d.Name() == "dist" {
				return filepath.SkipDir
			}
			return os.MkdirAll(filepath.Join(dir, p), 0o755)
		}
		text, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(dir, p), text, 0o644)
	})
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func output(t *testing.T, dir, name string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	out, err := run(ctx, dir, name, args...)
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

// run returns what a program writes. A child of it that keeps the pipes open, as npm's
// do when it is ended, is not waited for.
func run(ctx context.Context, dir, name string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.WaitDelay = dir, 5*time.Second
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	return out.Bytes(), err
}

// major is the first number of "v20.11.1", 0 when there is none.
func major(version string) int {
	var n int
	fmt.Sscanf(version, "v%d.", &n)
	return n
}

// manifest is what TestManifest looks at of package.json.
type manifest struct {
	License          string
	Dependencies     map[string]string
	DevDependencies  map[string]string
	ActivationEvents []string
	Capabilities     struct {
		UntrustedWorkspaces struct {
			Supported                string
			RestrictedConfigurations []string
		}
	}
	Contributes struct {
		Configuration struct {
			Properties map[string]struct{ Scope string }
		}
	}
}

// TestManifest needs no node: nothing runs with the extension but the extension, what
// compiles it is pinned, and no workspace says which program is started.
func TestManifest(t *testing.T) {
	var m manifest
	decode(t, "package.json", &m)
	if len(m.Dependencies) > 0 {
		t.Errorf("package.json has dependencies %v, want none at run time", m.Dependencies)
	}
	exact := regexp.MustCompile(`^\d+\.\d+\.\d+$`)
	for name, version := range m.DevDependencies {
		if !exact.MatchString(version) {
			t.Errorf("package.json asks for %s %s, want one version", name, version)
		}
	}
	if m.License != "Apache-2.0" {
		t.Errorf("package.json: license = %q, want that of this repository", m.License)
	}
	trust := m.Capabilities.UntrustedWorkspaces
	if trust.Supported != "limited" {
		t.Errorf("package.json: support for untrusted workspaces = %q, want limited", trust.Supported)
	}
	restricted := map[string]bool{}
	for _, name := range trust.RestrictedConfigurations {
		restricted[name] = true
	}
	for name, p := range m.Contributes.Configuration.Properties {
		if p.Scope != "machine" || !restricted[name] {
			t.Errorf("package.json: a workspace can set %s (scope %q)", name, p.Scope)
		}
	}
}

// TestLock holds package-lock.json to one registry and to digests.
func TestLock(t *testing.T) {
	var m manifest
	decode(t, "package.json", &m)
	var lock struct {
		Packages map[string]struct {
			Version, Resolved, Integrity string
			DevDependencies              map[string]string
		}
	}
	decode(t, "package-lock.json", &lock)
	for name, version := range m.DevDependencies {
		if got := lock.Packages["node_modules/"+name].Version; got != version {
			t.Errorf("package-lock.json has %s %q, package.json wants %s", name, got, version)
		}
	}
	for name, p := range lock.Packages {
		if name == "" {
			continue
		}
		if !strings.HasPrefix(p.Resolved, "https://registry.npmjs.org/") {
			t.Errorf("package-lock.json takes %s from %q, want the public registry", name, p.Resolved)
		}
		if !strings.HasPrefix(p.Integrity, "sha512-") {
			t.Errorf("package-lock.json has %q as the digest of %s, want a SHA-512", p.Integrity, name)
		}
	}
}

func decode(t *testing.T, file string, into any) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, into); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
}
