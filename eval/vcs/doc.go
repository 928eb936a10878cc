// Package vcs asks the git program the few questions that mwp has about a
// repository: what changed, what is staged, what a commit holds, which commit a tag
// stands for. For a person who publishes a module it also makes a tag and pushes it
// (D-80).
//
// It knows nothing of maps and may not import what makes them, and it speaks no
// git of its own: without the program every call fails with ErrNoGit.
//
// # Whose repository
//
// A question is asked of anybody's repository, and runs nothing that the
// repository names: no hook, no file system monitor, no filter, diff or textconv
// driver of its configuration, and no transport, which is how a missing object
// would be fetched. Filters of the user's own configuration do run, because
// without them files under git-lfs look changed. Nothing is written, not even the
// index.
//
// An action, which is to make or delete a tag or to talk to a remote, is what the
// user asked for in a repository of theirs. It runs as their own git would, with
// their hooks, signatures and credentials: git-lfs uploads its files in a pre-push
// hook.
//
// # Whose environment
//
// A hook or an alias hands down variables that point git at a repository, an index
// or a namespace, and the repository around the directory in question is another
// matter. So of all GIT_ variables a question keeps only those that say where the
// user's configuration and the program's parts lie and where discovery ends; an
// action keeps in addition what concerns ssh, https, passwords, transports and who
// makes the tag. Configuration that is handed down in GIT_CONFIG_COUNT and
// GIT_CONFIG_PARAMETERS stays for both, since continuous integration says there
// which directories are safe; what this package sets comes after it.
//
// One variable of a hook has its use: GIT_INDEX_FILE names the index of the commit
// under way, which "git commit -a" and "git commit -- PATH" keep apart from the
// repository's. Who asks for what is staged hands its value over (Options.Index), and
// an index of another repository is passed over.
package vcs
