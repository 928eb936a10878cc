package command

import (
	"slices"
	"strings"
)

// pnpmsOwn reports a word that pnpm would not look up among the scripts, or that
// would start something else when there is no script of the name: pnpm then runs a
// program (pnpm.io/cli/exec).
func pnpmsOwn(w string) bool {
	return slices.Contains(pnpmCommands[:], w) || strings.ContainsAny(w, `/\`) || w == "env" || interpreterNamed(w) != nil
}

// pnpmCommands are the commands of pnpm 7 to 11 with their short forms, those that
// pnpm hands to npm, and a few that a script of the name replaces in some versions
// only. Not among them are start, stop, restart and test, which run the scripts of
// their names.
var pnpmCommands = [...]string{
	"access", "add", "adduser", "approve-builds", "audit", "bin", "bugs", "c", "cache", "cat-file", "cat-index",
	"change", "ci", "clean", "clean-install", "completion", "completion-server", "config", "create", "dedupe",
	"deploy", "deprecate", "dislink", "dist-tag", "dist-tags", "dlx", "docs", "doctor", "edit", "env", "exec",
	"explain", "fetch", "find", "find-hash", "generate-completion", "get", "help", "home", "i", "ic",
	"ignored-builds", "import", "info", "init", "install", "install-clean", "install-completion", "install-test",
	"issues", "it", "la", "lane", "licenses", "link", "list", "ll", "ln", "login", "logout", "ls", "m", "multi",
	"outdated", "owner", "pack", "pack-app", "patch", "patch-commit", "patch-remove", "peers", "ping", "pkg",
	"pnpx", "pnx", "prefix", "profile", "prune", "publish", "purge", "rb", "rebuild", "recursive", "remove",
	"repo", "rm", "root", "rt", "run", "run-script", "runtime", "s", "sbom", "se", "search", "self-update",
	"server", "set", "set-script", "setup", "shim", "show", "stage", "star", "stars", "store", "tasks", "team",
	"token", "un", "undeprecate", "uni", "uninstall", "uninstall-completion", "unlink", "unpublish", "unstar",
	"up", "update", "upgrade", "v", "version", "view", "whoami", "why", "with", "x", "xmas",
}
