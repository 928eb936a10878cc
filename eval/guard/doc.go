// Package guard runs guards and keeps what came of it: one process at a time with
// its limit and its output, logs, the signed ledger of results, the user's decisions
// about whom to trust, and the sections of discoveries.md.
//
// It is handed plain values. It may write to the workspace's state directory and to
// the user's own, both through package state but for logs, and start the command it is
// given; it may not import what makes maps, decides which guards there are or whether
// one may run, and it reads no environment. What a guard prints is the guard's own and
// may hold secrets: it goes to the caller and to a log that only the user can read,
// never into the workspace, a record or a map (D-48).
//
// # The environment of a guard
//
// A guard has the environment that mwp was started with, but of the variables whose
// names begin with GIT_ only those with which a person says how git reaches other
// machines and which configuration it reads: GIT_SSH and all that begin so,
// GIT_SSL_*, GIT_HTTP_*, GIT_PROXY_*, GIT_LFS_*, GIT_ASKPASS, GIT_TERMINAL_PROMPT,
// GIT_ALLOW_PROTOCOL, GIT_CEILING_DIRECTORIES, GIT_DISCOVERY_ACROSS_FILESYSTEM,
// GIT_CONFIG_GLOBAL, GIT_CONFIG_SYSTEM, GIT_CONFIG_NOSYSTEM, and GIT_CONFIG_COUNT
// with its GIT_CONFIG_KEY_n and GIT_CONFIG_VALUE_n, which git itself never sets and
// continuous integration does. Everything that git tells a hook is gone with the
// rest: which repository, index, work tree and namespace, the configuration of
// `git -c`, the author and date of the commit under way, the editor (D-86).
//
// Where there was a GIT_INDEX_FILE, its absolute path is in
// MWP_GUARD_GIT_INDEX_FILE. A guard that wants what is being committed says
//
//	GIT_INDEX_FILE=$MWP_GUARD_GIT_INDEX_FILE git checkout-index --all --prefix=...
//
// MWP_TRUST_KEY, with which results are signed, is withheld: a guard that had it
// could sign results of its own. MWP_GUARD is 1, MWP_GUARD_ROOT is the workspace, and
// PWD is where the guard runs.
package guard
