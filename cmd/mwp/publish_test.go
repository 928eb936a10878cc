package main

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// TestPublish goes through the command line; what it refuses is package mwp's to
// test.
func TestPublish(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("NOT TESTED: there is no git program on PATH")
	}
	for _, v := range os.Environ() {
		if name, _, _ := strings.Cut(v, "="); strings.HasPrefix(name, "GIT_") {
			t.Setenv(name, "")
			os.Unsetenv(name)
		}
	}
	t.Setenv("HOME", t.TempDir())
	t.Setenv("GIT_CONFIG_NOSYSTEM", "1")
	project(t, map[string]string{"rules/.mwp-module.md": "---\nname: rules\nversion: 1.2.0\n---\n", "plain/x": ""})
	git := func(args ...string) string {
		t.Helper()
		out, err := exec.Command("git", append([]string{"-c", "user.name=t", "-c", "user.email=t@example.org"}, args...)...).CombinedOutput()
		if err != nil {
			t.Fatalf("git %v: %v: %s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	git("init", "-q")
	git("config", "user.name", "t")
	git("config", "user.email", "t@example.org")
	remote := t.TempDir()
	git("init", "-q", "--bare", remote)
	git("remote", "add", "there", "file://"+remote)
	git("add", "--all")
	git("commit", "-q", "-m", "work")
	head := git("rev-parse", "HEAD")
	url := "file://" + remote + "//rules@"
	for _, c := range []struct {
		line           string
		code           int
		stdout, stderr string
	}{
		{"publish rules --dry-run", 0, "- git: " + url + "rules/v1.2.0\n- git: " + url + head + "\n", "would make the tag rules/v1.2.0 on commit " + head + " and push it to there"},
		{"publish --remote there rules", 0, "- git: " + url + "rules/v1.2.0\n", "pushed the tag"},
		{"publish rules --json", 0, `"tag": "rules/v1.2.0"`, `"code": "published"`},
		{"publish rules -q", 0, url + "rules/v1.2.0", ""},
		{"publish plain", 1, "", "error[publish_refused]"},
		{"publish rules --remote origin", 1, "", "there"},
		{"publish - ", 2, "", "- is not a directory"},
		{"publish a b", 2, "", "one argument"},
		{"publish rules --root .", 2, "", "--root"},
	} {
		got := try(nil, strings.Fields(c.line)...)
		if got.code != c.code || !strings.Contains(got.stdout, c.stdout) || !strings.Contains(got.stderr, c.stderr) {
			t.Errorf("mwp %s: %+v, want %+v", c.line, got, c)
		}
		if c.code != 0 && got.stdout != "" || strings.HasSuffix(c.line, "-q") && got.stderr != "" {
			t.Errorf("mwp %s: stdout %q, stderr %q", c.line, got.stdout, got.stderr)
		}
	}
}
