// Package pin reads and writes how git modules are named and pinned: the import
// reference url//dir@ref (D-36), the lock file that says which commit a reference
// stands for (D-34), and the list of a module's files with their digests.
//
// It is text in and text out. It may not touch files, processes or the network,
// and it trusts nothing it reads: references, lock files and lists come from
// repositories of strangers.
package pin
