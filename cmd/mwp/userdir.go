package main

import (
	"path/filepath"
	"runtime"
)

// userDir returns the directory for what belongs to this user and to no project: the
// key that signs results of guards, the workspaces that the user trusts, and logs. ""
// when the environment does not say where that is.
func (a *app) userDir() string {
	absolute := func(base string, names ...string) string {
		if !filepath.IsAbs(base) {
			return ""
		}
		return filepath.Join(append([]string{base}, names...)...)
	}
	// A variable that is set decides on every system, so that tests and containers can
	// say where.
	if dir := absolute(a.env("XDG_STATE_HOME"), "mwp"); dir != "" {
		return dir
	}
	switch runtime.GOOS {
	case "windows":
		return absolute(a.env("LOCALAPPDATA"), "mwp")
	case "darwin":
		return absolute(a.env("HOME"), "Library", "Application Support", "mwp")
	}
	return absolute(a.env("HOME"), ".local", "state", "mwp")
}
