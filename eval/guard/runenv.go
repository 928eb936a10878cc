package guard

import (
	"path/filepath"
	"slices"
	"strings"
)

// The variables that tell a guard about the run.
const (
	// RunningEnv is "1" in a guard, in which `mwp verify` refuses to run (D-86).
	RunningEnv = "MWP_GUARD"
	// RootEnv is the absolute path of the workspace.
	RootEnv = "MWP_GUARD_ROOT"
	// IndexEnv is the absolute path of the index that a hook was told about.
	IndexEnv = "MWP_GUARD_GIT_INDEX_FILE"
)

const trustKeyEnv = "MWP_TRUST_KEY"

// environment returns the environment of a guard; see the package's comment.
func (j *Job) environment() []string {
	env := []string{}
	for _, v := range j.Env {
		// Windows keeps the directory of each drive under names that begin with '='.
		name, _, _ := strings.Cut(v[min(1, len(v)):], "=")
		name = v[:min(1, len(v))] + name
		if inherits(strings.ToUpper(name)) {
			env = append(env, v)
		}
	}
	env = append(env, RunningEnv+"=1", RootEnv+"="+j.Root, "PWD="+j.Dir)
	if index := variable(j.Env, "GIT_INDEX_FILE"); index != "" {
		if !filepath.IsAbs(index) && j.From != "" {
			index = filepath.Join(j.From, index)
		}
		if filepath.IsAbs(index) {
			env = append(env, IndexEnv+"="+index)
		}
	}
	return env
}

// inherits says whether a guard gets a variable.
func inherits(name string) bool {
	switch name {
	case RunningEnv, RootEnv, IndexEnv, trustKeyEnv, "PWD", "OLDPWD":
		return false
	}
	if !strings.HasPrefix(name, "GIT_") {
		return true
	}
	for _, prefix := range []string{
		"GIT_SSH", "GIT_SSL_", "GIT_HTTP_", "GIT_PROXY_", "GIT_LFS_", "GIT_CONFIG_KEY_", "GIT_CONFIG_VALUE_",
	} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return slices.Contains([]string{
		"GIT_ASKPASS", "GIT_TERMINAL_PROMPT", "GIT_ALLOW_PROTOCOL",
		"GIT_CEILING_DIRECTORIES", "GIT_DISCOVERY_ACROSS_FILESYSTEM",
		"GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM", "GIT_CONFIG_COUNT",
	}, name)
}
