package main

import (
	"bytes"
	"encoding/base64"
	"io/fs"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestPasswordsStayOut: a name and a password in a reference are told to the
// repository's server, and to nobody else: not to the terminal, the lock file, the
// modules, or whoever reads the map. The cache has what the context file says.
func TestPasswordsStayOut(t *testing.T) {
	git, err := exec.LookPath("git")
	if err != nil {
		t.Skip("NOT TESTED: there is no git program on PATH")
	}
	libexec, err := exec.Command(git, "--exec-path").Output()
	if err != nil {
		t.Fatal(err)
	}
	backend := filepath.Join(strings.TrimSpace(string(libexec)), "git-http-backend")
	if _, err := os.Stat(backend); err != nil {
		t.Skipf("NOT TESTED: git cannot serve: %v", err)
	}
	buildFetcher(t)
	const user, password = "tess", "hunter2-and-more"
	top := t.TempDir()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if u, p, ok := r.BasicAuth(); !ok || u != user || p != password {
			w.Header().Set("WWW-Authenticate", `Basic realm="modules"`)
			http.Error(w, "who is there?", http.StatusUnauthorized)
			return
		}
		h := cgi.Handler{Path: backend, Env: []string{"GIT_PROJECT_ROOT=" + filepath.Join(top, "remotes"), "GIT_HTTP_EXPORT_ALL=1", "GIT_CONFIG_NOSYSTEM=1", "HOME=" + top}}
		h.ServeHTTP(w, r)
	}))
	defer server.Close()
	address := strings.TrimPrefix(server.URL, "http://")
	secret := "http://" + user + ":" + password + "@" + address + "/rules.git@v1"

	module, p := filepath.Join(top, "module"), filepath.Join(top, "p")
	for name, text := range map[string]string{
		"home/.gitconfig":          gitConfig,
		"module/.mwp-module.md":    "---\nname: rules\nimports:\n  - local: ./rules.md\n---\n",
		"module/rules.md":          "Rules behind a password.\n",
		"p/.mwp/config.toml":       "name = \"demo\"\n",
		"p/open/.mwp-context.md":   "---\nimports:\n  - git: http://" + address + "/rules.git@v1\n---\nOpen.\n",
		"p/secret/.mwp-context.md": "---\nimports:\n  - git: " + secret + "\n---\nSecret.\n",
	} {
		file := filepath.Join(top, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	env := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + filepath.Join(top, "home"), "TMPDIR=" + t.TempDir(), "MWP_DEBUG=hash", "MWP_ALLOW_INSECURE=1", "GORACE=atexit_sleep_ms=0"}
	for name, value := range gitVariables(filepath.Join(top, "home"), filepath.Dir(top)) {
		env = append(env, name+"="+value)
	}
	run := func(dir, program string, args ...string) (string, int) {
		t.Helper()
		c := exec.Command(program, args...)
		c.Dir, c.Env = dir, env
		out, err := c.CombinedOutput()
		if _, exited := err.(*exec.ExitError); err != nil && !exited {
			t.Fatalf("%s %q: %v", program, args, err)
		}
		return string(out), c.ProcessState.ExitCode()
	}
	for _, args := range [][]string{{"init", "-q"}, {"add", "."}, {"commit", "-q", "-m", "one"}, {"tag", "v1"}, {"clone", "-q", "--bare", ".", filepath.Join(top, "remotes", "rules.git")}} {
		if out, code := run(module, git, args...); code != 0 {
			t.Fatalf("git %q: %s", args, out)
		}
	}
	clean := func(where string, text []byte) {
		t.Helper()
		for _, s := range []string{password, base64.StdEncoding.EncodeToString([]byte(user + ":" + password))} {
			if bytes.Contains(text, []byte(s)) {
				t.Errorf("%s has the password:\n%s", where, text)
			}
		}
	}
	for _, c := range []struct {
		line string
		code int
		want string
	}{
		{"doctor --json", 1, "modules_missing"},
		{"import " + secret, 0, "tag at commit "},
		{"import " + secret + " --json", 0, `"fetched": false`},
		{"import --update " + secret, 0, "fetched"},
		{"import", 0, "already there"},
		// The lock file has no password, so there is none to be sent.
		{"import outdated", 4, "authentication required"},
		{"import --check", 0, ""},
		{"map secret/x -vv --fresh", 0, "Rules behind a password."},
		{"map secret/x --render markdown --annotate", 0, "Rules behind a password."},
		{"explain secret/x", 0, "rules.md"},
		{"explain secret/x --graph dot --all", 0, "rules.md"},
		{"lint --fetch", 1, "error[import_secret]"},
		{"lint --sarif", 1, "import_secret"},
		{"lint --format github secret", 1, "import_secret"},
		{"targets", 0, "secret"},
		{"doctor", 1, "import_secret"},
		{"cache show secret/x", 0, ""},
		// The pin is for everybody, with and without a password.
		{"map open/x", 0, "Rules behind a password."},
		{"import " + strings.Replace(secret, password, "wrong", 1) + " --update", 4, "error[unresolved_import]"},
		{"import " + strings.Replace(secret, "@v1", "@v9", 1), 1, "error[unresolved_import]"},
	} {
		out, code := run(p, "mwp", strings.Fields(c.line)...)
		shown := strings.ReplaceAll(c.line, password, "PASSWORD")
		if code != c.code || !strings.Contains(out, c.want) {
			t.Errorf("mwp %s: exit status %d, want %d and %q in\n%s", shown, code, c.code, c.want, out)
		}
		clean("mwp "+shown, []byte(out))
	}
	err = filepath.WalkDir(filepath.Join(p, ".mwp"), func(file string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && file == filepath.Join(p, ".mwp", "cache") {
			return filepath.SkipDir
		}
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		b, err := os.ReadFile(file)
		clean(file, b)
		return err
	})
	if err != nil {
		t.Error(err)
	}
}
