package guard

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestEnvironment(t *testing.T) {
	always := func(dir string) []string {
		return []string{"MWP_GUARD=1", "MWP_GUARD_ROOT=" + filepath.Join(dir, "root"), "PWD=" + filepath.Join(dir, "root", "svc")}
	}
	dir := t.TempDir()
	index := filepath.Join(dir, "index.lock")
	tests := []struct {
		name           string
		env            []string
		from           string
		inherits, adds []string
	}{
		{"nothing", nil, "", nil, nil},
		{"everything else", []string{"PATH=/bin", "HOME=/h", "GITHUB_TOKEN=x", "EMPTY=", "ODD", "=C:=C:\\x", ""}, "",
			[]string{"PATH=/bin", "HOME=/h", "GITHUB_TOKEN=x", "EMPTY=", "ODD", "=C:=C:\\x", ""}, nil},
		{"a hook", []string{
			"GIT_DIR=.git", "GIT_WORK_TREE=.", "GIT_PREFIX=", "GIT_EXEC_PATH=/x", "GIT_EDITOR=:", "GIT_AUTHOR_NAME=n", "GIT_AUTHOR_DATE=@1",
			"GIT_COMMITTER_EMAIL=e", "GIT_REFLOG_ACTION=x", "GIT_QUARANTINE_PATH=/q", "GIT_PUSH_OPTION_COUNT=0", "GIT_CONFIG_PARAMETERS='a'='b'",
			"GIT_CONFIG=x", "GIT_NAMESPACE=n", "GIT_TRACE=1", "git_dir=.git",
		}, "", nil, nil},
		{"a person", []string{
			"GIT_SSH=s", "GIT_SSH_COMMAND=ssh -i k", "GIT_SSL_CAINFO=c", "GIT_HTTP_USER_AGENT=u", "GIT_PROXY_SSL_CERT=p", "GIT_LFS_SKIP_SMUDGE=1", "GIT_ASKPASS=a",
			"GIT_TERMINAL_PROMPT=0", "GIT_ALLOW_PROTOCOL=https", "GIT_CONFIG_GLOBAL=/g", "GIT_CONFIG_SYSTEM=/s", "GIT_CONFIG_NOSYSTEM=1",
			"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=safe.directory", "GIT_CONFIG_VALUE_0=*", "GIT_CEILING_DIRECTORIES=/home", "GIT_DISCOVERY_ACROSS_FILESYSTEM=1",
		}, "", []string{
			"GIT_SSH=s", "GIT_SSH_COMMAND=ssh -i k", "GIT_SSL_CAINFO=c", "GIT_HTTP_USER_AGENT=u", "GIT_PROXY_SSL_CERT=p", "GIT_LFS_SKIP_SMUDGE=1", "GIT_ASKPASS=a",
			"GIT_TERMINAL_PROMPT=0", "GIT_ALLOW_PROTOCOL=https", "GIT_CONFIG_GLOBAL=/g", "GIT_CONFIG_SYSTEM=/s", "GIT_CONFIG_NOSYSTEM=1",
			"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=safe.directory", "GIT_CONFIG_VALUE_0=*", "GIT_CEILING_DIRECTORIES=/home", "GIT_DISCOVERY_ACROSS_FILESYSTEM=1",
		}, nil},
		{"another run", []string{"MWP_GUARD=2", "MWP_GUARD_ROOT=/x", "MWP_GUARD_GIT_INDEX_FILE=/i", "PWD=/x", "OLDPWD=/y", "MWP_NOW=1"}, "", []string{"MWP_NOW=1"}, nil},
		{"secrets of ours", []string{"MWP_TRUST_KEY=k", "MWP_TRUST_KEYS=other"}, "", []string{"MWP_TRUST_KEYS=other"}, nil},
		{"absolute index", []string{"GIT_INDEX_FILE=" + index}, "", nil, []string{"MWP_GUARD_GIT_INDEX_FILE=" + index}},
		{"relative index", []string{"GIT_INDEX_FILE=.git/index"}, dir, nil, []string{"MWP_GUARD_GIT_INDEX_FILE=" + filepath.Join(dir, ".git", "index")}},
		{"relative to nobody knows what", []string{"GIT_INDEX_FILE=.git/index"}, "", nil, nil},
		{"no index", []string{"GIT_INDEX_FILE="}, dir, nil, nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			j := Job{Dir: filepath.Join(dir, "root", "svc"), Root: filepath.Join(dir, "root"), Env: test.env, From: test.from}
			want := slices.Concat([]string{}, test.inherits, always(dir), test.adds)
			if diff := cmp.Diff(want, j.environment()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// What git itself calls local to a repository does not reach a guard, except for the
// configuration that only people put there.
func TestEnvironmentOfGit(t *testing.T) {
	git, err := exec.LookPath("git")
	if err != nil {
		t.Skip("NOT TESTED: there is no git")
	}
	out, err := exec.Command(git, "rev-parse", "--local-env-vars").Output()
	if err != nil {
		t.Fatal(err)
	}
	var env []string
	for name := range strings.FieldsSeq(string(out)) {
		env = append(env, name+"=1")
	}
	if len(env) < 10 {
		t.Fatalf("git names %q, and the test tests nothing", env)
	}
	j := Job{Dir: os.TempDir(), Root: os.TempDir(), Env: env}
	got := slices.DeleteFunc(j.environment(), func(v string) bool { return !strings.HasPrefix(v, "GIT_") })
	if diff := cmp.Diff([]string{"GIT_CONFIG_COUNT=1"}, got); diff != "" {
		t.Error(diff)
	}
}
