package mwp_test

import (
	"archive/zip"
	"bytes"
	"flag"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

var installAll = flag.Bool("install-all", false, "TestInstall builds mwp-git as well, which takes some time")

// TestInstall installs mwp as a stranger does, `go install …@version` in an empty
// directory, from a module proxy that is a directory: what a version of this module holds
// has to be enough to build and to run it. Of mwp-git, which links ten times as many
// packages, go only loads everything, unless -install-all says otherwise.
func TestInstall(t *testing.T) {
	if testing.Short() {
		t.Skip("builds mwp and what it links")
	}
	downloads := filepath.Join(goEnv(t, "GOMODCACHE"), "cache", "download")
	if _, err := os.Stat(downloads); err != nil {
		t.Skipf("NOT CHECKED: there are no downloaded modules: %v", err)
	}
	proxy, bin := t.TempDir(), t.TempDir()
	publishVersion(t, proxy, "v0.0.1", moduleZip(t, "v0.0.1"))
	env := append(os.Environ(),
		"GOPROXY="+fileURL(proxy)+","+fileURL(downloads), "GOSUMDB=off", "GOFLAGS=-modcacherw", "GOWORK=off", "GOTOOLCHAIN=local",
		"GOMODCACHE="+t.TempDir(), "GOBIN="+bin, "GOOS=", "GOARCH=")
	install := func(args ...string) {
		t.Helper()
		c := exec.Command("go", append([]string{"install"}, args...)...)
		c.Dir, c.Env = t.TempDir(), env
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", c.Args, err, out)
		}
	}
	install(module + "/cmd/mwp@v0.0.1")
	runInstalled(t, filepath.Join(bin, "mwp"))
	if !*installAll {
		install("-n", module+"/cmd/mwp-git@v0.0.1")
		return
	}
	install(module + "/cmd/mwp-git@v0.0.1")
	out, err := exec.Command(filepath.Join(bin, "mwp-git"), "--help").CombinedOutput()
	if !strings.Contains(string(out), "mwp starts this program") {
		t.Errorf("mwp-git --help: %v, %s", err, out)
	}
}

// runInstalled asks the program for its version and for what it has embedded: the base
// module, the tables that count, the description of the nodes.
func runInstalled(t *testing.T, mwp string) {
	t.Helper()
	dir, home := t.TempDir(), t.TempDir()
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"version"}, "mwp v0.0.1\n"},
		{[]string{"init", "--with-base"}, "made "},
		{[]string{"map", "--strict", "--tokens", "cl100k_base"}, `"cl100k_base"`},
		{[]string{"help", "nodes"}, "## cascade"},
	} {
		cmd := exec.Command(mwp, c.args...)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "HOME="+home, "XDG_STATE_HOME=", "LOCALAPPDATA="+home)
		if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), c.want) {
			t.Errorf("mwp %s: %v, want %q in\n%s", strings.Join(c.args, " "), err, c.want, out)
		}
	}
}

func goEnv(t *testing.T, name string) string {
	t.Helper()
	out, err := exec.Command("go", "env", name).Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

func fileURL(dir string) string {
	dir = filepath.ToSlash(dir)
	if runtime.GOOS == "windows" {
		dir = "/" + dir
	}
	return "file://" + dir
}

// publishVersion puts a version into a proxy, in the layout that go asks for.
func publishVersion(t *testing.T, proxy, version string, zipped []byte) {
	t.Helper()
	mod, err := os.ReadFile("go.mod")
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(proxy, filepath.FromSlash(module), "@v")
	if err := os.MkdirAll(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{
		"list":            []byte(version + "\n"),
		version + ".info": []byte(`{"Version":"` + version + `","Time":"2026-01-01T00:00:00Z"}`),
		version + ".mod":  mod,
		version + ".zip":  zipped,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

// most is what a version of this module may weigh: everybody who installs it downloads
// that.
const most = 8 << 20

// moduleZip returns what a proxy makes of the sources: every regular file but those of
// other modules inside.
func moduleZip(t *testing.T, version string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	err := filepath.WalkDir(".", func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			_, other := os.Stat(filepath.Join(p, "go.mod"))
			if p != "." && (other == nil || slices.Contains([]string{".git", "dist", "vendor", "node_modules"}, d.Name())) {
				return filepath.SkipDir
			}
			return nil
		}
		if !d.Type().IsRegular() {
			return nil
		}
		data, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		f, err := w.Create(module + "@" + version + "/" + filepath.ToSlash(p))
		if err == nil {
			_, err = f.Write(data)
		}
		return err
	})
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	if b.Len() > most {
		t.Errorf("the module's zip has %d bytes, want at most %d", b.Len(), most)
	}
	return b.Bytes()
}
