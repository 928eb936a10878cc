// Package module fetches git modules for one workspace and keeps what it fetched:
// the files in the state directory's modules directory, each module with a list of
// digests that vouches for it, and modules.lock, which says which commit each
// reference stands for (D-33, D-34).
//
// It may write files there and start one program, mwp-git, which alone talks to
// the network. It may not import net or a git library, and it knows nothing of
// maps. Repositories are other people's: no link that one planted is followed, and
// no answer of the program is believed that can be checked here.
//
// Wherever a process is killed, what is left is the old state or the new one. A
// directory counts as a module only with its list, the list only when the lock
// file has its digest, and each of the three is written after the one before.
package module
